// RUN: remat-opt %s -remat-differentiate -canonicalize -cse -split-input-file | FileCheck %s

// Two snapshots of a loop of five iterations, and the state before the last one: the forward has no tapes. The backward runs
// from the last snapshot to its iteration, and takes others on the way.
// CHECK-LABEL: func.func @recurrence_grad(
// CHECK-SAME:    %[[W:.*]]: tensor<4x4xf64> {opt.param}, %[[X:.*]]: tensor<5x8x4xf64>)
// CHECK:         remat.region policy(#remat.snapshots<2>)
// CHECK:           %[[SLOTS:.*]] = tensor.empty() : tensor<3x8x4xf64>
// CHECK:           %[[F:.*]]:4 = scf.for %[[I:.*]] = %{{.*}} iter_args(%[[H:.*]] = %{{.*}}, %[[S:.*]] = %[[SLOTS]], %[[NEXT:.*]] = %{{.*}}, %[[SLOT:.*]] = %{{.*}})
// CHECK:             %[[DUE:.*]] = arith.cmpi eq, %[[I]], %[[NEXT]]
// CHECK:             %[[TAKEN:.*]]:3 = scf.if %[[DUE]]
// CHECK:               %[[WRITTEN:.*]] = remat.tape_write %[[H]] into %[[S]][%[[SLOT]]]
// CHECK:               %[[LEFT:.*]] = arith.subi %{{.*}}, %[[SLOT]]
// CHECK:               %[[THEN:.*]] = remat.next_snapshot from %[[I]] to %{{.*}} free %[[LEFT]]
// CHECK:               scf.yield %[[WRITTEN]], %[[THEN]], %{{.*}} : tensor<3x8x4xf64>, index, index
// CHECK:             } else {
// CHECK:               scf.yield %[[S]], %[[NEXT]], %[[SLOT]]
// CHECK-NOT:         remat.tape_write
// CHECK:             linalg.tanh
// CHECK:           remat.yield {{.*}}%[[F]]#1
// CHECK:         remat.backward
// CHECK:           scf.for {{.*}} iter_args(%[[DH:.*]] = %{{.*}}, %[[DW:.*]] = %{{.*}}, %[[BS:.*]] = %{{.*}})
// CHECK:             %[[K:.*]] = arith.subi
// CHECK:             %[[B:.*]]:2 = remat.barrier %{{.*}} after %[[DH]], %[[DW]] {remat.phase = "recompute"}
// CHECK:             %[[FROM:.*]], %[[AT:.*]] = remat.last_snapshot before %[[K]] of %{{.*}} slots %{{.*}}
// CHECK:             remat.tape_read %[[BS]][%[[AT]]]
// CHECK:             %[[A:.*]]:4 = scf.for %[[J:.*]] = %[[FROM]] to %[[K]]
// CHECK:               scf.if
// CHECK:               linalg.matmul
// CHECK:               linalg.tanh
// CHECK:             } {remat.phase = "recompute"}
// CHECK:             linalg.matmul {{.*}}ins(%[[A]]#0
// CHECK:             linalg.tanh {remat.phase = "recompute"}
// CHECK:             scf.yield {{.*}}, %[[A]]#1
func.func @recurrence(%w: tensor<4x4xf64> {opt.param}, %x: tensor<5x8x4xf64>) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<8x4xf64>
  %h0 = linalg.fill ins(%zero : f64) outs(%e : tensor<8x4xf64>) -> tensor<8x4xf64>
  %h = remat.region policy(#remat.snapshots<2>) (%start = %h0 : tensor<8x4xf64>, %v = %w : tensor<4x4xf64>, %xs = %x : tensor<5x8x4xf64>) -> tensor<8x4xf64> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %empty = tensor.empty() : tensor<8x4xf64>
    %r = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %start) -> tensor<8x4xf64> {
      %xi = tensor.extract_slice %xs[%i, 0, 0] [1, 8, 4] [1, 1, 1] : tensor<5x8x4xf64> to tensor<8x4xf64>
      %p = linalg.matmul ins(%a, %v : tensor<8x4xf64>, tensor<4x4xf64>) outs(%xi : tensor<8x4xf64>) -> tensor<8x4xf64>
      %t = linalg.tanh ins(%p : tensor<8x4xf64>) outs(%empty : tensor<8x4xf64>) -> tensor<8x4xf64>
      scf.yield %t : tensor<8x4xf64>
    }
    remat.yield %r : tensor<8x4xf64>
  }
  %s = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {arith.addf} ins(%h : tensor<8x4xf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %l : tensor<f64>
}

