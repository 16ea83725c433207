// The gradient of %b has a contribution before act.sum_rows adds one to both of its operands.
func.func @loss(%a: tensor<3xf32> {opt.param}, %b: tensor<3xf32> {opt.param}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %y = act.sum_rows %a, %b : tensor<3xf32> -> tensor<5x3xf32>
  %l1 = linalg.reduce { arith.addf } ins(%y : tensor<5x3xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  %l = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%b : tensor<3xf32>) outs(%l1 : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %c = arith.constant 100.0 : f32
    %m = arith.mulf %v, %c : f32
    %s = arith.addf %acc, %m : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
