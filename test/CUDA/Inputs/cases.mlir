// Losses for cases.py: what kernels and the host's code may get wrong at the borders. Each becomes the weighted sum of what it returns.

// A branch on data; both sides read the parameter.
func.func @if_data(%x: tensor<4x7xf32> {remat.data = "x"}, %c: tensor<4xi1> {remat.data = "c"}, %w: tensor<7x7xf32> {opt.param = "w", opt.init = "normal(0.5)"}) -> tensor<4x7xf32> {
  %i = arith.constant 2 : index
  %f = tensor.extract %c[%i] : tensor<4xi1>
  %e = tensor.empty() : tensor<4x7xf32>
  %z = arith.constant 0.0 : f32
  %e0 = linalg.fill ins(%z : f32) outs(%e : tensor<4x7xf32>) -> tensor<4x7xf32>
  %r = scf.if %f -> tensor<4x7xf32> {
    %m = linalg.matmul ins(%x, %w : tensor<4x7xf32>, tensor<7x7xf32>) outs(%e0 : tensor<4x7xf32>) -> tensor<4x7xf32>
    %t = linalg.tanh ins(%m : tensor<4x7xf32>) outs(%e : tensor<4x7xf32>) -> tensor<4x7xf32>
    scf.yield %t : tensor<4x7xf32>
  } else {
    %s = tensor.extract_slice %w[0,0][4,7][1,1] : tensor<7x7xf32> to tensor<4x7xf32>
    %t = linalg.mul ins(%s, %s : tensor<4x7xf32>, tensor<4x7xf32>) outs(%e : tensor<4x7xf32>) -> tensor<4x7xf32>
    scf.yield %t : tensor<4x7xf32>
  }
  return %r : tensor<4x7xf32>
}

// -----

// A loop that ends when its tensor is small: the device decides, the host asks.
func.func @while_norm(%x: tensor<4x7xf32> {remat.data = "x"}, %w: tensor<7x7xf32> {opt.param = "w", opt.init = "normal(0.2)"}) -> tensor<4x7xf32> {
  %e = tensor.empty() : tensor<4x7xf32>
  %z = arith.constant 0.0 : f32
  %lim = arith.constant 0.1 : f32
  %e0 = linalg.fill ins(%z : f32) outs(%e : tensor<4x7xf32>) -> tensor<4x7xf32>
  %es = tensor.empty() : tensor<f32>
  %es0 = linalg.fill ins(%z : f32) outs(%es : tensor<f32>) -> tensor<f32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %r:2 = scf.while (%h = %x, %n = %c0) : (tensor<4x7xf32>, index) -> (tensor<4x7xf32>, index) {
    %q = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->()>], iterator_types = ["reduction","reduction"]} ins(%h : tensor<4x7xf32>) outs(%es0 : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %m = arith.mulf %a, %a : f32
      %s = arith.addf %o, %m : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %v = tensor.extract %q[] : tensor<f32>
    %big = arith.cmpf ogt, %v, %lim : f32
    %few = arith.cmpi ult, %n, %c9 : index
    %go = arith.andi %big, %few : i1
    scf.condition(%go) %h, %n : tensor<4x7xf32>, index
  } do {
  ^bb0(%h: tensor<4x7xf32>, %n: index):
    %m = linalg.matmul ins(%h, %w : tensor<4x7xf32>, tensor<7x7xf32>) outs(%e0 : tensor<4x7xf32>) -> tensor<4x7xf32>
    %t = linalg.tanh ins(%m : tensor<4x7xf32>) outs(%e : tensor<4x7xf32>) -> tensor<4x7xf32>
    %k = arith.addi %n, %c1 : index
    scf.yield %t, %k : tensor<4x7xf32>, index
  }
  return %r#0 : tensor<4x7xf32>
}

// -----

