// RUN: remat-opt %s -remat-annotate="scope=teacher name=t" | FileCheck %s --check-prefix=NAME
// RUN: remat-opt %s -remat-annotate="scope=teacher stop" | FileCheck %s --check-prefix=STOP
// RUN: remat-opt %s -remat-annotate="scope=teacher vjp=@rule" | FileCheck %s --check-prefix=VJP
// RUN: remat-opt %s -remat-annotate="scope=teacher vjp=@rule" -remat-differentiate | FileCheck %s --check-prefix=RULE
// RUN: remat-opt %s -remat-annotate="scope=teacher stop" -remat-differentiate 2>&1 | FileCheck %s --check-prefix=GRAD
// RUN: remat-opt %s -remat-annotate="scope=teacher stop" -remat-inline-regions | FileCheck %s --check-prefix=INLINED

// A value that leaves the scope is marked, for everyone who reads it outside.

// NAME-LABEL: func.func @loss
// NAME: %[[S:.*]] = math.sin
// NAME-NEXT: %[[T:.*]] = math.tanh %[[S]]
// NAME-NEXT: %[[N:.*]] = remat.name "t" %[[T]]
// NAME-NEXT: %[[C:.*]] = arith.cmpf ogt, %[[T]]
// NAME-NEXT: %[[B:.*]] = remat.name "t" %[[C]]
// NAME-NEXT: %[[D:.*]] = arith.mulf %[[N]], %{{.*}}
// NAME-NEXT: %[[R:.*]] = arith.select %[[B]], %[[D]], %[[N]]

// Integers have no gradient.
// STOP-LABEL: func.func @loss
// STOP: %[[T:.*]] = math.tanh
// STOP-NEXT: %[[N:.*]] = remat.stop_gradient %[[T]] : tensor<f32>
// STOP-NEXT: %[[C:.*]] = arith.cmpf ogt, %[[T]]
// STOP-NEXT: %[[D:.*]] = arith.mulf %[[N]], %{{.*}}
// STOP-NEXT: arith.select %[[C]], %[[D]], %[[N]]

// INLINED-LABEL: func.func @loss
// INLINED-NOT: remat.
// INLINED: arith.select

// VJP-LABEL: func.func @loss
// VJP: %[[R:.*]]:2 = call @teacher(%arg0) : (tensor<f32>) -> (tensor<f32>, tensor<i1>)
// VJP: arith.mulf %[[R]]#0
// VJP: func.func private @teacher(%[[X:.*]]: tensor<f32>) -> (tensor<f32>, tensor<i1>)
// VJP: math.sin %[[X]]
// VJP: remat.custom_vjp @rule for @teacher

// RULE-LABEL: func.func @loss_grad
// RULE-NOT: math.cos
// RULE: %[[DY:.*]] = linalg.add
// RULE-NEXT: return %{{.*}}, %[[DY]], %{{.*}}

// The derivative with respect to %x is lost, the one with respect to %w is not.
// GRAD: warning: the loss does not depend on parameter 0 of @loss; it is left untouched
// GRAD-LABEL: func.func @loss_grad
// GRAD-SAME: -> (tensor<f32>, tensor<f32> {remat.gradient_of = 1 : i64})
// GRAD-NOT: math.cos
func.func @loss(%x: tensor<f32> {opt.param}, %w: tensor<f32> {opt.param}) -> tensor<f32> {
  %half = arith.constant dense<0.5> : tensor<f32>
  %0 = math.sin %x : tensor<f32> loc("teacher")
  %1 = math.tanh %0 : tensor<f32> loc("teacher")
  %2 = arith.cmpf ogt, %1, %half : tensor<f32> loc("teacher")
  %3 = arith.mulf %1, %w : tensor<f32>
  %4 = arith.select %2, %3, %1 : tensor<i1>, tensor<f32>
  return %4 : tensor<f32>
}
func.func private @rule(%x: tensor<f32>, %y: tensor<f32>, %b: tensor<i1>, %dy: tensor<f32>) -> tensor<f32> {
  return %dy : tensor<f32>
}
