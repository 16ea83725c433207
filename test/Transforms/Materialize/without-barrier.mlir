// The counterpart of law2.mlir, which shows that its tests can fail: without a
// barrier, and with phases gone as after passes that drop attributes, CSE merges
// the recompute with the original. With the barrier it does not.
// RUN: remat-opt %s -remat-plan -remat-materialize -remat-inline-regions | sed 's/ {remat.phase = "[a-z]*"}//' > %t.mlir
// RUN: remat-opt %t.mlir -cse | FileCheck %s

// CHECK-LABEL: func.func @without(
// CHECK: math.exp
// CHECK-NOT: math.exp
// CHECK: return
func.func @without(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) attributes {prevent_cse = array<i1: false>} {
    %0 = math.exp %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = arith.mulf %dy, %s : f32
    remat.yield %0 : f32
  }
  return %y, %dx : f32, f32
}

// CHECK-LABEL: func.func @with(
// CHECK: math.exp
// CHECK: math.exp
// CHECK: return
func.func @with(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %r = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %0 = math.exp %a : f32
    remat.yield %0 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward residuals(%s = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = arith.mulf %dy, %s : f32
    remat.yield %0 : f32
  }
  return %y, %dx : f32, f32
}