// A choice by data that gives a tensor and a scalar.
func.func @switch_data(%x: tensor<4x7xf32> {remat.data = "x"}, %c: tensor<4xi32> {remat.data = "c"}, %w: tensor<7xf32> {opt.param = "w", opt.init = "normal(0.5)"}) -> (tensor<4x7xf32>, tensor<f32>) {
  %i = arith.constant 1 : index
  %f = tensor.extract %c[%i] : tensor<4xi32>
  %g = arith.index_cast %f : i32 to index
  %e = tensor.empty() : tensor<4x7xf32>
  %wv = tensor.extract %w[%i] : tensor<7xf32>
  %r, %q = scf.index_switch %g -> tensor<4x7xf32>, f32
  case 1 {
    %t = linalg.tanh ins(%x : tensor<4x7xf32>) outs(%e : tensor<4x7xf32>) -> tensor<4x7xf32>
    scf.yield %t, %wv : tensor<4x7xf32>, f32
  }
  case 2 {
    %b = linalg.broadcast ins(%w : tensor<7xf32>) outs(%e : tensor<4x7xf32>) dimensions = [0]
    %v = arith.mulf %wv, %wv : f32
    scf.yield %b, %v : tensor<4x7xf32>, f32
  }
  default {
    %b = linalg.broadcast ins(%w : tensor<7xf32>) outs(%e : tensor<4x7xf32>) dimensions = [0]
    %t = linalg.mul ins(%b, %x : tensor<4x7xf32>, tensor<4x7xf32>) outs(%e : tensor<4x7xf32>) -> tensor<4x7xf32>
    %v = math.exp %wv : f32
    scf.yield %t, %v : tensor<4x7xf32>, f32
  }
  %fe = tensor.from_elements %q : tensor<f32>
  return %r, %fe : tensor<4x7xf32>, tensor<f32>
}

// -----

// tensor.scatter
func.func @scatter_op(%x: tensor<4x7xf32> {remat.data = "x"}, %w: tensor<9x7xf32> {opt.param = "w", opt.init = "normal(0.5)"}, %u: tensor<4x1x7xf32> {opt.param = "u", opt.init = "normal(0.5)"}) -> tensor<9x7xf32> {
  %i = arith.constant dense<[[1],[8],[0],[5]]> : tensor<4x1xindex>
  %r = tensor.scatter %u into %w[%i] scatter_dims([0]) unique : (tensor<4x1x7xf32>, tensor<9x7xf32>, tensor<4x1xindex>) -> tensor<9x7xf32>
  return %r : tensor<9x7xf32>
}

// -----

// tensor.gather, one row twice.
func.func @gather_op(%x: tensor<4x7xf32> {remat.data = "x"}, %w: tensor<9x7xf32> {opt.param = "w", opt.init = "normal(0.5)"}) -> tensor<4x1x7xf32> {
  %i = arith.constant dense<[[1],[8],[1],[5]]> : tensor<4x1xindex>
  %r = tensor.gather %w[%i] gather_dims([0]) : (tensor<9x7xf32>, tensor<4x1xindex>) -> tensor<4x1x7xf32>
  return %r : tensor<4x1x7xf32>
}

// -----

// A value is both operands of a product, and its destination; results are returned twice.
func.func @twice(%x: tensor<5x5xf32> {remat.data = "x"}, %w: tensor<5x5xf32> {opt.param = "w", opt.init = "normal(0.1)"}) -> (tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x5xf32>
  %e0 = linalg.fill ins(%z : f32) outs(%e : tensor<5x5xf32>) -> tensor<5x5xf32>
  %m = linalg.matmul ins(%w, %w : tensor<5x5xf32>, tensor<5x5xf32>) outs(%e0 : tensor<5x5xf32>) -> tensor<5x5xf32>
  %n = linalg.matmul ins(%x, %x : tensor<5x5xf32>, tensor<5x5xf32>) outs(%m : tensor<5x5xf32>) -> tensor<5x5xf32>
  %o = linalg.matmul ins(%n, %m : tensor<5x5xf32>, tensor<5x5xf32>) outs(%n : tensor<5x5xf32>) -> tensor<5x5xf32>
  %p = linalg.mul ins(%o, %o : tensor<5x5xf32>, tensor<5x5xf32>) outs(%e : tensor<5x5xf32>) -> tensor<5x5xf32>
  return %o, %o, %p : tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>
}

// -----

// Constants of several types, one of them a result.
func.func @constants(%x: tensor<2x3xf32> {remat.data = "x"}, %w: tensor<2x3xf32> {opt.param = "w", opt.init = "normal(0.5)"}) -> (tensor<2x3xf32>, tensor<3xf64>, tensor<2x3xf32>) {
  %c = arith.constant dense<[[1.5,-2.0,3.0],[0.25,-0.0,7.0]]> : tensor<2x3xf32>
  %s = arith.constant dense<2.5> : tensor<2x3xf32>
  %k = arith.constant dense<[2, 0, 1]> : tensor<3xi8>
  %b = arith.constant dense<[true, false, true]> : tensor<3xi1>
  %e = tensor.empty() : tensor<2x3xf32>
  %e3 = tensor.empty() : tensor<3xf64>
  %m = linalg.mul ins(%c, %w : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
  %a = linalg.add ins(%m, %s : tensor<2x3xf32>, tensor<2x3xf32>) outs(%e : tensor<2x3xf32>) -> tensor<2x3xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(i)->(i)>,affine_map<(i)->(i)>,affine_map<(i)->(i)>], iterator_types = ["parallel"]} ins(%k, %b : tensor<3xi8>, tensor<3xi1>) outs(%e3 : tensor<3xf64>) {
  ^bb0(%i: i8, %t: i1, %o: f64):
    %ix = arith.index_cast %i : i8 to index
    %one = arith.constant 1 : index
    %v = tensor.extract %w[%one, %ix] : tensor<2x3xf32>
    %d = arith.extf %v : f32 to f64
    %n = arith.negf %d : f64
    %r = arith.select %t, %d, %n : f64
    linalg.yield %r : f64
  } -> tensor<3xf64>
  return %a, %g, %c : tensor<2x3xf32>, tensor<3xf64>, tensor<2x3xf32>
}

