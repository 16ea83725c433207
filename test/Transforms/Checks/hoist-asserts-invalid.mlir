// RUN: remat-opt %s -remat-hoist-asserts -verify-diagnostics

func.func @depends_on_an_accumulator(%x: tensor<4xf32>, %sum: tensor<f32>) -> tensor<f32> {
  %limit = arith.constant 10.0 : f32
  %0 = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<4xf32>) outs(%sum : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %next = arith.addf %a, %acc : f32
    %ok = arith.cmpf olt, %next, %limit : f32
    // expected-error @+1 {{cannot be checked before its kernel runs: its condition depends on an accumulator}}
    cf.assert %ok, "overflow"
    linalg.yield %next : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}
