// RUN: remat-opt %s -opt-lower-steps | FileCheck %s
// RUN: remat-opt %s -opt-lower-steps -cse -canonicalize -one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" -canonicalize | FileCheck %s --check-prefix=BUFFER

// In place: no buffer and no copy in the whole module but clipping's sum, a scalar.
// BUFFER-NOT: memref.copy
// BUFFER-NOT: memref.alloc
opt.optimizer @adamw = #opt.adamw<lr = 0.001> {groups = [#opt.group<"*bias", weight_decay = 0.0>]}

// One kernel per parameter; what depends on the step stands in front of both.
// CHECK-LABEL: func.func @adamw_is_one_kernel(
// CHECK-SAME: %[[W:[^ ]*]]: tensor<4x8xf32>
// CHECK-SAME: %[[G:[^ ]*]]: tensor<4x8xf32>
// CHECK-SAME: %[[M:[^ ]*]]: tensor<4x8xf32>
// CHECK-SAME: %[[V:[^ ]*]]: tensor<4x8xf32>
// CHECK-SAME: %[[T:[^ ]*]]: i64)
// CHECK-DAG: %[[B1:.*]] = arith.constant {{.*}}9.000000e-01 : f64
// CHECK-DAG: math.powf %[[B1]], %{{.*}} {{.*}}: f64
// CHECK: %[[SIZE:.*]] = arith.truncf %{{.*}} {remat.phase = "update"} : f64 to f32
// CHECK: %[[ROOT:.*]] = arith.truncf
// CHECK: %[[DECAY:.*]] = arith.truncf
// CHECK-NOT: opt.eager_step
// CHECK: %[[R:.*]]:3 = linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel"]
// CHECK-SAME: ins(%[[G]], %[[SIZE]], %[[ROOT]], %[[DECAY]] : tensor<4x8xf32>, f32, f32, f32)
// CHECK-SAME: outs(%[[W]], %[[M]], %[[V]] : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK-SAME: remat.phase = "update"
// CHECK: arith.mulf
// CHECK: %[[R2:.*]]:3 = linalg.generic
// CHECK-SAME: ins(%[[R]]#0, %[[SIZE]], %[[ROOT]], %[[DECAY]]
// CHECK: return %[[R2]]#0
// BUFFER-LABEL: func.func @adamw_is_one_kernel(
// BUFFER-SAME: %[[W:[^ ]*]]: memref<4x8xf32>
// BUFFER-SAME: %[[G:[^ ]*]]: memref<4x8xf32>
// BUFFER-SAME: %[[M:[^ ]*]]: memref<4x8xf32>
// BUFFER-SAME: %[[V:[^ ]*]]: memref<4x8xf32>
// BUFFER: linalg.generic {{.*}} ins(%[[G]], {{.*}} outs(%[[W]], %[[M]], %[[V]] :
// BUFFER-NOT: memref.copy
// BUFFER-NOT: memref.alloc
// BUFFER: return %[[W]], %[[M]], %[[V]]
// BUFFER-NOT: memref.copy
// BUFFER-NOT: memref.alloc
// BUFFER: memref.alloc() {{.*}}: memref<f64>
// BUFFER-NOT: memref.copy
// BUFFER-NOT: memref.alloc
func.func @adamw_is_one_kernel(
    %w: tensor<4x8xf32> {bufferization.writable = true}, %g: tensor<4x8xf32> {bufferization.writable = false},
    %m: tensor<4x8xf32> {bufferization.writable = true}, %v: tensor<4x8xf32> {bufferization.writable = true}, %t: i64)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %w1, %m1, %v1 = opt.eager_step @adamw(%w, %g, %m, %v) step %t {parameter = "w"} : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  %w2, %m2, %v2 = opt.eager_step @adamw(%w1, %w1, %m1, %v1) step %t {parameter = "u"} : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  return %w2, %m2, %v2 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A group's rule has its own scalars: no weight decay, no factor for it.
// CHECK-LABEL: func.func @a_group_overrides(
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?xf32>, f32, f32)
func.func @a_group_overrides(%w: tensor<?xf32> {bufferization.writable = true}, %g: tensor<?xf32>,
    %m: tensor<?xf32> {bufferization.writable = true}, %v: tensor<?xf32> {bufferization.writable = true}, %t: i64)
    -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %w1, %m1, %v1 = opt.eager_step @adamw(%w, %g, %m, %v) step %t {parameter = "head.bias"} : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
  return %w1, %m1, %v1 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

opt.optimizer @clipped = #opt.sgd<lr = 0.1> {clip_value = 0.5, clip_norm = 1.0}

