// RUN: remat-opt %s -remat-plan -remat-materialize -split-input-file -verify-diagnostics | FileCheck %s

func.func private @observe(f32) -> f32
func.func private @print(f32)

// The print and the assertion stand beside the slice: once per step.
// CHECK-LABEL: func.func @effects_beside_the_slice_stay_in_the_forward(
// CHECK: func.call @print
// CHECK: cf.assert
// CHECK: remat.backward
// CHECK-NOT: @print
// CHECK-NOT: cf.assert
// CHECK: return
func.func @effects_beside_the_slice_stay_in_the_forward(%x: f32, %ct: f32, %ok: i1) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32, %b = %ok : i1) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    func.call @print(%0) : (f32) -> ()
    cf.assert %b, "not ok"
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %1 = arith.mulf %dy, %s : f32
    remat.yield %1 : f32
  }
  return %y, %dx : f32, f32
}

// -----

func.func private @print(f32)

// CHECK-LABEL: func.func @effects_in_a_cloned_loop_are_left_out_of_the_clone(
// CHECK: scf.for
// CHECK: func.call @print
// CHECK: remat.backward
// CHECK: scf.for
// CHECK-NOT: @print
// CHECK: return
func.func @effects_in_a_cloned_loop_are_left_out_of_the_clone(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%h = %a) -> f32 {
      %1 = math.exp %h : f32
      func.call @print(%1) : (f32) -> ()
      scf.yield %1 : f32
    }
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %1 = arith.mulf %dy, %s : f32
    remat.yield %1 : f32
  }
  return %y, %dx : f32, f32
}

// -----

func.func private @observe(f32) -> f32

func.func @what_depends_on_an_effect_is_refused(%x: f32, %ct: f32) -> (f32, f32) {
  // expected-note @+1 {{region is here}}
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    // expected-error @+1 {{operation with side effects would run again in the backward of its region; move it out of the remat.region, or choose a policy that saves what depends on it}}
    %0 = func.call @observe(%a) : (f32) -> f32
    %1 = math.exp %0 : f32
    remat.yield %1 : f32 residuals(%1 : f32)
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %1 = arith.mulf %dy, %s : f32
    remat.yield %1 : f32
  }
  return %y, %dx : f32, f32
}

// -----

func.func private @observe(f32) -> f32

// CHECK-LABEL: func.func @a_saved_result_of_an_effect_is_fine(
// CHECK: call @observe
// CHECK: remat.backward
// CHECK-NOT: call @observe
// CHECK: math.exp
// CHECK: return
func.func @a_saved_result_of_an_effect_is_fine(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region policy(#remat.save_only_names<"o">) (%a = %x : f32) -> f32 residuals(f32) {
    %0 = func.call @observe(%a) : (f32) -> f32
    %n = remat.name "o" %0 : f32
    %1 = math.exp %n : f32
    remat.yield %1 : f32 residuals(%1 : f32)
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %1 = arith.mulf %dy, %s : f32
    remat.yield %1 : f32
  }
  return %y, %dx : f32, f32
}

// -----

func.func private @p(f32) -> f32 attributes {remat.pure}
func.func @twice(%x: f32) -> f32 {
  %0 = func.call @p(%x) : (f32) -> f32
  %1 = func.call @p(%0) : (f32) -> f32
  return %1 : f32
}

// CHECK-LABEL: func.func @pure_functions_may_run_again(
// CHECK: remat.region {{.*}} -> f32 {
// CHECK: remat.backward
// CHECK: call @twice({{.*}}) {remat.phase = "recompute"}
// CHECK: return
func.func @pure_functions_may_run_again(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %0 = func.call @twice(%a) : (f32) -> f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %1 = arith.mulf %dy, %s : f32
    remat.yield %1 : f32
  }
  return %y, %dx : f32, f32
}

// -----

func.func private @print(f32)

func.func private @first(%x: f32, %more: i1) -> f32 {
  %0 = scf.if %more -> f32 {
    %no = arith.constant false
    %1 = func.call @second(%x, %no) : (f32, i1) -> f32
    scf.yield %1 : f32
  } else {
    scf.yield %x : f32
  }
  func.call @print(%x) : (f32) -> ()
  return %0 : f32
}

func.func private @second(%x: f32, %more: i1) -> f32 {
  %0 = func.call @first(%x, %more) : (f32, i1) -> f32
  return %0 : f32
}

// Functions that call each other have an effect if one of them has it.
// CHECK-LABEL: func.func @calls_in_a_circle(
// CHECK: call @second(%{{.*}}, %{{.*}})
// CHECK-NEXT: call @first
// CHECK: return
func.func @calls_in_a_circle(%x: f32, %ct: f32, %ok: i1) -> (f32, f32) {
  %unread = func.call @second(%x, %ok) : (f32, i1) -> f32
  %unread_too = func.call @first(%x, %ok) : (f32, i1) -> f32
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %1 = arith.mulf %dy, %s : f32
    remat.yield %1 : f32
  }
  return %y, %dx : f32, f32
}
