// A layer that this project's own loop applies three times. Its dropout mask is drawn in each iteration, and recomputed with
// the region in the backward. README.md says how it is compiled and run.
remat.generator @dropout seed(3)
opt.optimizer @sgd = #opt.sgd<lr = 0.002>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 40, log_every = 10, data = "data.npz"}

func.func @loss(%x: tensor<64x4xf32> {remat.data = "x"}, %y: tensor<64x4xf32> {remat.data = "z"}, %w: tensor<4x4xf32> {opt.param = "w", opt.init = "zeros"}) -> tensor<f32> {
  %three = arith.constant 3 : index
  %h = act.repeat %three(%x) {
  ^bb0(%input: tensor<64x4xf32>):
    %output = remat.region policy(#remat.nothing_saveable) (%a = %input : tensor<64x4xf32>, %v = %w : tensor<4x4xf32>) -> tensor<64x4xf32> {
      %e = tensor.empty() : tensor<64x4xf32>
      %zero = arith.constant 0.0 : f32
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x4xf32>) -> tensor<64x4xf32>
      %p = linalg.matmul ins(%a, %v : tensor<64x4xf32>, tensor<4x4xf32>) outs(%f : tensor<64x4xf32>) -> tensor<64x4xf32>
      %s = act.softplus %p : tensor<64x4xf32>
      %rng = remat.get_rng @dropout
      %mask, %next = remat.random_bernoulli %rng {p = 0.75 : f64} : tensor<64x4xi1>
      remat.set_rng @dropout, %next
      %d = arith.select %mask, %s, %f : tensor<64x4xi1>, tensor<64x4xf32>
      remat.yield %d : tensor<64x4xf32>
    }
    act.yield %output : tensor<64x4xf32>
  } : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%h, %y : tensor<64x4xf32>, tensor<64x4xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %d = arith.subf %a, %b : f32
    %l = act.log_cosh %d : f32
    %next = arith.addf %sum, %l : f32
    linalg.yield %next : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
