// Matrices that one region transposes, and that another one multiplies with vectors: without regions a product reads them as
// they lie, and is no `linalg.matvec` any more.
#full = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
#in = affine_map<(i) -> (i)>
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, log_every = 1}
func.func @loss(%x: tensor<37x53xf32> {opt.param = "x", opt.init = "normal(0.3)"}, %b: tensor<3x37x20xf32> {opt.param = "b", opt.init = "normal(0.3)"},
                %v: tensor<37xf32> {opt.param = "v", opt.init = "normal(0.5)"}, %u: tensor<53xf32> {opt.param = "u", opt.init = "normal(0.5)"},
                %s: tensor<3x37xf32> {opt.param = "s", opt.init = "normal(0.5)"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %t, %tb = remat.region policy(#remat.nothing_saveable) (%a = %x : tensor<37x53xf32>, %c = %b : tensor<3x37x20xf32>) -> tensor<53x37xf32>, tensor<3x20x37xf32> {
    %e = tensor.empty() : tensor<53x37xf32>
    %r = linalg.transpose ins(%a : tensor<37x53xf32>) outs(%e : tensor<53x37xf32>) permutation = [1, 0]
    %f = tensor.empty() : tensor<3x20x37xf32>
    %q = linalg.transpose ins(%c : tensor<3x37x20xf32>) outs(%f : tensor<3x20x37xf32>) permutation = [0, 2, 1]
    remat.yield %r, %q : tensor<53x37xf32>, tensor<3x20x37xf32>
  }
  %y, %z, %w = remat.region policy(#remat.dots_saveable) (%a = %t : tensor<53x37xf32>, %c = %v : tensor<37xf32>, %d = %u : tensor<53xf32>, %m = %tb : tensor<3x20x37xf32>, %n = %s : tensor<3x37xf32>)
      -> tensor<53xf32>, tensor<37xf32>, tensor<3x20xf32> {
    %zero0 = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<53xf32>
    %f = linalg.fill ins(%zero0 : f32) outs(%e : tensor<53xf32>) -> tensor<53xf32>
    %p = linalg.matvec ins(%a, %c : tensor<53x37xf32>, tensor<37xf32>) outs(%f : tensor<53xf32>) -> tensor<53xf32>
    %g = tensor.empty() : tensor<37xf32>
    %h = linalg.fill ins(%zero0 : f32) outs(%g : tensor<37xf32>) -> tensor<37xf32>
    %q = linalg.vecmat ins(%d, %a : tensor<53xf32>, tensor<53x37xf32>) outs(%h : tensor<37xf32>) -> tensor<37xf32>
    %i = tensor.empty() : tensor<3x20xf32>
    %j = linalg.fill ins(%zero0 : f32) outs(%i : tensor<3x20xf32>) -> tensor<3x20xf32>
    %k = linalg.batch_matvec ins(%m, %n : tensor<3x20x37xf32>, tensor<3x37xf32>) outs(%j : tensor<3x20xf32>) -> tensor<3x20xf32>
    remat.yield %p, %q, %k : tensor<53xf32>, tensor<37xf32>, tensor<3x20xf32>
  }
  %e = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l0 = linalg.generic {indexing_maps = [#in, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%y : tensor<53xf32>) outs(%start : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %c = math.sin %a : f32
    %r = arith.addf %acc, %c : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %l1 = linalg.generic {indexing_maps = [#in, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%z : tensor<37xf32>) outs(%l0 : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %c = math.sin %a : f32
    %r = arith.addf %acc, %c : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %l2 = linalg.generic {indexing_maps = [#full, #none], iterator_types = ["reduction", "reduction"]} ins(%w : tensor<3x20xf32>) outs(%l1 : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %c = math.sin %a : f32
    %r = arith.addf %acc, %c : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l2 : tensor<f32>
}
