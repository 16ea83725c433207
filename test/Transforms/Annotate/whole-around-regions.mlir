// RUN: remat-opt %s -remat-annotate="whole policy=dots_saveable" | FileCheck %s

// Of a model without data nothing is an activation; it is a whole all the same.

// CHECK-LABEL: func.func @around_a_region
// CHECK: remat.region policy(#remat.dots_saveable) {{.*}} attributes {label = "@around_a_region"} {
// CHECK: remat.region policy(#remat.nothing_saveable)
// CHECK: math.exp
// CHECK: remat.yield
func.func @around_a_region(%w: tensor<4xf32> {opt.param}) -> tensor<4xf32> {
  %0 = remat.region policy(#remat.nothing_saveable) (%a = %w : tensor<4xf32>) -> tensor<4xf32> {
    %t = math.tanh %a : tensor<4xf32>
    remat.yield %t : tensor<4xf32>
  }
  %1 = math.exp %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}