// -----

// As many snapshots as iterations are a tape, and no iteration is run but for its own backward. The sum, which the
// backward does not read, is no part of the state.
// CHECK-LABEL: func.func @all_kept_grad(
// CHECK:         tensor.empty() : tensor<3x4xf64>
// CHECK-NOT:     tensor.empty() : tensor<3xf64>
// CHECK:         scf.for %[[I:.*]] = {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[T:.*]] = %{{.*}})
// CHECK:           remat.tape_write %[[A]] into %[[T]][%[[I]]]
// CHECK:         remat.backward
// CHECK-NOT:       remat.last_snapshot
// CHECK:           scf.for
// CHECK:             remat.tape_read
// CHECK-NOT:         scf.for
// CHECK:             math.sin
func.func @all_kept(%w: tensor<4xf64> {opt.param}) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %s = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %h = remat.region policy(#remat.snapshots<7>) (%start = %w : tensor<4xf64>, %sum = %f : tensor<f64>) -> tensor<f64> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %start, %total = %sum) -> (tensor<4xf64>, tensor<f64>) {
      %e = math.exp %a : tensor<4xf64>
      %y = math.sin %e : tensor<4xf64>
      %more = linalg.dot ins(%y, %y : tensor<4xf64>, tensor<4xf64>) outs(%total : tensor<f64>) -> tensor<f64>
      scf.yield %y, %more : tensor<4xf64>, tensor<f64>
    }
    remat.yield %r#1 : tensor<f64>
  }
  return %h : tensor<f64>
}

// -----

// The backward of an iteration reads nothing that the loop carries, so that there is no snapshot.
// CHECK-LABEL: func.func @no_state_grad(
// CHECK-NOT:     tape
// CHECK-NOT:     snapshot {{.*}} to
// CHECK:         remat.backward
// CHECK:           scf.for
// CHECK:             math.exp
// CHECK-NOT:     last_snapshot
func.func @no_state(%w: tensor<4xf64> {opt.param}, %x: tensor<6x4xf64>) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %s = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %h = remat.region policy(#remat.snapshots<1>) (%v = %w : tensor<4xf64>, %xs = %x : tensor<6x4xf64>, %sum = %f : tensor<f64>) -> tensor<f64> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c6 = arith.constant 6 : index
    %r = scf.for %i = %c0 to %c6 step %c1 iter_args(%total = %sum) -> tensor<f64> {
      %xi = tensor.extract_slice %xs[%i, 0] [1, 4] [1, 1] : tensor<6x4xf64> to tensor<4xf64>
      %p = arith.mulf %xi, %v : tensor<4xf64>
      %e = math.exp %p : tensor<4xf64>
      %more = linalg.dot ins(%e, %e : tensor<4xf64>, tensor<4xf64>) outs(%total : tensor<f64>) -> tensor<f64>
      scf.yield %more : tensor<f64>
    }
    remat.yield %r : tensor<f64>
  }
  return %h : tensor<f64>
}

// -----

// A trip count that is known when the loop begins; an assertion is not recomputed.
// CHECK-LABEL: func.func @counted_grad(
// CHECK:         scf.while
// CHECK:         tensor.empty() : tensor<4x3xf64>
// CHECK:         scf.for
// CHECK:           remat.next_snapshot
// CHECK:           cf.assert
// CHECK:         remat.backward
// CHECK:           remat.last_snapshot
// CHECK-NOT:       cf.assert
// CHECK:         return
func.func @counted(%w: tensor<3xf64> {opt.param}, %n: index) -> f64 {
  %c0 = arith.constant 0 : index
  %r = remat.region policy(#remat.snapshots<3>) (%start = %w : tensor<3xf64>, %count = %n : index) -> tensor<3xf64> {
    %d0 = arith.constant 0 : index
    %d1 = arith.constant 1 : index
    %r:2 = scf.while (%x = %start, %i = %d0) : (tensor<3xf64>, index) -> (tensor<3xf64>, index) {
      %more = arith.cmpi ult, %i, %count : index
      scf.condition(%more) %x, %i : tensor<3xf64>, index
    } do {
    ^bb0(%x: tensor<3xf64>, %i: index):
      %ok = arith.cmpi ult, %i, %count : index
      cf.assert %ok, "counts"
      %y = math.sin %x : tensor<3xf64>
      %j = arith.addi %i, %d1 : index
      scf.yield %y, %j : tensor<3xf64>, index
    }
    remat.yield %r#0 : tensor<3xf64>
  }
  %l = tensor.extract %r[%c0] : tensor<3xf64>
  return %l : f64
}