// -----

// No rows, no columns, nothing to add up.
func.func @zero_sized(%x: tensor<4x6xf32> {remat.data = "x"}, %w: tensor<0x6xf32> {opt.param = "w", opt.init = "normal(0.5)"}, %v: tensor<6x3xf32> {opt.param = "v", opt.init = "normal(0.5)"}) -> (tensor<0x3xf32>, tensor<4x3xf32>, tensor<6xf32>, tensor<0xf32>, tensor<4x0xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<0x3xf32>
  %m0 = linalg.fill ins(%z : f32) outs(%e : tensor<0x3xf32>) -> tensor<0x3xf32>
  %m = linalg.matmul ins(%w, %v : tensor<0x6xf32>, tensor<6x3xf32>) outs(%m0 : tensor<0x3xf32>) -> tensor<0x3xf32>
  %x0 = tensor.extract_slice %x[0,3][4,0][1,1] : tensor<4x6xf32> to tensor<4x0xf32>
  %f = tensor.empty() : tensor<4x3xf32>
  %f0 = linalg.fill ins(%z : f32) outs(%f : tensor<4x3xf32>) -> tensor<4x3xf32>
  %n = linalg.matmul ins(%x0, %m : tensor<4x0xf32>, tensor<0x3xf32>) outs(%f0 : tensor<4x3xf32>) -> tensor<4x3xf32>
  %xv = linalg.matmul ins(%x, %v : tensor<4x6xf32>, tensor<6x3xf32>) outs(%n : tensor<4x3xf32>) -> tensor<4x3xf32>
  %g = tensor.empty() : tensor<6xf32>
  %g0 = linalg.fill ins(%z : f32) outs(%g : tensor<6xf32>) -> tensor<6xf32>
  %cs = linalg.reduce ins(%w : tensor<0x6xf32>) outs(%g0 : tensor<6xf32>) dimensions = [0] (%a: f32, %b: f32) {
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  %h = tensor.empty() : tensor<0xf32>
  %h0 = linalg.fill ins(%z : f32) outs(%h : tensor<0xf32>) -> tensor<0xf32>
  %rs = linalg.reduce ins(%w : tensor<0x6xf32>) outs(%h0 : tensor<0xf32>) dimensions = [1] (%a: f32, %b: f32) {
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return %m, %xv, %cs, %rs, %x0 : tensor<0x3xf32>, tensor<4x3xf32>, tensor<6xf32>, tensor<0xf32>, tensor<4x0xf32>
}

// -----

// All dimensions are one, and a scalar parameter.
func.func @ones(%x: tensor<1x1xf32> {remat.data = "x"}, %w: tensor<1x1xf32> {opt.param = "w", opt.init = "normal(0.5)"}, %u: tensor<1x1x1x9xf32> {opt.param = "u", opt.init = "normal(0.5)"}, %s: tensor<f32> {opt.param = "s", opt.init = "ones"}) -> (tensor<1x1xf32>, tensor<1xf32>, tensor<1x1x1xf32>, tensor<1x9xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x1xf32>
  %e0 = linalg.fill ins(%z : f32) outs(%e : tensor<1x1xf32>) -> tensor<1x1xf32>
  %m = linalg.matmul ins(%x, %w : tensor<1x1xf32>, tensor<1x1xf32>) outs(%e0 : tensor<1x1xf32>) -> tensor<1x1xf32>
  %g = tensor.empty() : tensor<1xf32>
  %g0 = linalg.fill ins(%z : f32) outs(%g : tensor<1xf32>) -> tensor<1xf32>
  %r = linalg.reduce ins(%m : tensor<1x1xf32>) outs(%g0 : tensor<1xf32>) dimensions = [1] (%a: f32, %b: f32) {
    %q = arith.addf %a, %b : f32
    linalg.yield %q : f32
  }
  %h = tensor.empty() : tensor<1x1x1xf32>
  %h0 = linalg.fill ins(%z : f32) outs(%h : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
  %t = linalg.reduce ins(%u : tensor<1x1x1x9xf32>) outs(%h0 : tensor<1x1x1xf32>) dimensions = [3] (%a: f32, %b: f32) {
    %q = arith.addf %a, %b : f32
    linalg.yield %q : f32
  }
  %c = tensor.collapse_shape %u [[0,1,2],[3]] : tensor<1x1x1x9xf32> into tensor<1x9xf32>
  %k = tensor.empty() : tensor<1x9xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i,j)->(0,j)>,affine_map<(i,j)->()>,affine_map<(i,j)->(0,0)>,affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%c, %s, %w : tensor<1x9xf32>, tensor<f32>, tensor<1x1xf32>) outs(%k : tensor<1x9xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32, %o: f32):
    %q = arith.mulf %a, %b : f32
    %y = arith.mulf %q, %d : f32
    linalg.yield %y : f32
  } -> tensor<1x9xf32>
  return %m, %r, %t, %p : tensor<1x1xf32>, tensor<1xf32>, tensor<1x1x1xf32>, tensor<1x9xf32>
}

