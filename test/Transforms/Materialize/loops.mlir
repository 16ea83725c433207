// RUN: remat-opt %s -remat-plan -remat-materialize -split-input-file | FileCheck %s

// The tape of the residual goes, that of the carried operand comes; the slice of
// an invariant tensor is taken again rather than taped.
// CHECK-LABEL: func.func @a_region_in_a_loop_tapes_its_carried_operand_only(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>, %[[XS:[a-z0-9]+]]: tensor<10x4xf32>
// CHECK: %[[T0:.*]] = tensor.empty() : tensor<10x4xf32>
// CHECK: %[[F:.*]]:2 = scf.for %[[I:.*]] = {{.*}} iter_args(%[[H:.*]] = %[[X]], %[[T:.*]] = %[[T0]]) -> (tensor<4xf32>, tensor<10x4xf32>) {
// CHECK: remat.region {{.*}} -> tensor<4xf32> {
// CHECK: %[[T1:.*]] = remat.tape_write %[[H]] into %[[T]][%[[I]]]
// CHECK: scf.yield %{{.*}}, %[[T1]]
// CHECK: scf.for
// CHECK: %[[J:.*]] = arith.subi
// CHECK-DAG: %[[HB:.*]] = remat.tape_read %[[F]]#1[%[[J]]]
// CHECK-DAG: %[[S:.*]] = tensor.extract_slice %[[XS]][%[[J]], 0] [1, 4] [1, 1] {remat.phase = "recompute"}
// CHECK-NOT: tape_read
// CHECK: remat.backward
// CHECK: remat.barrier
// CHECK: math.exp {{.*}} {remat.phase = "recompute"}
// CHECK: return
func.func @a_region_in_a_loop_tapes_its_carried_operand_only(%x: tensor<4xf32>, %xs: tensor<10x4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10x4xf32>
  %e2 = tensor.empty() : tensor<10x4xf32>
  %f:3 = scf.for %i = %c0 to %c10 step %c1 iter_args(%h = %x, %t = %e, %u = %e2) -> (tensor<4xf32>, tensor<10x4xf32>, tensor<10x4xf32>) {
    %s = tensor.extract_slice %xs[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>
    %y, %r = remat.region (%a = %h : tensor<4xf32>, %b = %s : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>) {
      %0 = arith.mulf %a, %b : tensor<4xf32>
      %1 = math.exp %0 : tensor<4xf32>
      remat.yield %1 : tensor<4xf32> residuals(%1 : tensor<4xf32>)
    }
    %t1 = remat.tape_write %r into %t[%i] : tensor<4xf32> into tensor<10x4xf32>
    %u1 = remat.tape_write %s into %u[%i] : tensor<4xf32> into tensor<10x4xf32>
    scf.yield %y, %t1, %u1 : tensor<4xf32>, tensor<10x4xf32>, tensor<10x4xf32>
  }
  %b = scf.for %j = %c0 to %c10 step %c1 iter_args(%dh = %ct) -> tensor<4xf32> {
    %i0 = arith.subi %c9, %j : index
    %r = remat.tape_read %f#1[%i0] : tensor<10x4xf32> -> tensor<4xf32>
    %i1 = arith.subi %c9, %j : index
    %s = remat.tape_read %f#2[%i1] : tensor<10x4xf32> -> tensor<4xf32>
    %dx = remat.backward (%b1 = %s : tensor<4xf32>) residuals(%e1 = %r : tensor<4xf32>) cotangents(%dy = %dh : tensor<4xf32>) -> tensor<4xf32> {
      %0 = arith.mulf %dy, %e1 : tensor<4xf32>
      %1 = arith.mulf %0, %b1 : tensor<4xf32>
      remat.yield %1 : tensor<4xf32>
    }
    scf.yield %dx : tensor<4xf32>
  }
  return %f#0, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

// A loop inside a region is part of the slice: cloned whole, its tape included.
// CHECK-LABEL: func.func @a_loop_in_a_region_is_recomputed_with_its_tapes(
// CHECK: remat.region (%{{.*}} = %{{.*}} : tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NOT: tape_write
// CHECK: remat.backward
// CHECK: remat.barrier
// CHECK: %[[T:.*]]:2 = scf.for
// CHECK: math.exp {{.*}}recompute
// CHECK: remat.tape_write {{.*}}recompute
// CHECK: scf.for
// CHECK: remat.tape_read %[[T]]#1
// CHECK: return
func.func @a_loop_in_a_region_is_recomputed_with_its_tapes(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %r = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<10x4xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c10 = arith.constant 10 : index
    %e = tensor.empty() : tensor<10x4xf32>
    %f:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%h = %a, %t = %e) -> (tensor<4xf32>, tensor<10x4xf32>) {
      %0 = math.exp %h : tensor<4xf32>
      %t1 = remat.tape_write %0 into %t[%i] : tensor<4xf32> into tensor<10x4xf32>
      scf.yield %0, %t1 : tensor<4xf32>, tensor<10x4xf32>
    }
    remat.yield %f#0 : tensor<4xf32> residuals(%f#1 : tensor<10x4xf32>)
  }
  %dx = remat.backward residuals(%tape = %r : tensor<10x4xf32>) cotangents(%dy = %ct : tensor<4xf32>) -> tensor<4xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %c10 = arith.constant 10 : index
    %b = scf.for %j = %c0 to %c10 step %c1 iter_args(%dh = %dy) -> tensor<4xf32> {
      %i = arith.subi %c9, %j : index
      %e = remat.tape_read %tape[%i] : tensor<10x4xf32> -> tensor<4xf32>
      %0 = arith.mulf %dh, %e : tensor<4xf32>
      scf.yield %0 : tensor<4xf32>
    }
    remat.yield %b : tensor<4xf32>
  }
  return %y, %dx : tensor<4xf32>, tensor<4xf32>
}

