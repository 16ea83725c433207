// RUN: remat-opt %s -split-input-file -remat-differentiate | FileCheck %s
// RUN: remat-opt %s -split-input-file -remat-bind-custom-vjp -inline -remat-fuse -remat-differentiate \
// RUN:     -remat-inline-custom-vjp -symbol-dce -canonicalize -cse | FileCheck %s --check-prefix=PIPELINE

// The call stays, nothing is known of what is in it, and the rule stands in
// the backward instead of its adjoint. The rule reads the result, not the input.
// CHECK-LABEL: func.func private @f(
// CHECK-SAME:    no_inline
// CHECK-LABEL: func.func @a_function_grad(
// CHECK-SAME:    %[[W:.*]]: tensor<4xf64>
// CHECK:         %[[Y:.*]]:2 = call @f(%[[W]]
// CHECK-NOT:     math.cos
// CHECK:         %[[CAST:.*]] = tensor.cast %[[Y]]#0 {{.*}} to tensor<?xf64>
// CHECK:         arith.mulf %[[CAST]], %{{.*}} {remat.phase = "backward"} : tensor<?xf64>
// PIPELINE-NOT:  custom_vjp
// PIPELINE-NOT:  no_inline
// PIPELINE-LABEL: func.func @a_function_grad(
// PIPELINE:       math.sin
// PIPELINE-NOT:   call
// PIPELINE:       return
func.func private @f(%x: tensor<4xf64>, %n: index) -> (tensor<4xf64>, index) {
  %y = math.sin %x : tensor<4xf64>
  return %y, %n : tensor<4xf64>, index
}
func.func private @f_vjp(%x: tensor<?xf64>, %n: index, %y: tensor<?xf64>, %m: index, %dy: tensor<?xf64>)
    -> tensor<?xf64> {
  %dx = arith.mulf %y, %dy : tensor<?xf64>
  return %dx : tensor<?xf64>
}
remat.custom_vjp @f_vjp for @f
func.func @a_function(%w: tensor<4xf64> {opt.param}) -> tensor<f64> {
  %c = arith.constant 1 : index
  %y, %n = func.call @f(%w, %c) : (tensor<4xf64>, index) -> (tensor<4xf64>, index)
  %e = tensor.empty() : tensor<f64>
  %z = arith.constant 0.0 : f64
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {arith.addf} ins(%y : tensor<4xf64>) outs(%f : tensor<f64>) dimensions = [0]
  return %l : tensor<f64>
}

// -----

// In the bodies of kernels, in operations on tensors, in regions and loops: one
// function for the kind and its types.
// CHECK-LABEL: func.func @a_kind_of_scalar_operation(
// CHECK-LABEL: func.func @a_kind_of_scalar_operation_grad(
// CHECK:         remat.region
// CHECK:           linalg.generic
// CHECK:             func.call @math_roundeven(
// CHECK:           linalg.generic
// CHECK:             func.call @math_roundeven(
// CHECK:         remat.backward
// CHECK-NOT:       call
// CHECK:         return
// CHECK:       func.func private @math_roundeven(%{{.*}}: f64) -> f64 attributes {no_inline}
// CHECK-NEXT:    math.roundeven
// CHECK:       remat.custom_vjp @straight_through for @math_roundeven
// CHECK-NOT:   @math_
// PIPELINE-LABEL: func.func @a_kind_of_scalar_operation_grad(
// PIPELINE:         math.roundeven
// PIPELINE-NOT:     call
// PIPELINE:         return
func.func private @straight_through(%x: f64, %y: f64, %dy: f64) -> f64 {
  return %dy : f64
}
remat.custom_vjp @straight_through for "math.roundeven"
func.func @a_kind_of_scalar_operation(%w: tensor<4xf64> {opt.param}) -> tensor<f64> {
  %y = remat.region (%x = %w : tensor<4xf64>) -> tensor<4xf64> {
    %r = math.roundeven %x : tensor<4xf64>
    %e = tensor.empty() : tensor<4xf64>
    %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
        ins(%r : tensor<4xf64>) outs(%e : tensor<4xf64>) {
    ^bb0(%a: f64, %o: f64):
      %s = math.sin %a : f64
      %t = math.roundeven %s : f64
      linalg.yield %t : f64
    } -> tensor<4xf64>
    remat.yield %y : tensor<4xf64>
  }
  %e = tensor.empty() : tensor<f64>
  %z = arith.constant 0.0 : f64
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {arith.addf} ins(%y : tensor<4xf64>) outs(%f : tensor<f64>) dimensions = [0]
  return %l : tensor<f64>
}

