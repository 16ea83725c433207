// Linear regression with its gradient written by hand: y = x w, mean of squares, and a model state that sums
// up the y it has seen. The random state is advanced by one per step.

opt.optimizer @adamw = #opt.adamw<lr = 0.1>
remat.train_step @step for @loss optimizer(@adamw) eval(@error)
    {eager, steps = 20, seed = 7, log_every = 5, data = "train.npz", checkpoint = "run.npz", checkpoint_every = 4}

func.func @loss_grad(%w: tensor<3xf32> {opt.param = "w", opt.init = "normal(0.5)"},
                     %x: tensor<4x3xf32> {remat.data = "x"}, %y: tensor<4xf32> {remat.data = "y"},
                     %seen: tensor<f32> {remat.state = "seen", opt.init = "zeros"}, %rng: vector<2xi64>)
    -> (tensor<f32> {remat.loss}, tensor<f32> {remat.state = "seen"}, vector<2xi64>, tensor<3xf32> {remat.gradient_of = 0}) {
  %zero = arith.constant 0.0 : f32
  %quarter = arith.constant 0.25 : f32
  %e4 = tensor.empty() : tensor<4xf32>
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %p = linalg.matvec ins(%x, %w : tensor<4x3xf32>, tensor<3xf32>) outs(%z4 : tensor<4xf32>) -> tensor<4xf32>
  %e = linalg.sub ins(%p, %y : tensor<4xf32>, tensor<4xf32>) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %s = linalg.dot ins(%e, %e : tensor<4xf32>, tensor<4xf32>) outs(%z0 : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%s : tensor<f32>) outs(%e0 : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %quarter : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  %seen1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%y : tensor<4xf32>) outs(%seen : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.addf %o, %a : f32
    linalg.yield %m : f32
  } -> tensor<f32>
  %e3 = tensor.empty() : tensor<3xf32>
  %z3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<3xf32>) -> tensor<3xf32>
  %g = linalg.vecmat ins(%e, %x : tensor<4xf32>, tensor<4x3xf32>) outs(%z3 : tensor<3xf32>) -> tensor<3xf32>
  %gs = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%g : tensor<3xf32>) outs(%e3 : tensor<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %half = arith.constant 0.5 : f32
    %m = arith.mulf %a, %half : f32
    linalg.yield %m : f32
  } -> tensor<3xf32>
  %one = arith.constant dense<[0, 1]> : vector<2xi64>
  %rng1 = arith.addi %rng, %one : vector<2xi64>
  return %loss, %seen1, %rng1, %gs : tensor<f32>, tensor<f32>, vector<2xi64>, tensor<3xf32>
}

func.func @error(%x: tensor<4x3xf32> {remat.data = "x"}, %y: tensor<4xf32> {remat.data = "y"}, %w: tensor<3xf32> {opt.param = "w"})
    -> (tensor<f32> {remat.metric = "error"}, i64 {remat.metric = "examples"}) {
  %zero = arith.constant 0.0 : f32
  %four = arith.constant 4 : i64
  %e4 = tensor.empty() : tensor<4xf32>
  %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %p = linalg.matvec ins(%x, %w : tensor<4x3xf32>, tensor<3xf32>) outs(%z4 : tensor<4xf32>) -> tensor<4xf32>
  %e = linalg.sub ins(%p, %y : tensor<4xf32>, tensor<4xf32>) outs(%e4 : tensor<4xf32>) -> tensor<4xf32>
  %e0 = tensor.empty() : tensor<f32>
  %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %s = linalg.dot ins(%e, %e : tensor<4xf32>, tensor<4xf32>) outs(%z0 : tensor<f32>) -> tensor<f32>
  return %s, %four : tensor<f32>, i64
}
