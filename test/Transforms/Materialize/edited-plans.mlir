// RUN: remat-opt %s -remat-materialize | FileCheck %s
// RUN: remat-opt %s -remat-print-plan -o /dev/null 2>&1 | FileCheck %s --check-prefix=TABLE
// TABLE: math.sin
// TABLE-NOT: math.exp

// Plans that were changed by hand: values that a backward has anyway are not recomputed.

// CHECK-LABEL: func.func @an_argument_of_the_function(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[E:.*]]: tensor<4xf32>, %[[S:.*]]: f32
// CHECK: %[[KEPT:.*]]:2 = remat.plan %[[X]], %[[S]]
// CHECK: linalg.exp {{.*}} ins(%[[KEPT]]#0 :
func.func @an_argument_of_the_function(%x: tensor<4xf32>, %e: tensor<4xf32>, %s: f32) -> (tensor<4xf32>, f32) {
  %p:2 = remat.plan %x, %s : tensor<4xf32>, f32
      [#remat.decision<rebuild by "me" because "so">, #remat.decision<recompute by "me" because "so">]
  remat.begin_backward
  %y = linalg.exp {remat.phase = "backward"} ins(%p#0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y, %p#1 : tensor<4xf32>, f32
}

// A value that other blocks read is recomputed at the end of this one.
// CHECK-LABEL: func.func @users_in_other_blocks(
// CHECK: %[[AGAIN:.*]] = linalg.exp {remat.phase = "backward"}
// CHECK: cf.cond_br
// CHECK: return %[[AGAIN]]
// CHECK: return %[[AGAIN]]
func.func @users_in_other_blocks(%x: tensor<4xf32>, %e: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  %z = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %p = remat.plan %z : tensor<4xf32> [#remat.decision<rebuild by "me" because "so">]
  cf.cond_br %c, ^left, ^right
^left:
  return %p : tensor<4xf32>
^right:
  return %p : tensor<4xf32>
}

// CHECK-LABEL: func.func @a_value_of_the_backward(
// CHECK: remat.backward
// CHECK: %[[SIN:.*]] = math.sin
// CHECK: %[[EXP:.*]] = math.exp %[[SIN]]
// CHECK: arith.mulf %[[SIN]], %[[EXP]]
func.func @a_value_of_the_backward(%x: f32, %ct: f32) -> (f32, f32) {
  %y, %t = remat.region (%a = %x : f32) -> f32 residuals(f32) {
    %s = math.sin %a : f32
    %c = math.cos %s : f32
    remat.yield %c : f32 residuals(%s : f32)
  }
  %dx = remat.backward (%a = %x : f32) residuals(%s = %t : f32) cotangents(%dy = %ct : f32) -> f32 {
    %e = math.exp %s : f32
    %p:2 = remat.plan %s, %e from %a, %e : f32, f32 from f32, f32
        [#remat.decision<recompute by "me" because "so">, #remat.decision<recompute by "me" because "so">]
    %m = arith.mulf %p#0, %p#1 : f32
    remat.yield %m : f32
  }
  return %y, %dx : f32, f32
}
