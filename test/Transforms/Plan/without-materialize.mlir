// RUN: remat-opt %s -remat-plan -remat-inline-regions | FileCheck %s
// RUN: remat-opt %s -remat-materialize -remat-inline-regions | FileCheck %s

// A plan alone changes nothing, and materialization decides nothing.
// CHECK-LABEL: func.func @saved_as_long_as_nobody_executes_the_plan(
// CHECK: %[[E:.*]] = math.exp
// CHECK-NOT: math.exp
// CHECK: arith.mulf %{{.*}}, %[[E]]
// CHECK-NOT: remat.plan
func.func @saved_as_long_as_nobody_executes_the_plan(%x: f32, %ct: f32) -> (f32, f32) {
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
