// RUN: remat-opt %s --remat-fold | FileCheck %s

// The counter of a loop, in the types that exporters count in, and what is counted down.
// CHECK-LABEL: func @counter(
// CHECK: scf.for %[[I:[a-z0-9]+]] =
// CHECK-NEXT: %[[X:.*]] = arith.index_cast %[[I]] : i32 to index
// CHECK-NEXT: memref.load %{{.*}}[%[[X]]]
// CHECK: %[[D:.*]] = arith.subi %{{.*}}, %[[X]]
// CHECK-NEXT: memref.load %{{.*}}[%[[D]]]
// CHECK-NOT: arith.m
// CHECK: return
func.func @counter(%m: memref<6xf32>, %out: memref<f32>) {
  %c0_i32 = arith.constant 0 : i32
  %c1_i32 = arith.constant 1 : i32
  %c6_i32 = arith.constant 6 : i32
  %c0 = arith.constant 0 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c0_i32 to %c6_i32 step %c1_i32 : i32 {
    %x = arith.index_cast %i : i32 to index
    %a = arith.maxsi %x, %c0 : index
    %b = arith.minsi %a, %c5 : index
    %v = memref.load %m[%b] : memref<6xf32>
    memref.store %v, %out[] : memref<f32>
    %d = arith.subi %c5, %x : index
    %e = arith.maxsi %d, %c0 : index
    %f = arith.minui %e, %c5 : index
    %w = memref.load %m[%f] : memref<6xf32>
    memref.store %w, %out[] : memref<f32>
  }
  return
}

// Bounds that do something stay: an index that goes too far, one that is not known, and floating-point numbers.
// CHECK-LABEL: func @stays(
// CHECK: arith.minsi
// CHECK: arith.maxsi
// CHECK: arith.maximumf
// CHECK: return
func.func @stays(%n: index, %y: f32) -> (index, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  %s = scf.for %i = %c0 to %c6 step %c1 iter_args(%a = %c0) -> index {
    %b = arith.minsi %i, %c4 : index
    %t = arith.addi %a, %b : index
    scf.yield %t : index
  }
  %d = arith.maxsi %n, %c0 : index
  %e = arith.addi %s, %d : index
  %z = arith.maximumf %y, %zero : f32
  return %e, %z : index, f32
}