// -----

// More rows than a grid has in y and z.
func.func @many_rows(%x: tensor<70000x5xf32> {remat.data = "x"}, %i: tensor<70000xi32> {remat.data = "i"}, %w: tensor<5x3xf32> {opt.param = "w", opt.init = "normal(0.5)"}, %t: tensor<70000x3xf32> {opt.param = "t", opt.init = "normal(0.5)"}) -> (tensor<70000xf32>, tensor<3x70000xf32>, tensor<700x3xf32>, tensor<70000x3xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<70000x3xf32>
  %e0 = linalg.fill ins(%z : f32) outs(%e : tensor<70000x3xf32>) -> tensor<70000x3xf32>
  %m = linalg.matmul ins(%x, %w : tensor<70000x5xf32>, tensor<5x3xf32>) outs(%e0 : tensor<70000x3xf32>) -> tensor<70000x3xf32>
  %h = tensor.empty() : tensor<70000xf32>
  %h0 = linalg.fill ins(%z : f32) outs(%h : tensor<70000xf32>) -> tensor<70000xf32>
  %rs = linalg.reduce ins(%m : tensor<70000x3xf32>) outs(%h0 : tensor<70000xf32>) dimensions = [1] (%a: f32, %b: f32) {
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  %k = tensor.empty() : tensor<3x70000xf32>
  %tr = linalg.transpose ins(%m : tensor<70000x3xf32>) outs(%k : tensor<3x70000xf32>) permutation = [1, 0]
  %few = tensor.extract_slice %i[100] [700] [99] : tensor<70000xi32> to tensor<700xi32>
  %e7 = tensor.empty() : tensor<700x3xf32>
  %gt = linalg.generic {indexing_maps = [affine_map<(i,j)->(i)>,affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%few : tensor<700xi32>) outs(%e7 : tensor<700x3xf32>) {
  ^bb0(%a: i32, %o: f32):
    %n = arith.constant 23333 : i32
    %q = arith.muli %a, %n : i32
    %r = arith.index_cast %q : i32 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %t[%r, %j] : tensor<70000x3xf32>
    linalg.yield %v : f32
  } -> tensor<700x3xf32>
  %sm = linalg.softmax dimension(1) ins(%m : tensor<70000x3xf32>) outs(%e : tensor<70000x3xf32>) -> tensor<70000x3xf32>
  return %rs, %tr, %gt, %sm : tensor<70000xf32>, tensor<3x70000xf32>, tensor<700x3xf32>, tensor<70000x3xf32>
}

// -----

// As many batches.
func.func @many_batches(%x: tensor<66000x2x3xf32> {remat.data = "x"}, %w: tensor<66000x3x2xf32> {opt.param = "w", opt.init = "normal(0.5)"}) -> (tensor<66000x2x2xf32>, tensor<66000x2x2xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<66000x2x2xf32>
  %e0 = linalg.fill ins(%z : f32) outs(%e : tensor<66000x2x2xf32>) -> tensor<66000x2x2xf32>
  %m = linalg.batch_matmul ins(%x, %w : tensor<66000x2x3xf32>, tensor<66000x3x2xf32>) outs(%e0 : tensor<66000x2x2xf32>) -> tensor<66000x2x2xf32>
  %sm = linalg.softmax dimension(1) ins(%m : tensor<66000x2x2xf32>) outs(%e : tensor<66000x2x2xf32>) -> tensor<66000x2x2xf32>
  return %m, %sm : tensor<66000x2x2xf32>, tensor<66000x2x2xf32>
}

// -----

// Few rows of very many elements, with their maximum and softmax.
func.func @wide_rows(%x: tensor<3x200000xf32> {remat.data = "x"}, %w: tensor<200000xf32> {opt.param = "w", opt.init = "normal(0.5)"}) -> (tensor<3xf32>, tensor<3xf32>, tensor<3x200000xf32>) {
  %z = arith.constant 0.0 : f32
  %ni = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<3x200000xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(j)>,affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x, %w : tensor<3x200000xf32>, tensor<200000xf32>) outs(%e : tensor<3x200000xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.mulf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<3x200000xf32>
  %g = tensor.empty() : tensor<3xf32>
  %g0 = linalg.fill ins(%z : f32) outs(%g : tensor<3xf32>) -> tensor<3xf32>
  %g1 = linalg.fill ins(%ni : f32) outs(%g : tensor<3xf32>) -> tensor<3xf32>
  %sum = linalg.reduce ins(%y : tensor<3x200000xf32>) outs(%g0 : tensor<3xf32>) dimensions = [1] (%a: f32, %b: f32) {
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  %max = linalg.reduce ins(%y : tensor<3x200000xf32>) outs(%g1 : tensor<3xf32>) dimensions = [1] (%a: f32, %b: f32) {
    %s = arith.maximumf %a, %b : f32
    linalg.yield %s : f32
  }
  %sm = linalg.softmax dimension(1) ins(%y : tensor<3x200000xf32>) outs(%e : tensor<3x200000xf32>) -> tensor<3x200000xf32>
  return %sum, %max, %sm : tensor<3xf32>, tensor<3xf32>, tensor<3x200000xf32>
}

// -----

// Few columns of very many elements.
func.func @long_columns(%x: tensor<200000x3xf32> {remat.data = "x"}, %w: tensor<3xf32> {opt.param = "w", opt.init = "normal(0.5)"}) -> (tensor<3xf32>, tensor<200000xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<200000x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(j)>,affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x, %w : tensor<200000x3xf32>, tensor<3xf32>) outs(%e : tensor<200000x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.mulf %a, %b : f32
    %t = math.tanh %q : f32
    linalg.yield %t : f32
  } -> tensor<200000x3xf32>
  %g = tensor.empty() : tensor<3xf32>
  %g0 = linalg.fill ins(%z : f32) outs(%g : tensor<3xf32>) -> tensor<3xf32>
  %sum = linalg.reduce ins(%y : tensor<200000x3xf32>) outs(%g0 : tensor<3xf32>) dimensions = [0] (%a: f32, %b: f32) {
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  %h = tensor.empty() : tensor<200000xf32>
  %h0 = linalg.fill ins(%z : f32) outs(%h : tensor<200000xf32>) -> tensor<200000xf32>
  %rs = linalg.reduce ins(%y : tensor<200000x3xf32>) outs(%h0 : tensor<200000xf32>) dimensions = [1] (%a: f32, %b: f32) {
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return %sum, %rs : tensor<3xf32>, tensor<200000xf32>
}

// -----

// Data, parameters and sums of f64, masked by i1.
func.func @f64(%x: tensor<6x9xf64> {remat.data = "x"}, %b: tensor<6x9xi1> {remat.data = "b"}, %w: tensor<9x5xf64> {opt.param = "w", opt.init = "normal(0.5)"}, %v: tensor<5xf64> {opt.param = "v", opt.init = "ones"}) -> (tensor<6x5xf64>, tensor<5xf64>, tensor<6xf64>, tensor<6x5xf64>) {
  %z = arith.constant 0.0 : f64
  %e9 = tensor.empty() : tensor<6x9xf64>
  %xm = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x, %b : tensor<6x9xf64>, tensor<6x9xi1>) outs(%e9 : tensor<6x9xf64>) {
  ^bb0(%a: f64, %k: i1, %o: f64):
    %s = arith.select %k, %a, %z : f64
    linalg.yield %s : f64
  } -> tensor<6x9xf64>
  %e = tensor.empty() : tensor<6x5xf64>
  %e0 = linalg.fill ins(%z : f64) outs(%e : tensor<6x5xf64>) -> tensor<6x5xf64>
  %m = linalg.matmul ins(%xm, %w : tensor<6x9xf64>, tensor<9x5xf64>) outs(%e0 : tensor<6x5xf64>) -> tensor<6x5xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(j)>,affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%m, %v : tensor<6x5xf64>, tensor<5xf64>) outs(%e : tensor<6x5xf64>) {
  ^bb0(%a: f64, %k: f64, %o: f64):
    %s = arith.addf %a, %k : f64
    %t = math.tanh %s : f64
    linalg.yield %t : f64
  } -> tensor<6x5xf64>
  %g = tensor.empty() : tensor<5xf64>
  %g0 = linalg.fill ins(%z : f64) outs(%g : tensor<5xf64>) -> tensor<5xf64>
  %cs = linalg.reduce ins(%y : tensor<6x5xf64>) outs(%g0 : tensor<5xf64>) dimensions = [0] (%a: f64, %k: f64) {
    %s = arith.addf %a, %k : f64
    linalg.yield %s : f64
  }
  %ni = arith.constant 0xFFF0000000000000 : f64
  %h = tensor.empty() : tensor<6xf64>
  %h0 = linalg.fill ins(%ni : f64) outs(%h : tensor<6xf64>) -> tensor<6xf64>
  %rs = linalg.reduce ins(%y : tensor<6x5xf64>) outs(%h0 : tensor<6xf64>) dimensions = [1] (%a: f64, %k: f64) {
    %s = arith.maximumf %a, %k : f64
    linalg.yield %s : f64
  }
  %sm = linalg.softmax dimension(1) ins(%y : tensor<6x5xf64>) outs(%e : tensor<6x5xf64>) -> tensor<6x5xf64>
  return %y, %cs, %rs, %sm : tensor<6x5xf64>, tensor<5xf64>, tensor<6xf64>, tensor<6x5xf64>
}

// -----

// Data, parameters and sums of f16, masked by i1.
func.func @f16(%x: tensor<6x9xf16> {remat.data = "x"}, %b: tensor<6x9xi1> {remat.data = "b"}, %w: tensor<9x5xf16> {opt.param = "w", opt.init = "normal(0.5)"}, %v: tensor<5xf16> {opt.param = "v", opt.init = "ones"}) -> (tensor<6x5xf16>, tensor<5xf16>, tensor<6xf16>, tensor<6x5xf16>) {
  %z = arith.constant 0.0 : f16
  %e9 = tensor.empty() : tensor<6x9xf16>
  %xm = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x, %b : tensor<6x9xf16>, tensor<6x9xi1>) outs(%e9 : tensor<6x9xf16>) {
  ^bb0(%a: f16, %k: i1, %o: f16):
    %s = arith.select %k, %a, %z : f16
    linalg.yield %s : f16
  } -> tensor<6x9xf16>
  %e = tensor.empty() : tensor<6x5xf16>
  %e0 = linalg.fill ins(%z : f16) outs(%e : tensor<6x5xf16>) -> tensor<6x5xf16>
  %m = linalg.matmul ins(%xm, %w : tensor<6x9xf16>, tensor<9x5xf16>) outs(%e0 : tensor<6x5xf16>) -> tensor<6x5xf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(j)>,affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%m, %v : tensor<6x5xf16>, tensor<5xf16>) outs(%e : tensor<6x5xf16>) {
  ^bb0(%a: f16, %k: f16, %o: f16):
    %s = arith.addf %a, %k : f16
    %t = math.tanh %s : f16
    linalg.yield %t : f16
  } -> tensor<6x5xf16>
  %g = tensor.empty() : tensor<5xf16>
  %g0 = linalg.fill ins(%z : f16) outs(%g : tensor<5xf16>) -> tensor<5xf16>
  %cs = linalg.reduce ins(%y : tensor<6x5xf16>) outs(%g0 : tensor<5xf16>) dimensions = [0] (%a: f16, %k: f16) {
    %s = arith.addf %a, %k : f16
    linalg.yield %s : f16
  }
  %ni = arith.constant 0xFC00 : f16
  %h = tensor.empty() : tensor<6xf16>
  %h0 = linalg.fill ins(%ni : f16) outs(%h : tensor<6xf16>) -> tensor<6xf16>
  %rs = linalg.reduce ins(%y : tensor<6x5xf16>) outs(%h0 : tensor<6xf16>) dimensions = [1] (%a: f16, %k: f16) {
    %s = arith.maximumf %a, %k : f16
    linalg.yield %s : f16
  }
  %sm = linalg.softmax dimension(1) ins(%y : tensor<6x5xf16>) outs(%e : tensor<6x5xf16>) -> tensor<6x5xf16>
  return %y, %cs, %rs, %sm : tensor<6x5xf16>, tensor<5xf16>, tensor<6xf16>, tensor<6x5xf16>
}

