// sin(sin x), saved as the two cosines that its derivative reads. Policies that
// save neither, both, only sines or only cosines: JAX's counts (its tests of
// custom policies).

// DEFINE: %{policy} = nothing_saveable
// DEFINE: %{recomputes} = sed 's/POLICY/#remat.%{policy}/' %s | remat-opt -remat-plan -remat-materialize -cse -canonicalize | FileCheck %s
// RUN: %{recomputes} --check-prefixes=CHECK,NEITHER
// REDEFINE: %{policy} = everything_saveable
// RUN: %{recomputes} --check-prefixes=CHECK,BOTH
// REDEFINE: %{policy} = save_only_names<"cos">
// RUN: %{recomputes} --check-prefixes=CHECK,BOTH
// REDEFINE: %{policy} = save_only_names<"sin">
// RUN: %{recomputes} --check-prefixes=CHECK,SINES
// A name that dies with its value is no error.
// REDEFINE: %{policy} = save_anything_except_names<"cos">
// RUN: %{recomputes} --check-prefixes=CHECK,SINES

// CHECK: remat.backward
// BOTH-NOT: math.
// NEITHER-DAG: math.cos %{{.*}}recompute
// NEITHER-DAG: math.sin %{{.*}}recompute
// NEITHER-DAG: math.cos %{{.*}}recompute
// NEITHER-NOT: math.
// SINES-COUNT-2: math.cos %{{.*}}recompute
// SINES-NOT: math.
// CHECK: return
func.func @sin_of_sin(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r:2 = remat.region policy(POLICY) (%a = %x : f32) -> f32 residuals(f32, f32) {
    %0 = math.sin %a : f32
    %s0 = remat.name "sin" %0 : f32
    %1 = math.cos %a : f32
    %c0 = remat.name "cos" %1 : f32
    %2 = math.sin %s0 : f32
    %s1 = remat.name "sin" %2 : f32
    %3 = math.cos %s0 : f32
    %c1 = remat.name "cos" %3 : f32
    remat.yield %s1 : f32 residuals(%c0, %c1 : f32, f32)
  }
  %dx = remat.backward residuals(%c0 = %r#0 : f32, %c1 = %r#1 : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = arith.mulf %dy, %c1 : f32
    %1 = arith.mulf %0, %c0 : f32
    remat.yield %1 : f32
  }
  return %y, %dx : f32, f32
}
