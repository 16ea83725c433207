// Losses that call functions: from several places with several activities, from
// regions and loops, and through each other.

func.func private @scale(%a: tensor<4xf64>, %b: tensor<4xf64>) -> tensor<4xf64> {
  %e = math.exp %a : tensor<4xf64>
  %m = arith.mulf %e, %b : tensor<4xf64>
  return %m : tensor<4xf64>
}
func.func private @layer(%x: tensor<4xf64>, %w: tensor<4xf64>, %unused: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
  %s = math.sin %x : tensor<4xf64>
  %t = func.call @scale(%s, %w) : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
  %u = math.tanh %t : tensor<4xf64>
  %v = arith.mulf %u, %unused : tensor<4xf64>
  return %u, %v : tensor<4xf64>, tensor<4xf64>
}
func.func @calls(%w: tensor<4xf64> {opt.param}, %x: tensor<4xf64>) -> tensor<f64> {
  %0:2 = func.call @layer(%x, %w, %w) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
  %1:2 = func.call @layer(%0#0, %w, %x) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
  %2 = remat.region (%a = %1#0 : tensor<4xf64>, %b = %w : tensor<4xf64>) -> tensor<4xf64> {
    %y:2 = func.call @layer(%a, %b, %b) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
    remat.yield %y#0 : tensor<4xf64>
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%h = %2) -> tensor<4xf64> {
    %y:2 = func.call @layer(%h, %w, %h) : (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>)
    scf.yield %y#1 : tensor<4xf64>
  }
  %c = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%c : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %l = linalg.dot ins(%3, %1#1 : tensor<4xf64>, tensor<4xf64>) outs(%f : tensor<f64>) -> tensor<f64>
  return %l : tensor<f64>
}