// 16-bit parameters compute in f32; the scale comes first, then the limit on
// each element, then the one on the norm.
// CHECK-LABEL: func.func @sixteen_bits_clipped(
// CHECK-SAME: %[[W:[^ ]*]]: tensor<4xbf16>
// CHECK-SAME: %[[G:[^ ]*]]: tensor<4xbf16>
// CHECK: %[[SCALE:.*]] = arith.truncf %arg2 {remat.phase = "update"} : f64 to f32
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[G]], %[[SCALE]] : tensor<4xbf16>, f32) outs(%{{.*}} : tensor<f64>)
// CHECK-NEXT: ^bb0(%{{.*}}: bf16, %[[FACTOR:.*]]: f32, %{{.*}}: f64)
// CHECK: %[[X:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: %[[S:.*]] = arith.mulf %[[X]], %[[FACTOR]]
// CHECK: %[[LOW:.*]] = arith.maximumf %[[S]]
// CHECK: %[[HIGH:.*]] = arith.minimumf %[[LOW]]
// CHECK: arith.extf %[[HIGH]] : f32 to f64
// CHECK: %[[NORM:.*]] = math.sqrt
// CHECK: %[[FACTOR:.*]] = arith.truncf
// CHECK: linalg.generic {{.*}} ins(%[[G]], %{{.*}}, %[[SCALE]], %[[FACTOR]] : tensor<4xbf16>, f32, f32, f32) outs(%[[W]] : tensor<4xbf16>)
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @sixteen_bits_clipped(%w: tensor<4xbf16> {bufferization.writable = true}, %g: tensor<4xbf16>, %s: f64, %t: i64) -> tensor<4xbf16> {
  %w1 = opt.eager_step @clipped(%w, %g) step %t scale %s : tensor<4xbf16>, tensor<4xbf16>
  return %w1 : tensor<4xbf16>
}

opt.optimizer @signum = #opt.custom<@signum_rule, states = 1, lr = @rate>
func.func @rate(%t: i64) -> f32 {
  %r = arith.constant 0.1 : f32
  return %r : f32
}
func.func @signum_rule(%p: f32, %g: f32, %m: f32, %t: i64, %lr: f32) -> (f32, f32) {
  %m1 = arith.addf %m, %g : f32
  %one = arith.constant 1.0 : f32
  %s = math.copysign %one, %m1 : f32
  %d = arith.mulf %s, %lr : f32
  %p1 = arith.subf %p, %d : f32
  return %p1, %m1 : f32, f32
}

// A rule on scalars becomes the kernel's body.
// CHECK-LABEL: func.func @a_rule_of_ones_own(
// CHECK: %[[LR:.*]] = call @rate
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>, f32, i64)
// CHECK: math.copysign
// CHECK-NOT: call @signum_rule
func.func @a_rule_of_ones_own(%w: tensor<4xf32> {bufferization.writable = true}, %g: tensor<4xf32>, %m: tensor<4xf32> {bufferization.writable = true}, %t: i64) -> (tensor<4xf32>, tensor<4xf32>) {
  %w1, %m1 = opt.eager_step @signum(%w, %g, %m) step %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  return %w1, %m1 : tensor<4xf32>, tensor<4xf32>
}

opt.optimizer @averaged = #opt.sgd<lr = 0.1> {ema = 0.75}

// After the first step, the average is the parameter.
// CHECK-LABEL: func.func @an_average_follows_in_place(
// CHECK-SAME: %[[W:[^ ]*]]: tensor<4xbf16>
// CHECK-SAME: %{{[^ ]*}}: tensor<4xf32>
// CHECK-SAME: %[[A:[^ ]*]]: tensor<4xf32>
// CHECK: %[[NEW:[^ ]*]] = linalg.generic {{.*}} outs(%[[W]] : tensor<4xbf16>)
// CHECK: %[[WEIGHT:[^ ]*]] = arith.select {{.*}} : f32
// CHECK: %[[AVERAGE:[^ ]*]] = linalg.generic {{.*}} ins(%[[WEIGHT]], %[[NEW]] : f32, tensor<4xbf16>) outs(%[[A]] : tensor<4xf32>)
// CHECK: return %[[NEW]], %[[AVERAGE]]
func.func @an_average_follows_in_place(%w: tensor<4xbf16> {bufferization.writable = true}, %g: tensor<4xf32>,
    %average: tensor<4xf32> {bufferization.writable = true}, %t: i64) -> (tensor<4xbf16>, tensor<4xf32>) {
  %0, %1 = opt.eager_step @averaged(%w, %g, %average) step %t {parameter = "w"} : tensor<4xbf16>, tensor<4xf32>, tensor<4xf32>
  return %0, %1 : tensor<4xbf16>, tensor<4xf32>
}
