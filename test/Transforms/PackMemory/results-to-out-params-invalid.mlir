// RUN: remat-opt %s -remat-results-to-out-params -split-input-file -verify-diagnostics

// expected-error @below {{@updates_a_tensor is still on tensors; run -one-shot-bufferize with bufferize-function-boundaries first}}
func.func @updates_a_tensor(%w: tensor<4xf32> {opt.param = "w"}, %x: memref<4xf32>) -> (tensor<4xf32> {remat.updates = 0}) {
  %0 = arith.addf %w, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{@returns_a_tensor is still on tensors}}
func.func @returns_a_tensor() -> tensor<4xf32> {
  %0 = arith.constant dense<1.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
