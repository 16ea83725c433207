// All but the last position of each sequence: rows of the batch and of the sequence are one dimension only in a copy.
#a = affine_map<(b, m, n, k) -> (b, m, k)>
#w = affine_map<(b, m, n, k) -> (k, n)>
#c = affine_map<(b, m, n, k) -> (b, m, n)>
opt.optimizer @o = #opt.sgd<lr = 1.0e-2>
remat.train_step @step for @loss optimizer(@o) {eager, steps = 2, log_every = 1}
func.func @loss(%x: tensor<8x9x700xf32> {remat.data = "x"}, %w: tensor<700x10xf32> {opt.param = "w", opt.init = "normal(0.1)"},
                %v: tensor<10xf32> {opt.param = "v", opt.init = "normal(0.1)"}) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %scale = arith.constant 1.0e-02 : f32
  %one = arith.constant 1.01 : f32
  %y:2 = scf.for %i = %c0 to %c2 step %c1 iter_args(%h = %x, %acc = %scale) -> (tensor<8x9x700xf32>, f32) {
    %o:2 = remat.region policy(#remat.nothing_saveable) (%g = %h : tensor<8x9x700xf32>, %u = %w : tensor<700x10xf32>, %t = %v : tensor<10xf32>) -> tensor<8x9x700xf32>, f32 {
      %zero = arith.constant 0.0 : f32
      %k = arith.constant 1.01 : f32
      %e = tensor.empty() : tensor<8x9x700xf32>
      %n = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>], iterator_types = ["parallel", "parallel", "parallel"]}
          ins(%g : tensor<8x9x700xf32>) outs(%e : tensor<8x9x700xf32>) {
      ^bb0(%p: f32, %q: f32):
        %0 = math.sin %p : f32
        %1 = arith.mulf %0, %k : f32
        linalg.yield %1 : f32
      } -> tensor<8x9x700xf32>
      %s = tensor.extract_slice %n[0, 0, 0] [8, 8, 700] [1, 1, 1] : tensor<8x9x700xf32> to tensor<8x8x700xf32>
      %f = tensor.empty() : tensor<8x8x10xf32>
      %z = linalg.fill ins(%zero : f32) outs(%f : tensor<8x8x10xf32>) -> tensor<8x8x10xf32>
      %m = linalg.generic {indexing_maps = [#a, #w, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
          ins(%s, %u : tensor<8x8x700xf32>, tensor<700x10xf32>) outs(%z : tensor<8x8x10xf32>) {
      ^bb0(%p: f32, %q: f32, %r: f32):
        %0 = arith.mulf %p, %q : f32
        %1 = arith.addf %r, %0 : f32
        linalg.yield %1 : f32
      } -> tensor<8x8x10xf32>
      %e0 = tensor.empty() : tensor<f32>
      %z0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
      %l = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> ()>], iterator_types = ["reduction", "reduction", "reduction"]}
          ins(%m, %t : tensor<8x8x10xf32>, tensor<10xf32>) outs(%z0 : tensor<f32>) {
      ^bb0(%p: f32, %b: f32, %r: f32):
        %0 = math.tanh %p : f32
        %1 = arith.mulf %0, %b : f32
        %2 = arith.addf %r, %1 : f32
        linalg.yield %2 : f32
      } -> tensor<f32>
      %d = tensor.extract %l[] : tensor<f32>
      remat.yield %n, %d : tensor<8x9x700xf32>, f32
    }
    %a = arith.addf %acc, %o#1 : f32
    scf.yield %o#0, %a : tensor<8x9x700xf32>, f32
  }
  %r = tensor.from_elements %y#1 : tensor<f32>
  return %r : tensor<f32>
}
