// RUN: remat-opt %S/Inputs/torch_mlp.mlir -remat-annotate="scope=layers.* report" 2>&1 | FileCheck %s --check-prefix=TORCH
// RUN: remat-opt %S/Inputs/torch_mlp.mlir -remat-annotate="scope=layers.[02].norm,head policy=dots_saveable report" 2>&1 | FileCheck %s --check-prefix=SOME
// RUN: remat-opt %S/Inputs/jax_blocks.mlir -remat-annotate="checkpoints report" 2>&1 | FileCheck %s --check-prefix=CHECKPOINTS
// RUN: remat-opt %s -split-input-file -remat-annotate="scope=layer_*" | FileCheck %s
// RUN: remat-opt %s -split-input-file -remat-annotate="scope=layer_0/mul,layer_1/mul" -remat-annotate="scope=layer_*" | FileCheck %s --check-prefix=NESTED

// TORCH: @loss: 3 regions
// TORCH: layers.0 {{ *[0-9]+}} 6 512 512
// TORCH-NEXT: layers.1 {{ *[0-9]+}} 6 512 512
// TORCH-NEXT: layers.2 {{ *[0-9]+}} 6 512 512

// SOME: @loss: 3 regions
// SOME: layers.0.norm {{ *[0-9]+}} 2 512 512 #remat.dots_saveable
// SOME-NEXT: layers.2.norm {{ *[0-9]+}} 2 512 512 #remat.dots_saveable
// SOME-NEXT: head {{ *[0-9]+}} 2 512 64 #remat.dots_saveable

// CHECKPOINTS: @loss: 3 regions
// CHECKPOINTS: jit(loss)/checkpoint#0 {{ *[0-9]+}} 5 {{[0-9]+}} 384
// CHECKPOINTS-NEXT: jit(loss)/checkpoint#1 {{ *[0-9]+}} 5 {{[0-9]+}} 384
// CHECKPOINTS-NEXT: jit(loss)/checkpoint#2 {{ *[0-9]+}} 5 {{[0-9]+}} 384
// CHECKPOINTS-NOT: jit(loss)/checkpoint{{[^ ]*}} {{ *[0-9]+}}

// Names nest in names, call sites place a callee in its caller's scope, and of
// fused locations each counts. Operations without a name in between belong to
// it; one of another scope between two layers' texts moves after them.

// CHECK-LABEL: func.func @interleaved
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[W:.*]]: tensor<4xf32>
// CHECK-NEXT: %[[R:.*]] = remat.region (%[[A:.*]] = %[[X]] : tensor<4xf32>, %[[B:.*]] = %[[W]] : tensor<4xf32>) -> tensor<4xf32> attributes {label = "jit(loss)/layer_0"} {
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[A]], %[[B]]
// CHECK-NEXT: %[[T:.*]] = math.tanh %[[M]]
// CHECK-NEXT: %[[E:.*]] = math.exp %[[T]]
// CHECK-NEXT: remat.yield %[[E]]
// CHECK: %[[S:.*]]:2 = remat.region (%{{.*}} = %[[R]] : tensor<4xf32>, %{{.*}} = %[[W]] : tensor<4xf32>) -> tensor<4xf32>, tensor<4xf32> attributes {label = "jit(loss)/layer_1"} {
// CHECK-NEXT: %[[N:.*]] = arith.mulf
// CHECK-NEXT: %[[U:.*]] = math.sin %[[N]]
// CHECK-NEXT: remat.yield %[[N]], %[[U]]
// CHECK: %[[L:.*]] = math.log %[[S]]#0
// CHECK: arith.addf %[[L]], %[[S]]#1

// NESTED-LABEL: func.func @interleaved
// NESTED: remat.region {{.*}}label = "jit(loss)/layer_0"
// NESTED-NEXT: remat.region {{.*}}label = "jit(loss)/layer_0/mul"
// NESTED: remat.region {{.*}}label = "jit(loss)/layer_1"
// NESTED-NEXT: remat.region {{.*}}label = "jit(loss)/layer_1/mul"
#loss = loc("jit(loss)")
#file = loc("model.py":3:4)
func.func @interleaved(%x: tensor<4xf32>, %w: tensor<4xf32> {opt.param}) -> tensor<4xf32> {
  %0 = arith.mulf %x, %w : tensor<4xf32> loc("jit(loss)/layer_0/mul"(#file))
  %1 = math.tanh %0 : tensor<4xf32> loc(#file)
  %2 = math.exp %1 : tensor<4xf32> loc("layer_0/exp"(#loss))
  %4 = arith.mulf %2, %w : tensor<4xf32> loc(callsite("layer_1/mul" at #loss))
  %3 = math.log %4 : tensor<4xf32> loc("jit(loss)/log")
  %5 = math.sin %4 : tensor<4xf32> loc(fused["sin", "jit(loss)/layer_1/sin"])
  %6 = arith.addf %3, %5 : tensor<4xf32> loc("jit(loss)/add")
  return %6 : tensor<4xf32>
}