// -----

// Region in loop in region: the inner residual crosses a tape and a border. The
// inner recompute starts from the carried value, whose tape the outer recompute
// makes.
// CHECK-LABEL: func.func @a_region_in_a_loop_in_a_region(
// CHECK: remat.region (%{{.*}} = %{{.*}} : tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NOT: tape_write
// CHECK: remat.backward
// CHECK: %[[F:.*]]:2 = scf.for {{.*}} iter_args(%[[H:.*]] = %{{.*}}, %[[T:.*]] = %{{.*}})
// CHECK: remat.region
// CHECK: remat.tape_write %[[H]] into %[[T]]
// CHECK: scf.for
// CHECK: %[[A:.*]] = remat.tape_read %[[F]]#1
// CHECK: remat.backward (%[[B:.*]] = %[[A]] : tensor<4xf32>) cotangents(
// CHECK: remat.barrier %[[B]]
// CHECK: math.exp
// CHECK: return
func.func @a_region_in_a_loop_in_a_region(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %r = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<10x4xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c10 = arith.constant 10 : index
    %e = tensor.empty() : tensor<10x4xf32>
    %f:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%h = %a, %t = %e) -> (tensor<4xf32>, tensor<10x4xf32>) {
      %g, %gr = remat.region (%b = %h : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>) {
        %0 = math.exp %b : tensor<4xf32>
        %1 = math.sin %0 : tensor<4xf32>
        remat.yield %1 : tensor<4xf32> residuals(%0 : tensor<4xf32>)
      }
      %t1 = remat.tape_write %gr into %t[%i] : tensor<4xf32> into tensor<10x4xf32>
      scf.yield %g, %t1 : tensor<4xf32>, tensor<10x4xf32>
    }
    remat.yield %f#0 : tensor<4xf32> residuals(%f#1 : tensor<10x4xf32>)
  }
  %dx = remat.backward residuals(%tape = %r : tensor<10x4xf32>) cotangents(%dy = %ct : tensor<4xf32>) -> tensor<4xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    %c10 = arith.constant 10 : index
    %b = scf.for %j = %c0 to %c10 step %c1 iter_args(%dh = %dy) -> tensor<4xf32> {
      %i = arith.subi %c9, %j : index
      %e = remat.tape_read %tape[%i] : tensor<10x4xf32> -> tensor<4xf32>
      %d = remat.backward residuals(%e0 = %e : tensor<4xf32>) cotangents(%d0 = %dh : tensor<4xf32>) -> tensor<4xf32> {
        %c = math.cos %e0 : tensor<4xf32>
        %0 = arith.mulf %c, %e0 : tensor<4xf32>
        %1 = arith.mulf %0, %d0 : tensor<4xf32>
        remat.yield %1 : tensor<4xf32>
      }
      scf.yield %d : tensor<4xf32>
    }
    remat.yield %b : tensor<4xf32>
  }
  return %y, %dx : tensor<4xf32>, tensor<4xf32>
}

