// RUN: remat-opt %s --remat-shift-variances --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-shift-variances --remat-shift-variances --split-input-file | FileCheck %s

// A batch norm. The part is four of 256 images.
#image = affine_map<(n, h, c) -> (n, h, c)>
#channel = affine_map<(n, h, c) -> (c)>
#line = affine_map<(c) -> (c)>
// CHECK-LABEL: func @in_one_kernel(
// CHECK-SAME: %[[X:[^:]*]]: tensor<256x8x3xf32>
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[X]][0, 0, 0] [4, 8, 3] [1, 1, 1]
// CHECK: %[[OF_PART:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "reduction", "parallel"]} ins(%[[PART]] :
// CHECK: linalg.generic {{.*}} ins(%[[OF_PART]] :
// CHECK: %[[COUNT:.*]] = arith.constant 3.200000e+01 : f32
// CHECK: arith.divf %{{.*}}, %[[COUNT]]
// CHECK: %[[S:.*]] = remat.stop_gradient %{{.*}} : tensor<3xf32>
// CHECK: %[[TOTAL:.*]] = linalg.generic {{.*}} ins(%[[X]] :
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[TOTAL]] :
// CHECK: %[[SHIFTED:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[S]] :
// CHECK: %[[SQUARES:.*]] = linalg.generic {{.*}} ins(%[[SHIFTED]], %[[MEAN]], %[[S]] :
// CHECK: %[[D:.*]] = arith.subf
// CHECK: %[[DD:.*]] = arith.mulf %[[D]], %[[D]]
// CHECK: %[[N:.*]] = arith.constant 2.048000e+03 : f32
// CHECK: %[[EXCESS:.*]] = arith.mulf %[[DD]], %[[N]]
// CHECK: %[[REST:.*]] = arith.subf %{{.*}}, %[[EXCESS]]
// CHECK: arith.maximumf %[[REST]]
// CHECK: return %[[MEAN]], %[[SQUARES]]
func.func @in_one_kernel(%x: tensor<256x8x3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 2048.0 : f32
  %e = tensor.empty() : tensor<3xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<3xf32>) -> tensor<3xf32>
  %total = linalg.generic {indexing_maps = [#image, #channel], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%x : tensor<256x8x3xf32>) outs(%z : tensor<3xf32>) {
  ^bb0(%a: f32, %s: f32):
    %r = arith.addf %s, %a : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %mean = linalg.generic {indexing_maps = [#line, #line], iterator_types = ["parallel"]}
      ins(%total : tensor<3xf32>) outs(%e : tensor<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.divf %a, %n : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  %squares = linalg.generic {indexing_maps = [#image, #channel, #channel], iterator_types = ["reduction", "reduction", "parallel"]}
      ins(%x, %mean : tensor<256x8x3xf32>, tensor<3xf32>) outs(%z : tensor<3xf32>) {
  ^bb0(%a: f32, %m: f32, %s: f32):
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %d : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<3xf32>
  return %mean, %squares : tensor<3xf32>, tensor<3xf32>
}

// -----

// As torch-mlir writes it: f16 made f64, channels first, dimensions of size 1
// that stay, a kernel for each step, a name between two of them. The sum has
// differences of its own. The part, one of 16 images, is read as it is stored.
#image = affine_map<(n, c, h) -> (n, c, h)>
#kept = affine_map<(n, c, h) -> (0, c, 0)>
// CHECK-LABEL: func @steps_of_their_own(
// CHECK-SAME: %[[STORED:[^:]*]]: tensor<16x3x100xf16>
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[STORED]][0, 0, 0] [1, 3, 100] [1, 1, 1]
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "reduction"]} ins(%[[PART]] :
// CHECK: arith.extf %{{.*}} : f16 to f64
// CHECK: %[[S:.*]] = remat.stop_gradient %{{.*}} : tensor<1x3x1xf64>
// CHECK: %[[TOTAL:.*]] = linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "reduction"]}
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[TOTAL]] : tensor<1x3x1xf64>)
// CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[MEAN]] :
// CHECK: %[[OWN:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %[[S]] :
// CHECK: %[[NAMED:.*]] = remat.name "d" %[[D]]
// CHECK: linalg.generic {{.*}} ins(%[[OWN]], %[[OWN]] :
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %[[S]] :
// CHECK: return %[[NAMED]],
func.func @steps_of_their_own(%x: tensor<16x3x100xf16>) -> (tensor<16x3x100xf64>, tensor<1x3x1xf64>) {
  %zero = arith.constant 0.0 : f64
  %n = arith.constant 1600.0 : f64
  %e1 = tensor.empty() : tensor<1x3x1xf64>
  %e = tensor.empty() : tensor<16x3x100xf64>
  %z = linalg.fill ins(%zero : f64) outs(%e1 : tensor<1x3x1xf64>) -> tensor<1x3x1xf64>
  %wide = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : tensor<16x3x100xf16>) outs(%e : tensor<16x3x100xf64>) {
  ^bb0(%a: f16, %o: f64):
    %r = arith.extf %a : f16 to f64
    linalg.yield %r : f64
  } -> tensor<16x3x100xf64>
  %total = linalg.generic {indexing_maps = [#image, #kept], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%wide : tensor<16x3x100xf64>) outs(%z : tensor<1x3x1xf64>) {
  ^bb0(%a: f64, %s: f64):
    %r = arith.addf %a, %s : f64
    linalg.yield %r : f64
  } -> tensor<1x3x1xf64>
  %mean = linalg.generic {indexing_maps = [#image, #image], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%total : tensor<1x3x1xf64>) outs(%e1 : tensor<1x3x1xf64>) {
  ^bb0(%a: f64, %o: f64):
    %r = arith.divf %a, %n : f64
    linalg.yield %r : f64
  } -> tensor<1x3x1xf64>
  %d = linalg.generic {indexing_maps = [#image, #kept, #image], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%wide, %mean : tensor<16x3x100xf64>, tensor<1x3x1xf64>) outs(%e : tensor<16x3x100xf64>) {
  ^bb0(%a: f64, %m: f64, %o: f64):
    %r = arith.subf %a, %m : f64
    linalg.yield %r : f64
  } -> tensor<16x3x100xf64>
  %named = remat.name "d" %d : tensor<16x3x100xf64>
  %square = linalg.generic {indexing_maps = [#image, #image, #image], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%named, %named : tensor<16x3x100xf64>, tensor<16x3x100xf64>) outs(%e : tensor<16x3x100xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %r = arith.mulf %a, %b : f64
    linalg.yield %r : f64
  } -> tensor<16x3x100xf64>
  %squares = linalg.generic {indexing_maps = [#image, #kept], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%square : tensor<16x3x100xf64>) outs(%z : tensor<1x3x1xf64>) {
  ^bb0(%a: f64, %s: f64):
    %r = arith.addf %a, %s : f64
    linalg.yield %r : f64
  } -> tensor<1x3x1xf64>
  return %named, %squares : tensor<16x3x100xf64>, tensor<1x3x1xf64>
}

// -----

// The mean is made of its sum, and squares are divided, in the kernel: the
// shift is 1280 / 20 times the sum of the part, and 1280 squares of differences
// of means, which are differences of sums over 1280, are divided by 1279.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func @numbers_in_the_kernel(
// CHECK-SAME: %[[X:[^:]*]]: tensor<1280x8xf32>
// CHECK: tensor.extract_slice %[[X]][0, 0] [20, 8]
// CHECK: %[[COUNT:.*]] = arith.constant 1.562500e-02 : f32
// CHECK: arith.divf %{{.*}}, %[[COUNT]]
// CHECK: %[[S:.*]] = remat.stop_gradient
// CHECK: %[[TOTAL:.*]] = linalg.generic {{.*}} ins(%[[X]] :
// CHECK: %[[SHIFTED:.*]] = linalg.generic {{.*}} ins(%[[X]], %[[S]] :
// CHECK: linalg.generic {{.*}} ins(%[[SHIFTED]], %[[TOTAL]], %[[S]] :
// CHECK: %[[SCALE:.*]] = arith.constant 6.10828749E-7 : f32
// CHECK: arith.mulf %{{.*}}, %[[SCALE]]
func.func @numbers_in_the_kernel(%x: tensor<1280x8xf32>) -> tensor<8xf32> {
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant 1280.0 : f32
  %less = arith.constant 1279.0 : f32
  %total = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<1280x8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %s: f32):
    %r = arith.addf %a, %s : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %variance = linalg.generic {indexing_maps = [#id, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x, %total : tensor<1280x8xf32>, tensor<8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %t: f32, %s: f32):
    %m = arith.divf %t, %n : f32
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %d : f32
    %q = arith.divf %p, %less : f32
    %r = arith.addf %s, %q : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %variance : tensor<8xf32>
}

// -----

// The sum gets differences of its own where it is. A policy may save the named
// tensor: the part is one of that.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#line = affine_map<(j) -> (j)>
// CHECK-LABEL: func @differences_leave_a_region(
// CHECK: %[[R:.*]]:2 = remat.region
// CHECK: %[[H:.*]] = remat.name "h"
// CHECK: %[[TOTAL:.*]] = linalg.generic {{.*}} ins(%[[H]] :
// CHECK: remat.yield %[[H]], %[[TOTAL]]
// CHECK: tensor.extract_slice %[[R]]#0
// CHECK: %[[S:.*]] = remat.stop_gradient
// CHECK: linalg.generic {{.*}} ins(%[[R]]#0, %[[S]] :
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[R]]#1, %[[S]] :
func.func @differences_leave_a_region(%x: tensor<1024x4xf32>, %w: tensor<4x8xf32>) -> (tensor<8xf32>, tensor<1024x8xf32>) {
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %h, %d = remat.region (%rx = %x : tensor<1024x4xf32>, %rw = %w : tensor<4x8xf32>, %rz = %z : tensor<8xf32>) -> tensor<1024x8xf32>, tensor<1024x8xf32> {
    %n = arith.constant 1024.0 : f32
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<1024x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x8xf32>) -> tensor<1024x8xf32>
    %p = linalg.matmul ins(%rx, %rw : tensor<1024x4xf32>, tensor<4x8xf32>) outs(%f : tensor<1024x8xf32>) -> tensor<1024x8xf32>
    %a = remat.name "h" %p : tensor<1024x8xf32>
    %total = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
        ins(%a : tensor<1024x8xf32>) outs(%rz : tensor<8xf32>) {
    ^bb0(%u: f32, %s: f32):
      %r = arith.addf %s, %u : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    %d = linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a, %total : tensor<1024x8xf32>, tensor<8xf32>) outs(%e : tensor<1024x8xf32>) {
    ^bb0(%u: f32, %t: f32, %o: f32):
      %m = arith.divf %t, %n : f32
      %r = arith.subf %u, %m : f32
      linalg.yield %r : f32
    } -> tensor<1024x8xf32>
    remat.yield %a, %d : tensor<1024x8xf32>, tensor<1024x8xf32>
  }
  %squares = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%d : tensor<1024x8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%u: f32, %s: f32):
    %q = arith.mulf %u, %u : f32
    %r = arith.addf %s, %q : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %squares, %h : tensor<8xf32>, tensor<1024x8xf32>
}

// -----

// A row is in a cache when it is read again.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func @norms_of_rows_stay(
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @norms_of_rows_stay(%x: tensor<64x2048xf32>) -> tensor<64xf32> {
  %z = arith.constant dense<0.0> : tensor<64xf32>
  %n = arith.constant 2048.0 : f32
  %total = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<64x2048xf32>) outs(%z : tensor<64xf32>) {
  ^bb0(%a: f32, %s: f32):
    %r = arith.addf %a, %s : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  %variance = linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x, %total : tensor<64x2048xf32>, tensor<64xf32>) outs(%z : tensor<64xf32>) {
  ^bb0(%a: f32, %t: f32, %s: f32):
    %m = arith.divf %t, %n : f32
    %d = arith.subf %a, %m : f32
    %p = arith.mulf %d, %d : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<64xf32>
  return %variance : tensor<64xf32>
}

// -----

// Nothing stores what is summed: a part of it would have to be.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func @what_a_kernel_makes_stays(
// CHECK-NOT: tensor.extract_slice
// CHECK: return
func.func @what_a_kernel_makes_stays(%a: tensor<1024x8xf32>) -> tensor<8xf32> {
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %n = arith.constant 1024.0 : f32
  %e = tensor.empty() : tensor<1024x8xf32>
  %x = linalg.exp ins(%a : tensor<1024x8xf32>) outs(%e : tensor<1024x8xf32>) -> tensor<1024x8xf32>
  %total = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<1024x8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a0: f32, %s: f32):
    %r = arith.addf %a0, %s : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  %variance = linalg.generic {indexing_maps = [#id, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x, %total : tensor<1024x8xf32>, tensor<8xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%a0: f32, %t: f32, %s: f32):
    %m = arith.divf %t, %n : f32
    %d = arith.subf %a0, %m : f32
    %p = arith.mulf %d, %d : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  return %variance : tensor<8xf32>
}
