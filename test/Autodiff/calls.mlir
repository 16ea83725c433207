// RUN: remat-opt %s -remat-differentiate | FileCheck %s

// Two calls with the same activity share one pair. The first layer's input is
// data, which makes another pair.
// CHECK-LABEL: func.func private @layer(
// CHECK-LABEL: func.func private @layer_fwd
// CHECK-LABEL: func.func private @layer_bwd
// CHECK-LABEL: func.func private @layer_fwd
// CHECK-LABEL: func.func private @layer_bwd
// CHECK-NOT:   func.func private
func.func private @layer(%x: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<4xf64> {
  %p = arith.mulf %x, %w : tensor<4xf64>
  %s = math.sin %p : tensor<4xf64>
  return %s : tensor<4xf64>
}

// CHECK-LABEL: func.func @three_layers_grad(
// CHECK-SAME: %[[W:.*]]: tensor<4xf64> {opt.param}, %[[X:.*]]: tensor<4xf64>)
// CHECK: %[[Y1:.*]]:2 = call @layer_fwd_1(%[[X]], %[[W]])
// CHECK: %[[Y2:.*]]:2 = call @layer_fwd(%[[Y1]]#0, %[[W]])
// CHECK: %[[Y3:.*]]:2 = call @layer_fwd(%[[Y2]]#0, %[[W]])
// CHECK: %[[D3:.*]]:2 = call @layer_bwd(%[[Y3]]#1, %{{.*}}) {remat.phase = "backward"}
// CHECK: %[[D2:.*]]:2 = call @layer_bwd(%[[Y2]]#1, %{{.*}}, %[[D3]]#0)
// CHECK: call @layer_bwd_1(%[[Y1]]#1, {{.*}}%[[D2]]#0) {{.*}} -> tensor<4xf64>
func.func @three_layers(%w: tensor<4xf64> {opt.param}, %x: tensor<4xf64>) -> tensor<f64> {
  %0 = func.call @layer(%x, %w) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %1 = func.call @layer(%0, %w) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %2 = func.call @layer(%1, %w) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %c = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%c : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {arith.addf} ins(%2 : tensor<4xf64>) outs(%f : tensor<f64>) dimensions = [0]
  return %l : tensor<f64>
}
