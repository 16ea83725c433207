// Functions with vectors or mathematical functions are lowered, others are not looked at.
// RUN: remat-opt %s --remat-lower-vectors-and-math | FileCheck %s

// CHECK-LABEL: func.func private @vectors(
// CHECK-NOT: vector.transfer_read {{.*}}vector<2x4xf32>
// CHECK: scf.for
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK-NOT: vector.transfer_read
// CHECK: return
func.func private @vectors(%a: memref<2x4xf32>, %b: memref<2x4xf32>) {
  %zero = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %v = vector.transfer_read %a[%zero, %zero], %pad {in_bounds = [true, true]} : memref<2x4xf32>, vector<2x4xf32>
  vector.transfer_write %v, %b[%zero, %zero] {in_bounds = [true, true]} : vector<2x4xf32>, memref<2x4xf32>
  return
}

// CHECK-LABEL: func.func private @math(
// CHECK: llvm.intr.exp
// CHECK-NOT: math.exp
// CHECK: return
func.func private @math(%a: memref<f32>) {
  %v = memref.load %a[] : memref<f32>
  %e = math.exp %v : f32
  memref.store %e, %a[] : memref<f32>
  return
}

// A pattern of either conversion would fold the sum.
// CHECK-LABEL: func.func @step(
// CHECK: arith.addi
// CHECK: call @vectors
// CHECK: call @math
// CHECK: return
func.func @step(%a: memref<2x4xf32>, %b: memref<2x4xf32>, %c: memref<f32>) -> index {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %sum = arith.addi %zero, %one : index
  call @vectors(%a, %b) : (memref<2x4xf32>, memref<2x4xf32>) -> ()
  call @math(%c) : (memref<f32>) -> ()
  return %sum : index
}

// CHECK-LABEL: func.func private @declared(
func.func private @declared(f32)
