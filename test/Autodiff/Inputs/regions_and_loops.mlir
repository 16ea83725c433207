// Losses with regions and loops, together and in each other.

#id = affine_map<(d0) -> (d0)>

func.func @sin_of_sin(%w: tensor<4xf64> {opt.param}) -> tensor<f64> {
  %y = remat.region (%a = %w : tensor<4xf64>) -> tensor<4xf64> {
    %0 = math.sin %a : tensor<4xf64>
    %1 = math.sin %0 : tensor<4xf64>
    remat.yield %1 : tensor<4xf64>
  }
  %c = arith.constant 0.0 : f64
  %z = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%c : f64) outs(%z : tensor<f64>) -> tensor<f64>
  %l = linalg.dot ins(%y, %y : tensor<4xf64>, tensor<4xf64>) outs(%f : tensor<f64>) -> tensor<f64>
  return %l : tensor<f64>
}

// Regions in regions; a weight that is read in three places; an output that is
// an operand; one value passed twice.
func.func @nested_and_tied(%w: tensor<4xf64> {opt.param}, %x: tensor<4xf64>) -> tensor<f64> {
  %y:2 = remat.region (%a = %w : tensor<4xf64>, %b = %x : tensor<4xf64>, %a2 = %w : tensor<4xf64>) -> tensor<4xf64>, tensor<4xf64> {
    %p = arith.mulf %a, %b : tensor<4xf64>
    %q = remat.region (%i = %p : tensor<4xf64>, %j = %a : tensor<4xf64>) -> tensor<4xf64> {
      %e = math.exp %i : tensor<4xf64>
      %n = remat.name "e" %e : tensor<4xf64>
      %s = arith.mulf %n, %j : tensor<4xf64>
      %t = math.tanh %s : tensor<4xf64>
      remat.yield %t : tensor<4xf64>
    }
    %r = arith.mulf %q, %a2 : tensor<4xf64>
    remat.yield %r, %a : tensor<4xf64>, tensor<4xf64>
  }
  %z = remat.region (%a = %y#0 : tensor<4xf64>, %b = %y#1 : tensor<4xf64>, %v = %w : tensor<4xf64>) -> tensor<4xf64> {
    %p = arith.mulf %a, %b : tensor<4xf64>
    %q = arith.mulf %p, %v : tensor<4xf64>
    remat.yield %q : tensor<4xf64>
  }
  %c = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%c : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %l = linalg.dot ins(%z, %w : tensor<4xf64>, tensor<4xf64>) outs(%f : tensor<f64>) -> tensor<f64>
  return %l : tensor<f64>
}

// A recurrent net whose step is a region; hidden states are stacked and read
// again; bounds and step are not 0 and 1.
func.func @recurrent(%w: tensor<4x4xf64> {opt.param}, %h0: tensor<3x4xf64> {opt.param}, %x: tensor<5x3x4xf64> {opt.param}) -> tensor<f64> {
  %c = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c11 = arith.constant 11 : index
  %e = tensor.empty() : tensor<5x3x4xf64>
  %h:2 = scf.for %i = %c1 to %c11 step %c2 iter_args(%a = %h0, %stack = %e) -> (tensor<3x4xf64>, tensor<5x3x4xf64>) {
    %k = arith.divui %i, %c2 : index
    %xi = tensor.extract_slice %x[%k, 0, 0] [1, 3, 4] [1, 1, 1] : tensor<5x3x4xf64> to tensor<3x4xf64>
    %n = remat.region (%aa = %a : tensor<3x4xf64>, %ww = %w : tensor<4x4xf64>, %xx = %xi : tensor<3x4xf64>) -> tensor<3x4xf64> {
      %p = linalg.matmul ins(%aa, %ww : tensor<3x4xf64>, tensor<4x4xf64>) outs(%xx : tensor<3x4xf64>) -> tensor<3x4xf64>
      %t = math.tanh %p : tensor<3x4xf64>
      remat.yield %t : tensor<3x4xf64>
    }
    %m = arith.mulf %n, %h0 : tensor<3x4xf64>
    %next = tensor.insert_slice %m into %stack[%k, 0, 0] [1, 3, 4] [1, 1, 1] : tensor<3x4xf64> into tensor<5x3x4xf64>
    scf.yield %n, %next : tensor<3x4xf64>, tensor<5x3x4xf64>
  }
  %s = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%c : f64) outs(%s : tensor<f64>) -> tensor<f64>
  %sq = arith.mulf %h#1, %h#1 : tensor<5x3x4xf64>
  %l0 = linalg.reduce {arith.addf} ins(%sq : tensor<5x3x4xf64>) outs(%f : tensor<f64>) dimensions = [0, 1, 2]
  %l = linalg.reduce {arith.addf} ins(%h#0 : tensor<3x4xf64>) outs(%l0 : tensor<f64>) dimensions = [0, 1]
  return %l : tensor<f64>
}

