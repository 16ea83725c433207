// RUN: remat-opt %s -remat-differentiate -canonicalize | FileCheck %s

// CHECK-LABEL: func.func @recurrence_grad(
// CHECK-SAME: %[[W:.*]]: tensor<4x4xf64> {opt.param}, %[[X:.*]]: tensor<5x8x4xf64>)
// CHECK-DAG: %[[TAPE_Y:.*]] = tensor.empty() : tensor<5x8x4xf64>
// CHECK: %[[F:.*]]:3 = scf.for %[[I:.*]] = %{{.*}} iter_args(%[[H:.*]] = %{{.*}}, %[[T0:.*]] = %{{.*}}, %[[T1:.*]] = %{{.*}})
// CHECK:   remat.tape_write %[[H]] into %[[T1]][%[[I]]]
// CHECK:   %[[Y:.*]] = linalg.tanh
// CHECK:   remat.tape_write %[[Y]] into %[[T0]][%[[I]]]
// CHECK: %[[B:.*]]:2 = scf.for %[[J:.*]] = %{{.*}} iter_args(%[[DH:.*]] = %{{.*}}, %[[DW:.*]] = %{{.*}})
// CHECK:   %[[K:.*]] = arith.subi %c4, %[[J]]
// CHECK:   remat.tape_read %[[F]]#1[%[[K]]]
// CHECK:   remat.tape_read %[[F]]#2[%[[K]]]
// The weight's gradient accumulates in place.
// CHECK:   %[[SUM:.*]] = linalg.{{.*}} outs(%[[DW]] : tensor<4x4xf64>)
// CHECK:   scf.yield {{.*}}%{{.*}}, %[[SUM]]
// CHECK: return %{{.*}}, %[[B]]#1
func.func @recurrence(%w: tensor<4x4xf64> {opt.param}, %x: tensor<5x8x4xf64>) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : tensor<8x4xf64>
  %h0 = linalg.fill ins(%zero : f64) outs(%e : tensor<8x4xf64>) -> tensor<8x4xf64>
  %h = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %h0) -> tensor<8x4xf64> {
    %xi = tensor.extract_slice %x[%i, 0, 0] [1, 8, 4] [1, 1, 1] : tensor<5x8x4xf64> to tensor<8x4xf64>
    %p = linalg.matmul ins(%a, %w : tensor<8x4xf64>, tensor<4x4xf64>) outs(%xi : tensor<8x4xf64>) -> tensor<8x4xf64>
    %t = linalg.tanh ins(%p : tensor<8x4xf64>) outs(%e : tensor<8x4xf64>) -> tensor<8x4xf64>
    scf.yield %t : tensor<8x4xf64>
  }
  %s = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {arith.addf} ins(%h : tensor<8x4xf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %l : tensor<f64>
}

// Values that depend on the induction variable alone are recomputed: no tape.
// CHECK-LABEL: func.func @invariant_reads_need_no_tape_grad(
// CHECK-NOT: remat.tape_write
// CHECK: scf.for
// CHECK: scf.for
// CHECK:   tensor.extract_slice
// CHECK: return
func.func @invariant_reads_need_no_tape(%w: tensor<4xf64> {opt.param}, %x: tensor<6x4xf64>, %lb: index, %ub: index, %step: index) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %s = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %l = scf.for %i = %lb to %ub step %step iter_args(%a = %f) -> tensor<f64> {
    %xi = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<6x4xf64> to tensor<4xf64>
    %d = linalg.dot ins(%xi, %w : tensor<4xf64>, tensor<4xf64>) outs(%a : tensor<f64>) -> tensor<f64>
    scf.yield %d : tensor<f64>
  }
  return %l : tensor<f64>
}

// A loop in a loop: the inner tape is recorded on the outer one.
// CHECK-LABEL: func.func @nested_loops_grad(
// CHECK: scf.for {{.*}} -> (tensor<f64>, tensor<3x2xf64>) {
// CHECK:   scf.for {{.*}} -> (tensor<f64>, tensor<2xf64>) {
// CHECK:     remat.tape_write %{{.*}} : tensor<f64> into tensor<2xf64>
// CHECK:   remat.tape_write %{{.*}} : tensor<2xf64> into tensor<3x2xf64>
// CHECK: scf.for
// CHECK:   remat.tape_read %{{.*}} : tensor<3x2xf64> -> tensor<2xf64>
// CHECK:   scf.for
// CHECK:     remat.tape_read %{{.*}} : tensor<2xf64> -> tensor<f64>
func.func @nested_loops(%w: tensor<f64> {opt.param}) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<f64>
  %l = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %w) -> tensor<f64> {
    %m = scf.for %j = %c0 to %c2 step %c1 iter_args(%b = %a) -> tensor<f64> {
      %t = linalg.exp ins(%b : tensor<f64>) outs(%e : tensor<f64>) -> tensor<f64>
      scf.yield %t : tensor<f64>
    }
    scf.yield %m : tensor<f64>
  }
  return %l : tensor<f64>
}

// Residuals of a region in a loop go over a tape.
// CHECK-LABEL: func.func @region_in_loop_grad(
// CHECK: scf.for
// CHECK:   %{{.*}}, %[[R:.*]] = remat.region
// CHECK:   remat.tape_write %[[R]] into
// CHECK: scf.for
// CHECK:   %[[READ:.*]] = remat.tape_read
// CHECK:   remat.backward {{.*}}residuals(%{{.*}} = %[[READ]] : tensor<f64>
func.func @region_in_loop(%w: tensor<f64> {opt.param}) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %l = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %w) -> tensor<f64> {
    %m = remat.region (%b = %a : tensor<f64>) -> tensor<f64> {
      %e = tensor.empty() : tensor<f64>
      %t = linalg.exp ins(%b : tensor<f64>) outs(%e : tensor<f64>) -> tensor<f64>
      remat.yield %t : tensor<f64>
    }
    scf.yield %m : tensor<f64>
  }
  return %l : tensor<f64>
}
