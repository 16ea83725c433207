// A region whose policy is this project's own: of two values with names it saves the small one. README.md says how it is
// compiled.
func.func @loss(%x: tensor<64x4xf32> {remat.data = "x"}, %v: tensor<4x256xf32> {opt.param = "v"}, %w: tensor<256x3xf32> {opt.param = "w"}) -> tensor<f32> {
  %loss = remat.region policy(#act.save_small_names<4096, "hidden", "out">) (%a = %x : tensor<64x4xf32>, %b = %v : tensor<4x256xf32>, %c = %w : tensor<256x3xf32>) -> tensor<f32> {
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<64x256xf32>
    %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<64x256xf32>) -> tensor<64x256xf32>
    %p0 = linalg.matmul ins(%a, %b : tensor<64x4xf32>, tensor<4x256xf32>) outs(%f0 : tensor<64x256xf32>) -> tensor<64x256xf32>
    %hidden = remat.name "hidden" %p0 : tensor<64x256xf32>
    %h = act.softplus %hidden : tensor<64x256xf32>
    %e1 = tensor.empty() : tensor<64x3xf32>
    %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<64x3xf32>) -> tensor<64x3xf32>
    %p1 = linalg.matmul ins(%h, %c : tensor<64x256xf32>, tensor<256x3xf32>) outs(%f1 : tensor<64x3xf32>) -> tensor<64x3xf32>
    %out = remat.name "out" %p1 : tensor<64x3xf32>
    %scalar = tensor.empty() : tensor<f32>
    %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
    %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
        ins(%out : tensor<64x3xf32>) outs(%start : tensor<f32>) {
    ^bb0(%s: f32, %so_far: f32):
      %l = act.log_cosh %s : f32
      %next = arith.addf %so_far, %l : f32
      linalg.yield %next : f32
    } -> tensor<f32>
    remat.yield %sum : tensor<f32>
  }
  return %loss : tensor<f32>
}
