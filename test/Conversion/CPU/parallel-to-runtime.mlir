// RUN: remat-opt %s --convert-parallel-to-runtime --canonicalize --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-lower-to-cpu --split-input-file | FileCheck %s --check-prefix=LLVM

// Values that the body captures are passed in memory, constants are copied.
// CHECK-LABEL: func @copy(
// CHECK-SAME: %[[X:.*]]: memref<?xf32>, %[[Y:.*]]: memref<?xf32, strided<[2], offset: ?>>, %[[N:.*]]: index
// CHECK: %[[F:.*]] = constant @copy_part : (!llvm.ptr, index, index) -> ()
// CHECK: %[[CONTEXT:.*]] = llvm.alloca %{{.*}} x !llvm.struct<(struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>, struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>)>
// CHECK: llvm.store
// CHECK: %[[ADDRESS:.*]] = builtin.unrealized_conversion_cast %[[F]]
// CHECK: call @remat_parallel_for(%{{.*}}, %[[ADDRESS]], %[[CONTEXT]])
// CHECK-NOT: scf.parallel
// CHECK: func.func private @copy_part(%[[IN:.*]]: !llvm.ptr, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK: scf.for %[[I:.*]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[V:.*]] = memref.load %{{.*}}[%[[I]]]
// CHECK: memref.store %[[V]], %{{.*}}[%[[I]]]
// CHECK-NOT: fence
// CHECK: return
// LLVM-LABEL: llvm.func @copy(
// LLVM: llvm.mlir.addressof @[[PART:.*]] : !llvm.ptr
// LLVM: llvm.call @remat_parallel_for({{.*}}) : (i64, !llvm.ptr, !llvm.ptr) -> ()
// LLVM: llvm.func @[[PART]]({{.*}}: !llvm.ptr{{.*}}: i64{{.*}}: i64
func.func @copy(%x: memref<?xf32>, %y: memref<?xf32, strided<[2], offset: ?>>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %y[%i] : memref<?xf32, strided<[2], offset: ?>>
  }
  return
}

// -----

// Several loops are one, with any bounds.
// CHECK-LABEL: func @bounds(
// CHECK: call @remat_parallel_for(%c12
// CHECK: func.func private @bounds_part(
// CHECK: scf.for %[[K:.*]] = %{{.*}} to %{{.*}} step %c1
// CHECK-DAG: %[[INNER:.*]] = arith.remui %[[K]], %c4
// CHECK-DAG: %[[OUTER:.*]] = arith.divui %[[K]], %c4
// CHECK-DAG: %[[J0:.*]] = arith.muli %[[INNER]], %c3
// CHECK-DAG: %[[J:.*]] = arith.addi %[[J0]], %c2
// CHECK-DAG: %[[I0:.*]] = arith.muli %[[OUTER]], %c2
// CHECK-DAG: %[[I:.*]] = arith.addi %[[I0]], %c1
// CHECK: memref.store %{{.*}}, %{{.*}}[%[[I]], %[[J]]]
func.func @bounds(%y: memref<8x16xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c6 = arith.constant 6 : index
  %c13 = arith.constant 13 : index
  scf.parallel (%i, %j) = (%c1, %c2) to (%c6, %c13) step (%c2, %c3) {
    memref.store %v, %y[%i, %j] : memref<8x16xf32>
  }
  return
}

// -----

// Inner loops are run by the thread that has the iteration.
// CHECK-LABEL: func @nested(
// CHECK: call @remat_parallel_for(
// CHECK: func.func private @nested_part(
// CHECK: scf.for
// CHECK: scf.parallel
// CHECK-NOT: call
func.func @nested(%y: memref<8x16xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    scf.parallel (%j) = (%c0) to (%c16) step (%c1) {
      memref.store %v, %y[%i, %j] : memref<8x16xf32>
    }
  }
  return
}

// -----

// A loop that reduces has one order.
// CHECK-LABEL: func @sum(
// CHECK-NOT: remat_parallel_for
// CHECK: scf.parallel
// LLVM-LABEL: llvm.func @sum(
// LLVM-NOT: remat_parallel_for
// LLVM: llvm.return
func.func @sum(%x: memref<8xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %sum = scf.parallel (%i) = (%c0) to (%c8) step (%c1) init (%zero) -> f32 {
    %v = memref.load %x[%i] : memref<8xf32>
    scf.reduce(%v : f32) {
    ^bb0(%a: f32, %b: f32):
      %c = arith.addf %a, %b : f32
      scf.reduce.return %c : f32
    }
  }
  return %sum : f32
}

// -----

// Stores that bypass the cache are waited for.
// CHECK-LABEL: func private @streamed_part(
// CHECK: vector.store {{.*}} {alignment = 64 : i64, nontemporal = true}
// CHECK: llvm.fence seq_cst
// CHECK-NEXT: return
func.func @streamed(%x: vector<16xf32>, %y: memref<160xf32>) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c160 = arith.constant 160 : index
  scf.parallel (%i) = (%c0) to (%c160) step (%c16) {
    vector.store %x, %y[%i] {alignment = 64 : i64, nontemporal = true} : memref<160xf32>, vector<16xf32>
  }
  return
}

// -----

// A kernel's vectors are as wide in its parts.
// CHECK: func.func private @wide_part({{.*}} attributes {passthrough = {{\[\[}}"prefer-vector-width", "512"]]}
func.func @wide(%y: memref<8xf32>, %v: f32) attributes {passthrough = [["prefer-vector-width", "512"]]} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    memref.store %v, %y[%i] : memref<8xf32>
  }
  return
}
