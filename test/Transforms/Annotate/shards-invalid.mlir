// RUN: not remat-opt %s --remat-annotate-shards="mesh=data" 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: error: 'mesh' must list axes with their ranks, and perhaps parts, as in data:2,model:4:8, but got 'data'
// RUN: not remat-opt %s --remat-annotate-shards="mesh=data:2:x" 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: but got 'data:2:x'
// RUN: not remat-opt %s --remat-annotate-shards="mesh=data:2 shards={[[1]]}" 2>&1 | FileCheck %s --check-prefix=JSON
// JSON: error: 'shards' must be a JSON array of pairs of a name and an axis or null for each dimension, as in {{\[\["x",\["data",null\]\]\]}}, but got '{{\[\[1\]\]}}'
// RUN: not remat-opt %s --remat-annotate-shards="mesh=data:2 shards={[[\"y\",[]]]}" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: 'shards' has 'y', but no argument is called so; there are x, weight
// RUN: not remat-opt %s --remat-annotate-shards="mesh=data:2" --remat-annotate-shards="mesh=data:2" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: 'shard.grid' op is the grid of the module, but 'mesh' asks for one as well; leave one of them out
// RUN: not remat-opt %s --remat-train="mesh=data:3" 2>&1 | FileCheck %s --check-prefix=DIVIDE
// DIVIDE: error: 'remat.shard' of argument 0 splits dimension 0 of 'tensor<8xf32>' in the 3 parts of axis 'data', which do not divide it
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
remat.train_step @step for @loss optimizer(@sgd)
func.func @loss(%x: tensor<8xf32> {remat.data = "x"}, %w: tensor<8xf32> {opt.param = "weight", opt.init = "ones"}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %l = linalg.dot ins(%x, %w : tensor<8xf32>, tensor<8xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  return %l : tensor<f32>
}
