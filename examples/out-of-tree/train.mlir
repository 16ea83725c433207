// A layer and a loss whose activation and optimizer are this project's own. See README.md for how it is compiled and run.
opt.optimizer @signs = #act.sign_descent<lr = #opt.step_decay<initial = 0.0005, factor = 0.5, every = 100>, decay = 0.5>
remat.train_step @step for @loss optimizer(@signs) {eager, steps = 400, log_every = 100, data = "data.npz"}

func.func @loss(%x: tensor<64x4xf32> {remat.data = "x"}, %y: tensor<64x3xf32> {remat.data = "y"}, %w: tensor<4x3xf32> {opt.param = "w", opt.init = "zeros"}) -> tensor<f32> {
  %loss = remat.region policy(#remat.everything_saveable) (%a = %x : tensor<64x4xf32>, %b = %y : tensor<64x3xf32>, %v = %w : tensor<4x3xf32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64x3xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x3xf32>) -> tensor<64x3xf32>
    %p = linalg.matmul ins(%a, %v : tensor<64x4xf32>, tensor<4x3xf32>) outs(%f : tensor<64x3xf32>) -> tensor<64x3xf32>
    %h = act.softplus %p : tensor<64x3xf32>
    %scalar = tensor.empty() : tensor<f32>
    %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
        ins(%h, %b : tensor<64x3xf32>, tensor<64x3xf32>) outs(%start : tensor<f32>) {
    ^bb0(%s: f32, %t: f32, %so_far: f32):
      %d = arith.subf %s, %t : f32
      %l = act.log_cosh %d : f32
      %next = arith.addf %so_far, %l : f32
      linalg.yield %next : f32
    } -> tensor<f32>
    remat.yield %sum : tensor<f32>
  }
  return %loss : tensor<f32>
}