// -----

// Data, parameters and sums of bf16, masked by i1.
func.func @bf16(%x: tensor<6x9xbf16> {remat.data = "x"}, %b: tensor<6x9xi1> {remat.data = "b"}, %w: tensor<9x5xbf16> {opt.param = "w", opt.init = "normal(0.5)"}, %v: tensor<5xbf16> {opt.param = "v", opt.init = "ones"}) -> (tensor<6x5xbf16>, tensor<5xbf16>, tensor<6xbf16>, tensor<6x5xbf16>) {
  %z = arith.constant 0.0 : bf16
  %e9 = tensor.empty() : tensor<6x9xbf16>
  %xm = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x, %b : tensor<6x9xbf16>, tensor<6x9xi1>) outs(%e9 : tensor<6x9xbf16>) {
  ^bb0(%a: bf16, %k: i1, %o: bf16):
    %s = arith.select %k, %a, %z : bf16
    linalg.yield %s : bf16
  } -> tensor<6x9xbf16>
  %e = tensor.empty() : tensor<6x5xbf16>
  %e0 = linalg.fill ins(%z : bf16) outs(%e : tensor<6x5xbf16>) -> tensor<6x5xbf16>
  %m = linalg.matmul ins(%xm, %w : tensor<6x9xbf16>, tensor<9x5xbf16>) outs(%e0 : tensor<6x5xbf16>) -> tensor<6x5xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(j)>,affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%m, %v : tensor<6x5xbf16>, tensor<5xbf16>) outs(%e : tensor<6x5xbf16>) {
  ^bb0(%a: bf16, %k: bf16, %o: bf16):
    %s = arith.addf %a, %k : bf16
    %t = math.tanh %s : bf16
    linalg.yield %t : bf16
  } -> tensor<6x5xbf16>
  %g = tensor.empty() : tensor<5xbf16>
  %g0 = linalg.fill ins(%z : bf16) outs(%g : tensor<5xbf16>) -> tensor<5xbf16>
  %cs = linalg.reduce ins(%y : tensor<6x5xbf16>) outs(%g0 : tensor<5xbf16>) dimensions = [0] (%a: bf16, %k: bf16) {
    %s = arith.addf %a, %k : bf16
    linalg.yield %s : bf16
  }
  %ni = arith.constant 0xFF80 : bf16
  %h = tensor.empty() : tensor<6xbf16>
  %h0 = linalg.fill ins(%ni : bf16) outs(%h : tensor<6xbf16>) -> tensor<6xbf16>
  %rs = linalg.reduce ins(%y : tensor<6x5xbf16>) outs(%h0 : tensor<6xbf16>) dimensions = [1] (%a: bf16, %k: bf16) {
    %s = arith.maximumf %a, %k : bf16
    linalg.yield %s : bf16
  }
  %sm = linalg.softmax dimension(1) ins(%y : tensor<6x5xbf16>) outs(%e : tensor<6x5xbf16>) -> tensor<6x5xbf16>
  return %y, %cs, %rs, %sm : tensor<6x5xbf16>, tensor<5xbf16>, tensor<6xbf16>, tensor<6x5xbf16>
}

