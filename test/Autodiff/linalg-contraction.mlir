// RUN: remat-opt %s -remat-differentiate -split-input-file | FileCheck %s

// The adjoints of a product are products, on the forward's loops, so that no
// transposition appears; the kernel's terms are `addf(out, mulf(a, b))`.
// CHECK-DAG: #[[A:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[B:.*]] = affine_map<(d0, d1, d2) -> (d2, d1)>
// CHECK-DAG: #[[C:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK: func.func @both_operands_of_a_product_grad(
// CHECK: linalg.generic {indexing_maps = [#[[B]], #[[C]], #[[A]]], iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK-SAME: ins(%arg1, %[[DY:.*]] : tensor<4x5xf64>, tensor<3x5xf64>)
// CHECK: %[[P:.*]] = arith.mulf
// CHECK-NEXT: %[[S:.*]] = arith.addf %out, %[[P]]
// CHECK-NEXT: linalg.yield %[[S]]
// CHECK: linalg.generic {indexing_maps = [#[[A]], #[[C]], #[[B]]], iterator_types = ["reduction", "parallel", "parallel"]}
// CHECK-SAME: ins(%arg0, %[[DY]] : tensor<3x4xf64>, tensor<3x5xf64>)
func.func @both_operands_of_a_product(%a: tensor<3x4xf64> {opt.param}, %b: tensor<4x5xf64> {opt.param}, %z: tensor<3x5xf64>, %init: tensor<f64>) -> tensor<f64> {
  %y = linalg.matmul ins(%a, %b : tensor<3x4xf64>, tensor<4x5xf64>) outs(%z : tensor<3x5xf64>) -> tensor<3x5xf64>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<3x5xf64>) outs(%init : tensor<f64>) dimensions = [0, 1]
  return %l : tensor<f64>
}

// -----

// Only the wanted operand's product is computed, and only the other one is read.
// CHECK-LABEL: func.func @one_operand_of_a_product_grad(
// CHECK: linalg.matmul
// CHECK: linalg.reduce
// CHECK-NOT: %arg1
// CHECK: iterator_types = ["reduction", "parallel", "parallel"]{{.*}} ins(%arg0,
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @one_operand_of_a_product(%a: tensor<3x4xf64>, %b: tensor<4x5xf64> {opt.param}, %z: tensor<3x5xf64>, %init: tensor<f64>) -> tensor<f64> {
  %y = linalg.matmul ins(%a, %b : tensor<3x4xf64>, tensor<4x5xf64>) outs(%z : tensor<3x5xf64>) -> tensor<3x5xf64>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<3x5xf64>) outs(%init : tensor<f64>) dimensions = [0, 1]
  return %l : tensor<f64>
}

// -----

// Half precision: exact products, summed in f32, rounded once.
// CHECK-LABEL: func.func @half_precision_products_are_summed_in_f32_grad(
// CHECK: outs(%{{.*}} : tensor<4x5xf32>)
// CHECK: %[[A:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: %[[B:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: %[[P:.*]] = arith.mulf %[[A]], %[[B]] : f32
// CHECK: arith.addf %out, %[[P]] : f32
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @half_precision_products_are_summed_in_f32(%a: tensor<3x4xbf16>, %b: tensor<4x5xbf16> {opt.param}, %z: tensor<3x5xbf16>, %init: tensor<bf16>) -> tensor<bf16> {
  %y = linalg.matmul ins(%a, %b : tensor<3x4xbf16>, tensor<4x5xbf16>) outs(%z : tensor<3x5xbf16>) -> tensor<3x5xbf16>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<3x5xbf16>) outs(%init : tensor<bf16>) dimensions = [0, 1]
  return %l : tensor<bf16>
}

// -----

// A product that is rounded once has adjoints that are rounded once, of bf16 throughout.
// CHECK-LABEL: func.func @adjoints_of_rounded_products_are_rounded_products_grad(
// CHECK: remat.order = "rounded product"
// CHECK: ins(%arg1, %[[DY:.*]] : tensor<4x5xbf16>, tensor<3x5xbf16>) outs(%{{.*}} : tensor<3x4xbf16>) attrs = {{.*}}remat.order = "rounded product"
// CHECK-DAG: %[[P:.*]] = arith.mulf {{.*}} : f32
// CHECK-DAG: %[[S:.*]] = arith.extf %out : bf16 to f32
// CHECK: %[[N:.*]] = arith.addf %[[S]], %[[P]] : f32
// CHECK-NEXT: %[[R:.*]] = arith.truncf %[[N]] : f32 to bf16
// CHECK-NEXT: linalg.yield %[[R]] : bf16
// CHECK: ins(%arg0, %[[DY]] : tensor<3x4xbf16>, tensor<3x5xbf16>) outs(%{{.*}} : tensor<4x5xbf16>) attrs = {{.*}}remat.order = "rounded product"
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @adjoints_of_rounded_products_are_rounded_products(%a: tensor<3x4xbf16> {opt.param}, %b: tensor<4x5xbf16> {opt.param}, %init: tensor<bf16>) -> tensor<bf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<3x5xbf16>
  %z = linalg.fill ins(%zero : bf16) outs(%e : tensor<3x5xbf16>) -> tensor<3x5xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<3x4xbf16>, tensor<4x5xbf16>) outs(%z : tensor<3x5xbf16>) attrs = {remat.order = "rounded product"} {
  ^bb0(%p: bf16, %q: bf16, %s: bf16):
    %x = arith.extf %p : bf16 to f32
    %w = arith.extf %q : bf16 to f32
    %v = arith.extf %s : bf16 to f32
    %m = arith.mulf %x, %w : f32
    %u = arith.addf %v, %m : f32
    %r = arith.truncf %u : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<3x5xbf16>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<3x5xbf16>) outs(%init : tensor<bf16>) dimensions = [0, 1]
  return %l : tensor<bf16>
}

// -----

// The initial value of a sum has the sum's cotangent, whatever was added.
// CHECK-LABEL: func.func @the_initial_value_gets_the_cotangent_grad(
// CHECK: %[[DY:.*]] = linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return %{{.*}}, %[[DY]]
func.func @the_initial_value_gets_the_cotangent(%a: tensor<3x4xf64>, %b: tensor<4x5xf64>, %z: tensor<3x5xf64> {opt.param}, %init: tensor<f64>) -> tensor<f64> {
  %y = linalg.matmul ins(%a, %b : tensor<3x4xf64>, tensor<4x5xf64>) outs(%z : tensor<3x5xf64>) -> tensor<3x5xf64>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<3x5xf64>) outs(%init : tensor<f64>) dimensions = [0, 1]
  return %l : tensor<f64>
}
