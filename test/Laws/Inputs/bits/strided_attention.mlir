// Queries and keys are every second column of a product, which is saved, or of which these are saved.
#q = affine_map<(m, n, d) -> (m, d)>
#k = affine_map<(m, n, d) -> (n, d)>
#s = affine_map<(m, n, d) -> (m, n)>
#id = affine_map<(i, j) -> (i, j)>
#none = affine_map<(i, j) -> ()>
opt.optimizer @sgd = #opt.sgd<lr = 1.0e-4>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 2, log_every = 1}
func.func @loss(%x: tensor<80x24xf32> {remat.data = "x"}, %w: tensor<24x192xf32> {opt.param = "w", opt.init = "normal(0.1)"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %y = remat.region (%a = %x : tensor<80x24xf32>, %b = %w : tensor<24x192xf32>) -> tensor<80x64xf32> {
    %zero0 = arith.constant 0.0 : f32
    %eh = tensor.empty() : tensor<80x192xf32>
    %zh = linalg.fill ins(%zero0 : f32) outs(%eh : tensor<80x192xf32>) -> tensor<80x192xf32>
    %h = linalg.matmul ins(%a, %b : tensor<80x24xf32>, tensor<24x192xf32>) outs(%zh : tensor<80x192xf32>) -> tensor<80x192xf32>
    %q = tensor.extract_slice %h[0, 0] [80, 64] [1, 2] : tensor<80x192xf32> to tensor<80x64xf32>
    %k = tensor.extract_slice %h[0, 1] [80, 64] [1, 2] : tensor<80x192xf32> to tensor<80x64xf32>
    %v = tensor.extract_slice %h[0, 128] [80, 64] [1, 1] : tensor<80x192xf32> to tensor<80x64xf32>
    %es = tensor.empty() : tensor<80x80xf32>
    %zs = linalg.fill ins(%zero0 : f32) outs(%es : tensor<80x80xf32>) -> tensor<80x80xf32>
    %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%q, %k : tensor<80x64xf32>, tensor<80x64xf32>) outs(%zs : tensor<80x80xf32>) {
    ^bb0(%c: f32, %d: f32, %o: f32):
      %m = arith.mulf %c, %d : f32
      %r = arith.addf %o, %m : f32
      linalg.yield %r : f32
    } -> tensor<80x80xf32>
    %p = linalg.softmax dimension(1) ins(%s : tensor<80x80xf32>) outs(%es : tensor<80x80xf32>) -> tensor<80x80xf32>
    %ey = tensor.empty() : tensor<80x64xf32>
    %zy = linalg.fill ins(%zero0 : f32) outs(%ey : tensor<80x64xf32>) -> tensor<80x64xf32>
    %t = linalg.matmul ins(%p, %v : tensor<80x80xf32>, tensor<80x64xf32>) outs(%zy : tensor<80x64xf32>) -> tensor<80x64xf32>
    remat.yield %t : tensor<80x64xf32>
  }
  %s0 = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%s0 : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]} ins(%y : tensor<80x64xf32>) outs(%f : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %g = arith.mulf %v, %v : f32
    %r = arith.addf %acc, %g : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
