// RUN: remat-opt %s --remat-restore-layouts --canonicalize | FileCheck %s

// One branch has a tape of some length, the other none.
// CHECK-LABEL: func @tape(
// CHECK-SAME: %[[C:.*]]: i1, %[[TAPE:.*]]: memref<?x4xf32>, %[[I:.*]]: index
// CHECK: %[[R:.*]] = scf.if %[[C]] -> (memref<?x4xf32>) {
// CHECK-NEXT: scf.yield %[[TAPE]]
// CHECK: memref.subview %[[R]][%[[I]], 0] [1, 4] [1, 1] : memref<?x4xf32> to memref<4xf32, strided<[1], offset: ?>>
func.func @tape(%c: i1, %tape: memref<?x4xf32>, %i: index) -> memref<4xf32, strided<[?], offset: ?>> {
  %r = scf.if %c -> (memref<?x4xf32, strided<[?, ?], offset: ?>>) {
    %a = memref.cast %tape : memref<?x4xf32> to memref<?x4xf32, strided<[?, ?], offset: ?>>
    scf.yield %a : memref<?x4xf32, strided<[?, ?], offset: ?>>
  } else {
    %e = memref.alloc() : memref<0x4xf32>
    %b = memref.cast %e : memref<0x4xf32> to memref<?x4xf32>
    %d = memref.cast %b : memref<?x4xf32> to memref<?x4xf32, strided<[?, ?], offset: ?>>
    scf.yield %d : memref<?x4xf32, strided<[?, ?], offset: ?>>
  }
  %s = memref.subview %r[%i, 0] [1, 4] [1, 1]
      : memref<?x4xf32, strided<[?, ?], offset: ?>> to memref<4xf32, strided<[?], offset: ?>>
  return %s : memref<4xf32, strided<[?], offset: ?>>
}

// An inner branch first.
// CHECK-LABEL: func @nested(
// CHECK: scf.if {{.*}} -> (memref<?xf32>)
// CHECK: arith.select {{.*}} : memref<?xf32>
func.func @nested(%c: i1, %d: i1, %x: memref<?xf32>, %y: memref<?xf32>, %i: index, %z: memref<index>) -> f32 {
  %x1 = memref.cast %x : memref<?xf32> to memref<?xf32, strided<[?], offset: ?>>
  %y1 = memref.cast %y : memref<?xf32> to memref<?xf32, strided<[?], offset: ?>>
  %r = scf.if %c -> (memref<?xf32, strided<[?], offset: ?>>) {
    %s = scf.if %d -> (memref<?xf32, strided<[?], offset: ?>>) {
      memref.store %i, %z[] : memref<index>
      scf.yield %x1 : memref<?xf32, strided<[?], offset: ?>>
    } else {
      scf.yield %y1 : memref<?xf32, strided<[?], offset: ?>>
    }
    scf.yield %s : memref<?xf32, strided<[?], offset: ?>>
  } else {
    scf.yield %y1 : memref<?xf32, strided<[?], offset: ?>>
  }
  %v = memref.load %r[%i] : memref<?xf32, strided<[?], offset: ?>>
  return %v : f32
}

// One of the buffers has strides indeed.
// CHECK-LABEL: func @strided(
// CHECK: scf.if {{.*}} -> (memref<4xf32, strided<[?], offset: ?>>)
func.func @strided(%c: i1, %x: memref<4xf32>, %y: memref<8xf32>, %i: index, %z: memref<index>) -> f32 {
  %r = scf.if %c -> (memref<4xf32, strided<[?], offset: ?>>) {
    memref.store %i, %z[] : memref<index>
    %a = memref.cast %x : memref<4xf32> to memref<4xf32, strided<[?], offset: ?>>
    scf.yield %a : memref<4xf32, strided<[?], offset: ?>>
  } else {
    %s = memref.subview %y[0] [4] [2] : memref<8xf32> to memref<4xf32, strided<[2]>>
    %b = memref.cast %s : memref<4xf32, strided<[2]>> to memref<4xf32, strided<[?], offset: ?>>
    scf.yield %b : memref<4xf32, strided<[?], offset: ?>>
  }
  %v = memref.load %r[%i] : memref<4xf32, strided<[?], offset: ?>>
  return %v : f32
}
