// RUN: remat-opt %s -remat-differentiate -split-input-file -verify-diagnostics

// expected-error @below {{no result is a floating-point scalar such as f32 or tensor<f32>}}
func.func @no_scalar_result(%w: tensor<4xf32> {opt.param}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{result 0 with remat.loss has type 'tensor<4xf32>'; a loss is a floating-point scalar}}
func.func @loss_is_no_scalar(%w: tensor<4xf32> {opt.param}) -> (tensor<4xf32> {remat.loss}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{has two results with remat.loss, 0 and 1; keep one}}
func.func @two_losses(%w: f32 {opt.param}) -> (f32 {remat.loss}, f32 {remat.loss}) {
  return %w, %w : f32, f32
}

// -----

// expected-error @below {{argument 0 of @integer_parameter has type 'tensor<4xi32>' and cannot be trained}}
func.func @integer_parameter(%w: tensor<4xi32> {opt.param}, %x: f32) -> f32 {
  return %x : f32
}

// -----

func.func @loss_of_data(%w: f32 {opt.param}, %x: f32) -> f32 {
  // expected-error @below {{result 0 depends on no parameter}}
  return %x : f32
}

// -----

// expected-warning @below {{the loss does not depend on parameter 1 of @unused_parameter; it is left untouched}}
func.func @unused_parameter(%w: f32 {opt.param}, %u: tensor<3xf32> {opt.param}) -> f32 {
  return %w : f32
}

// -----

func.func @unknown_operation(%w: f32 {opt.param}) -> f32 {
  // expected-error @below {{'arith.bitcast' op has no derivative rule; implement DifferentiableOpInterface for it (docs/add-a-rule.md)}}
  %i = arith.bitcast %w : f32 to f32
  return %i : f32
}

// -----

func.func @stored_value(%w: f32 {opt.param}, %m: memref<f32>) -> f32 {
  // expected-error @below {{may store a value that depends on a parameter in memory}}
  memref.store %w, %m[] : memref<f32>
  return %w : f32
}
