// RUN: remat-opt %s -remat-check-orders -split-input-file -verify-diagnostics

func.func @lost(%x: tensor<8xf32>, %init: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{has reduction loops, but no remat.order; the pass that replaced the operation must keep the attribute}}
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %0 : tensor<f32>
}

// -----

func.func @kept(%x: tensor<8xf32>, %init: tensor<f32>) -> tensor<f32> {
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8xf32>) outs(%init : tensor<f32>) dimensions = [0] {remat.order = "along"}
  return %0 : tensor<f32>
}
