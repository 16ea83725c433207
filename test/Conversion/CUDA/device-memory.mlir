// Reads and writes of device memory by the host are calls of the runtime.
// RUN: remat-opt %s -convert-device-memory -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @reads_and_writes
// CHECK: call @remat_cuda_read
// CHECK: call @remat_cuda_write
func.func @reads_and_writes(%m: memref<4xf32>, %i: index) {
  // expected-remark @+1 {{the host reads device memory}}
  %x = memref.load %m[%i] : memref<4xf32>
  %y = arith.addf %x, %x : f32
  memref.store %y, %m[%i] : memref<4xf32>
  return
}

// -----

// The device keeps whether a condition held; several assertions may have one.
// CHECK-LABEL: func.func @asserts
// CHECK-COUNT-2: call @remat_cuda_assert
// CHECK-NOT: memref.load
// CHECK-NOT: cf.assert
// CHECK: return
func.func @asserts(%m: memref<i1>) {
  %c = memref.load %m[] : memref<i1>
  cf.assert %c, "one"
  cf.assert %c, "another"
  return
}

// -----

// A condition that the host needs as well is read, too.
// CHECK-LABEL: func.func @asserted_and_read
// CHECK-DAG: call @remat_cuda_read
// CHECK-DAG: call @remat_cuda_assert
// CHECK: return
func.func @asserted_and_read(%m: memref<i1>) -> i1 {
  // expected-remark @+1 {{the host reads device memory}}
  %c = memref.load %m[] : memref<i1>
  cf.assert %c, "one"
  return %c : i1
}

// -----

func.func @atomic(%m: memref<4xf32>, %x: f32, %i: index) {
  // expected-error @+1 {{accesses device memory from the host, which target 'cuda' does not lower}}
  %y = memref.atomic_rmw addf %x, %m[%i] : (f32, memref<4xf32>) -> f32
  return
}

// -----

// So are the sizes of a shape that is data.
// CHECK-LABEL: func.func @shape
// CHECK-SAME: (%[[M:.*]]: memref<12xf32>
// CHECK: call @remat_cuda_read
// CHECK: memref.reinterpret_cast %[[M]] to offset: [0], sizes: [%{{.*}}, 4], strides: [4, 1]
// CHECK-NOT: memref.reshape
func.func @shape(%m: memref<12xf32>, %shape: memref<2xi32>) -> memref<?x4xf32> {
  // expected-remark @+1 {{the host reads device memory}}
  %r = memref.reshape %m(%shape) : (memref<12xf32>, memref<2xi32>) -> memref<?x4xf32>
  return %r : memref<?x4xf32>
}
