// max(x, 0) beside log1p(exp(-|x|)), of which softplus is made, has half of the cotangent at 0, whatever stands in between;
// beside |x| alone it has none, as jax.nn.relu (docs/kinks.md).
// RUN: remat-opt %s --remat-differentiate | FileCheck %s

#id = affine_map<(i) -> (i)>

// CHECK-LABEL: func.func @across_borders_grad(
// CHECK: arith.constant 5.000000e-01
func.func @across_borders(%x: tensor<4xf32> {opt.param}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %m = remat.region (%i = %x : tensor<4xf32>) -> tensor<4xf32> {
    %c = arith.constant 0.0 : f32
    %to = tensor.empty() : tensor<4xf32>
    %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%i : tensor<4xf32>) outs(%to : tensor<4xf32>) {
    ^bb0(%a: f32, %o: f32):
      %v = arith.maximumf %a, %c : f32
      linalg.yield %v : f32
    } -> tensor<4xf32>
    remat.yield %r : tensor<4xf32>
  }
  %h = remat.name "h" %x : tensor<4xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%h : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = math.absf %a : f32
    %v = arith.negf %s : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %l = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%n : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x0 = math.exp %a : f32
    %v = math.log1p %x0 : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %start = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%start : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #id, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%m, %l : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    %v = arith.addf %o, %s : f32
    linalg.yield %v : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// CHECK-LABEL: func.func @must_not_be_shared_beside_a_size_grad(
// CHECK-NOT: arith.constant 5.000000e-01
// CHECK: return
func.func @must_not_be_shared_beside_a_size(%x: tensor<4xf32> {opt.param}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %m = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.maximumf %a, %zero : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.absf %a : f32
    linalg.yield %v : f32
  } -> tensor<4xf32>
  %start = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%start : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #id, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%m, %n : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    %v = arith.addf %o, %s : f32
    linalg.yield %v : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}
