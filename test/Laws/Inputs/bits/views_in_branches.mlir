// A transposed weight that both branches read, and operations after them: the product of one branch, in a region, reads the
// weight without the transposition.
opt.optimizer @optimizer = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@optimizer)
func.func @loss(%x: tensor<16x16xf32> {remat.data = "x"}, %w: tensor<16x16xf32> {opt.param = "w", opt.init = "normal(0.2)"}) -> (tensor<f32> {remat.loss}) {
  %z = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %e = tensor.empty() : tensor<16x16xf32>
  %y0 = linalg.fill ins(%z : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
  %t = linalg.transpose ins(%w : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) permutation = [1, 0]
  %first = tensor.extract %x[%c0, %c0] : tensor<16x16xf32>
  %isPositive = arith.cmpf ogt, %first, %z : f32
  %a = scf.if %isPositive -> (tensor<16x16xf32>) {
    %u = linalg.transpose ins(%w : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) permutation = [1, 0]
    %0 = arith.mulf %x, %u : tensor<16x16xf32>
    %1 = math.sin %0 : tensor<16x16xf32>
    scf.yield %1 : tensor<16x16xf32>
  } else {
    %r = remat.region (%i = %x : tensor<16x16xf32>, %j = %t : tensor<16x16xf32>, %f = %y0 : tensor<16x16xf32>) -> tensor<16x16xf32> {
      %0 = linalg.matmul ins(%i, %j : tensor<16x16xf32>, tensor<16x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
      %1 = math.tanh %0 : tensor<16x16xf32>
      remat.yield %1 : tensor<16x16xf32>
    }
    scf.yield %r : tensor<16x16xf32>
  }
  %q = linalg.matmul ins(%a, %w : tensor<16x16xf32>, tensor<16x16xf32>) outs(%y0 : tensor<16x16xf32>) -> tensor<16x16xf32>
  %v = linalg.transpose ins(%w : tensor<16x16xf32>) outs(%e : tensor<16x16xf32>) permutation = [1, 0]
  %s = math.tanh %v : tensor<16x16xf32>
  %b = arith.mulf %q, %s : tensor<16x16xf32>
  %l0 = tensor.empty() : tensor<f32>
  %l1 = linalg.fill ins(%z : f32) outs(%l0 : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%b : tensor<16x16xf32>) outs(%l1 : tensor<f32>) {
  ^bb0(%p: f32, %acc: f32):
    %sq = arith.mulf %p, %p : f32
    %sum = arith.addf %acc, %sq : f32
    linalg.yield %sum : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
