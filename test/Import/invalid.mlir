// RUN: remat-opt %s -split-input-file -verify-diagnostics -remat-import

// expected-error @+1 {{nothing in @no_parameter is a parameter: no argument and no constant of it are tensors of floating-point numbers that could be trained}}
func.func @no_parameter(%x: tensor<4xi32>) -> tensor<f32> {
  %l = arith.constant dense<1.0> : tensor<f32>
  return %l : tensor<f32>
}

// -----

// expected-error @+1 {{nothing in @unknown is a parameter: say which with params=NAME,... or spec=FILE.json; its floating-point arguments are 'arg0', 'x'}}
func.func @unknown(%w: tensor<f32>, %x: tensor<f32> loc("x")) -> tensor<f32> {
  %l = arith.mulf %w, %x : tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @independent(%w: tensor<f32> {opt.param}, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // expected-error @+1 {{the loss (result 0) depends on no parameter, so there is nothing to train}}
  return %x, %w : tensor<f32>, tensor<f32>
}

// -----

func.func @no_scalar(%w: tensor<4xf32> {opt.param}) -> tensor<4xf32> {
  // expected-error @+1 {{no result of @no_scalar is a floating-point scalar such as tensor<f32>, so there is no loss}}
  return %w : tensor<4xf32>
}

// -----

func.func @marked(%w: tensor<4xf32> {opt.param}) -> (tensor<4xf32> {remat.loss}) {
  // expected-error @+1 {{result 0 is the loss, but has type 'tensor<4xf32>'; a loss is a floating-point scalar such as tensor<f32>}}
  return %w : tensor<4xf32>
}

// -----

func.func @missing() -> tensor<2xf32> {
  // expected-error @+1 {{dense_resource<lost> has no bytes: the module's dialect_resources have no entry of this name}}
  %w = arith.constant dense_resource<lost> : tensor<2xf32>
  return %w : tensor<2xf32>
}

// -----

func.func @truncated() -> tensor<4xf32> {
  // expected-error @+1 {{dense_resource<short> has 8 bytes, but 'tensor<4xf32>' needs 16}}
  %w = arith.constant dense_resource<short> : tensor<4xf32>
  return %w : tensor<4xf32>
}

{-#
  dialect_resources: {
    builtin: {
      short: "0x040000000000803F00000040"
    }
  }
#-}

// -----

func.func @foreign(%w: tensor<4xf32> {opt.param}) -> tensor<4xf32> {
  // expected-error @+1 {{'tosa.exp' belongs to an exporter; run -pass-pipeline='builtin.module(func.func(tosa-to-linalg-named}}
  %e = tosa.exp %w : (tensor<4xf32>) -> tensor<4xf32>
  return %e : tensor<4xf32>
}

// -----

func.func @first(%w: tensor<f32> {opt.param}) -> tensor<f32> { return %w : tensor<f32> }
// expected-error @+1 {{@second and @first are both public; say which is the loss with function=}}
func.func @second(%w: tensor<f32> {opt.param}) -> tensor<f32> { return %w : tensor<f32> }

// -----

// expected-error @+1 {{has several blocks; run -lift-cf-to-scf first}}
func.func @blocks(%w: tensor<f32> {opt.param}) -> tensor<f32> {
  cf.br ^next
^next:
  return %w : tensor<f32>
}

// -----

func.func private @f(tensor<f32>, tensor<4xui8>) -> tensor<f32>
// expected-error @+1 {{argument 1 has type 'tensor<4xui8>', and 'func.call' reads it with its sign; cast it to 'tensor<4xi8>' first}}
func.func @unsigned(%w: tensor<f32> {opt.param}, %x: tensor<4xui8>) -> tensor<f32> {
  %l = call @f(%w, %x) : (tensor<f32>, tensor<4xui8>) -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @loss_of_unknown_rank(%w: tensor<4xf32>) -> tensor<*xf32> {
  %l = tensor.cast %w : tensor<4xf32> to tensor<*xf32>
  // expected-error @+1 {{no result of @loss_of_unknown_rank is a floating-point scalar such as tensor<f32>, so there is no loss; export one}}
  return %l : tensor<*xf32>
}
