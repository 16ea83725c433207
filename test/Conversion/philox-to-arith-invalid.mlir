// RUN: remat-opt %s -convert-philox-to-arith -verify-diagnostics

func.func @tensors_are_no_kernel(%c: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error @+1 {{'remat.philox' op of tensors has to become one of their elements first; run -convert-elementwise-to-linalg}}
  %w:4 = remat.philox %c, %c, %c, %c key %c, %c : tensor<4xi32>
  return %w#0 : tensor<4xi32>
}