// -----

// Operations on tensors of one kind, with two shapes, in a loop: a rule on
// dynamic shapes is for both.
// CHECK-LABEL: func.func @a_kind_of_tensor_operation_grad(
// CHECK:         scf.for
// CHECK:           call @linalg_matmul(
// CHECK:         call @linalg_matmul_0(
// CHECK-NOT:     linalg.matmul
// CHECK:         return
// CHECK:       func.func private @linalg_matmul(
// CHECK-NEXT:    linalg.matmul {test.tag} ins
// CHECK:       remat.custom_vjp @product_vjp for @linalg_matmul
// CHECK:       func.func private @linalg_matmul_0(
// CHECK:       remat.custom_vjp @product_vjp for @linalg_matmul_0
// PIPELINE-LABEL: func.func @a_kind_of_tensor_operation_grad(
// PIPELINE:         linalg.matmul {test.tag}
// PIPELINE:         linalg.matmul ins
// PIPELINE-NOT:     linalg.matmul
// PIPELINE:         return
func.func private @product_vjp(%a: tensor<?x?xf64>, %b: tensor<?x?xf64>, %c: tensor<?x?xf64>, %y: tensor<?x?xf64>,
    %dy: tensor<?x?xf64>) -> (tensor<?x?xf64>, tensor<?x?xf64>, tensor<?x?xf64>) {
  return %a, %b, %dy : tensor<?x?xf64>, tensor<?x?xf64>, tensor<?x?xf64>
}
remat.custom_vjp @product_vjp for "linalg.matmul"
func.func @a_kind_of_tensor_operation(%w: tensor<4x4xf64> {opt.param}, %v: tensor<4x2xf64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %z = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<4x4xf64>
  %f = linalg.fill ins(%z : f64) outs(%e : tensor<4x4xf64>) -> tensor<4x4xf64>
  %p = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %w) -> tensor<4x4xf64> {
    %q = linalg.matmul {test.tag} ins(%s, %w : tensor<4x4xf64>, tensor<4x4xf64>) outs(%f : tensor<4x4xf64>) -> tensor<4x4xf64>
    scf.yield %q : tensor<4x4xf64>
  }
  %e2 = tensor.empty() : tensor<4x2xf64>
  %f2 = linalg.fill ins(%z : f64) outs(%e2 : tensor<4x2xf64>) -> tensor<4x2xf64>
  %y = linalg.matmul ins(%p, %v : tensor<4x4xf64>, tensor<4x2xf64>) outs(%f2 : tensor<4x2xf64>) -> tensor<4x2xf64>
  %e1 = tensor.empty() : tensor<f64>
  %f1 = linalg.fill ins(%z : f64) outs(%e1 : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {arith.addf} ins(%y : tensor<4x2xf64>) outs(%f1 : tensor<f64>) dimensions = [0, 1]
  return %l : tensor<f64>
}

// -----

// The compiler itself puts assertions into rules, at indices that come from data.
// CHECK-LABEL: func.func @a_rule_with_an_assertion_grad(
// CHECK:         call @g(
// CHECK:         cf.assert {{.*}}, "positive"
// PIPELINE-LABEL: func.func @a_rule_with_an_assertion_grad(
// PIPELINE:         cf.assert {{.*}}, "positive"
func.func private @g(%x: f64) -> f64 {
  %y = math.sin %x : f64
  return %y : f64
}
func.func private @g_vjp(%x: f64, %y: f64, %dy: f64) -> f64 {
  %zero = arith.constant 0.0 : f64
  %is_positive = arith.cmpf ogt, %x, %zero : f64
  cf.assert %is_positive, "positive"
  return %dy : f64
}
remat.custom_vjp @g_vjp for @g
func.func @a_rule_with_an_assertion(%w: f64 {opt.param}) -> f64 {
  %l = func.call @g(%w) : (f64) -> f64
  return %l : f64
}
