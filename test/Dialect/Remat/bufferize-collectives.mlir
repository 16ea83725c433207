// RUN: remat-opt %s -one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" -split-input-file | FileCheck %s

// The old contents of the destination are not copied.
// CHECK-LABEL: func.func @into_the_destination(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8x4xf32>, %[[Y:[a-z0-9]+]]: memref<8x4xf32>, %[[INIT:[a-z0-9]+]]: memref<8x4xf32>
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK-NOT: memref.copy
// CHECK: remat.all_reduce sum {remat.phase = "backward", size = 2 : i64, stride = 1 : i64} ins(%[[X]], %[[Y]] : memref<8x4xf32>, memref<8x4xf32>) outs(%[[NEW]] : memref<8x4xf32>)
// CHECK: linalg.exp ins(%[[INIT]] : memref<8x4xf32>)
func.func @into_the_destination(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>, %init: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64, remat.phase = "backward"} ins(%x, %y : tensor<8x4xf32>, tensor<8x4xf32>) outs(%init : tensor<8x4xf32>) -> tensor<8x4xf32>
  %e = tensor.empty() : tensor<8x4xf32>
  %1 = linalg.exp ins(%init : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @in_place_of_the_first_part(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4xf32>, %[[Y:[a-z0-9]+]]: memref<4xf32>
// CHECK-NOT: memref.alloc
// CHECK-NOT: memref.copy
// CHECK: remat.all_reduce sum {{.*}} ins(%[[X]], %[[Y]] : {{.*}}) outs(%[[X]] : memref<4xf32>)
// CHECK-NEXT: return %[[X]]
func.func @in_place_of_the_first_part(%x: tensor<4xf32> {bufferization.writable = true}, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @not_of_the_second(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4xf32>, %[[Y:[a-z0-9]+]]: memref<4xf32>
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: remat.all_reduce sum {{.*}} ins(%[[X]], %[[Y]] : {{.*}}) outs(%[[NEW]] : memref<4xf32>)
func.func @not_of_the_second(%x: tensor<4xf32>, %y: tensor<4xf32> {bufferization.writable = true}) -> tensor<4xf32> {
  %0 = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @nor_of_one_that_is_both(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4xf32>
// CHECK: %[[NEW:.*]] = memref.alloc
// CHECK: remat.all_reduce sum {{.*}} ins(%[[X]], %[[X]] : {{.*}}) outs(%[[NEW]] : memref<4xf32>)
func.func @nor_of_one_that_is_both(%x: tensor<4xf32> {bufferization.writable = true}) -> tensor<4xf32> {
  %0 = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @gathers_from_other_memory(
// CHECK-SAME: %[[ALL:[a-z0-9]+]]: memref<8xf32>
// CHECK: %[[PART:.*]] = memref.subview %[[ALL]]
// CHECK: %[[NEW:.*]] = memref.alloc() {{.*}} : memref<4xf32>
// CHECK: memref.copy %[[PART]], %[[NEW]]
// CHECK: remat.all_gather dim(0) {{.*}} ins(%[[NEW]] : memref<4xf32>) outs(%[[ALL]] : memref<8xf32>)
func.func @gathers_from_other_memory(%all: tensor<8xf32> {bufferization.writable = true}, %at: index) -> tensor<8xf32> {
  %part = tensor.extract_slice %all[%at] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %0 = remat.all_gather dim(0) {size = 2 : i64, stride = 1 : i64} ins(%part : tensor<4xf32>) outs(%all : tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
