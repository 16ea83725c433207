// RUN: remat-opt %s -opt-lower-steps -split-input-file -verify-diagnostics | FileCheck %s

// A rule on tensors is called; what it returns goes to where the old values were.

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
// CHECK: bufferization.materialize_in_destination %[[R0]] in %[[W]]
// CHECK: %[[R1:.*]] = tensor.cast %[[R]]#1
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