// -----

// Integers of several widths, their bits, and kinds of numbers.
func.func @integers(%x: tensor<6x9xi32> {remat.data = "x"}, %b: tensor<6x9xi8> {remat.data = "b"}, %l: tensor<6x9xi64> {remat.data = "l"}, %k: tensor<6x9xi1> {remat.data = "k"}, %w: tensor<9xf32> {opt.param = "w", opt.init = "normal(0.5)"}) -> (tensor<6x9xf32>, tensor<9xf32>) {
  %e = tensor.empty() : tensor<6x9xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(j)>,affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x, %b, %l, %k, %w : tensor<6x9xi32>, tensor<6x9xi8>, tensor<6x9xi64>, tensor<6x9xi1>, tensor<9xf32>) outs(%e : tensor<6x9xf32>) {
  ^bb0(%a: i32, %c: i8, %d: i64, %m: i1, %q: f32, %o: f32):
    %c64 = arith.extsi %c : i8 to i64
    %a64 = arith.extui %a : i32 to i64
    %s1 = arith.divsi %a64, %c64 : i64
    %s2 = arith.remui %d, %c64 : i64
    %s3 = arith.shli %s1, %s2 : i64
    %s4 = arith.xori %s3, %d : i64
    %s5 = arith.floordivsi %s4, %c64 : i64
    %s6 = arith.ceildivsi %d, %a64 : i64
    %s7 = arith.maxsi %s5, %s6 : i64
    %p = math.ctpop %s7 : i64
    %z = math.ctlz %a : i32
    %zz = math.cttz %d : i64
    %ab = math.absi %s4 : i64
    %two = arith.constant 2 : i64
    %exponent = arith.subi %two, %c64 : i64
    %power = math.ipowi %d, %exponent : i64
    %p0 = arith.xori %zz, %ab : i64
    %p1 = arith.addi %p0, %power : i64
    %nan = math.isnan %q : f32
    %fin = math.isfinite %q : f32
    %inf = math.isinf %q : f32
    %odd = arith.xori %nan, %inf : i1
    %ok = arith.xori %fin, %odd : i1
    %p2 = arith.extui %ok : i1 to i64
    %p3 = arith.addi %p1, %p2 : i64
    %p4 = math.ctpop %p3 : i64
    %p5 = arith.addi %p, %p4 : i64
    %f1 = arith.sitofp %p5 : i64 to f32
    %f2 = arith.uitofp %z : i32 to f32
    %f3 = arith.uitofp %m : i1 to f32
    %g1 = arith.addf %f1, %f2 : f32
    %g2 = arith.mulf %g1, %q : f32
    %g3 = arith.addf %g2, %f3 : f32
    %i = arith.fptosi %q : f32 to i32
    %j = arith.cmpi slt, %i, %a : i32
    %r = arith.select %j, %g3, %q : f32
    linalg.yield %r : f32
  } -> tensor<6x9xf32>
  %ez = tensor.empty() : tensor<9xi64>
  %zero = arith.constant 0 : i64
  %ez0 = linalg.fill ins(%zero : i64) outs(%ez : tensor<9xi64>) -> tensor<9xi64>
  %cnt = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(i,j)>,affine_map<(i,j)->(j)>], iterator_types = ["reduction","parallel"]} ins(%b, %k : tensor<6x9xi8>, tensor<6x9xi1>) outs(%ez0 : tensor<9xi64>) {
  ^bb0(%c: i8, %m: i1, %o: i64):
    %c64 = arith.extsi %c : i8 to i64
    %n = arith.extui %m : i1 to i64
    %s = arith.muli %c64, %n : i64
    %t = arith.addi %o, %s : i64
    linalg.yield %t : i64
  } -> tensor<9xi64>
  %en = tensor.empty() : tensor<9xf32>
  %v = linalg.generic {indexing_maps = [affine_map<(i)->(i)>,affine_map<(i)->(i)>,affine_map<(i)->(i)>], iterator_types = ["parallel"]} ins(%cnt, %w : tensor<9xi64>, tensor<9xf32>) outs(%en : tensor<9xf32>) {
  ^bb0(%c: i64, %q: f32, %o: f32):
    %f = arith.sitofp %c : i64 to f32
    %g = arith.mulf %f, %q : f32
    linalg.yield %g : f32
  } -> tensor<9xf32>
  return %y, %v : tensor<6x9xf32>, tensor<9xf32>
}

