// RUN: remat-opt %s -remat-plan -remat-materialize -split-input-file | FileCheck %s

// A recompute starts from two values that leave the same branch, one after the
// other: the branch that has both takes the place of the one that has the first.

// A function that is called twice in one branch.
// CHECK-LABEL: func.func @called_twice(
// CHECK: %[[F:.*]]:3 = scf.if
// CHECK:   %[[U:.*]] = remat.barrier
// CHECK:   %[[H:.*]] = func.call @fwd(%[[U]])
// CHECK:   %[[Y:.*]] = func.call @fwd(%[[H]])
// CHECK:   scf.yield %[[Y]], %[[U]], %[[H]]
// CHECK: scf.if
// CHECK:   %[[D:.*]] = func.call @bwd(%{{.*}}, %[[F]]#2)
// CHECK:   func.call @bwd(%[[D]], %[[F]]#1)
func.func private @fwd(%x: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  return %y, %r : f32, f32
}
func.func private @bwd(%r: f32, %ct: f32) -> f32 {
  %dx = remat.backward residuals(%e = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = arith.mulf %e, %dy : f32
    remat.yield %0 : f32
  }
  return %dx : f32
}
func.func @called_twice(%x: f32, %ct: f32, %c: i1) -> (f32, f32) {
  %p = ub.poison : f32
  %f:3 = scf.if %c -> (f32, f32, f32) {
    %u = remat.barrier %x : f32
    %h:2 = func.call @fwd(%u) : (f32) -> (f32, f32)
    %y:2 = func.call @fwd(%h#0) : (f32) -> (f32, f32)
    scf.yield %y#0, %h#1, %y#1 : f32, f32, f32
  } else {
    scf.yield %x, %p, %p : f32, f32, f32
  }
  %d = scf.if %c -> (f32) {
    %dh = func.call @bwd(%f#2, %ct) : (f32, f32) -> f32
    %dx = func.call @bwd(%f#1, %dh) : (f32, f32) -> f32
    scf.yield %dx : f32
  } else {
    scf.yield %ct : f32
  }
  return %f#0, %d : f32, f32
}

// -----

// Index arithmetic in a loop that reads two values of the branch around it.
// CHECK-LABEL: func.func @two_inputs(
// CHECK: scf.if
// CHECK:   %[[U:.*]] = remat.barrier
// CHECK:   %[[V:.*]] = remat.barrier
// CHECK:   scf.yield %{{.*}}, %[[U]], %[[V]], %{{.*}} :
// CHECK: scf.for
// CHECK:   %[[S:.*]] = arith.addi %[[F:.*]]#1, %[[F]]#2 {remat.phase = "recompute"} : i64
// CHECK:   remat.backward ({{.*}} = %[[S]] : i64
func.func @two_inputs(%x: f32, %n: i64, %ct: f32, %c: i1) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10xf32>
  %f:2 = scf.if %c -> (f32, tensor<10xf32>) {
    %u = remat.barrier %n : i64
    %v = remat.barrier %n : i64
    %l:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%h = %x, %t = %e) -> (f32, tensor<10xf32>) {
      %s = arith.addi %u, %v : i64
      %y, %r = remat.region (%a = %h : f32, %b = %s : i64) -> f32 residuals(f32) {
        %g = arith.sitofp %b : i64 to f32
        %0 = arith.mulf %a, %g : f32
        %1 = math.exp %0 : f32
        remat.yield %1 : f32 residuals(%1 : f32)
      }
      %t1 = remat.tape_write %r into %t[%i] : f32 into tensor<10xf32>
      scf.yield %y, %t1 : f32, tensor<10xf32>
    }
    scf.yield %l#0, %l#1 : f32, tensor<10xf32>
  } else {
    %p = tensor.empty() : tensor<10xf32>
    scf.yield %x, %p : f32, tensor<10xf32>
  }
  %d = scf.if %c -> (f32) {
    %l = scf.for %i = %c0 to %c10 step %c1 iter_args(%dh = %ct) -> (f32) {
      %r = remat.tape_read %f#1[%i] : tensor<10xf32> -> f32
      %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %dh : f32) -> f32 {
        %0 = arith.mulf %dy, %s : f32
        remat.yield %0 : f32
      }
      scf.yield %dx : f32
    }
    scf.yield %l : f32
  } else {
    scf.yield %ct : f32
  }
  return %f#0, %d : f32, f32
}
