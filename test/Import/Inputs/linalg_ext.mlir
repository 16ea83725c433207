func.func @loss(%x: tensor<4xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>) -> tensor<4xf32> {
  %0 = iree_linalg_ext.scatter dimension_map = [0] unique_indices(false) ins(%u, %i : tensor<2xf32>, tensor<2x1xi32>) outs(%x : tensor<4xf32>) {
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
