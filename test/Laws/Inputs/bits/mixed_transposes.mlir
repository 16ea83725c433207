// A transposed weight that a region reads by a product and by other operations: the product takes the weight itself, as it does without
// regions, so that the gradient of the weight is the same sum.
#row = affine_map<(i, j) -> (i, j)>
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, log_every = 1}
func.func @loss(%w: tensor<48x48xf32> {opt.param = "w", opt.init = "normal(0.3)"}, %x: tensor<8x48xf32> {opt.param = "x", opt.init = "normal(0.5)"})
    -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<48x48xf32>
  %t = linalg.transpose ins(%w : tensor<48x48xf32>) outs(%e : tensor<48x48xf32>) permutation = [1, 0]
  %d = tensor.empty() : tensor<8x48xf32>
  %f = linalg.fill ins(%zero : f32) outs(%d : tensor<8x48xf32>) -> tensor<8x48xf32>
  %h = linalg.matmul ins(%x, %w : tensor<8x48xf32>, tensor<48x48xf32>) outs(%f : tensor<8x48xf32>) -> tensor<8x48xf32>
  %y, %s = remat.region policy(#remat.dots_saveable) (%a = %h : tensor<8x48xf32>, %b = %t : tensor<48x48xf32>) -> tensor<8x48xf32>, tensor<48x48xf32> {
    %zero0 = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<48x48xf32>
    %g = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]} ins(%b : tensor<48x48xf32>) outs(%e0 : tensor<48x48xf32>) {
    ^bb0(%p: f32, %acc: f32):
      %q = math.sin %p : f32
      linalg.yield %q : f32
    } -> tensor<48x48xf32>
    %m = remat.region policy(#remat.nothing_saveable) (%c = %a : tensor<8x48xf32>, %k = %b : tensor<48x48xf32>, %o = %g : tensor<48x48xf32>) -> tensor<8x48xf32> {
      %zero1 = arith.constant 0.0 : f32
      %d1 = tensor.empty() : tensor<8x48xf32>
      %f1 = linalg.fill ins(%zero1 : f32) outs(%d1 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %u = linalg.matmul ins(%c, %k : tensor<8x48xf32>, tensor<48x48xf32>) outs(%f1 : tensor<8x48xf32>) -> tensor<8x48xf32>
      %e1 = tensor.empty() : tensor<48x48xf32>
      %r = linalg.mul ins(%k, %o : tensor<48x48xf32>, tensor<48x48xf32>) outs(%e1 : tensor<48x48xf32>) -> tensor<48x48xf32>
      %v = linalg.matmul ins(%u, %r : tensor<8x48xf32>, tensor<48x48xf32>) outs(%f1 : tensor<8x48xf32>) -> tensor<8x48xf32>
      remat.yield %v : tensor<8x48xf32>
    }
    %d0 = tensor.empty() : tensor<8x48xf32>
    %f0 = linalg.fill ins(%zero0 : f32) outs(%d0 : tensor<8x48xf32>) -> tensor<8x48xf32>
    %n = linalg.matmul ins(%m, %b : tensor<8x48xf32>, tensor<48x48xf32>) outs(%f0 : tensor<8x48xf32>) -> tensor<8x48xf32>
    remat.yield %n, %g : tensor<8x48xf32>, tensor<48x48xf32>
  }
  %i = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%i : tensor<f32>) -> tensor<f32>
  %l0 = linalg.generic {indexing_maps = [#row, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%y : tensor<8x48xf32>) outs(%start : tensor<f32>) {
  ^bb0(%p: f32, %acc: f32):
    %c = math.sin %p : f32
    %r = arith.addf %acc, %c : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %l1 = linalg.generic {indexing_maps = [#row, #row, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%s, %t : tensor<48x48xf32>, tensor<48x48xf32>) outs(%l0 : tensor<f32>) {
  ^bb0(%p: f32, %k: f32, %acc: f32):
    %c = arith.mulf %p, %k : f32
    %r = arith.addf %acc, %c : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l1 : tensor<f32>
}
