// RUN: remat-opt %s -remat-differentiate | FileCheck %s

// The gradient of the weight goes on from call to call: the last one begins it, and
// the first layer's input is data. Calls that are alike in this share one pair.
// CHECK-LABEL: func.func private @layer(
// CHECK-LABEL: func.func private @layer_fwd
// CHECK-LABEL: func.func private @layer_bwd
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

// CHECK-LABEL: func.func @four_layers_grad(
// CHECK-SAME: %[[W:.*]]: tensor<4xf64> {opt.param}, %[[X:.*]]: tensor<4xf64>)
// CHECK: %[[Y1:.*]]:2 = call @layer_fwd_2(%[[X]], %[[W]])
// CHECK: %[[Y2:.*]]:2 = call @layer_fwd_1(%[[Y1]]#0, %[[W]])
// CHECK: %[[Y3:.*]]:2 = call @layer_fwd_1(%[[Y2]]#0, %[[W]])
// CHECK: %[[Y4:.*]]:2 = call @layer_fwd(%[[Y3]]#0, %[[W]])
// CHECK: %[[D4:.*]]:2 = call @layer_bwd(%[[Y4]]#1, %[[Y3]]#0, %[[W]], %{{[^,]*}}) {remat.phase = "backward"}
// CHECK: %[[D3:.*]]:2 = call @layer_bwd_1(%[[Y3]]#1, %[[Y2]]#0, %[[W]], %[[D4]]#0, %[[D4]]#1)
// CHECK: %[[D2:.*]]:2 = call @layer_bwd_1(%[[Y2]]#1, %[[Y1]]#0, %[[W]], %[[D3]]#0, %[[D3]]#1)
// CHECK: %[[D1:.*]] = call @layer_bwd_2(%[[Y1]]#1, %[[X]], %[[D2]]#0, %[[D2]]#1) {{.*}} -> tensor<4xf64>
// CHECK: return %{{.*}}, %[[D1]]
func.func @four_layers(%w: tensor<4xf64> {opt.param}, %x: tensor<4xf64>) -> tensor<f64> {
  %0 = func.call @layer(%x, %w) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %1 = func.call @layer(%0, %w) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %2 = func.call @layer(%1, %w) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %3 = func.call @layer(%2, %w) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %c = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%c : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {arith.addf} ins(%3 : tensor<4xf64>) outs(%f : tensor<f64>) dimensions = [0]
  return %l : tensor<f64>
}
