#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#none = affine_map<(d0, d1) -> ()>
opt.optimizer @o = #opt.sgd<lr = 1.0e-2, momentum = 0.9>
remat.train_step @step for @loss optimizer(@o) {eager, steps = 3}
func.func private @layer(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %s = arith.addf %u, %v : f32
    %t = math.tanh %s : f32
    linalg.yield %t : f32
  } -> tensor<4x8xf32>
  return %h : tensor<4x8xf32>
}
func.func @loss(%x: tensor<4x8xf32> {remat.data = "x"}, %w: tensor<8x8xf32> {opt.param = "w", opt.init = "normal(0.3)"}) -> tensor<f32> {
  %b = tensor.extract_slice %w[0, 0] [1, 8] [1, 1] : tensor<8x8xf32> to tensor<8xf32>
  %h0 = remat.region policy(#remat.nothing_saveable) (%a = %x : tensor<4x8xf32>, %ww = %w : tensor<8x8xf32>, %bb = %b : tensor<8xf32>) -> tensor<4x8xf32> {
    %r = func.call @layer(%a, %ww, %bb) : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    remat.yield %r : tensor<4x8xf32>
  }
  %h1 = remat.region policy(#remat.nothing_saveable) (%a = %h0 : tensor<4x8xf32>, %ww = %w : tensor<8x8xf32>, %bb = %b : tensor<8xf32>) -> tensor<4x8xf32> {
    %r = func.call @layer(%a, %ww, %bb) : (tensor<4x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    remat.yield %r : tensor<4x8xf32>
  }
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]} ins(%h1 : tensor<4x8xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%u: f32, %o: f32):
    %q = arith.mulf %u, %u : f32
    %s = arith.addf %q, %o : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
