// RUN: remat-opt %s -remat-plan="report=true" -remat-materialize -split-input-file -verify-diagnostics | FileCheck %s

// Attention's products have a batch dimension, the layer's product has none.
func.func @products_without_batch_dimension(%x: tensor<2x4x4xf32>, %w: tensor<4x4xf32>, %ct: tensor<2x4x4xf32>, %cu: tensor<4x4xf32>)
    -> (tensor<2x4x4xf32>, tensor<4x4xf32>, tensor<2x4x4xf32>, tensor<4x4xf32>) {
  // expected-remark @+1 {{region "attention": saves 1 values (64 bytes), recomputes 2 operations (288 scalar ones)}}
  %y:2, %r:2 = remat.region policy(#remat.dots_with_no_batch_dims_saveable) (%a = %x : tensor<2x4x4xf32>, %b = %w : tensor<4x4xf32>)
      -> tensor<2x4x4xf32>, tensor<4x4xf32> residuals(tensor<2x4x4xf32>, tensor<4x4xf32>) attributes {label = "attention"} {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<2x4x4xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %0 = linalg.batch_matmul ins(%a, %a : tensor<2x4x4xf32>, tensor<2x4x4xf32>) outs(%f : tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %e1 = tensor.empty() : tensor<4x4xf32>
    %f1 = linalg.fill ins(%z : f32) outs(%e1 : tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = linalg.matmul ins(%b, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%f1 : tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = math.sin %0 : tensor<2x4x4xf32>
    %3 = math.sin %1 : tensor<4x4xf32>
    remat.yield %2, %3 : tensor<2x4x4xf32>, tensor<4x4xf32> residuals(%0, %1 : tensor<2x4x4xf32>, tensor<4x4xf32>)
  }
  // CHECK: remat.backward
  // CHECK: linalg.batch_matmul {{.*}}recompute
  // CHECK-NOT: linalg.matmul
  // CHECK: return
  %d:2 = remat.backward residuals(%m = %r#0 : tensor<2x4x4xf32>, %n = %r#1 : tensor<4x4xf32>) cotangents(%dy = %ct : tensor<2x4x4xf32>, %dz = %cu : tensor<4x4xf32>)
      -> tensor<2x4x4xf32>, tensor<4x4xf32> {
    %0 = arith.mulf %m, %dy : tensor<2x4x4xf32>
    %1 = arith.mulf %n, %dz : tensor<4x4xf32>
    remat.yield %0, %1 : tensor<2x4x4xf32>, tensor<4x4xf32>
  }
  return %y#0, %y#1, %d#0, %d#1 : tensor<2x4x4xf32>, tensor<4x4xf32>, tensor<2x4x4xf32>, tensor<4x4xf32>
}

// -----

// Of four inner regions, the result of the second is saved (that of the fourth
// is not needed): the first and the third are recomputed.
func.func @every_second_region(%x: f32, %ct: f32) -> (f32, f32) {
  // expected-remark @+1 {{saves 1 values (4 bytes), recomputes 2 operations}}
  %y, %r:3 = remat.region policy(#remat.every_k<2>) (%a = %x : f32) -> f32 residuals(f32, f32, f32) {
    %0 = remat.region (%b = %a : f32) -> f32 {
      %s = math.sin %b : f32
      remat.yield %s : f32
    }
    %1 = remat.region (%b = %0 : f32) -> f32 {
      %s = math.cos %b : f32
      remat.yield %s : f32
    }
    %2 = remat.region (%b = %1 : f32) -> f32 {
      %s = math.exp %b : f32
      remat.yield %s : f32
    }
    %3 = remat.region (%b = %2 : f32) -> f32 {
      %s = math.tanh %b : f32
      remat.yield %s : f32
    }
    remat.yield %3 : f32 residuals(%0, %1, %2 : f32, f32, f32)
  }
  // CHECK-LABEL: @every_second_region
  // CHECK: remat.backward
  // CHECK-NOT: math.{{cos|tanh}}
  // CHECK: math.exp
  // CHECK-NOT: math.{{cos|tanh}}
  // CHECK: math.sin
  // CHECK-NOT: math.{{cos|tanh}}
  // CHECK: return
  %dx = remat.backward residuals(%p = %r#0 : f32, %q = %r#1 : f32, %s = %r#2 : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = arith.mulf %s, %dy : f32
    %1 = arith.mulf %0, %q : f32
    %2 = arith.mulf %1, %p : f32
    remat.yield %2 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// A name inside a called function counts for the caller's policy.
func.func @layer(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  %1 = remat.name "h" %0 : f32
  return %1 : f32
}
func.func @names_in_called_functions(%x: f32, %ct: f32) -> (f32, f32) {
  // expected-remark @+1 {{saves 1 values (4 bytes), recomputes 0 operations; what the policy offloads is saved where the step runs}}
  %y, %r = remat.region policy(#remat.offload_names<"h">) (%a = %x : f32) -> f32 residuals(f32) {
    %0 = func.call @layer(%a) : (f32) -> f32
    %1 = math.exp %0 : f32
    remat.yield %1 : f32 residuals(%0 : f32)
  }
  %dx = remat.backward residuals(%p = %r : f32) cotangents(%dy = %ct : f32) -> f32 {
    %0 = arith.mulf %p, %dy : f32
    remat.yield %0 : f32
  }
  return %y, %dx : f32, f32
}

// -----

// A permitted view of an operand is taken again: saving it would save bytes that
// are there already.
func.func @views_of_operands_are_not_saved(%x: tensor<8xf32>, %ct: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  // expected-remark @+1 {{saves 0 values (0 bytes), recomputes 1 operations}}
  %y, %r = remat.region policy(#remat.everything_saveable) (%a = %x : tensor<8xf32>) -> tensor<2x4xf32> residuals(tensor<2x4xf32>) {
    %0 = tensor.expand_shape %a [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
    %1 = math.exp %0 : tensor<2x4xf32>
    remat.yield %1 : tensor<2x4xf32> residuals(%0 : tensor<2x4xf32>)
  }
  %dx = remat.backward residuals(%p = %r : tensor<2x4xf32>) cotangents(%dy = %ct : tensor<2x4xf32>) -> tensor<2x4xf32> {
    %0 = arith.mulf %p, %dy : tensor<2x4xf32>
    remat.yield %0 : tensor<2x4xf32>
  }
  return %y, %dx : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// Counts stop at a limit instead of coming out negative.
func.func @more_elements_than_64_bits_count(%x: tensor<4294967296x4294967296xf32>, %ct: tensor<4294967296x4294967296xf32>)
    -> (tensor<4294967296x4294967296xf32>, tensor<4294967296x4294967296xf32>) {
  // expected-remark @+1 {{saves 0 values (0 bytes), recomputes 1 operations (1125899906842624 scalar ones)}}
  %y, %r = remat.region (%a = %x : tensor<4294967296x4294967296xf32>) -> tensor<4294967296x4294967296xf32> residuals(tensor<4294967296x4294967296xf32>) {
    %0 = math.sin %a : tensor<4294967296x4294967296xf32>
    %1 = math.exp %0 : tensor<4294967296x4294967296xf32>
    remat.yield %1 : tensor<4294967296x4294967296xf32> residuals(%0 : tensor<4294967296x4294967296xf32>)
  }
  %dx = remat.backward residuals(%p = %r : tensor<4294967296x4294967296xf32>) cotangents(%dy = %ct : tensor<4294967296x4294967296xf32>) -> tensor<4294967296x4294967296xf32> {
    %0 = arith.mulf %p, %dy : tensor<4294967296x4294967296xf32>
    remat.yield %0 : tensor<4294967296x4294967296xf32>
  }
  return %y, %dx : tensor<4294967296x4294967296xf32>, tensor<4294967296x4294967296xf32>
}

// -----

#window = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d3)>
#size = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>
#result = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d3)>

// A pooling, named or generic, has a convolution's loops, but sums no products.
func.func @poolings_are_no_products(%x: tensor<1x8x8x1xf32>, %w: tensor<3x3x1x1xf32>, %ct: tensor<1x3x3x1xf32>) -> (tensor<1x3x3x1xf32>, tensor<1x3x3x1xf32>) {
  // CHECK-LABEL: @poolings_are_no_products
  // CHECK: residuals(tensor<1x6x6x1xf32>)
  // expected-remark @+1 {{saves 1 values (144 bytes), recomputes 3 operations (81 scalar ones)}}
  %y, %r:3 = remat.region policy(#remat.dots_saveable) (%a = %x : tensor<1x8x8x1xf32>, %b = %w : tensor<3x3x1x1xf32>)
      -> tensor<1x3x3x1xf32> residuals(tensor<1x6x6x1xf32>, tensor<1x3x3x1xf32>, tensor<1x3x3x1xf32>) {
    %zero = arith.constant 0.0 : f32
    %low = arith.constant 0xFF800000 : f32
    %e = tensor.empty() : tensor<1x6x6x1xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x6x6x1xf32>) -> tensor<1x6x6x1xf32>
    %conv = linalg.conv_2d_nhwc_hwcf ins(%a, %b : tensor<1x8x8x1xf32>, tensor<3x3x1x1xf32>) outs(%f : tensor<1x6x6x1xf32>) -> tensor<1x6x6x1xf32>
    %size = tensor.empty() : tensor<2x2xf32>
    %pe = tensor.empty() : tensor<1x3x3x1xf32>
    %pf = linalg.fill ins(%low : f32) outs(%pe : tensor<1x3x3x1xf32>) -> tensor<1x3x3x1xf32>
    %named = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>} ins(%conv, %size : tensor<1x6x6x1xf32>, tensor<2x2xf32>) outs(%pf : tensor<1x3x3x1xf32>) -> tensor<1x3x3x1xf32>
    %generic = linalg.generic {indexing_maps = [#window, #size, #result], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
        ins(%conv, %size : tensor<1x6x6x1xf32>, tensor<2x2xf32>) outs(%pf : tensor<1x3x3x1xf32>) {
    ^bb0(%u: f32, %v: f32, %o: f32):
      %m = arith.maximumf %o, %u : f32
      linalg.yield %m : f32
    } -> tensor<1x3x3x1xf32>
    %out = math.sin %named : tensor<1x3x3x1xf32>
    remat.yield %out : tensor<1x3x3x1xf32> residuals(%conv, %named, %generic : tensor<1x6x6x1xf32>, tensor<1x3x3x1xf32>, tensor<1x3x3x1xf32>)
  }
  // CHECK: remat.backward
  // CHECK-NOT: linalg.conv_2d
  // CHECK: linalg.pooling_nhwc_max {{.*}}recompute
  // CHECK: arith.maximumf
  // CHECK: return
  %dx = remat.backward residuals(%c = %r#0 : tensor<1x6x6x1xf32>, %p = %r#1 : tensor<1x3x3x1xf32>, %q = %r#2 : tensor<1x3x3x1xf32>) cotangents(%dy = %ct : tensor<1x3x3x1xf32>) -> tensor<1x3x3x1xf32> {
    %s = tensor.extract_slice %c[0, 0, 0, 0] [1, 3, 3, 1] [1, 1, 1, 1] : tensor<1x6x6x1xf32> to tensor<1x3x3x1xf32>
    %0 = arith.mulf %p, %q : tensor<1x3x3x1xf32>
    %1 = arith.mulf %0, %s : tensor<1x3x3x1xf32>
    %2 = arith.mulf %1, %dy : tensor<1x3x3x1xf32>
    remat.yield %2 : tensor<1x3x3x1xf32>
  }
  return %y, %dx : tensor<1x3x3x1xf32>, tensor<1x3x3x1xf32>
}

// -----

// A transposed convolution is a product like any other, of three dimensions as well; a sine is not.
func.func @transposed_convolutions_are_products(%x: tensor<1x4x4x4x2xf32>, %w: tensor<2x2x2x3x2xf32>, %ct: tensor<1x8x8x8x3xf32>) -> (tensor<1x8x8x8x3xf32>, tensor<1x8x8x8x3xf32>) {
  // CHECK-LABEL: @transposed_convolutions_are_products
  // CHECK: residuals(tensor<1x8x8x8x3xf32>)
  // expected-remark @+1 {{saves 1 values (6144 bytes), recomputes 1 operations (1536 scalar ones)}}
  %y, %r:2 = remat.region policy(#remat.dots_saveable) (%a = %x : tensor<1x4x4x4x2xf32>, %b = %w : tensor<2x2x2x3x2xf32>)
      -> tensor<1x8x8x8x3xf32> residuals(tensor<1x8x8x8x3xf32>, tensor<1x8x8x8x3xf32>) {
    %e = tensor.empty() : tensor<1x8x8x8x3xf32>
    %up = remat.conv_backward_data ins(%a, %b : tensor<1x4x4x4x2xf32>, tensor<2x2x2x3x2xf32>) outs(%e : tensor<1x8x8x8x3xf32>)
        {strides = array<i64: 2, 2, 2>, dilations = array<i64: 1, 1, 1>, padding = array<i64: 0, 0, 0, 0, 0, 0>} -> tensor<1x8x8x8x3xf32>
    %sin = math.sin %up : tensor<1x8x8x8x3xf32>
    remat.yield %sin : tensor<1x8x8x8x3xf32> residuals(%up, %sin : tensor<1x8x8x8x3xf32>, tensor<1x8x8x8x3xf32>)
  }
  // CHECK: remat.backward
  // CHECK-NOT: remat.conv_backward_data
  // CHECK: math.sin
  // CHECK: return
  %dx = remat.backward residuals(%u = %r#0 : tensor<1x8x8x8x3xf32>, %s = %r#1 : tensor<1x8x8x8x3xf32>) cotangents(%dy = %ct : tensor<1x8x8x8x3xf32>) -> tensor<1x8x8x8x3xf32> {
    %0 = arith.mulf %u, %s : tensor<1x8x8x8x3xf32>
    %1 = arith.mulf %0, %dy : tensor<1x8x8x8x3xf32>
    remat.yield %1 : tensor<1x8x8x8x3xf32>
  }
  return %y, %dx : tensor<1x8x8x8x3xf32>, tensor<1x8x8x8x3xf32>
}
