// RUN: remat-opt %s | remat-opt | FileCheck %s
// RUN: remat-opt %s -mlir-print-op-generic | remat-opt | FileCheck %s
// RUN: remat-opt %s -cse -canonicalize | FileCheck %s --check-prefix=ONCE
// RUN: remat-opt %s -int-range-optimizations -canonicalize | FileCheck %s --check-prefix=RANGE
// RUN: remat-opt %s -loop-invariant-code-motion | FileCheck %s --check-prefix=LOOP

// CHECK-LABEL: func.func @coordinate(
// CHECK: remat.rank {size = 2 : i64, stride = 3 : i64} : index
// The only rank of an axis is its first one.
// ONCE-LABEL: func.func @coordinate(
// ONCE-DAG: arith.constant 0 : index
// ONCE-DAG: remat.rank {size = 2 : i64, stride = 3 : i64} : index
// ONCE-NOT: remat.rank
// ONCE: return
// RANGE-LABEL: func.func @coordinate(
// RANGE: %[[TRUE:.*]] = arith.constant true
// RANGE: return {{.*}} %[[TRUE]]
func.func @coordinate() -> (index, index, index, i1) {
  %c2 = arith.constant 2 : index
  %0 = remat.rank {size = 2, stride = 3} : index
  %1 = remat.rank {size = 2, stride = 3} : index
  %2 = remat.rank {size = 1, stride = 2} : index
  %less = arith.cmpi ult, %0, %c2 : index
  return %0, %1, %2, %less : index, index, index, i1
}

// CHECK-LABEL: func.func @sum(
// CHECK: %[[R:.*]] = remat.all_reduce sum {remat.phase = "backward", size = 2 : i64, stride = 1 : i64} ins(%{{.*}}, %{{.*}} : tensor<8x4xf32>, tensor<8x4xf32>) outs(%{{.*}} : tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK: return %[[R]]
// Two equal ones are merged, and one without users is erased.
// ONCE-LABEL: func.func @sum(
// ONCE: %[[R:.*]] = remat.all_reduce
// ONCE-NOT: remat.all_reduce
// ONCE: return %[[R]], %[[R]]
func.func @sum(%p0: tensor<8x4xf32>, %p1: tensor<8x4xf32>, %init: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64, remat.phase = "backward"} ins(%p0, %p1 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%init : tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64, remat.phase = "backward"} ins(%p0, %p1 : tensor<8x4xf32>, tensor<8x4xf32>) outs(%init : tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = remat.all_reduce prod {size = 2 : i64, stride = 1 : i64} ins(%p0 : tensor<8x4xf32>) outs(%init : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
}

// CHECK-LABEL: func.func @kinds(
// CHECK-COUNT-2: remat.all_reduce sum
// CHECK: remat.all_reduce prod
// CHECK: remat.all_reduce maximum
// CHECK: remat.all_reduce minimum
// CHECK: remat.all_reduce maxnum
// CHECK: remat.all_reduce minnum
// CHECK: remat.all_reduce maxs
// CHECK: remat.all_reduce mins
// CHECK: remat.all_reduce maxu
// CHECK: remat.all_reduce minu
// CHECK: remat.all_reduce and
// CHECK: remat.all_reduce or
// CHECK: remat.all_reduce xor
func.func @kinds(%a: memref<f32>, %b: memref<?xbf16>, %c: memref<4xi1>, %d: memref<4xi64>) {
  remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%a : memref<f32>) outs(%a : memref<f32>)
  remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%c : memref<4xi1>) outs(%c : memref<4xi1>)
  remat.all_reduce prod {size = 2 : i64, stride = 1 : i64} ins(%b : memref<?xbf16>) outs(%b : memref<?xbf16>)
  remat.all_reduce maximum {size = 2 : i64, stride = 1 : i64} ins(%b : memref<?xbf16>) outs(%b : memref<?xbf16>)
  remat.all_reduce minimum {size = 2 : i64, stride = 1 : i64} ins(%b : memref<?xbf16>) outs(%b : memref<?xbf16>)
  remat.all_reduce maxnum {size = 2 : i64, stride = 1 : i64} ins(%b : memref<?xbf16>) outs(%b : memref<?xbf16>)
  remat.all_reduce minnum {size = 2 : i64, stride = 1 : i64} ins(%b : memref<?xbf16>) outs(%b : memref<?xbf16>)
  remat.all_reduce maxs {size = 2 : i64, stride = 1 : i64} ins(%d : memref<4xi64>) outs(%d : memref<4xi64>)
  remat.all_reduce mins {size = 2 : i64, stride = 1 : i64} ins(%d : memref<4xi64>) outs(%d : memref<4xi64>)
  remat.all_reduce maxu {size = 2 : i64, stride = 1 : i64} ins(%d : memref<4xi64>) outs(%d : memref<4xi64>)
  remat.all_reduce minu {size = 2 : i64, stride = 1 : i64} ins(%d : memref<4xi64>) outs(%d : memref<4xi64>)
  remat.all_reduce and {size = 2 : i64, stride = 1 : i64} ins(%c : memref<4xi1>) outs(%c : memref<4xi1>)
  remat.all_reduce or {size = 2 : i64, stride = 1 : i64} ins(%c : memref<4xi1>) outs(%c : memref<4xi1>)
  remat.all_reduce xor {size = 2 : i64, stride = 1 : i64} ins(%c : memref<4xi1>) outs(%c : memref<4xi1>)
  return
}

