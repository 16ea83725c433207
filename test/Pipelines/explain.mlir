// RUN: remat-opt %s --remat-explain -o %t 2>&1 | FileCheck %s
// RUN: remat-opt %s --remat-explain=policy=nothing_saveable -o %t 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: remat-opt %s --remat-explain=policy=everything_saveable -o %t 2>&1 | FileCheck %s --check-prefix=EVERYTHING
// RUN: remat-opt %s --remat-explain=policy=none -o %t 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: remat-opt %s --remat-train -mlir-print-debuginfo | FileCheck %s --check-prefix=DEBUG --implicit-check-not=remat.
// RUN: remat-opt %s --remat-train-to-tensors --remat-print-plan -o %t 2>&1 | FileCheck %s --check-prefix=KEPT

// One line for each value: bytes with the iterations of loops around it, who
// decided and why, and where the model says so.
// CHECK: region "layer" at explain.mlir:[[#REGION:]], policy #remat.dots_saveable, computes again
// CHECK-NEXT: value decision bytes cost by because at
// CHECK-NEXT: linalg.tanh recompute 4096 20480 #remat.dots_saveable not permitted explain.mlir:[[#REGION+6]]
// CHECK-NEXT: @loss_grad, all that its backward reads
// CHECK-NEXT: value decision bytes cost by because at
// The loop's result, which the loss reads, and tapes of what it carries and of
// what the region saves, with the name and the place that it has there.
// CHECK-NEXT: scf.for#0 save 256 function read by the backward explain.mlir:[[#REGION-1]]
// CHECK-NEXT: scf.for#1 save 4096 function read by the backward explain.mlir:[[#REGION-1]]
// CHECK-NEXT: "product" save 4096 #remat.dots_saveable permitted explain.mlir:[[#REGION+4]]
// CHECK-NOT: save

// NOTHING: region "layer" at {{.*}}, policy #remat.nothing_saveable, computes again
// NOTHING-NOT: product
// NOTHING: linalg.tanh recompute 4096 20480 #remat.nothing_saveable not permitted
// NOTHING-NOT: product
// NOTHING: @loss_grad, all that its backward reads
// NOTHING-COUNT-2: scf.for#{{[01]}} save
// NOTHING-NOT: save

// EVERYTHING: region "layer" at {{.*}}, policy #remat.everything_saveable, computes nothing again
// EVERYTHING-NEXT: @loss_grad, all that its backward reads
// Values that enter and leave iterations are on one tape: 17 values of 16.
// EVERYTHING: scf.for#0 save 256
// EVERYTHING-NEXT: linalg.tanh save 4352 #remat.everything_saveable permitted
// EVERYTHING-NOT: save

// NONE-NOT: region "layer"
// NONE: @loss_grad, all that its backward reads
// NONE-COUNT-2: {{(scf.for#0|linalg.tanh)}} save {{.*}} function read by the backward

// Locations hold what was decided no longer than this: mlir-runner would not know it.
// DEBUG: loc("{{.*}}explain.mlir":

// The final program keeps these, and nothing else.
// KEPT: @step, kept without a plan
// KEPT-NEXT: value decision bytes
// KEPT-NEXT: scf.for#0 kept 256
// KEPT-NEXT: scf.for#1 kept 4096
// KEPT-NEXT: scf.for#2 kept 4096
// KEPT-NOT: kept

#map = affine_map<(i, j) -> (i, j)>
func.func @loss(%x: tensor<8x8xf32> {remat.data = "x"}, %w: tensor<8x8xf32> {opt.param = "w"}) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %y = scf.for %i = %c0 to %c16 step %c1 iter_args(%h = %x) -> (tensor<8x8xf32>) {
    %r = remat.region policy(#remat.dots_saveable) (%a = %h : tensor<8x8xf32>, %b = %w : tensor<8x8xf32>) -> tensor<8x8xf32> attributes {label = "layer"} {
      %z = arith.constant 0.0 : f32
      %d = tensor.empty() : tensor<8x8xf32>
      %f = linalg.fill ins(%z : f32) outs(%d : tensor<8x8xf32>) -> tensor<8x8xf32>
      %m = linalg.matmul ins(%a, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
      %n = remat.name "product" %m : tensor<8x8xf32>
      %t = linalg.tanh ins(%n : tensor<8x8xf32>) outs(%d : tensor<8x8xf32>) -> tensor<8x8xf32>
      remat.yield %t : tensor<8x8xf32>
    }
    scf.yield %r : tensor<8x8xf32>
  }
  %s = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
  %l = linalg.generic {indexing_maps = [#map, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%y : tensor<8x8xf32>) outs(%f : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %q = arith.mulf %a, %a : f32
    %u = arith.addf %acc, %q : f32
    linalg.yield %u : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}
remat.train_step @step for @loss optimizer(@sgd)
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
