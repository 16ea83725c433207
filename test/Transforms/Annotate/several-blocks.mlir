// RUN: remat-opt %s -remat-annotate="scope=layers.*" | FileCheck %s

// The mask, which another block reads as well, stays outside.
// CHECK-LABEL: func.func @scopes_in_several_blocks(
// CHECK: %[[MASK:.*]] = linalg.exp
// CHECK: remat.region {{.*}} = %[[MASK]] :
// CHECK: cf.br
// CHECK: remat.region {{.*}} = %[[MASK]] :
func.func @scopes_in_several_blocks(%x: tensor<4xf32> {opt.param}, %e: tensor<4xf32>) -> tensor<4xf32> {
  %m = linalg.exp ins(%e : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("layers.0/mask")
  %z = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("layers.0/exp")
  %y = linalg.tanh ins(%z : tensor<4xf32>) outs(%m : tensor<4xf32>) -> tensor<4xf32> loc("layers.0/tanh")
  cf.br ^next
^next:
  %k = linalg.add ins(%y, %m : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("layers.1/add")
  return %k : tensor<4xf32>
}
