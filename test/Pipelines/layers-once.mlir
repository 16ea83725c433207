// RUN: remat-opt %s --remat-train-to-tensors="layers-once=3" | FileCheck %s
// RUN: remat-opt %s --remat-train-to-tensors="layers-once=3 policy=none" | FileCheck %s
// RUN: remat-opt %s --remat-train-to-tensors="layers-once=3 target=cuda" | FileCheck %s
// RUN: remat-opt %s --remat-train-to-tensors="layers-once=4" | FileCheck %s --check-prefix=FLAT
// RUN: remat-opt %s --remat-train-to-tensors="layers-once=0" | FileCheck %s --check-prefix=FLAT
// RUN: remat-opt %s --remat-train-to-tensors | FileCheck %s --check-prefix=FLAT
// RUN: remat-opt %s --remat-explain="layers-once=3 policy=none" -o /dev/null 2>&1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: not remat-opt %s --remat-train="layers-once=some" 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: expects a number, but got 'some'
// RUN: not remat-opt %s --remat-train="layers-once=-2" 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// NEGATIVE: error: min-layers (layers-once) must be at least 1, and min-ops at least 0, but they are -2 and 0

// The second and the third layer share a pair of functions; the input of the first one is data. Updates are in the backward: the
// step gets no gradient of a layer.
// CHECK-DAG: func.func private @dense_fwd(
// CHECK-DAG: func.func private @dense_bwd(
// CHECK-DAG: func.func private @dense_fwd_1(
// CHECK-DAG: func.func private @dense_bwd_1(
// CHECK-LABEL: func.func @step(
// CHECK-DAG: call @dense_fwd_1(
// CHECK-COUNT-2: call @dense_fwd(
// CHECK-COUNT-2: call @dense_bwd(
// CHECK: call @dense_bwd_1({{.*}}
// CHECK-NOT: linalg.matmul
// CHECK-NOT: remat.phase = "update"
// CHECK: return

// FLAT-NOT: call

// EXPLAIN: @dense_joint, called 2 times, all that its backward reads
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) {eager, steps = 3}
func.func @loss(%x: tensor<4x8xf32> {remat.data = "x"}, %w0: tensor<8x8xf32> {opt.param = "w0"}, %w1: tensor<8x8xf32> {opt.param = "w1"},
                %w2: tensor<8x8xf32> {opt.param = "w2"}) -> tensor<f32> {
  %c = arith.constant 0.0 : f32
  %1 = remat.region policy(#remat.nothing_saveable) (%a = %x : tensor<4x8xf32>, %b = %w0 : tensor<8x8xf32>) -> tensor<4x8xf32> attributes {label = "dense.0"} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    %h = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = linalg.tanh ins(%h : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    remat.yield %y : tensor<4x8xf32>
  }
  %2 = remat.region policy(#remat.nothing_saveable) (%a = %1 : tensor<4x8xf32>, %b = %w1 : tensor<8x8xf32>) -> tensor<4x8xf32> attributes {label = "dense.1"} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    %h = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = linalg.tanh ins(%h : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    remat.yield %y : tensor<4x8xf32>
  }
  %3 = remat.region policy(#remat.nothing_saveable) (%a = %2 : tensor<4x8xf32>, %b = %w2 : tensor<8x8xf32>) -> tensor<4x8xf32> attributes {label = "dense.2"} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    %h = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = linalg.tanh ins(%h : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    remat.yield %y : tensor<4x8xf32>
  }
  %s = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%c : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %l = linalg.reduce { arith.addf } ins(%3 : tensor<4x8xf32>) outs(%f : tensor<f32>) dimensions = [0, 1]
  return %l : tensor<f32>
}
