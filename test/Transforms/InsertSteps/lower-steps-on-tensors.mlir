// RUN: remat-opt %s -opt-lower-steps -split-input-file -verify-diagnostics | FileCheck %s

// A rule on tensors that is declared only is called; what it returns goes to where the old values were.

opt.optimizer @own = #opt.custom<@rule, states = 1, lr = 0.1> {clip_value = 1.0}
func.func private @rule(tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, i64, f32) -> (tensor<?xf32>, tensor<?xf32>)

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[W:[^ ]*]]: tensor<4xf32>, %[[G:[^ ]*]]: tensor<4xf32>, %[[M:[^ ]*]]: tensor<4xf32>
// CHECK: %[[CLIPPED:.*]] = linalg.generic {{.*}} outs(%[[G]] : tensor<4xf32>)
// CHECK: arith.maximumf
// CHECK: %[[WD:.*]] = tensor.cast %[[W]]
// CHECK: %[[GD:.*]] = tensor.cast %[[CLIPPED]]
// CHECK: %[[R:.*]]:2 = call @rule(%[[WD]], %[[GD]]
// CHECK: %[[R0:.*]] = tensor.cast %[[R]]#0
// CHECK: %[[R1:.*]] = tensor.cast %[[R]]#1
// CHECK: bufferization.materialize_in_destination %[[R0]] in %[[W]]
// CHECK: bufferization.materialize_in_destination %[[R1]] in %[[M]]
func.func @step(%w: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %t: i64) -> (tensor<4xf32>, tensor<4xf32>) {
  %w1, %m1 = opt.eager_step @own(%w, %g, %m) step %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  return %w1, %m1 : tensor<4xf32>, tensor<4xf32>
}

// -----

opt.optimizer @own = #opt.custom<@rule, lr = 0.1>
// expected-note @+1 {{the rule is defined here}}
func.func private @rule(tensor<4xf32>, tensor<4xf32>, i64, f32) -> tensor<4xf32>

func.func @step(%w: tensor<3xf32>, %t: i64) -> tensor<3xf32> {
  // expected-error @+1 {{cannot call @rule on 'tensor<3xf32>': it takes 'tensor<4xf32>'; a rule on scalars, or on tensors with dynamic sizes, fits parameters of any shape}}
  %w1 = opt.eager_step @own(%w, %w) step %t : tensor<3xf32>, tensor<3xf32>
  return %w1 : tensor<3xf32>
}

// -----

// One that has a body becomes part of the step, and is needed no more; what it computes in place is not copied.

// CHECK-NOT: opt.optimizer
opt.optimizer @own = #opt.custom<@rule, states = 1, lr = 0.1>
func.func private @rule(%w: tensor<?xf32>, %g: tensor<?xf32>, %m: tensor<?xf32>, %t: i64, %lr: f32) -> (tensor<?xf32>, tensor<?xf32>) {
  %m1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%g : tensor<?xf32>) outs(%m : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<?xf32>
  return %m1, %m1 : tensor<?xf32>, tensor<?xf32>
}

// CHECK-LABEL: func.func @a_body_becomes_part_of_the_step(
// CHECK-SAME: %[[W:[^ ]*]]: tensor<4xf32>, %[[G:[^ ]*]]: tensor<4xf32>, %[[M:[^ ]*]]: tensor<4xf32>
// CHECK-NOT: call
// CHECK: %[[R:.*]] = linalg.generic
// CHECK: %[[R0:.*]] = tensor.cast %[[R]]
// CHECK: %[[R1:.*]] = tensor.cast %[[R]]
// CHECK: %[[W1:.*]] = bufferization.materialize_in_destination %[[R0]] in %[[W]]
// CHECK-NOT: materialize_in_destination
// CHECK: return %[[W1]], %[[R1]]
func.func @a_body_becomes_part_of_the_step(%w: tensor<4xf32>, %g: tensor<4xf32>, %m: tensor<4xf32>, %t: i64) -> (tensor<4xf32>, tensor<4xf32>) {
  %w1, %m1 = opt.eager_step @own(%w, %g, %m) step %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  return %w1, %m1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// States of a rule on tensors may count.

opt.optimizer @own = #opt.custom<@counting, states = 1, lr = 0.1>
func.func private @counting(%p: tensor<4xf32>, %g: tensor<4xf32>, %n: tensor<i32> {opt.state = "count"}, %step: i64, %lr: f32) -> (tensor<4xf32>, tensor<i32>) {
  %one = arith.constant dense<1> : tensor<i32>
  %m = arith.addi %n, %one : tensor<i32>
  return %g, %m : tensor<4xf32>, tensor<i32>
}

// CHECK-LABEL: func.func @step(
// CHECK-SAME: %[[N:[^ ]*]]: tensor<i32>, %{{.*}}: i64
// CHECK: %[[M:.*]] = arith.addi %[[N]], %{{.*}} : tensor<i32>
// CHECK: bufferization.materialize_in_destination %[[M]] in %[[N]]
func.func @step(%w: tensor<4xf32>, %g: tensor<4xf32>, %n: tensor<i32>, %t: i64) -> (tensor<4xf32>, tensor<i32>) {
  %w1, %n1 = opt.eager_step @own(%w, %g, %n) step %t : tensor<4xf32>, tensor<4xf32>, tensor<i32>
  return %w1, %n1 : tensor<4xf32>, tensor<i32>
}