// -----

// The random state is what crosses, in its own small tape.
// CHECK-LABEL: func.func @a_draw_in_a_loop_tapes_its_state(
// CHECK: scf.for {{.*}} -> (vector<2xi64>, tensor<10xvector<2xi64>>) {
// CHECK: remat.tape_write %{{.*}} : vector<2xi64> into tensor<10xvector<2xi64>>
// CHECK: scf.for
// CHECK: remat.tape_read {{.*}} tensor<10xvector<2xi64>> -> vector<2xi64>
// CHECK-NOT: remat.tape_read
// CHECK: return
func.func @a_draw_in_a_loop_tapes_its_state(%s: vector<2xi64>, %ct: f32) -> (vector<2xi64>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10x100xf32>
  %f:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%h = %s, %t = %e) -> (vector<2xi64>, tensor<10x100xf32>) {
    %y, %r = remat.region (%a = %h : vector<2xi64>) -> vector<2xi64> residuals(tensor<100xf32>) {
      %k = vector.extract %a[0] : i64 from vector<2xi64>
      %m = arith.sitofp %k : i64 to f32
      %e0 = tensor.empty() : tensor<100xf32>
      %0 = linalg.fill ins(%m : f32) outs(%e0 : tensor<100xf32>) -> tensor<100xf32>
      %n = arith.addi %a, %a : vector<2xi64>
      remat.yield %n : vector<2xi64> residuals(%0 : tensor<100xf32>)
    }
    %t1 = remat.tape_write %r into %t[%i] : tensor<100xf32> into tensor<10x100xf32>
    scf.yield %y, %t1 : vector<2xi64>, tensor<10x100xf32>
  }
  %b = scf.for %j = %c0 to %c10 step %c1 iter_args(%dh = %ct) -> f32 {
    %i0 = arith.subi %c9, %j : index
    %r = remat.tape_read %f#1[%i0] : tensor<10x100xf32> -> tensor<100xf32>
    %dx = remat.backward residuals(%m = %r : tensor<100xf32>) cotangents(%dy = %dh : f32) -> f32 {
      %c0_0 = arith.constant 0 : index
      %0 = tensor.extract %m[%c0_0] : tensor<100xf32>
      %1 = arith.mulf %0, %dy : f32
      remat.yield %1 : f32
    }
    scf.yield %dx : f32
  }
  return %f#0, %b : vector<2xi64>, f32
}

// -----

// A tape that is read at another iteration is not what the region computed for
// this one: it stays.
// CHECK-LABEL: func.func @a_tape_read_at_two_places_stays(
// CHECK: scf.for
// CHECK: remat.tape_write
// CHECK: scf.for
// CHECK: remat.tape_read
// CHECK: remat.tape_read
// CHECK-NOT: recompute
// CHECK: return
func.func @a_tape_read_at_two_places_stays(%x: f32, %ct: f32) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10xf32>
  %f:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%h = %x, %t = %e) -> (f32, tensor<10xf32>) {
    %y, %r = remat.region (%a = %h : f32) -> f32 residuals(f32) {
      %1 = math.exp %a : f32
      remat.yield %1 : f32 residuals(%1 : f32)
    }
    %t1 = remat.tape_write %r into %t[%i] : f32 into tensor<10xf32>
    scf.yield %y, %t1 : f32, tensor<10xf32>
  }
  %b = scf.for %j = %c0 to %c9 step %c1 iter_args(%dh = %ct) -> f32 {
    %i0 = arith.subi %c9, %j : index
    %r0 = remat.tape_read %f#1[%i0] : tensor<10xf32> -> f32
    %r1 = remat.tape_read %f#1[%j] : tensor<10xf32> -> f32
    %dx = remat.backward residuals(%p = %r0 : f32, %q = %r1 : f32) cotangents(%dy = %dh : f32) -> f32 {
      %0 = arith.mulf %dy, %p : f32
      %1 = arith.mulf %0, %q : f32
      remat.yield %1 : f32
    }
    scf.yield %dx : f32
  }
  return %f#0, %b : f32, f32
}
