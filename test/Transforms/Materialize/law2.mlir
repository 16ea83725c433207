// Passes that clean up, between every two of ours: the same operations are
// recomputed, and nothing is saved that was not.
// DEFINE: %{cleanup} = func.func(loop-invariant-code-motion),cse,canonicalize,sccp,cse,canonicalize,func.func(loop-invariant-code-motion)
// RUN: remat-opt %s -pass-pipeline="builtin.module(%{cleanup},remat-plan,%{cleanup},remat-materialize,%{cleanup},remat-inline-regions,%{cleanup},remat-lower-tapes,%{cleanup})" | FileCheck %s
// RUN: remat-opt %s -pass-pipeline="builtin.module(remat-plan,remat-materialize,remat-inline-regions,remat-lower-tapes)" | FileCheck %s

// CHECK-LABEL: func.func @straight_code(
// CHECK-COUNT-2: math.exp
// CHECK: remat.barrier %{{.*}} after %[[CT:.*]] {remat.phase = "recompute"}
// CHECK-COUNT-2: math.exp {{.*}} {remat.phase = "recompute"}
// CHECK-NOT: math.exp
// CHECK: return
func.func @straight_code(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %r:2 = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>, tensor<4xf32>) {
    %0 = math.exp %a : tensor<4xf32>
    %1 = math.exp %0 : tensor<4xf32>
    remat.yield %1 : tensor<4xf32> residuals(%0, %1 : tensor<4xf32>, tensor<4xf32>)
  }
  %dx = remat.backward residuals(%s = %r#0 : tensor<4xf32>, %t = %r#1 : tensor<4xf32>) cotangents(%dy = %ct : tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.mulf %dy, %t : tensor<4xf32>
    %1 = arith.mulf %0, %s : tensor<4xf32>
    remat.yield %1 : tensor<4xf32>
  }
  return %y, %dx : tensor<4xf32>, tensor<4xf32>
}

// Next to the loss, the cotangent is a constant; SCCP and folding know it.
// CHECK-LABEL: func.func @constant_cotangent(
// CHECK: math.exp
// CHECK: math.exp {{.*}} {remat.phase = "recompute"}
// CHECK: return
func.func @constant_cotangent(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %one = arith.constant dense<3.0> : tensor<4xf32>
  %y, %r = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>) {
    %0 = math.exp %a : tensor<4xf32>
    remat.yield %0 : tensor<4xf32> residuals(%0 : tensor<4xf32>)
  }
  %dx = remat.backward residuals(%s = %r : tensor<4xf32>) cotangents(%dy = %one : tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.mulf %dy, %s : tensor<4xf32>
    remat.yield %0 : tensor<4xf32>
  }
  return %y, %dx : tensor<4xf32>, tensor<4xf32>
}

// A region whose input is a constant: nothing folds into the recompute.
// CHECK-LABEL: func.func @constant_input_and_cotangent(
// CHECK: remat.barrier
// CHECK: math.exp {{.*}} {remat.phase = "recompute"}
// CHECK: return
func.func @constant_input_and_cotangent() -> (tensor<4xf32>, tensor<4xf32>) {
  %c = arith.constant 3.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %one = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %y, %r = remat.region (%a = %one : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>) {
    %0 = math.exp %a : tensor<4xf32>
    remat.yield %0 : tensor<4xf32> residuals(%0 : tensor<4xf32>)
  }
  %dx = remat.backward residuals(%s = %r : tensor<4xf32>) cotangents(%dy = %one : tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.mulf %dy, %s : tensor<4xf32>
    remat.yield %0 : tensor<4xf32>
  }
  return %y, %dx : tensor<4xf32>, tensor<4xf32>
}

// p of a nested p: twice forward, three times backward, still.
// CHECK-LABEL: func.func @nested(
// CHECK-COUNT-2: math.exp
// CHECK: remat.barrier
// CHECK-COUNT-2: math.exp {{.*}} {remat.phase = "recompute"}
// CHECK: remat.barrier
// CHECK-COUNT-1: math.exp {{.*}} {remat.phase = "recompute"}
// CHECK-NOT: math.exp
// CHECK: return
func.func @nested(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r:2 = remat.region (%a = %x : f32) -> f32 residuals(f32, f32) {
    %h, %hr = remat.region (%b = %a : f32) -> f32 residuals(f32) {
      %0 = math.exp %b : f32
      remat.yield %0 : f32 residuals(%0 : f32)
    }
    %1 = math.exp %h : f32
    remat.yield %1 : f32 residuals(%1, %hr : f32, f32)
  }
  %dx = remat.backward residuals(%e = %r#0 : f32, %hr = %r#1 : f32) cotangents(%dy = %ct : f32) -> f32 {
    %dh = arith.mulf %dy, %e : f32
    %0 = remat.backward residuals(%i = %hr : f32) cotangents(%di = %dh : f32) -> f32 {
      %1 = arith.mulf %i, %di : f32
      remat.yield %1 : f32
    }
    remat.yield %0 : f32
  }
  return %y, %dx : f32, f32
}

