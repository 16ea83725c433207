// RUN: remat-opt %s -split-input-file -verify-diagnostics

func.func @one_decision_for_each_residual(%x: f32) -> f32 {
  %dx = remat.backward residuals(%s = %x : f32) cotangents(%dy = %x : f32) -> f32 {
    // expected-error@+1 {{has 0 decisions for 1 residuals; give one for each residual}}
    %p = remat.plan %s : f32 []
    remat.yield %p : f32
  }
  return %dx : f32
}

// -----

func.func @only_in_a_backward_or_a_function(%x: f32, %c: i1) -> f32 {
  %r = scf.if %c -> f32 {
    // expected-error@+1 {{must stand in a remat.backward, or in the body of a function}}
    %y = remat.plan %x : f32 [#remat.decision<save by "me" because "so">]
    scf.yield %y : f32
  } else {
    scf.yield %x : f32
  }
  return %r : f32
}

// -----

func.func @decisions_are_attributes_of_their_kind(%x: f32) -> f32 {
  %dx = remat.backward residuals(%s = %x : f32) cotangents(%dy = %x : f32) -> f32 {
    // expected-error@+1 {{failed to satisfy constraint: decisions, one for each residual}}
    %p = remat.plan %s : f32 ["save"]
    remat.yield %p : f32
  }
  return %dx : f32
}

// -----

func.func @what_is_saved_is_not_recomputed(%x: f32) -> f32 {
  // expected-error@+1 {{is about a value that is saved, but its decision is to recompute it}}
  remat.saved %x : f32 #remat.decision<recompute by "me" because "so">
  return %x : f32
}

// -----

func.func @each_dynamic_dimension_has_a_size(%n: index) -> tensor<?x?xf32> {
  // expected-error@+1 {{has 1 sizes for 2 dynamic dimensions; give one for each}}
  %0 = remat.destination(%n) : tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}
