// RUN: remat-opt %s -opt-lower-steps | FileCheck %s

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

#id = affine_map<(i, j) -> (i, j)>

// A gradient in bf16 is widened by the update: it never exists in f32.
// CHECK-LABEL: func.func @the_update_takes_the_last_kernel_of_a_gradient(
// CHECK-SAME: %[[W:[^ ]*]]: tensor<4x8xf32>
// CHECK-SAME: %[[G:[^ ]*]]: tensor<4x8xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[G]], %{{.*}}, %{{.*}} : tensor<4x8xbf16>, f32, i64) outs(%[[W]], %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32>) attrs = {remat.phase = "update"}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.extf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @the_update_takes_the_last_kernel_of_a_gradient(%w: tensor<4x8xf32> {bufferization.writable = true}, %n: tensor<4x8xbf16>, %m: tensor<4x8xf32> {bufferization.writable = true}, %t: i64) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%n : tensor<4x8xbf16>) outs(%e : tensor<4x8xf32>) attrs = {remat.phase = "backward"} {
  ^bb0(%a: bf16, %o: f32):
    %x = arith.extf %a : bf16 to f32
    linalg.yield %x : f32
  } -> tensor<4x8xf32>
  %w1, %m1 = opt.eager_step @signum(%w, %g, %m) step %t : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  return %w1, %m1 : tensor<4x8xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @a_gradient_with_another_reader_stays(
// CHECK: %[[G:.*]] = linalg.generic {{.*}} ins(%{{.*}} : tensor<4x8xbf16>)
// CHECK: linalg.generic {{.*}} ins(%[[G]],
// CHECK: return %{{.*}}, %{{.*}}, %[[G]]
func.func @a_gradient_with_another_reader_stays(%w: tensor<4x8xf32> {bufferization.writable = true}, %n: tensor<4x8xbf16>, %m: tensor<4x8xf32> {bufferization.writable = true}, %t: i64) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %g = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%n : tensor<4x8xbf16>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %x = arith.extf %a : bf16 to f32
    linalg.yield %x : f32
  } -> tensor<4x8xf32>
  %w1, %m1 = opt.eager_step @signum(%w, %g, %m) step %t : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  return %w1, %m1, %g : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// Two operands would live as long as one gradient, in a deferred update.
// CHECK-LABEL: func.func @a_gradient_that_frees_memory_stays(
// CHECK: %[[G:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[G]],
func.func @a_gradient_that_frees_memory_stays(%w: tensor<4x8xf32> {bufferization.writable = true}, %n: tensor<4x8xf32>, %k: tensor<4x8xf32>, %m: tensor<4x8xf32> {bufferization.writable = true}, %t: i64) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %g = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%n, %k : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %x = arith.addf %a, %b : f32
    linalg.yield %x : f32
  } -> tensor<4x8xf32>
  %w1, %m1 = opt.eager_step @signum(%w, %g, %m) step %t : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  return %w1, %m1 : tensor<4x8xf32>, tensor<4x8xf32>
}
