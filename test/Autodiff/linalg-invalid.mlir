// RUN: remat-opt %s -remat-differentiate -split-input-file -verify-diagnostics

#id = affine_map<(d0) -> (d0)>
#s = affine_map<(d0) -> ()>
func.func @last_value_wins(%x: tensor<4xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{overwrites an output in every iteration of a reduction}}
  %l = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction"]} ins(%x : tensor<4xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @loss(%t: tensor<4xf32> {opt.param}, %ix: tensor<5xi64>, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<5xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%ix : tensor<5xi64>) outs(%e : tensor<5xf32>) {
  ^bb0(%n: i64, %o: f32):
    %c0 = arith.constant 0 : i64
    %zero = arith.constant 0.0 : f32
    %p = arith.cmpi sge, %n, %c0 : i64
    %r = scf.if %p -> f32 {
      %i = arith.index_cast %n : i64 to index
      // expected-error @below {{reads a tensor that depends on a parameter in a branch inside the body of a structured operation; read it before the branch}}
      %v = tensor.extract %t[%i] : tensor<4xf32>
      scf.yield %v : f32
    } else {
      scf.yield %zero : f32
    }
    linalg.yield %r : f32
  } -> tensor<5xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<5xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %l : tensor<f32>
}

// -----

#s = affine_map<() -> ()>
func.func @a_body_with_an_unknown_operation(%x: tensor<f32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  %l = linalg.generic {indexing_maps = [#s, #s], iterator_types = []} ins(%x : tensor<f32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{'scf.for' op has no derivative rule inside the body of a structured operation; implement ScalarDifferentiableOpInterface}}
    %1 = scf.for %i = %c0 to %c1 step %c1 iter_args(%v = %a) -> f32 {
      %2 = math.sin %v : f32
      scf.yield %2 : f32
    }
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(d0) -> (d0)>
#s = affine_map<(d0) -> ()>
func.func @parallel_writes_to_one_element(%x: tensor<4xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{output #0 is written by several parallel iterations; mark the loops that its map omits as reductions}}
  %l = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.addf %a, %o : f32
    linalg.yield %1 : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

func.func @winograd_has_no_rule(%x: tensor<2x3x3x5xf32> {opt.param}, %e: tensor<6x6x5x2xf32>, %init: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'linalg.winograd_filter_transform' op has no derivative rule}}
  %y = linalg.winograd_filter_transform fmr(F_4_3) ins(%x : tensor<2x3x3x5xf32>) outs(%e : tensor<6x6x5x2xf32>) -> tensor<6x6x5x2xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<6x6x5x2xf32>) outs(%init : tensor<f32>) dimensions = [0, 1, 2, 3]
  return %l : tensor<f32>
}
