// RUN: remat-opt %s -remat-annotate="calls=layer_?,@head" | FileCheck %s
// RUN: remat-opt %s -remat-annotate="scope=inner" | FileCheck %s --check-prefix=CALLEE

// CHECK-LABEL: func.func @loss
// CHECK: %[[A:.*]] = remat.region (%[[X:.*]] = %arg0 : f32) -> f32 attributes {label = "@layer_a 0"} {
// CHECK-NEXT: func.call @layer_a(%[[X]])
// CHECK: remat.region (%{{.*}} = %[[A]] : f32) -> f32 attributes {label = "@layer_a 1"} {
// CHECK: %[[O:.*]] = call @other
// CHECK: remat.region (%{{.*}} = %[[O]] : f32) -> f32 attributes {label = "@head 0"} {
// CHECK: func.func private @layer_a
// CHECK-NOT: remat.region

// CALLEE-LABEL: func.func @loss
// CALLEE-NOT: remat.region
// CALLEE-LABEL: func.func private @layer_a
// CALLEE: remat.region
// CALLEE-NEXT: math.tanh
func.func @loss(%x: f32 {opt.param}) -> f32 {
  %0 = call @layer_a(%x) : (f32) -> f32
  %1 = call @layer_a(%0) : (f32) -> f32
  %2 = call @other(%1) : (f32) -> f32
  %3 = call @head(%2) : (f32) -> f32
  return %3 : f32
}
func.func private @layer_a(%x: f32) -> f32 {
  %0 = math.tanh %x : f32 loc("inner")
  return %0 : f32
}
func.func private @other(f32) -> f32
func.func private @head(f32) -> f32