// CHECK-LABEL: func.func @gather(
// CHECK: remat.all_gather dim(1) {size = 2 : i64, stride = 1 : i64} ins(%{{.*}} : tensor<8x4xf32>) outs(%{{.*}} : tensor<8x8xf32>) -> tensor<8x8xf32>
// CHECK: remat.all_gather dim(0) {size = 3 : i64, stride = 2 : i64} ins(%{{.*}} : tensor<?x8xf32>) outs(%{{.*}} : tensor<?x8xf32>) -> tensor<?x8xf32>
func.func @gather(%x: tensor<8x4xf32>, %init: tensor<8x8xf32>, %rows: tensor<?x8xf32>, %all: tensor<?x8xf32>) -> (tensor<8x8xf32>, tensor<?x8xf32>) {
  %0 = remat.all_gather dim(1) {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<8x4xf32>) outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = remat.all_gather dim(0) {size = 3 : i64, stride = 2 : i64} ins(%rows : tensor<?x8xf32>) outs(%all : tensor<?x8xf32>) -> tensor<?x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<?x8xf32>
}

// On one rank, one part is the result; two parts are not.
// ONCE-LABEL: func.func @one_rank(
// ONCE-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
// ONCE: %[[SUM:.*]] = remat.all_reduce sum {{.*}} ins(%[[X]], %[[Y]]
// ONCE: return %[[X]], %[[X]], %[[SUM]]
func.func @one_rank(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = remat.all_reduce sum {size = 1 : i64, stride = 1 : i64} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = remat.all_gather dim(0) {size = 1 : i64, stride = 1 : i64} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %2 = remat.all_reduce sum {size = 1 : i64, stride = 1 : i64} ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// The destination is written, so that what was loaded before is loaded again.
// ONCE-LABEL: func.func @memory(
// ONCE-SAME: %[[X:.*]]: memref<4xf32>, %[[Y:.*]]: memref<8xf32>
// ONCE: memref.load %[[X]]
// ONCE: memref.load %[[Y]]
// ONCE: remat.all_gather
// ONCE: %[[AFTER:.*]] = memref.load %[[Y]]
// ONCE-NOT: memref.load
// ONCE: return
func.func @memory(%x: memref<4xf32>, %y: memref<8xf32>) -> (f32, f32, f32, f32) {
  %c0 = arith.constant 0 : index
  %0 = memref.load %x[%c0] : memref<4xf32>
  %1 = memref.load %y[%c0] : memref<8xf32>
  remat.all_gather dim(0) {size = 2 : i64, stride = 1 : i64} ins(%x : memref<4xf32>) outs(%y : memref<8xf32>)
  %2 = memref.load %y[%c0] : memref<8xf32>
  %3 = memref.load %y[%c0] : memref<8xf32>
  return %0, %1, %2, %3 : f32, f32, f32, f32
}

// One on tensors leaves a loop in which nothing changes, one on memory is done each time.
// LOOP-LABEL: func.func @loops(
// LOOP: remat.all_reduce {{.*}} outs(%{{.*}} : tensor<9xf32>)
// LOOP: scf.for
// LOOP: remat.all_reduce {{.*}} outs(%{{.*}} : memref<9xf32>)
func.func @loops(%x: tensor<9xf32>, %buffer: memref<9xf32>, %n: index) -> tensor<9xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%last = %x) -> tensor<9xf32> {
    %0 = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%x : tensor<9xf32>) outs(%x : tensor<9xf32>) -> tensor<9xf32>
    remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%buffer : memref<9xf32>) outs(%buffer : memref<9xf32>)
    scf.yield %0 : tensor<9xf32>
  }
  return %r : tensor<9xf32>
}
