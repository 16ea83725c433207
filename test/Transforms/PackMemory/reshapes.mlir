// RUN: remat-opt %s -remat-pack-memory | FileCheck %s

// A reshape reads its sizes, also the second one, after which they may be overwritten: both buffers have a place of their own.
// CHECK-LABEL: func.func @sizes_are_read_again(
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @sizes_are_read_again(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sizes = memref.alloc() : memref<2xindex>
  memref.store %n, %sizes[%c0] : memref<2xindex>
  memref.store %n, %sizes[%c1] : memref<2xindex>
  %a = memref.reshape %x(%sizes) : (memref<8xf32>, memref<2xindex>) -> memref<?x?xf32>
  %b = memref.alloc() : memref<4xf32>
  linalg.exp ins(%z : memref<4xf32>) outs(%b : memref<4xf32>)
  linalg.copy ins(%b : memref<4xf32>) outs(%z : memref<4xf32>)
  %c = memref.reshape %y(%sizes) : (memref<8xf32>, memref<2xindex>) -> memref<?x?xf32>
  linalg.copy ins(%a : memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  memref.dealloc %sizes : memref<2xindex>
  memref.dealloc %b : memref<4xf32>
  return
}
