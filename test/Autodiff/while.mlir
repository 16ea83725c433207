// RUN: remat-opt %s -remat-differentiate -canonicalize -cse | FileCheck %s

// Only what the condition depends on is counted: a few integers. The loop
// itself runs as often, with tapes of that size.
// CHECK-LABEL: func.func @counter_grad(
// CHECK: %[[N:.*]]:{{.*}} = scf.while ({{.*}}) : (index, index) -> (index, index) {
// CHECK-NOT: linalg
// CHECK-NOT: math
// CHECK: %[[TAPE:.*]] = tensor.empty(%{{.*}}) : tensor<?x3xf64>
// CHECK: scf.for %{{.*}} to %[[N]]#{{[01]}} {{.*}}%[[TAPE]]
// CHECK:   remat.tape_write
// CHECK: scf.for
// CHECK:   remat.tape_read
func.func @counter(%w: tensor<3xf64> {opt.param}, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.while (%x = %w, %i = %c0) : (tensor<3xf64>, index) -> (tensor<3xf64>, index) {
    %more = arith.cmpi ult, %i, %n : index
    scf.condition(%more) %x, %i : tensor<3xf64>, index
  } do {
  ^bb0(%x: tensor<3xf64>, %i: index):
    %y = math.sin %x : tensor<3xf64>
    %j = arith.addi %i, %c1 : index
    scf.yield %y, %j : tensor<3xf64>, index
  }
  %l = tensor.extract %r#0[%c0] : tensor<3xf64>
  return %l : f64
}

// A condition on the values costs a second forward. Computations of the
// before-region for the results are repeated after the loop.
// CHECK-LABEL: func.func @until_small_grad(
// CHECK: scf.while
// CHECK:   math.absf
// CHECK: } do {
// CHECK:   math.sin
// CHECK: %[[F:.*]]:2 = scf.for
// CHECK:   math.exp
// CHECK:   math.sin
// CHECK: math.exp %[[F]]#0
func.func @until_small(%w: f64 {opt.param}) -> f64 {
  %limit = arith.constant 0.1 : f64
  %r = scf.while (%x = %w) : (f64) -> (f64) {
    %size = math.absf %x : f64
    %more = arith.cmpf ogt, %size, %limit : f64
    %e = math.exp %x : f64
    scf.condition(%more) %e : f64
  } do {
  ^bb0(%e: f64):
    %y = math.sin %e : f64
    scf.yield %y : f64
  }
  return %r : f64
}

// A loop that carries nothing active stays as it is.
// CHECK-LABEL: func.func @integers_grad(
// CHECK: scf.while
// CHECK-NOT: scf.for
// CHECK: return
func.func @integers(%w: f64 {opt.param}, %k: i64) -> f64 {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %n = scf.while (%i = %k) : (i64) -> (i64) {
    %more = arith.cmpi sgt, %i, %c0 : i64
    scf.condition(%more) %i : i64
  } do {
  ^bb0(%i: i64):
    %j = arith.shrui %i, %c1 : i64
    scf.yield %j : i64
  }
  %f = arith.sitofp %n : i64 to f64
  %r = arith.mulf %w, %f : f64
  return %r : f64
}

// The trip count of the inner loop changes: no tape on the outer loop could
// hold its tapes, so the backward recomputes it.
// CHECK-LABEL: func.func @triangle_grad(
// CHECK: scf.for
// CHECK: scf.for %[[K:.*]] = %{{.*}} iter_args
// CHECK:   %[[X:.*]] = remat.tape_read %{{.*}} : tensor<?xf64> -> f64
// CHECK:   scf.for {{.*}} iter_args(%{{.*}} = %[[X]]
// CHECK:     remat.tape_write
// CHECK:     math.sin
// CHECK:   scf.for
// CHECK:     remat.tape_read
// CHECK:     math.cos
func.func @triangle(%w: f64 {opt.param}, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %w) -> f64 {
    %s = scf.for %j = %c0 to %i step %c1 iter_args(%b = %a) -> f64 {
      %t = math.sin %b : f64
      scf.yield %t : f64
    }
    scf.yield %s : f64
  }
  return %r : f64
}
