// RUN: remat-opt %s -split-input-file -verify-diagnostics

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>
func.func @sizes(%q: tensor<5x4xf32>, %k: tensor<7x4xf32>, %v: tensor<8x6xf32>, %o: tensor<5x6xf32>, %l: tensor<5xf32>) {
  // expected-error @+1 {{has a loop, d1, of size 7 by one operand, and 8 by 'tensor<8x6xf32>'}}
  %y:2 = remat.attention ins(%q, %k, %v : tensor<5x4xf32>, tensor<7x4xf32>, tensor<8x6xf32>)
      outs(%o, %l : tensor<5x6xf32>, tensor<5xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32):
    remat.yield %s : f32
  } -> tensor<5x6xf32>, tensor<5xf32>
  return
}

// -----

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#l = affine_map<(m, n, d, v) -> (m)>
func.func @keys_in_result(%q: tensor<5x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x6xf32>, %o: tensor<7x6xf32>, %l: tensor<5xf32>) {
  // expected-error @+1 {{has a loop, d0, that must be one of rows (in the maps of the result and of log_sum), keys}}
  %y:2 = remat.attention ins(%q, %k, %v : tensor<5x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>)
      outs(%o, %l : tensor<7x6xf32>, tensor<5xf32>) attributes {indexing_maps = [#q, #k, #v, #v, #l]} {
  ^bb0(%m: index, %s: f32):
    remat.yield %s : f32
  } -> tensor<7x6xf32>, tensor<5xf32>
  return
}

// -----

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>
func.func @narrow_sums(%q: tensor<5x4xbf16>, %k: tensor<7x4xbf16>, %v: tensor<7x6xbf16>, %o: tensor<5x6xbf16>, %l: tensor<5xbf16>) {
  // expected-error @+1 {{adds up 'bf16', but sums of products of 'bf16' must be 'f32'}}
  %y:2 = remat.attention ins(%q, %k, %v : tensor<5x4xbf16>, tensor<7x4xbf16>, tensor<7x6xbf16>)
      outs(%o, %l : tensor<5x6xbf16>, tensor<5xbf16>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: bf16):
    remat.yield %s : bf16
  } -> tensor<5x6xbf16>, tensor<5xbf16>
  return
}

// -----

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>
func.func @rounded_to_another_type(%q: tensor<5x4xbf16>, %k: tensor<7x4xbf16>, %v: tensor<7x6xbf16>, %o: tensor<5x6xf16>, %l: tensor<5xf32>) {
  // expected-error @+1 {{rounds to 'f16', but results and gradients of 'bf16' must be 'bf16' or 'f32'}}
  %y:2 = remat.attention ins(%q, %k, %v : tensor<5x4xbf16>, tensor<7x4xbf16>, tensor<7x6xbf16>)
      outs(%o, %l : tensor<5x6xf16>, tensor<5xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32):
    remat.yield %s : f32
  } -> tensor<5x6xf16>, tensor<5xf32>
  return
}

// -----

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>
func.func @body(%q: tensor<5x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x6xf32>, %o: tensor<5x6xf32>, %l: tensor<5xf32>) {
  // expected-error @+1 {{has a body with arguments ('f32'), but it needs ('index', 'index', 'f32')}}
  %y:2 = remat.attention ins(%q, %k, %v : tensor<5x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>)
      outs(%o, %l : tensor<5x6xf32>, tensor<5xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%s: f32):
    remat.yield %s : f32
  } -> tensor<5x6xf32>, tensor<5xf32>
  return
}

// -----

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>
func.func @factor_of_score(%q: tensor<5x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x6xf32>, %o: tensor<5x6xf32>, %l: tensor<5xf32>) {
  // expected-error @+1 {{yields a factor that depends on the score}}
  %y:2 = remat.attention ins(%q, %k, %v : tensor<5x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>)
      outs(%o, %l : tensor<5x6xf32>, tensor<5xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32):
    %f = arith.mulf %s, %s : f32
    remat.yield %s, %f : f32, f32
  } -> tensor<5x6xf32>, tensor<5xf32>
  return
}

// -----

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>
func.func @maps(%q: tensor<5x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x6xf32>, %o: tensor<5x6xf32>, %l: tensor<5xf32>) {
  // expected-error @+1 {{has 4 indexing maps, but needs 5}}
  %y:2 = remat.attention ins(%q, %k, %v : tensor<5x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>)
      outs(%o, %l : tensor<5x6xf32>, tensor<5xf32>) attributes {indexing_maps = [#q, #k, #v, #o]} {
  ^bb0(%m: index, %n: index, %s: f32):
    remat.yield %s : f32
  } -> tensor<5x6xf32>, tensor<5xf32>
  return
}

// -----

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>
func.func @differentiated(%q: tensor<5x4xf32>, %k: tensor<7x4xf32>, %v: tensor<7x6xf32>, %o: tensor<5x6xf32>, %l: tensor<5xf32>) {
  // expected-error @+1 {{differentiates operand 0 of scores, of which there are 0}}
  %y:4 = remat.attention_backward ins(%q, %k, %v : tensor<5x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>)
      cotangent(%o, %l, %l : tensor<5x6xf32>, tensor<5xf32>, tensor<5xf32>)
      outs(%q, %k, %v, %l : tensor<5x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>, tensor<5xf32>)
      attributes {indexing_maps = [#q, #k, #v, #o, #l], differentiated = array<i64: 0>} {
  ^bb0(%m: index, %n: index, %s: f32, %a: f32, %b: f32, %c: f32):
    remat.yield %s, %s, %s : f32, f32, f32
  } -> tensor<5x4xf32>, tensor<7x4xf32>, tensor<7x6xf32>, tensor<5xf32>
  return
}
