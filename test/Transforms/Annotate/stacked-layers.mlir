// RUN: remat-opt %s -split-input-file -remat-annotate=blocks | FileCheck %s
// RUN: not remat-opt %s -split-input-file -remat-annotate="blocks every=2" 2>&1 | FileCheck %s --check-prefix=EVERY

// As jax.lax.scan over stacked weights is exported: one layer, run three times.
// Its iteration's weights are sliced in the region, which keeps none of them.

// CHECK-LABEL: func.func @scan
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[W:.*]]: tensor<3x8x8xf32> {opt.param})
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[H:.*]] = %[[X]]) -> (tensor<4x8xf32>)
// CHECK-NEXT: %[[Y:.*]] = remat.region (%{{.*}} = %[[H]] : tensor<4x8xf32>, %{{.*}} = %[[I]] : i32, %{{.*}} = %[[W]] : tensor<3x8x8xf32>) -> tensor<4x8xf32> attributes {label = "block 0"} {
// CHECK: tensor.extract_slice
// CHECK: linalg.matmul
// CHECK: math.tanh
// CHECK: arith.addf
// CHECK: remat.yield
// CHECK: scf.yield %[[Y]]

// EVERY: error: every=2: there are only 1 blocks
// EVERY: note: the body of this loop is one block, however often it runs

func.func @scan(%x: tensor<4x8xf32>, %w: tensor<3x8x8xf32> {opt.param}) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%h = %x) -> (tensor<4x8xf32>) : i32 {
    %at = arith.index_cast %i : i32 to index
    %slice = tensor.extract_slice %w[%at, 0, 0] [1, 8, 8] [1, 1, 1] : tensor<3x8x8xf32> to tensor<1x8x8xf32>
    %v = tensor.collapse_shape %slice [[0, 1], [2]] : tensor<1x8x8xf32> into tensor<8x8xf32>
    %empty = tensor.empty() : tensor<4x8xf32>
    %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
    %p = linalg.matmul ins(%h, %v : tensor<4x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
    %t = math.tanh %p : tensor<4x8xf32>
    %y = arith.addf %h, %t : tensor<4x8xf32>
    scf.yield %y : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}
