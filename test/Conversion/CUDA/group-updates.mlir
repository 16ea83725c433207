// RUN: remat-opt %s --remat-group-updates --split-input-file | FileCheck %s

// CHECK-LABEL: func @small_updates_wait_for_the_next(
// CHECK: linalg.exp
// CHECK-NEXT: linalg.sub ins(%arg0
// CHECK-NEXT: linalg.sub ins(%arg1
func.func @small_updates_wait_for_the_next(%w: memref<8xf32> {opt.param}, %v: memref<8xf32> {opt.param}, %x: memref<64xf32>, %y: memref<64xf32>) {
  %g = memref.alloc() : memref<8xf32>
  %h = memref.alloc() : memref<8xf32>
  linalg.sub ins(%w, %g : memref<8xf32>, memref<8xf32>) outs(%w : memref<8xf32>)
  linalg.exp ins(%x : memref<64xf32>) outs(%y : memref<64xf32>)
  linalg.sub ins(%v, %h : memref<8xf32>, memref<8xf32>) outs(%v : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @an_update_does_not_wait_for_a_reader(
// CHECK: linalg.sub ins(%arg0
// CHECK-NEXT: linalg.exp
// CHECK-NEXT: linalg.sub ins(%arg1
func.func @an_update_does_not_wait_for_a_reader(%w: memref<8xf32> {opt.param}, %v: memref<8xf32> {opt.param}, %y: memref<8xf32>) {
  %g = memref.alloc() : memref<8xf32>
  %h = memref.alloc() : memref<8xf32>
  linalg.sub ins(%w, %g : memref<8xf32>, memref<8xf32>) outs(%w : memref<8xf32>)
  linalg.exp ins(%w : memref<8xf32>) outs(%y : memref<8xf32>)
  linalg.sub ins(%v, %h : memref<8xf32>, memref<8xf32>) outs(%v : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @nor_while_its_gradient_is_overwritten(
// CHECK: linalg.sub ins(%arg0
// CHECK-NEXT: linalg.exp
// CHECK-NEXT: linalg.sub ins(%arg1
func.func @nor_while_its_gradient_is_overwritten(%w: memref<8xf32> {opt.param}, %v: memref<8xf32> {opt.param}, %x: memref<8xf32>) {
  %g = memref.alloc() : memref<8xf32>
  linalg.sub ins(%w, %g : memref<8xf32>, memref<8xf32>) outs(%w : memref<8xf32>)
  linalg.exp ins(%x : memref<8xf32>) outs(%g : memref<8xf32>)
  linalg.sub ins(%v, %g : memref<8xf32>, memref<8xf32>) outs(%v : memref<8xf32>)
  return
}

// -----

// Updates do not move across a loop, whose accesses are not known, and those in another block are another group.
// CHECK-LABEL: func @nor_for_a_loop(
// CHECK: linalg.sub ins(%arg0
// CHECK-NEXT: scf.for
func.func @nor_for_a_loop(%w: memref<8xf32> {opt.param}, %v: memref<8xf32> {opt.param}, %x: memref<8xf32>, %y: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %g = memref.alloc() : memref<8xf32>
  linalg.sub ins(%w, %g : memref<8xf32>, memref<8xf32>) outs(%w : memref<8xf32>)
  scf.for %i = %c0 to %n step %c1 {
    linalg.exp ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
  }
  linalg.sub ins(%v, %g : memref<8xf32>, memref<8xf32>) outs(%v : memref<8xf32>)
  return
}

// -----

// A gradient of a MiB would live on, and other work has its place.
// CHECK-LABEL: func @large_updates_and_other_operations_stay(
// CHECK: linalg.sub ins(%arg0
// CHECK-NEXT: linalg.exp ins(%arg2
// CHECK-NEXT: linalg.sub ins(%arg1
// CHECK-NEXT: linalg.exp ins(%arg3
func.func @large_updates_and_other_operations_stay(%w: memref<262144xf32> {opt.param}, %v: memref<262144xf32> {opt.param}, %x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %u: memref<8xf32>) {
  %g = memref.alloc() : memref<262144xf32>
  linalg.sub ins(%w, %g : memref<262144xf32>, memref<262144xf32>) outs(%w : memref<262144xf32>)
  linalg.exp ins(%x : memref<8xf32>) outs(%z : memref<8xf32>)
  linalg.sub ins(%v, %g : memref<262144xf32>, memref<262144xf32>) outs(%v : memref<262144xf32>)
  linalg.exp ins(%y : memref<8xf32>) outs(%u : memref<8xf32>)
  return
}
