// RUN: remat-opt %s -remat-differentiate -canonicalize -cse | FileCheck %s

// A loop other than the sequential ones of scf is differentiated through its body: the value that the backward reads leaves
// the region in it as a residual, and the loop by a tape; the captured parameter's gradient is summed in the loop.
// CHECK-LABEL: func.func @body_with_region_grad(
// CHECK-SAME:      %[[W:.*]]: tensor<8xf64> {opt.param}, %[[X:.*]]: tensor<4x8xf64>)
// CHECK:         %[[TAPE:.*]] = tensor.empty() : tensor<4x8xf64>
// CHECK:         %[[F:.*]]:2 = scf.for %{{.*}} iter_args(%{{.*}}, %[[T:.*]] = %[[TAPE]])
// CHECK:           remat.region policy(#remat.nothing_saveable) {{.*}} residuals(tensor<8xf64>)
// CHECK:           remat.tape_write %{{.*}} into %[[T]]
// CHECK:         } {my.tag}
// CHECK:         %[[B:.*]]:2 = scf.for %{{.*}} iter_args(%{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (tensor<4x8xf64>, tensor<8xf64>)
// CHECK:           remat.tape_read %[[F]]#1
// CHECK:           remat.backward
// CHECK-SAME:        sums(%{{.*}} = %[[SUM]] : tensor<8xf64>)
// CHECK:         } {remat.phase = "backward"}
// CHECK:         return %{{.*}}, %[[B]]#1
func.func @body_with_region(%w: tensor<8xf64> {opt.param}, %x: tensor<4x8xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<4x8xf64>
  %y = scf.forall (%i) in (4) shared_outs(%o = %e) -> (tensor<4x8xf64>) {
    %s = tensor.extract_slice %x[%i, 0] [1, 8] [1, 1] : tensor<4x8xf64> to tensor<8xf64>
    %t = remat.region policy(#remat.nothing_saveable) (%a = %s : tensor<8xf64>, %v = %w : tensor<8xf64>) -> tensor<8xf64> {
      %p = arith.mulf %a, %v : tensor<8xf64>
      %q = math.exp %p : tensor<8xf64>
      %r = math.sin %q : tensor<8xf64>
      remat.yield %r : tensor<8xf64>
    }
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %t into %o[%i, 0] [1, 8] [1, 1] : tensor<8xf64> into tensor<4x8xf64>
    }
  } {my.tag}
  %l = tensor.extract %y[%c0, %c0] : tensor<4x8xf64>
  return %l : f64
}

// A function that is called in such a loop is differentiated as in any other.
// CHECK-LABEL: func.func @body_with_call_grad(
// CHECK:         scf.for
// CHECK:           call @layer_fwd
// CHECK:         scf.for
// CHECK:           call @layer_bwd
func.func private @layer(%x: f64, %w: f64) -> f64 {
  %p = arith.mulf %x, %w : f64
  %y = math.sin %p : f64
  return %y : f64
}
func.func @body_with_call(%w: f64 {opt.param}, %x: tensor<4xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f64
  %r = scf.parallel (%i) = (%c0) to (%c4) step (%c1) init (%zero) -> f64 {
    %v = tensor.extract %x[%i] : tensor<4xf64>
    %y = func.call @layer(%v, %w) : (f64, f64) -> f64
    scf.reduce(%y : f64) {
    ^bb0(%a: f64, %b: f64):
      %s = arith.addf %a, %b : f64
      scf.reduce.return %s : f64
    }
  }
  return %r : f64
}
