// RUN: remat-opt %s -split-input-file -remat-annotate="scope=inner" 2>&1 | FileCheck %s

// CHECK: remark: {{.*}}"inner" becomes 2 regions: what is outside of it reads from it and is read by it

// CHECK-LABEL: func.func @around_another_scope
// CHECK: %[[A:.*]] = remat.region
// CHECK-NEXT: arith.mulf
// CHECK: %[[B:.*]] = math.exp %[[A]]
// CHECK: remat.region (%{{.*}} = %[[B]] : f32)
// CHECK-NEXT: math.sin
func.func @around_another_scope(%x: f32 {opt.param}, %y: f32) -> f32 {
  %0 = arith.mulf %x, %y : f32 loc("inner")
  %1 = math.exp %0 : f32 loc("outer")
  %2 = math.sin %1 : f32 loc("inner")
  return %2 : f32
}

// -----

// Reads and writes of a global keep their order, so the region ends before the
// second read and another one begins after it.

ml_program.global private mutable @seed(dense<0.0> : tensor<f32>) : tensor<f32>

// CHECK-LABEL: func.func @around_a_global
// CHECK: %[[A:.*]] = remat.region
// CHECK-NEXT: arith.mulf
// CHECK: ml_program.global_store @seed = %[[A]]
// CHECK: %[[B:.*]] = ml_program.global_load @seed
// CHECK: remat.region (%{{.*}} = %[[B]]{{.*}} {
// CHECK-NEXT: arith.addf
func.func @around_a_global(%x: tensor<f32> {opt.param}, %y: tensor<f32>) -> tensor<f32> {
  %0 = arith.mulf %x, %y : tensor<f32> loc("inner")
  ml_program.global_store @seed = %0 : tensor<f32>
  %1 = ml_program.global_load @seed : tensor<f32>
  %2 = arith.addf %1, %x : tensor<f32> loc("inner")
  return %2 : tensor<f32>
}
