// RUN: remat-opt %s -remat-pack-memory -split-input-file | FileCheck %s

// The first part is sent, element by element, before the sum is written.
// CHECK-LABEL: func.func @the_sum_takes_over_the_first_part(
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @the_sum_takes_over_the_first_part(%x: memref<16xf32>, %y: memref<16xf32>) {
  %p0 = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%p0 : memref<16xf32>)
  %p1 = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%x : memref<16xf32>) outs(%p1 : memref<16xf32>)
  %sum = memref.alloc() : memref<16xf32>
  remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%p0, %p1 : memref<16xf32>, memref<16xf32>) outs(%sum : memref<16xf32>)
  linalg.exp ins(%sum : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @not_one_that_is_the_second_part_too(
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @not_one_that_is_the_second_part_too(%x: memref<16xf32>, %y: memref<16xf32>) {
  %p = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%p : memref<16xf32>)
  %sum = memref.alloc() : memref<16xf32>
  remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%p, %p : memref<16xf32>, memref<16xf32>) outs(%sum : memref<16xf32>)
  linalg.exp ins(%sum : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @nor_the_second_part(
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @nor_the_second_part(%x: memref<16xf32>, %y: memref<16xf32>) {
  %p1 = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%p1 : memref<16xf32>)
  %sum = memref.alloc() : memref<16xf32>
  remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x, %p1 : memref<16xf32>, memref<16xf32>) outs(%sum : memref<16xf32>)
  linalg.exp ins(%sum : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @a_gather_has_memory_of_its_own(
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @a_gather_has_memory_of_its_own(%x: memref<16xf32>, %y: memref<16xf32>) {
  %p = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%p : memref<16xf32>)
  %all = memref.alloc() : memref<16xf32>
  remat.all_gather dim(0) {size = 1 : i64, stride = 1 : i64} ins(%p : memref<16xf32>) outs(%all : memref<16xf32>)
  linalg.exp ins(%all : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}
