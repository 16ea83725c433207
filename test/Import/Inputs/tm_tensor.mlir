func.func @loss(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<f32>) -> tensor<f32> {
  %0:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<4xf32>) outs(%y, %z : tensor<4xf32>, tensor<f32>) {
  } -> tensor<4xf32>, tensor<f32>
  return %0#1 : tensor<f32>
}