// Two regions on one input, two backwards on one cotangent: each recomputes for
// itself; only the barriers, which are the same value, may become one.
// CHECK-LABEL: func.func @fills_of_two_regions_stay_two(
// CHECK: remat.barrier
// CHECK: linalg.fill {remat.phase = "recompute"}
// CHECK: linalg.fill {remat.phase = "recompute"}
// CHECK: return
func.func @fills_of_two_regions_stay_two(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %r = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>) {
    %z = arith.constant 2.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %0 = linalg.mul ins(%a, %f : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    remat.yield %0 : tensor<4xf32> residuals(%0 : tensor<4xf32>)
  }
  %y2, %r2 = remat.region (%a = %y : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>) {
    %z = arith.constant 2.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %0 = linalg.mul ins(%a, %f : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    remat.yield %0 : tensor<4xf32> residuals(%0 : tensor<4xf32>)
  }
  %d2 = remat.backward residuals(%s = %r2 : tensor<4xf32>) cotangents(%dy = %ct : tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.mulf %dy, %s : tensor<4xf32>
    remat.yield %0 : tensor<4xf32>
  }
  %d1 = remat.backward residuals(%s = %r : tensor<4xf32>) cotangents(%dy = %d2 : tensor<4xf32>) -> tensor<4xf32> {
    %0 = arith.mulf %dy, %s : tensor<4xf32>
    remat.yield %0 : tensor<4xf32>
  }
  return %y2, %d1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @loop(
// CHECK: scf.for
// CHECK: math.exp
// CHECK: tensor.insert_slice
// CHECK-NOT: tensor.insert_slice
// CHECK: scf.for
// CHECK: remat.barrier
// CHECK: math.exp {{.*}} {remat.phase = "recompute"}
// CHECK: scf.yield
// CHECK: return
func.func @loop(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10x4xf32>
  %f:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%h = %x, %t = %e) -> (tensor<4xf32>, tensor<10x4xf32>) {
    %y, %r = remat.region (%a = %h : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>) {
      %0 = math.exp %a : tensor<4xf32>
      %1 = math.sin %0 : tensor<4xf32>
      remat.yield %1 : tensor<4xf32> residuals(%0 : tensor<4xf32>)
    }
    %t1 = remat.tape_write %r into %t[%i] : tensor<4xf32> into tensor<10x4xf32>
    scf.yield %y, %t1 : tensor<4xf32>, tensor<10x4xf32>
  }
  %b = scf.for %j = %c0 to %c10 step %c1 iter_args(%dh = %ct) -> tensor<4xf32> {
    %i = arith.subi %c9, %j : index
    %r = remat.tape_read %f#1[%i] : tensor<10x4xf32> -> tensor<4xf32>
    %dx = remat.backward residuals(%e1 = %r : tensor<4xf32>) cotangents(%dy = %dh : tensor<4xf32>) -> tensor<4xf32> {
      %0 = arith.mulf %dy, %e1 : tensor<4xf32>
      remat.yield %0 : tensor<4xf32>
    }
    scf.yield %dx : tensor<4xf32>
  }
  return %f#0, %b : tensor<4xf32>, tensor<4xf32>
}

// Sum over the loop of f(w): operand and cotangent are invariant, so LICM may
// move what is computed from them alone. It must not move the recompute in front
// of the backward loop, where it would stay alive throughout.
// CHECK-LABEL: func.func @loop_with_invariant_operand_and_cotangent(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: remat.barrier
// CHECK: linalg.exp {remat.phase = "recompute"}
// CHECK: scf.yield
// CHECK: return
func.func @loop_with_invariant_operand_and_cotangent(%w: tensor<4xf32>, %ct: tensor<4xf32>, %n: tensor<10x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10x4xf32>
  %f:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%h = %ct, %t = %e) -> (tensor<4xf32>, tensor<10x4xf32>) {
    %x = tensor.extract_slice %n[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>
    %y, %r = remat.region (%a = %w : tensor<4xf32>, %b = %x : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>) {
      %e0 = tensor.empty() : tensor<4xf32>
      %0 = linalg.exp ins(%a : tensor<4xf32>) outs(%e0 : tensor<4xf32>) -> tensor<4xf32>
      %1 = arith.mulf %0, %b : tensor<4xf32>
      remat.yield %1 : tensor<4xf32> residuals(%0 : tensor<4xf32>)
    }
    %s = arith.addf %h, %y : tensor<4xf32>
    %t1 = remat.tape_write %r into %t[%i] : tensor<4xf32> into tensor<10x4xf32>
    scf.yield %s, %t1 : tensor<4xf32>, tensor<10x4xf32>
  }
  %b = scf.for %j = %c0 to %c10 step %c1 iter_args(%dw = %ct) -> tensor<4xf32> {
    %i = arith.subi %c9, %j : index
    %r = remat.tape_read %f#1[%i] : tensor<10x4xf32> -> tensor<4xf32>
    %x = tensor.extract_slice %n[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>
    %dx = remat.backward (%b0 = %x : tensor<4xf32>) residuals(%e1 = %r : tensor<4xf32>) cotangents(%dy = %ct : tensor<4xf32>) -> tensor<4xf32> {
      %0 = arith.mulf %dy, %e1 : tensor<4xf32>
      %1 = arith.mulf %0, %b0 : tensor<4xf32>
      remat.yield %1 : tensor<4xf32>
    }
    %s = arith.addf %dw, %dx : tensor<4xf32>
    scf.yield %s : tensor<4xf32>
  }
  return %f#0, %b : tensor<4xf32>, tensor<4xf32>
}
