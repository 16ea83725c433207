util.func public @loss(%x: tensor<f32>) -> tensor<f32> {
  util.return %x : tensor<f32>
}
