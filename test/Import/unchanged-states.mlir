// States that a model only reads (frozen weights, tables of positions) stay what they are.
// RUN: remat-opt %s --remat-import="optimizer=#opt.sgd<lr=0.1>" | FileCheck %s
// RUN: remat-opt %s --remat-import="optimizer=#opt.sgd<lr=0.1>" --remat-train -o /dev/null

// CHECK: func.func @loss(
// CHECK-SAME: %[[SCALE:[a-z0-9]+]]: tensor<4xf32> {remat.state = "scale"}
// CHECK-SAME: %[[KEPT:[a-z0-9]+]]: tensor<4xf32> {remat.state = "kept"}
// CHECK-SAME: -> (tensor<f32> {remat.loss}, tensor<4xf32> {remat.state = "kept"}, tensor<4xf32> {remat.state = "scale"})
// CHECK: return %{{.*}}, %{{.*}}, %[[SCALE]] : tensor<f32>, tensor<4xf32>, tensor<4xf32>
func.func @loss(%w: tensor<4xf32> {opt.param = "w"}, %scale: tensor<4xf32> {remat.state = "scale"},
                %kept: tensor<4xf32> {remat.state = "kept"}) -> (tensor<f32> {remat.loss}, tensor<4xf32> {remat.state = "kept"}) {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = arith.mulf %w, %scale : tensor<4xf32>
  %1 = arith.addf %0, %kept : tensor<4xf32>
  %l = linalg.dot ins(%1, %1 : tensor<4xf32>, tensor<4xf32>) outs(%zero : tensor<f32>) -> tensor<f32>
  %next = arith.addf %kept, %0 : tensor<4xf32>
  return %l, %next : tensor<f32>, tensor<4xf32>
}
