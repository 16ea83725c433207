// Images that one region puts zeros between, and names, and that others read by convolutions: without regions these are
// transposed convolutions, of two and of three dimensions, whose sums have another order.
#four = affine_map<(a, b, c, d) -> (a, b, c, d)>
#five = affine_map<(a, b, c, d, e) -> (a, b, c, d, e)>
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3, log_every = 1}
func.func @loss(%x: tensor<2x37x5x6xf32> {opt.param = "x", opt.init = "normal(0.3)"}, %w: tensor<37x29x4x3xf32> {opt.param = "w", opt.init = "normal(0.3)"},
                %z: tensor<2x3x4x3x31xf32> {opt.param = "z", opt.init = "normal(0.3)"}, %v: tensor<2x3x2x31x17xf32> {opt.param = "v", opt.init = "normal(0.3)"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %stuffed, %filters, %volumes = remat.region policy(#remat.nothing_saveable) (%a = %x : tensor<2x37x5x6xf32>, %b = %w : tensor<37x29x4x3xf32>, %c = %z : tensor<2x3x4x3x31xf32>)
      -> tensor<2x37x13x13xf32>, tensor<29x37x4x3xf32>, tensor<2x6x9x7x31xf32> {
    %zero0 = arith.constant 0.0 : f32
    %c3 = arith.constant 3 : index
    %c2 = arith.constant 2 : index
    %h = math.sin %a : tensor<2x37x5x6xf32>
    %e0 = tensor.empty() : tensor<2x37x13x13xf32>
    %f0 = linalg.fill ins(%zero0 : f32) outs(%e0 : tensor<2x37x13x13xf32>) -> tensor<2x37x13x13xf32>
    %i0 = tensor.insert_slice %h into %f0[0, 0, 2, 1] [2, 37, 5, 6] [1, 1, 2, 2] : tensor<2x37x5x6xf32> into tensor<2x37x13x13xf32>
    %e1 = tensor.empty() : tensor<29x37x4x3xf32>
    %g = linalg.generic {indexing_maps = [#four], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} outs(%e1 : tensor<29x37x4x3xf32>) {
    ^bb0(%out: f32):
      %0 = linalg.index 0 : index
      %1 = linalg.index 1 : index
      %2 = linalg.index 2 : index
      %3 = linalg.index 3 : index
      %4 = arith.subi %c3, %2 : index
      %5 = arith.subi %c2, %3 : index
      %6 = tensor.extract %b[%1, %0, %4, %5] : tensor<37x29x4x3xf32>
      linalg.yield %6 : f32
    } -> tensor<29x37x4x3xf32>
    %named = remat.name "filters" %g : tensor<29x37x4x3xf32>
    %e2 = tensor.empty() : tensor<2x6x9x7x31xf32>
    %f2 = linalg.fill ins(%zero0 : f32) outs(%e2 : tensor<2x6x9x7x31xf32>) -> tensor<2x6x9x7x31xf32>
    %i2 = tensor.insert_slice %c into %f2[0, 1, 2, 1, 0] [2, 3, 4, 3, 31] [1, 2, 2, 2, 1] : tensor<2x3x4x3x31xf32> into tensor<2x6x9x7x31xf32>
    remat.yield %i0, %named, %i2 : tensor<2x37x13x13xf32>, tensor<29x37x4x3xf32>, tensor<2x6x9x7x31xf32>
  }
  %again = remat.name "images" %stuffed : tensor<2x37x13x13xf32>
  %y, %u = remat.region policy(#remat.dots_saveable) (%a = %again : tensor<2x37x13x13xf32>, %b = %filters : tensor<29x37x4x3xf32>,
      %c = %volumes : tensor<2x6x9x7x31xf32>, %d = %v : tensor<2x3x2x31x17xf32>) -> tensor<2x29x10x11xf32>, tensor<2x5x7x6x17xf32> {
    %zero0 = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<2x29x10x11xf32>
    %f0 = linalg.fill ins(%zero0 : f32) outs(%e0 : tensor<2x29x10x11xf32>) -> tensor<2x29x10x11xf32>
    %p = linalg.conv_2d_nchw_fchw ins(%a, %b : tensor<2x37x13x13xf32>, tensor<29x37x4x3xf32>) outs(%f0 : tensor<2x29x10x11xf32>) -> tensor<2x29x10x11xf32>
    %e1 = tensor.empty() : tensor<2x5x7x6x17xf32>
    %f1 = linalg.fill ins(%zero0 : f32) outs(%e1 : tensor<2x5x7x6x17xf32>) -> tensor<2x5x7x6x17xf32>
    %q = linalg.conv_3d_ndhwc_dhwcf ins(%c, %d : tensor<2x6x9x7x31xf32>, tensor<2x3x2x31x17xf32>) outs(%f1 : tensor<2x5x7x6x17xf32>) -> tensor<2x5x7x6x17xf32>
    remat.yield %p, %q : tensor<2x29x10x11xf32>, tensor<2x5x7x6x17xf32>
  }
  %e = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l0 = linalg.generic {indexing_maps = [#four, affine_map<(a, b, c, d) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
      ins(%y : tensor<2x29x10x11xf32>) outs(%start : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %c = math.sin %a : f32
    %r = arith.addf %acc, %c : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %l1 = linalg.generic {indexing_maps = [#five, affine_map<(a, b, c, d, e) -> ()>], iterator_types = ["reduction", "reduction", "reduction", "reduction", "reduction"]}
      ins(%u : tensor<2x5x7x6x17xf32>) outs(%l0 : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %c = math.sin %a : f32
    %r = arith.addf %acc, %c : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l1 : tensor<f32>
}
