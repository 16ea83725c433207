// RUN: remat-opt %s -remat-check-types -split-input-file -verify-diagnostics
// RUN: remat-opt %s -remat-train=target=cpu -split-input-file -verify-diagnostics
// RUN: remat-opt %s -remat-lower-to-cpu -split-input-file -verify-diagnostics

func.func @a_byte(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{a value of type 'tensor<4xf8E4M3FN>' has no lowering to the CPU; compute in f16, bf16 or f32}}
  %n = arith.truncf %x : tensor<4xf32> to tensor<4xf8E4M3FN>
  %w = arith.extf %n : tensor<4xf8E4M3FN> to tensor<4xf32>
  return %w : tensor<4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @in_a_body(%x: memref<4xf32>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%x : memref<4xf32>) {
  ^bb0(%a: f32):
    // expected-error @below {{a value of type 'f4E2M1FN' has no lowering to the CPU}}
    %n = arith.truncf %a : f32 to f4E2M1FN
    %w = arith.extf %n : f4E2M1FN to f32
    linalg.yield %w : f32
  }
  return
}

// -----

// expected-error @below {{a value of type 'tf32' has no lowering to the CPU; compute in f16, bf16 or f32}}
func.func @tensor_cores(%x: tf32) -> tf32 {
  return %x : tf32
}

// -----

#sparse = #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>
// expected-error @below {{has no lowering to the CPU; keep it dense (sparse_tensor.convert)}}
func.func @sparse(%x: tensor<4xf32, #sparse>, %i: index) -> f32 {
  %e = tensor.extract %x[%i] : tensor<4xf32, #sparse>
  return %e : f32
}

// -----

// expected-error @below {{has no lowering to the CPU; run -lower-quant-ops and -strip-func-quant-types first}}
func.func @quantized(%x: tensor<4x!quant.uniform<i8:f32, 1.0>>) -> tensor<4xf32> {
  %y = quant.dcast %x : tensor<4x!quant.uniform<i8:f32, 1.0>> to tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// expected-error @below {{a value of type 'tensor<4xui8>' has no lowering to the CPU; use signless integers (i8 for ui8)}}
func.func @unsigned(%x: tensor<4xui8>) -> tensor<4xui8> {
  return %x : tensor<4xui8>
}

// -----

func.func @lost_weights() -> tensor<4xf32> {
  // expected-error @below {{dense_resource<lost> has no bytes: the module's dialect_resources have no entry of this name}}
  %w = arith.constant dense_resource<lost> : tensor<4xf32>
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{dense_resource<lost> has no bytes}}
func.func @lost_initial_value(%w: tensor<4xf32> {remat.state = "w", remat.init = dense_resource<lost> : tensor<4xf32>}) {
  return
}

// -----

func.func @short_weights() -> tensor<4xf32> {
  // expected-error @below {{dense_resource<short> has 8 bytes, but 'tensor<4xf32>' needs 16}}
  %w = arith.constant dense_resource<short> : tensor<4xf32>
  return %w : tensor<4xf32>
}

{-# dialect_resources: { builtin: { short: "0x040000000000000000000000" } } #-}

// -----

func.func @more_weights_than_64_bits_count() -> tensor<4611686018427387904xf32> {
  // expected-error @below {{dense_resource<few> has 8 bytes, but 'tensor<4611686018427387904xf32>' needs}}
  %w = arith.constant dense_resource<few> : tensor<4611686018427387904xf32>
  return %w : tensor<4611686018427387904xf32>
}

{-# dialect_resources: { builtin: { few: "0x040000000000000000000000" } } #-}

// -----

func.func @weights_of_any_size() -> tensor<?xf32> {
  // expected-error @below {{dense_resource<any> is as large as its bytes say, so its type needs a static shape, got 'tensor<?xf32>'}}
  %w = arith.constant dense_resource<any> : tensor<?xf32>
  return %w : tensor<?xf32>
}

{-# dialect_resources: { builtin: { any: "0x040000000000000000000000" } } #-}

// -----

func.func @numbers_of_any_kind() {
  %c = arith.constant dense_resource<pair> : tensor<1xcomplex<f32>>
  %i = arith.constant dense_resource<pair> : tensor<1xindex>
  return
}

{-# dialect_resources: { builtin: { pair: "0x040000000000000000000000" } } #-}

// -----

// expected-error @below {{has elements of type 'complex<f32>' in a resource, which have no lowering; write them as dense<...>}}
memref.global "private" constant @complex : memref<1xcomplex<f32>> = dense_resource<pair>

{-# dialect_resources: { builtin: { pair: "0x040000000000000000000000" } } #-}

// -----

module @outer {
  // expected-error @below {{a module inside of another one is not compiled; move its operations to the outer module}}
  module @inner {
    // expected-note @below {{such as this one}}
    func.func @loss(%w: tensor<f32> {opt.param = "w"}) -> tensor<f32> {
      return %w : tensor<f32>
    }
  }
}
