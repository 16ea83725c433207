// RUN: remat-opt %s --remat-annotate-shards="mesh=data:2:4,model:2 shards={[[\"*.up\",[null,\"model\"]],[\"steps\",[]],[\"xs\",[null,\"data\"]]]}" | FileCheck %s
// RUN: remat-opt %s --remat-annotate-shards="mesh=model:2" | FileCheck %s --check-prefix=MODEL
// A step for two ranks is that of a module with the grid and the shardings.
// RUN: remat-opt %s --remat-train-to-tensors="mesh=data:2:4 shards={[[\"xs\",[null,\"data\"]],[\"steps\",[]]]}" | FileCheck %s --check-prefix=STEP

// CHECK: shard.grid @mesh(shape = 2x2) {remat.axes = ["data", "model"], remat.parts = [4, 2]}
// Without an axis called "data", rows are not split.
// MODEL: shard.grid @mesh(shape = 2) {remat.axes = ["model"], remat.parts = [2]}
// MODEL-NOT: remat.shard
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd) eval(@check)

// CHECK-LABEL: func.func @loss(
// CHECK-SAME: tensor<8x4xf32> {remat.data = "x", remat.shard = {{\[\["data"\]\]}}}
// CHECK-SAME: tensor<3x8xf32> {remat.data = "xs", remat.shard = {{\[\[\], \["data"\]\]}}}
// CHECK-SAME: tensor<3xf32> {remat.data = "steps", remat.shard = []}
// CHECK-SAME: tensor<f32> {remat.data = "scale"}
// CHECK-SAME: tensor<4x4xf32> {opt.param = "0.up", remat.shard = {{\[\[\], \["model"\]\]}}}
// CHECK-SAME: tensor<4xf32> {opt.param = "0.bias"}
// STEP-LABEL: func.func @step(
// STEP-SAME: tensor<4x4xf32> {{{[^}]*}}remat.data = "x"
// STEP-SAME: tensor<3x4xf32> {{{[^}]*}}remat.data = "xs"
// STEP-SAME: tensor<3xf32> {{{[^}]*}}remat.data = "steps"
func.func @loss(%x: tensor<8x4xf32> {remat.data = "x"}, %xs: tensor<3x8xf32> {remat.data = "xs"},
                %steps: tensor<3xf32> {remat.data = "steps"}, %scale: tensor<f32> {remat.data = "scale"},
                %w: tensor<4x4xf32> {opt.param = "0.up"}, %b: tensor<4xf32> {opt.param = "0.bias"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(n, i, o, t) -> (n, i)>, affine_map<(n, i, o, t) -> (t, n)>, affine_map<(n, i, o, t) -> (t)>,
                                        affine_map<(n, i, o, t) -> ()>, affine_map<(n, i, o, t) -> (i, o)>, affine_map<(n, i, o, t) -> (o)>,
                                        affine_map<(n, i, o, t) -> ()>],
                       iterator_types = ["reduction", "reduction", "reduction", "reduction"]}
      ins(%x, %xs, %steps, %scale, %w, %b : tensor<8x4xf32>, tensor<3x8xf32>, tensor<3xf32>, tensor<f32>, tensor<4x4xf32>, tensor<4xf32>)
      outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %c: f32, %s: f32, %k: f32, %v: f32, %u: f32, %acc: f32):
    %0 = arith.mulf %a, %v : f32
    %1 = arith.addf %0, %u : f32
    %2 = arith.mulf %c, %s : f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.mulf %3, %k : f32
    %r = arith.addf %acc, %4 : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// Data without a name are called by their position.
// CHECK-LABEL: func.func @check(
// CHECK-SAME: tensor<4xf32> {opt.param = "0.bias"}
// CHECK-SAME: tensor<8x4xf32> {remat.shard = {{\[\["data"\]\]}}}
func.func @check(%b: tensor<4xf32> {opt.param = "0.bias"}, %x: tensor<8x4xf32>) -> (tensor<f32> {remat.metric = "sum"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [affine_map<(n, i) -> (n, i)>, affine_map<(n, i) -> (i)>, affine_map<(n, i) -> ()>],
                       iterator_types = ["reduction", "reduction"]}
      ins(%x, %b : tensor<8x4xf32>, tensor<4xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %u: f32, %acc: f32):
    %0 = arith.mulf %a, %u : f32
    %r = arith.addf %acc, %0 : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
