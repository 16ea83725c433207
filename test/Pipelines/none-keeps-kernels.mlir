// Kernels are the same under all policies: a region stands between x * x and its reader, and they stay apart under `none`,
// too. Contributions to the cotangent of x are added up one by one, in reverse order of the uses: (c + p) + p.
// RUN: remat-opt %s --remat-train-to-tensors=policy=none -o %t.none
// RUN: remat-opt %s --remat-train-to-tensors=policy=everything_saveable -o %t.everything
// RUN: diff %t.none %t.everything
// RUN: FileCheck %s --input-file=%t.none

// CHECK-LABEL: func.func @loss_grad(
// CHECK: math.cos
// CHECK: %[[ONE:.*]] = arith.addf %{{.*}}, %[[P:.*]] : f64
// CHECK-NEXT: arith.addf %[[ONE]], %[[P]] : f64
#all = affine_map<(i) -> ()>
#id = affine_map<(i) -> (i)>
func.func @loss(%x: tensor<4xf64> {opt.param}) -> f64 {
  %e = tensor.empty() : tensor<4xf64>
  %square = remat.region policy(#remat.nothing_saveable) (%a = %x : tensor<4xf64>) -> tensor<4xf64> {
    %f = tensor.empty() : tensor<4xf64>
    %s = linalg.mul ins(%a, %a : tensor<4xf64>, tensor<4xf64>) outs(%f : tensor<4xf64>) -> tensor<4xf64>
    remat.yield %s : tensor<4xf64>
  }
  %sines = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %square : tensor<4xf64>, tensor<4xf64>) outs(%e : tensor<4xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %c = math.sin %a : f64
    %d = arith.mulf %c, %b : f64
    linalg.yield %d : f64
  } -> tensor<4xf64>
  %zero = arith.constant dense<0.0> : tensor<f64>
  %sum = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction"]}
      ins(%sines : tensor<4xf64>) outs(%zero : tensor<f64>) {
  ^bb0(%a: f64, %o: f64):
    %b = arith.addf %o, %a : f64
    linalg.yield %b : f64
  } -> tensor<f64>
  %loss = tensor.extract %sum[] : tensor<f64>
  return %loss : f64
}
