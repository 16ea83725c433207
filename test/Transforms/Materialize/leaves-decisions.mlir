// Decisions to save are operations of the forward until the function's plan
// takes them. They survive without locations, and in text and bytecode.
// RUN: remat-opt %s -remat-plan -remat-materialize | FileCheck %s
// RUN: remat-opt %s -remat-plan -remat-materialize -strip-debuginfo -remat-inline-regions -remat-plan-functions | FileCheck %s --check-prefix=PLAN
// RUN: remat-opt %s -remat-plan -remat-materialize | remat-opt -remat-inline-regions -remat-plan-functions | FileCheck %s --check-prefix=PLAN
// RUN: remat-opt %s -remat-plan -remat-materialize -emit-bytecode | remat-opt -remat-inline-regions -remat-plan-functions | FileCheck %s --check-prefix=PLAN

// CHECK-LABEL: func.func @named(
// CHECK: remat.region
// CHECK: %[[A:.*]] = math.sin
// CHECK-NEXT: remat.saved %[[A]] : tensor<4xf32> #remat.decision<save_named of "a" by "#remat.save_only_names<\22a\22>" because "named by the policy">
// CHECK-NOT: remat.saved
// CHECK: remat.backward
// CHECK-NOT: remat.saved

// PLAN-LABEL: func.func @named(
// PLAN-NOT: remat.saved
// PLAN: remat.plan %{{.*}} : tensor<4xf32> [#remat.decision<save_named of "a" by "#remat.save_only_names<\22a\22>" because "named by the policy">]
func.func @named(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y, %r:2 = remat.region policy(#remat.save_only_names<"a">) (%p = %x : tensor<4xf32>) -> tensor<4xf32> residuals(tensor<4xf32>, tensor<4xf32>) {
    %0 = math.sin %p : tensor<4xf32>
    %a = remat.name "a" %0 : tensor<4xf32>
    %1 = math.exp %a : tensor<4xf32>
    %2 = math.sin %1 : tensor<4xf32>
    remat.yield %2 : tensor<4xf32> residuals(%a, %1 : tensor<4xf32>, tensor<4xf32>)
  }
  remat.begin_backward
  %dx = remat.backward residuals(%a = %r#0 : tensor<4xf32>, %b = %r#1 : tensor<4xf32>) cotangents(%dy = %ct : tensor<4xf32>) -> tensor<4xf32> {
    %0 = math.cos %b : tensor<4xf32>
    %1 = arith.mulf %0, %dy : tensor<4xf32>
    %2 = math.cos %a : tensor<4xf32>
    %3 = arith.mulf %1, %2 : tensor<4xf32>
    remat.yield %3 : tensor<4xf32>
  }
  return %y, %dx : tensor<4xf32>, tensor<4xf32>
}
