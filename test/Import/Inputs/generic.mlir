func.func @loss(%x: tensor<f32> {opt.param}) -> tensor<f32> {
  %0 = "chlo.erf"(%x) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
