// RUN: remat-opt %s -remat-differentiate -split-input-file -verify-diagnostics

// expected-error @below {{argument 0 of @complex_parameter has type 'tensor<4xcomplex<f32>>' and cannot be trained; parameters are floating-point scalars of 16 or more bits or dense ranked tensors of them}}
func.func @complex_parameter(%x: tensor<4xcomplex<f32>> {opt.param}) -> f32 {
  %c = arith.constant 0 : index
  %e = tensor.extract %x[%c] : tensor<4xcomplex<f32>>
  %r = complex.re %e : complex<f32>
  return %r : f32
}

// -----

func.func @complex_inside(%x: tensor<4xf32> {opt.param}) -> f32 {
  %c = arith.constant 0 : index
  %e = tensor.extract %x[%c] : tensor<4xf32>
  %z = complex.create %e, %e : complex<f32>
  // expected-error @below {{is differentiated with respect to a value of type 'complex<f32>', but derivatives exist for floating-point scalars of 16 or more bits and dense ranked tensors of them only; compute on those (a complex number as its two parts)}}
  %r = complex.abs %z : complex<f32>
  return %r : f32
}

// -----

#sparse = #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>
// expected-error @below {{cannot be trained}}
func.func @sparse_parameter(%x: tensor<4xf32, #sparse> {opt.param}) -> f32 {
  %c = arith.constant 0 : index
  %e = tensor.extract %x[%c] : tensor<4xf32, #sparse>
  return %e : f32
}

// -----

#sparse = #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>
func.func @sparse_inside(%x: tensor<4xf32> {opt.param}) -> f32 {
  %c = arith.constant 0 : index
  %s = sparse_tensor.convert %x : tensor<4xf32> to tensor<4xf32, #sparse>
  // expected-error @below {{is differentiated with respect to a value of type 'tensor<4xf32, #sparse_tensor.encoding}}
  %e = tensor.extract %s[%c] : tensor<4xf32, #sparse>
  return %e : f32
}

// -----

// expected-error @below {{has type 'tensor<4xf8E4M3FN>' and cannot be trained}}
func.func @parameter_of_a_byte(%x: tensor<4xf8E4M3FN> {opt.param}) -> f32 {
  %c = arith.constant 0 : index
  %e = tensor.extract %x[%c] : tensor<4xf8E4M3FN>
  %r = arith.extf %e : f8E4M3FN to f32
  return %r : f32
}

// -----

func.func @quantized_inside(%x: tensor<4xf32> {opt.param}) -> f32 {
  %q = quant.qcast %x : tensor<4xf32> to tensor<4x!quant.uniform<i8:f32, 1.0>>
  // expected-error @below {{is differentiated with respect to a value of type 'tensor<4x!quant.uniform<i8:f32, 1.000000e+00>>'}}
  %y = quant.dcast %q : tensor<4x!quant.uniform<i8:f32, 1.0>> to tensor<4xf32>
  %c = arith.constant 0 : index
  %e = tensor.extract %y[%c] : tensor<4xf32>
  return %e : f32
}

// -----

func.func @winograd(%x: tensor<1x6x6x5xf32> {opt.param}) -> f32 {
  %e = tensor.empty() : tensor<6x6x1x1x1x5xf32>
  // expected-error @below {{has no derivative rule; differentiate the convolution that it is a part of, and transform convolutions after that}}
  %y = linalg.winograd_input_transform fmr(F_4_3) ins(%x : tensor<1x6x6x5xf32>) outs(%e : tensor<6x6x1x1x1x5xf32>) -> tensor<6x6x1x1x1x5xf32>
  %c = arith.constant 0 : index
  %r = tensor.extract %y[%c, %c, %c, %c, %c, %c] : tensor<6x6x1x1x1x5xf32>
  return %r : f32
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @a_byte_in_a_body(%x: tensor<4xf32> {opt.param}) -> f32 {
  %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : tensor<4xf32>) {
  ^bb0(%a: f32):
    %n = arith.truncf %a : f32 to f8E5M2
    // expected-error @below {{is differentiated with respect to a value of type 'f8E5M2'}}
    %p = arith.mulf %n, %n : f8E5M2
    %w = arith.extf %p : f8E5M2 to f32
    linalg.yield %w : f32
  } -> tensor<4xf32>
  %c = arith.constant 0 : index
  %r = tensor.extract %y[%c] : tensor<4xf32>
  return %r : f32
}

// -----

// expected-error @below {{has type 'tensor<4xtf32>' and cannot be trained}}
func.func @parameter_for_tensor_cores(%x: tensor<4xtf32> {opt.param}) -> tf32 {
  %c = arith.constant 0 : index
  %e = tensor.extract %x[%c] : tensor<4xtf32>
  return %e : tf32
}
