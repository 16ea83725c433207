// RUN: remat-opt %s -remat-check-model -split-input-file -verify-diagnostics

func.func @product_that_adds_to_nothing(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-note @below {{a 'tensor.empty' has a shape only}}
  %e = tensor.empty() : tensor<4x4xf32>
  // expected-warning @below {{operand #2 of 'linalg.matmul' is read, but its contents are undefined; fill it first (linalg.fill)}}
  %p = linalg.matmul ins(%x, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %p : tensor<4x4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @kernel_that_reads_a_view_in_a_region(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{a 'tensor.empty' has a shape only}}
  %e = tensor.empty() : tensor<2x2xf32>
  %v = tensor.collapse_shape %e [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %r = remat.region (%a = %x : tensor<4xf32>, %b = %v : tensor<4xf32>) -> tensor<4xf32> {
    // expected-warning @below {{operand #0 of 'linalg.generic' is read, but its contents are undefined}}
    %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%b : tensor<4xf32>) outs(%a : tensor<4xf32>) {
    ^bb0(%i: f32, %o: f32):
      %sum = arith.addf %i, %o : f32
      linalg.yield %sum : f32
    } -> tensor<4xf32>
    remat.yield %s : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @destinations_that_are_written_only(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%i: f32, %o: f32):
    %n = arith.negf %i : f32
    linalg.yield %n : f32
  } -> tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %r = linalg.add ins(%s, %f : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
