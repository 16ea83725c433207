// RUN: remat-opt %s -remat-inline-regions | FileCheck %s
// RUN: remat-opt %s -remat-inline-regions -remat-inline-regions | FileCheck %s

// CHECK-LABEL: func.func @forward_then_backward_with_barriers_kept(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4xf32>, %[[CT:[a-z0-9]+]]: tensor<4xf32>
// CHECK-NEXT: %[[Y:.*]] = math.sin %[[X]] : tensor<4xf32>
// CHECK-NEXT: remat.begin_backward
// CHECK-NEXT: %[[B:.*]] = remat.barrier %[[X]] after %[[CT]] {remat.phase = "recompute"}
// CHECK-NEXT: %[[C:.*]] = math.cos %[[B]] {remat.phase = "backward"}
// CHECK-NEXT: %[[DX:.*]] = arith.mulf %[[CT]], %[[C]] {remat.phase = "backward"}
// CHECK-NEXT: return %[[Y]], %[[DX]]
func.func @forward_then_backward_with_barriers_kept(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %0 = math.sin %a : tensor<4xf32>
    %1 = remat.name "y" %0 : tensor<4xf32>
    remat.yield %1 : tensor<4xf32>
  }
  %dx = remat.backward (%a = %x : tensor<4xf32>) cotangents(%dy = %ct : tensor<4xf32>) -> tensor<4xf32> {
    %b = remat.barrier %a after %dy {remat.phase = "recompute"} : tensor<4xf32> after tensor<4xf32>
    %c = math.cos %b : tensor<4xf32>
    %0 = arith.mulf %dy, %c {remat.phase = "backward"} : tensor<4xf32>
    remat.yield %0 : tensor<4xf32>
  }
  return %y, %dx : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @nested_regions_and_chained_names(
// CHECK-SAME: %[[X:[a-z0-9]+]]: f32
// CHECK-NEXT: %[[S:.*]] = math.sin %[[X]] : f32
// CHECK-NEXT: %[[R:.*]] = math.cos %[[S]] : f32
// CHECK-NEXT: return %[[R]], %[[X]], %[[X]]
func.func @nested_regions_and_chained_names(%x: f32) -> (f32, f32, f32) {
  %r:2 = remat.region (%a = %x : f32) -> f32, f32 {
    %i:2 = remat.region (%b = %a : f32) -> f32, f32 {
      %0 = math.sin %b : f32
      remat.yield %0, %b : f32, f32
    }
    %c = math.cos %i#0 : f32
    remat.yield %c, %i#1 : f32, f32
  }
  %n = remat.name "a" %x : f32
  %m = remat.name "b" %n : f32
  return %r#0, %r#1, %m : f32, f32, f32
}

// CHECK-LABEL: func.func @functions_without_regions_stay_as_they_are(
// CHECK-NEXT: %[[S:.*]] = math.sin
// CHECK-NEXT: return %[[S]]
func.func @functions_without_regions_stay_as_they_are(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  return %0 : f32
}
