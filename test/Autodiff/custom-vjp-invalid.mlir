// RUN: remat-opt %s -remat-differentiate -split-input-file -verify-diagnostics

// expected-error @below {{names the rule @nothing, but there is no such function}}
remat.custom_vjp @nothing for "math.sin"

// -----

func.func private @declared(%x: f32, %y: f32, %dy: f32) -> f32
// expected-error @below {{names the rule @declared, whose body is not a single block}}
remat.custom_vjp @declared for "math.sin"

// -----

func.func private @rule(%x: f32, %y: f32, %dy: f32) -> f32 {
  return %dy : f32
}
// expected-error @below {{is for @nothing, but there is no such function}}
remat.custom_vjp @rule for @nothing

// -----

func.func private @rule(%x: f32, %y: f32, %dy: f32) -> f32 {
  return %dy : f32
}
// expected-error @below {{is for "sin", which names no operation; write it as "dialect.operation", or @function}}
remat.custom_vjp @rule for "sin"

// -----

func.func private @rule(%x: f32, %y: f32, %dy: f32) -> f32 {
  return %dy : f32
}
// expected-error @below {{is for "arith.sin", but the dialect 'arith' has no such operation}}
remat.custom_vjp @rule for "arith.sin"
func.func @f(%x: f32) -> f32 {
  %y = arith.addf %x, %x : f32
  return %y : f32
}

// -----

func.func private @rule(%x: f32, %y: f32, %dy: f32) -> f32 {
  return %dy : f32
}
// expected-error @below {{is for "func.call"; name the function instead (for @function)}}
remat.custom_vjp @rule for "func.call"

// -----

// expected-note @below {{@arity has type '(f32, f32) -> f32'}}
func.func private @arity(%x: f32, %dy: f32) -> f32 {
  return %dy : f32
}
// The integer has no cotangent, neither as operand nor as result.
func.func private @f(%x: f32, %n: i32) -> (f32, i32) {
  return %x, %n : f32, i32
}
// expected-error @below {{needs a rule of type '(f32, i32, f32, i32, f32) -> f32' (operands, results, and cotangents}}
remat.custom_vjp @arity for @f

// -----

// expected-note @below {{has type}}
func.func private @types(%x: tensor<4xf32>, %y: tensor<4xf32>, %dy: tensor<4xf32>) -> tensor<4xf32> {
  return %dy : tensor<4xf32>
}
func.func private @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}
// A rule may be more general than its function, not less.
// expected-error @below {{needs a rule of type '(tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>'}}
remat.custom_vjp @types for @f

// -----

func.func private @inner(%x: f32) -> f32 {
  // expected-note @below {{this operation may have one}}
  vector.print %x : f32
  return %x : f32
}
func.func private @impure(%x: f32, %y: f32, %dy: f32) -> f32 {
  %d = func.call @inner(%dy) : (f32) -> f32
  return %d : f32
}
// expected-error @below {{names the rule @impure, which has effects}}
remat.custom_vjp @impure for "math.sin"

// -----

func.func private @rule(%x: f32, %y: f32, %dy: f32) -> f32 {
  return %dy : f32
}
func.func private @f(%x: f32) -> f32 {
  return %x : f32
}
// expected-note @below {{the first is here}}
remat.custom_vjp @rule for @f
// expected-error @below {{is the second rule for @f; a function has one}}
remat.custom_vjp @rule for @f

// -----

// expected-note @below {{@rule has type '(f32, f32, f32) -> f32'}}
func.func private @rule(%x: f32, %y: f32, %dy: f32) -> f32 {
  return %dy : f32
}
remat.custom_vjp @rule for "math.sin"
func.func @wrong_element_type(%x: tensor<f64> {opt.param}) -> tensor<f64> {
  // expected-error @below {{has a remat.custom_vjp, but none for its types; it needs '(tensor<f64>, tensor<f64>, tensor<f64>) -> tensor<f64>' (or the same on scalars)}}
  %y = math.sin %x : tensor<f64>
  return %y : tensor<f64>
}

// -----

func.func private @rule(%l: index, %u: index, %s: index, %x: f32, %y: f32, %dy: f32) -> f32 {
  return %dy : f32
}
remat.custom_vjp @rule for "scf.for"
func.func @captures(%w: f32 {opt.param}) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{cannot take a remat.custom_vjp, since it reads values that are not its operands}}
  %y = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %w) -> f32 {
    %t = arith.mulf %s, %w : f32
    scf.yield %t : f32
  }
  return %y : f32
}

// -----

func.func private @rule(%x: f32, %y: f32, %dy: f32) -> f32 {
  // expected-error @below {{'remat.custom_vjp' op expects parent op 'builtin.module'}}
  remat.custom_vjp @rule for "math.sin"
  return %dy : f32
}
