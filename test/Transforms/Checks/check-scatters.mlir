// RUN: remat-opt %s -remat-check-indices | FileCheck %s
// RUN: remat-opt %s -remat-check-indices -remat-hoist-asserts | FileCheck %s --check-prefix=HOISTED

// Positions from data are checked and clamped in the scatter's body. The assertion becomes a kernel over the positions alone.

// CHECK-LABEL: func.func @rows
// CHECK: remat.scatter_add
// CHECK: %[[I:.*]] = arith.index_cast
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[I]], %{{.*}} : index
// CHECK: cf.assert %[[INSIDE]], "{{.*}}check-scatters.mlir:[[#@LINE+21]]:5: the index of dimension 0 is not in 0..3"
// CHECK: %[[SAFE:.*]] = arith.minui %[[I]]
// CHECK-NOT: cf.assert
// CHECK: remat.yield %[[SAFE]], %{{.*}}

// HOISTED-LABEL: func.func @rows
// HOISTED-SAME: %[[PLACES:[a-z0-9]+]]: tensor<9xi64>
// HOISTED: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[PLACES]] : tensor<9xi64>)
// HOISTED: arith.index_cast
// HOISTED: arith.cmpi ult
// HOISTED: arith.andi
// HOISTED: cf.assert %{{.*}}, "{{.*}}the index of dimension 0 is not in 0..3"
// HOISTED: remat.scatter_add
// HOISTED-NOT: cf.assert
// HOISTED: arith.minui
// HOISTED: return
func.func @rows(%x: tensor<4x5xf32>, %rows: tensor<9x5xf32>, %places: tensor<9xi64>) -> tensor<4x5xf32> {
  %sum = remat.scatter_add ins(%rows : tensor<9x5xf32>) outs(%x : tensor<4x5xf32>) {
  ^bb0(%i: index, %j: index):
    %n = tensor.extract %places[%i] : tensor<9xi64>
    %r = arith.index_cast %n : i64 to index
    remat.yield %r, %j : index, index
  } -> tensor<4x5xf32>
  return %sum : tensor<4x5xf32>
}

// Sizes that are not known are asked for outside of the body, and the updates say how many positions there are.

// CHECK-LABEL: func.func @dynamic
// CHECK: %[[SIZE:.*]] = tensor.dim
// CHECK: remat.scatter_add
// CHECK: arith.cmpi ult, %{{.*}}, %[[SIZE]]
// CHECK: cf.assert {{.*}}the index of dimension 0 is not in the tensor
// HOISTED-LABEL: func.func @dynamic
// HOISTED-SAME: tensor<?xf32>, %[[ROWS:[a-z0-9]+]]: tensor<?xf32>, %[[PLACES:[a-z0-9]+]]: tensor<?xi32>
// HOISTED: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[ROWS]] : tensor<?xf32>)
// HOISTED: tensor.extract %[[PLACES]]
// HOISTED: cf.assert
// HOISTED: remat.scatter_add
func.func @dynamic(%x: tensor<?xf32>, %rows: tensor<?xf32>, %places: tensor<?xi32>) -> tensor<?xf32> {
  %sum = remat.scatter_add ins(%rows : tensor<?xf32>) outs(%x : tensor<?xf32>) {
  ^bb0(%i: index):
    %n = tensor.extract %places[%i] : tensor<?xi32>
    %r = arith.index_cast %n : i32 to index
    remat.yield %r : index
  } -> tensor<?xf32>
  return %sum : tensor<?xf32>
}

// A scatter that is in range for all positions is left alone.

// CHECK-LABEL: func.func @in_range
// CHECK-NOT: cf.assert
// CHECK: return
func.func @in_range(%x: tensor<4x5xf32>, %rows: tensor<8x5xf32>) -> tensor<4x5xf32> {
  %sum = remat.scatter_add ins(%rows : tensor<8x5xf32>) outs(%x : tensor<4x5xf32>) {
  ^bb0(%i: index, %j: index):
    %two = arith.constant 2 : index
    %r = arith.divui %i, %two : index
    remat.yield %r, %j : index, index
  } -> tensor<4x5xf32>
  return %sum : tensor<4x5xf32>
}

// One position too many.

// CHECK-LABEL: func.func @out_of_range
// CHECK: cf.assert
func.func @out_of_range(%x: tensor<4x5xf32>, %rows: tensor<9x5xf32>) -> tensor<4x5xf32> {
  %sum = remat.scatter_add ins(%rows : tensor<9x5xf32>) outs(%x : tensor<4x5xf32>) {
  ^bb0(%i: index, %j: index):
    %two = arith.constant 2 : index
    %r = arith.divui %i, %two : index
    remat.yield %r, %j : index, index
  } -> tensor<4x5xf32>
  return %sum : tensor<4x5xf32>
}
