// A model without products: 32 lines through the origin. It has a name that C has not, and one for each kind of state.
#id = affine_map<(i) -> (i)>
opt.optimizer @adamw = #opt.adamw<lr = 1.0e-2, weight_decay = 0.01>
remat.train_step @step for @loss optimizer(@adamw) {eager, seed = 5}
func.func @loss(%x: tensor<32xf32> {remat.data = "x"}, %y: tensor<32xf32> {remat.data = "y"},
                %w: tensor<32xf32> {opt.param = "w", opt.init = "normal(0.3)"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #id, #id, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x, %y, %w : tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) outs(%start : tensor<f32>) {
  ^bb0(%p: f32, %q: f32, %r: f32, %acc: f32):
    %m = arith.mulf %p, %r : f32
    %d = arith.subf %m, %q : f32
    %s = arith.mulf %d, %d : f32
    %t = arith.addf %acc, %s : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