// Loops in loops in regions, and trip counts that are read from data: 0, 1, 2.
func.func @dynamic_trip_counts(%w: tensor<3xf64> {opt.param}, %n: tensor<2xi64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n0 = tensor.extract %n[%c0] : tensor<2xi64>
  %n1 = tensor.extract %n[%c1] : tensor<2xi64>
  %k0 = arith.index_cast %n0 : i64 to index
  %k1 = arith.index_cast %n1 : i64 to index
  %y = remat.region (%a = %w : tensor<3xf64>, %k = %k0 : index, %m = %k1 : index) -> tensor<3xf64> {
    %d0 = arith.constant 0 : index
    %d1 = arith.constant 1 : index
    %r = scf.for %i = %d0 to %k step %d1 iter_args(%h = %a) -> tensor<3xf64> {
      %q = scf.for %j = %d0 to %m step %d1 iter_args(%g = %h) -> tensor<3xf64> {
        %s = math.sin %g : tensor<3xf64>
        %t = arith.mulf %s, %a : tensor<3xf64>
        %u = arith.mulf %t, %h : tensor<3xf64>
        scf.yield %u : tensor<3xf64>
      }
      %v = math.exp %q : tensor<3xf64>
      scf.yield %v : tensor<3xf64>
    }
    remat.yield %r : tensor<3xf64>
  }
  %c = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%c : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %l = linalg.dot ins(%y, %w : tensor<3xf64>, tensor<3xf64>) outs(%f : tensor<f64>) -> tensor<f64>
  return %l : tensor<f64>
}

// Carried values that are swapped, overwritten, passed on, or not used.
func.func @carried_values(%w: tensor<3xf64> {opt.param}, %v: tensor<3xf64> {opt.param}) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:4 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %w, %b = %v, %p = %w, %o = %v)
      -> (tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) {
    %s = math.sin %a : tensor<3xf64>
    %t = arith.mulf %s, %v : tensor<3xf64>
    scf.yield %b, %t, %p, %s : tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>
  }
  %c = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%c : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %l0 = linalg.dot ins(%r#0, %r#1 : tensor<3xf64>, tensor<3xf64>) outs(%f : tensor<f64>) -> tensor<f64>
  %l = linalg.dot ins(%r#2, %r#3 : tensor<3xf64>, tensor<3xf64>) outs(%l0 : tensor<f64>) -> tensor<f64>
  return %l : tensor<f64>
}

// Sizes that are known at run time only.
func.func @dynamic_sizes(%w: tensor<?x2xf64> {opt.param}, %x: tensor<?x2xf64>) -> tensor<f64> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x) -> tensor<?x2xf64> {
    %y = remat.region (%b = %a : tensor<?x2xf64>, %ww = %w : tensor<?x2xf64>) -> tensor<?x2xf64> {
      %s = math.sin %b : tensor<?x2xf64>
      %t = arith.mulf %s, %ww : tensor<?x2xf64>
      %u = math.tanh %t : tensor<?x2xf64>
      remat.yield %u : tensor<?x2xf64>
    }
    scf.yield %y : tensor<?x2xf64>
  }
  %c = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%c : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {arith.addf} ins(%r : tensor<?x2xf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %l : tensor<f64>
}
