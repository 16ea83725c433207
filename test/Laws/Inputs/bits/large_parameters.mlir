// Parameters that are updated in parts with eager updates: the longest dimension first or last, with a rest, of three
// dimensions, in bf16, and one that is read twice, whose gradient is a sum and stays whole.
#rows = affine_map<(i, j) -> (i, j)>
#a = affine_map<(i, j, k, l) -> (i, k, l)>
#b = affine_map<(i, j, k, l) -> (k, l, j)>
#c = affine_map<(i, j, k, l) -> (i, j)>
opt.optimizer @optimizer = #opt.adamw<lr = 1.0e-2, weight_decay = 1.0e-2>
func.func @loss(%w1: tensor<600x2063xf32> {opt.param = "w1", opt.init = "normal(0.05)"},
                %w2: tensor<2063x270xf32> {opt.param = "w2", opt.init = "normal(0.05)"},
                %w3: tensor<5x54x2051xf32> {opt.param = "w3", opt.init = "normal(0.05)"},
                %w4: tensor<2051x600xbf16> {opt.param = "w4", opt.init = "normal(0.05)"},
                %x: tensor<3x600xf32> {remat.data = "x"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<3x2063xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3x2063xf32>) -> tensor<3x2063xf32>
  %h1 = remat.region (%p = %x : tensor<3x600xf32>, %w = %w1 : tensor<600x2063xf32>, %z = %z1 : tensor<3x2063xf32>) -> tensor<3x2063xf32> {
    %y = linalg.matmul ins(%p, %w : tensor<3x600xf32>, tensor<600x2063xf32>) outs(%z : tensor<3x2063xf32>) -> tensor<3x2063xf32>
    %t = math.tanh %y : tensor<3x2063xf32>
    remat.yield %t : tensor<3x2063xf32>
  }
  %e2 = tensor.empty() : tensor<3x270xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<3x270xf32>) -> tensor<3x270xf32>
  %h2 = linalg.matmul ins(%h1, %w2 : tensor<3x2063xf32>, tensor<2063x270xf32>) outs(%z2 : tensor<3x270xf32>) -> tensor<3x270xf32>
  %s2 = tensor.expand_shape %h2 [[0], [1, 2]] output_shape [3, 5, 54] : tensor<3x270xf32> into tensor<3x5x54xf32>
  %e3 = tensor.empty() : tensor<3x2051xf32>
  %z3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<3x2051xf32>) -> tensor<3x2051xf32>
  %h3 = linalg.generic {indexing_maps = [#a, #b, #c], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%s2, %w3 : tensor<3x5x54xf32>, tensor<5x54x2051xf32>) outs(%z3 : tensor<3x2051xf32>) {
  ^bb0(%p: f32, %q: f32, %out: f32):
    %m = arith.mulf %p, %q : f32
    %n = arith.addf %out, %m : f32
    linalg.yield %n : f32
  } -> tensor<3x2051xf32>
  %wide = arith.extf %w4 : tensor<2051x600xbf16> to tensor<2051x600xf32>
  %e4 = tensor.empty() : tensor<3x600xf32>
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<3x600xf32>) -> tensor<3x600xf32>
  %h4 = linalg.matmul ins(%h3, %wide : tensor<3x2051xf32>, tensor<2051x600xf32>) outs(%z4 : tensor<3x600xf32>) -> tensor<3x600xf32>
  // The first weights again.
  %h5 = linalg.matmul ins(%h4, %w1 : tensor<3x600xf32>, tensor<600x2063xf32>) outs(%z1 : tensor<3x2063xf32>) -> tensor<3x2063xf32>
  %e6 = tensor.empty() : tensor<f32>
  %z6 = linalg.fill ins(%zero : f32) outs(%e6 : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#rows, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%h5 : tensor<3x2063xf32>) outs(%z6 : tensor<f32>) {
  ^bb0(%p: f32, %out: f32):
    %m = arith.mulf %p, %p : f32
    %n = arith.addf %out, %m : f32
    linalg.yield %n : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
remat.train_step @step for @loss optimizer(@optimizer)
