// RUN: remat-opt %s -remat-differentiate -split-input-file -verify-diagnostics
// Whoever prints the operation with the message prints others that are not finished.
// RUN: not remat-opt %s -split-input-file -remat-differentiate -mlir-print-op-on-diagnostic > /dev/null 2>&1

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

func.func @body_of_another_dialect(%w: f32 {opt.param}) -> f32 {
  // expected-error @below {{'affine.for' op has a body, and no derivative rule; to differentiate through it, implement DecomposableOpInterface, which makes loops and branches of scf of it (docs/add-a-rule.md), or lower it to those}}
  %r = affine.for %i = 0 to 4 iter_args(%a = %w) -> f32 {
    %s = math.sin %a : f32
    affine.yield %s : f32
  }
  return %r : f32
}

// -----

// Only captured, and not an operand.
func.func @body_that_captures(%w: f32 {opt.param}) -> f32 {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{'affine.for' op has a body, and no derivative rule}}
  %r = affine.for %i = 0 to 4 iter_args(%a = %zero) -> f32 {
    %s = arith.addf %a, %w : f32
    affine.yield %s : f32
  }
  return %r : f32
}

// -----

// With a gradient through nothing of it, a body needs no rule.
func.func @body_beside_the_path(%w: f32 {opt.param}, %x: f32) -> f32 {
  %r = affine.for %i = 0 to 4 iter_args(%a = %x) -> f32 {
    %s = math.sin %a : f32
    affine.yield %s : f32
  }
  %y = arith.mulf %w, %r : f32
  return %y : f32
}

// -----

func.func @form_that_is_not_decomposed(%w: tensor<4xf32> {opt.param}) -> f32 {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'tensor.bitcast' op has no derivative rule, and what it is made of is known for other forms of it only (-remat-decompose)}}
  %b = tensor.bitcast %w : tensor<4xf32> to tensor<?xf32>
  %r = tensor.extract %b[%c0] : tensor<?xf32>
  return %r : f32
}

// -----

func.func @stored_value(%w: f32 {opt.param}, %m: memref<f32>) -> f32 {
  // expected-error @below {{may store a value that depends on a parameter in memory}}
  memref.store %w, %m[] : memref<f32>
  return %w : f32
}

// -----

func.func private @mean(tensor<4xf32>) -> f32
func.func @call_without_body(%w: tensor<4xf32> {opt.param}) -> f32 {
  // expected-error @below {{calls @mean, which has no body to differentiate; give it one}}
  %m = func.call @mean(%w) : (tensor<4xf32>) -> f32
  return %m : f32
}

// -----

func.func private @again(%x: f32) -> f32 {
  // expected-error @below {{is recursive, and recursion is not differentiated; write @again as an scf.for}}
  %y = func.call @again(%x) : (f32) -> f32
  %z = arith.mulf %x, %y : f32
  return %z : f32
}
func.func @recursion(%w: f32 {opt.param}) -> f32 {
  // expected-remark @below {{while differentiating the function that is called here}}
  %y = func.call @again(%w) : (f32) -> f32
  return %y : f32
}

// -----

func.func @vector_on_the_path(%w: tensor<4xf32> {opt.param}) -> f32 {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %v = vector.transfer_read %w[%c0], %z : tensor<4xf32>, vector<4xf32>
  // expected-error @below {{is differentiated with respect to a value of type 'vector<4xf32>'}}
  %s = vector.reduction <add>, %v : vector<4xf32> into f32
  return %s : f32
}

// -----

func.func @several_blocks(%w: f32 {opt.param}, %c: i1) -> f32 {
  // expected-error @below {{has several blocks; run -lift-cf-to-scf first}}
  %r = scf.execute_region -> f32 {
    cf.cond_br %c, ^a, ^b
  ^a:
    scf.yield %w : f32
  ^b:
    %d = arith.addf %w, %w : f32
    scf.yield %d : f32
  }
  return %r : f32
}

// -----

// expected-error @below {{cannot differentiate @graph: it has several blocks; run -lift-cf-to-scf first}}
func.func @graph(%w: f32 {opt.param}, %c: i1) -> f32 {
  cf.cond_br %c, ^a, ^b(%w : f32)
^a:
  %d = arith.addf %w, %w : f32
  cf.br ^b(%d : f32)
^b(%r: f32):
  return %r : f32
}

// -----

func.func private @next(f32) -> i1
func.func @count_with_effects(%w: f32 {opt.param}) -> f32 {
  // expected-note @below {{the loop is here}}
  %r = scf.while (%x = %w) : (f32) -> f32 {
    // expected-error @below {{has side effects, and the trip count of an scf.while that is differentiated depends on it}}
    %c = func.call @next(%x) : (f32) -> i1
    scf.condition(%c) %x : f32
  } do {
  ^bb0(%x: f32):
    %y = math.sin %x : f32
    scf.yield %y : f32
  }
  return %r : f32
}

// -----

func.func @size_changes_in_the_loop(%w: tensor<?xf32> {opt.param}, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{the backward of this loop needs a value of type 'tensor<?xf32>' from each iteration, but its size is not known before the loop}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %w) -> tensor<?xf32> {
    %s = math.sin %a : tensor<?xf32>
    %t = math.sin %s : tensor<?xf32>
    %d = tensor.concat dim(0) %t, %w : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    scf.yield %d : tensor<?xf32>
  }
  %v = tensor.extract %r[%c0] : tensor<?xf32>
  return %v : f32
}

// -----

// An operation of an unregistered dialect may end a function, too.
func.func @ends_in_something(%x: tensor<f32> {opt.param}) -> tensor<f32> {
  // expected-error @below {{cannot differentiate @ends_in_something: it does not end in a func.return}}
  %0 = "chlo.erf"(%x) : (tensor<f32>) -> tensor<f32>
}

// -----

func.func private @callee(%x: f32) -> f32 {
  %0 = "chlo.erf"(%x) : (f32) -> f32
}
func.func @calls(%x: f32 {opt.param}) -> f32 {
  // expected-error @below {{calls @callee, which does not end in a func.return}}
  %0 = func.call @callee(%x) : (f32) -> f32
  return %0 : f32
}