// -----

// The lanes of sums over chunks of many rows store what they add up, which a product reads.
func.func @summed_and_stored(%x: tensor<32768x64xf32> {remat.data = "x"}, %w: tensor<64xf32> {opt.param = "w", opt.init = "normal(0.5)"}, %u: tensor<64x1xf32> {opt.param = "u", opt.init = "normal(0.5)"}) -> (tensor<64xf32>, tensor<32768x1xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 32768.0 : f32
  %e = tensor.empty() : tensor<32768x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(j)>, affine_map<(i,j)->(i,j)>], iterator_types = ["parallel","parallel"]} ins(%x, %w : tensor<32768x64xf32>, tensor<64xf32>) outs(%e : tensor<32768x64xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %t = math.tanh %p : f32
    linalg.yield %t : f32
  } -> tensor<32768x64xf32>
  %es = tensor.empty() : tensor<64xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<64xf32>) -> tensor<64xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i,j)->(i,j)>, affine_map<(i,j)->(j)>], iterator_types = ["reduction","parallel"]} ins(%y : tensor<32768x64xf32>) outs(%zs : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %q = arith.divf %a, %n : f32
    %r = arith.addf %o, %q : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %ep = tensor.empty() : tensor<32768x1xf32>
  %zp = linalg.fill ins(%zero : f32) outs(%ep : tensor<32768x1xf32>) -> tensor<32768x1xf32>
  %p = linalg.matmul ins(%y, %u : tensor<32768x64xf32>, tensor<64x1xf32>) outs(%zp : tensor<32768x1xf32>) -> tensor<32768x1xf32>
  return %s, %p : tensor<64xf32>, tensor<32768x1xf32>
}
