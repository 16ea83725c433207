// Rules by hand that say what the derivative is: the numbers are the same as without them.

// A function that nothing else differentiates: the root is found by steps that the gradient does not go through.
func.func private @root(%a: tensor<3xf64>) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c60 = arith.constant 60 : index
  %half = arith.constant dense<0.5> : tensor<3xf64>
  %y = scf.for %i = %c0 to %c60 step %c1 iter_args(%s = %a) -> tensor<3xf64> {
    %q = arith.divf %a, %s : tensor<3xf64>
    %t = arith.addf %q, %s : tensor<3xf64>
    %n = arith.mulf %t, %half : tensor<3xf64>
    scf.yield %n : tensor<3xf64>
  }
  return %y : tensor<3xf64>
}
func.func private @root_vjp(%a: tensor<?xf64>, %y: tensor<?xf64>, %dy: tensor<?xf64>) -> tensor<?xf64> {
  %t = arith.addf %y, %y : tensor<?xf64>
  %d = arith.divf %dy, %t : tensor<?xf64>
  return %d : tensor<?xf64>
}
remat.custom_vjp @root_vjp for @root

func.func private @sin_vjp(%x: f64, %y: f64, %dy: f64) -> f64 {
  %c = math.cos %x : f64
  %d = arith.mulf %c, %dy : f64
  return %d : f64
}
remat.custom_vjp @sin_vjp for "math.sin"

func.func @function_in_a_region(%w: tensor<3xf64> {opt.param}) -> tensor<3xf64> {
  %p = arith.mulf %w, %w : tensor<3xf64>
  %y = remat.region (%x = %p : tensor<3xf64>) -> tensor<3xf64> {
    %one = arith.constant dense<1.0> : tensor<3xf64>
    %a = arith.addf %x, %one : tensor<3xf64>
    %r = func.call @root(%a) : (tensor<3xf64>) -> tensor<3xf64>
    %s = math.sin %r : tensor<3xf64>
    remat.yield %s : tensor<3xf64>
  }
  return %y : tensor<3xf64>
}
func.func @kernels_in_a_loop(%w: tensor<3xf64> {opt.param}) -> tensor<3xf64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<3xf64>
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %w) -> tensor<3xf64> {
    %n = linalg.map ins(%s, %w : tensor<3xf64>, tensor<3xf64>) outs(%e : tensor<3xf64>) (%a: f64, %b: f64, %o: f64) {
      %p = arith.mulf %a, %b : f64
      %q = math.sin %p : f64
      linalg.yield %q : f64
    }
    scf.yield %n : tensor<3xf64>
  }
  return %y : tensor<3xf64>
}
