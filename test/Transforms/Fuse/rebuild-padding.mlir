// RUN: remat-opt %s -remat-rebuild-padding -split-input-file | FileCheck %s
// RUN: remat-opt %s -remat-rebuild-padding -cse -split-input-file | FileCheck %s

#row = affine_map<(o, k) -> (o + k)>
#out = affine_map<(o, k) -> (o)>
#tap = affine_map<(o, k) -> (k)>

// CHECK-LABEL: func.func @the_backward_pads_again(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<5xf32>
// CHECK: %[[PADDED:.*]] = tensor.pad %[[X]]
// CHECK: linalg.conv_1d ins(%[[PADDED]], %[[W]]
// CHECK: %[[DY:.*]] = linalg.exp
// CHECK: %[[SOURCE:.*]] = remat.barrier %[[X]] after %[[DY]] {remat.phase = "backward"}
// CHECK: %[[AGAIN:.*]] = tensor.pad %[[SOURCE]]
// CHECK: remat.phase = "backward"
// CHECK: linalg.generic {{.*}} ins(%[[AGAIN]], %[[DY]]
func.func @the_backward_pads_again(%x: tensor<8xf32>, %w: tensor<5xf32>, %e: tensor<8xf32>) -> tensor<5xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[2] high[2] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<8xf32> to tensor<12xf32>
  %y = linalg.conv_1d ins(%p, %w : tensor<12xf32>, tensor<5xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %dy = linalg.exp {remat.phase = "backward"} ins(%y : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %dw = linalg.generic {indexing_maps = [#row, #out, #tap], iterator_types = ["reduction", "parallel"], remat.phase = "backward"}
      ins(%p, %dy : tensor<12xf32>, tensor<8xf32>) outs(%w : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  return %dw : tensor<5xf32>
}

// -----

// One element more would keep 32 others alive; what only the backward reads is made there anyway.
// CHECK-LABEL: func.func @not_for_little_or_for_nothing(
// CHECK-NOT: remat.barrier
func.func @not_for_little_or_for_nothing(%x: tensor<32xf32>, %e: tensor<33xf32>, %f: tensor<64xf32>) -> (tensor<33xf32>, tensor<33xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<32xf32> to tensor<33xf32>
  %y = linalg.exp ins(%p : tensor<33xf32>) outs(%e : tensor<33xf32>) -> tensor<33xf32>
  %z = linalg.tanh {remat.phase = "backward"} ins(%p : tensor<33xf32>) outs(%e : tensor<33xf32>) -> tensor<33xf32>
  %q = tensor.pad %y low[0] high[31] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<33xf32> to tensor<64xf32>
  %u = linalg.tanh {remat.phase = "backward"} ins(%q : tensor<64xf32>) outs(%f : tensor<64xf32>) -> tensor<64xf32>
  return %y, %z, %u : tensor<33xf32>, tensor<33xf32>, tensor<64xf32>
}

// -----

// CHECK-LABEL: func.func @little_is_enough_if_the_source_is_kept(
// CHECK: remat.barrier
func.func @little_is_enough_if_the_source_is_kept(%x: tensor<?xf32>, %e: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<?xf32>
  %y = linalg.exp ins(%p : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %z = linalg.tanh {remat.phase = "backward"} ins(%p : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %v = linalg.tanh {remat.phase = "backward"} ins(%x : tensor<?xf32>) outs(%x : tensor<?xf32>) -> tensor<?xf32>
  return %y, %z, %v : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
