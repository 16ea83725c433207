// RUN: remat-opt %s -split-input-file -remat-annotate="checkpoints" -mlir-print-local-scope | FileCheck %s
// RUN: remat-opt %s -split-input-file -remat-annotate="checkpoints name=out" | FileCheck %s --check-prefix=NAMES
// RUN: remat-opt %s -split-input-file -transform-preload-library="transform-library-paths=%S/Inputs/wrap_checkpoints.mlir" -transform-interpreter | FileCheck %s --check-prefix=SCRIPT

// Two applications of one function, both in a loop, as JAX writes it: the way
// to an operation leads through the calls of functions and over JAX's stack of
// Python functions, which are no scopes. The body of one repeats.

// CHECK-LABEL: func.func @numbered_applications_in_a_loop
// CHECK: scf.for
// CHECK-NEXT: %[[R:.*]] = remat.region {{.*}} attributes {label = "jit(loss)/while/body/closed_call/checkpoint#0"} {
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: math.tanh
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: math.tanh
// CHECK-NEXT: remat.yield
// CHECK: %[[S:.*]] = remat.region {{.*}} = %[[R]] {{.*}} attributes {label = "jit(loss)/while/body/closed_call/checkpoint#1"} {
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: math.tanh
// CHECK-NEXT: remat.yield
// CHECK: scf.yield %[[S]]

// NAMES-LABEL: func.func @numbered_applications_in_a_loop
// NAMES-COUNT-2: remat.name "out"
// NAMES-NOT: remat.name
#frame = loc("body"("model.py":3:4))
#main = loc(callsite("main"("model.py":9:2) at "<module>"("model.py":12:1)))
#body = loc("jit(loss)/while/body/closed_call"(#main))
func.func @numbered_applications_in_a_loop(%x: tensor<4xf32>, %w: tensor<4xf32> {opt.param}) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%h = %x) -> tensor<4xf32> {
    %0 = arith.mulf %h, %w : tensor<4xf32> loc(callsite("checkpoint#0/mul"(#frame) at #body))
    %1 = math.tanh %0 : tensor<4xf32> loc(callsite("checkpoint#0/tanh"(#frame) at #body))
    %2 = arith.mulf %1, %w : tensor<4xf32> loc(callsite("checkpoint#0/mul"(#frame) at #body))
    %3 = math.tanh %2 : tensor<4xf32> loc(callsite("checkpoint#0/tanh"(#frame) at #body))
    %4 = arith.mulf %3, %w : tensor<4xf32> loc(callsite("checkpoint#1/mul"(#frame) at #body))
    %5 = math.tanh %4 : tensor<4xf32> loc(callsite("checkpoint#1/tanh"(#frame) at #body))
    scf.yield %5 : tensor<4xf32>
  } loc("jit(loss)/while"(#main))
  return %r : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @checkpoint_in_a_checkpoint
// CHECK: remat.region {{.*}} attributes {label = "jit(loss)/checkpoint"} {
// CHECK-NEXT: math.exp
// CHECK-NEXT: remat.region {{.*}} attributes {label = "jit(loss)/checkpoint/checkpoint#0"} {
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: math.tanh
// CHECK-NEXT: remat.yield
// CHECK: remat.region {{.*}} attributes {label = "jit(loss)/checkpoint/checkpoint#1"} {
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: math.tanh
// CHECK-NEXT: remat.yield
// CHECK: math.sin
// CHECK-NEXT: remat.yield

// The result of the outer one has the name, also if there is an inner one.
// NAMES-LABEL: func.func @checkpoint_in_a_checkpoint
// NAMES: math.sin
// NAMES-NEXT: remat.name "out"
// NAMES-NEXT: return
func.func @checkpoint_in_a_checkpoint(%x: tensor<4xf32>, %w: tensor<4xf32> {opt.param}, %v: tensor<4xf32> {opt.param}) -> tensor<4xf32> {
  %0 = math.exp %x : tensor<4xf32> loc("jit(loss)/checkpoint/exp")
  %1 = arith.mulf %0, %w : tensor<4xf32> loc("jit(loss)/checkpoint/checkpoint/mul")
  %2 = math.tanh %1 : tensor<4xf32> loc("jit(loss)/checkpoint/checkpoint/tanh")
  %3 = arith.mulf %2, %v : tensor<4xf32> loc("jit(loss)/checkpoint/checkpoint/mul")
  %4 = math.tanh %3 : tensor<4xf32> loc("jit(loss)/checkpoint/checkpoint/tanh")
  %5 = math.sin %4 : tensor<4xf32> loc("jit(loss)/checkpoint/sin")
  return %5 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @loop_in_a_checkpoint
// CHECK: remat.region {{.*}} attributes {label = "jit(loss)/vmap(checkpoint#0)"} {
// CHECK: scf.for
// CHECK-NEXT: remat.region {{.*}} attributes {label = "jit(loss)/vmap(checkpoint#0)/while/body/checkpoint#1"} {
// CHECK-NEXT: math.tanh
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: remat.yield
// CHECK: scf.yield

// SCRIPT-LABEL: func.func @loop_in_a_checkpoint
// SCRIPT: remat.region policy(#remat.dots_saveable) {{.*}} attributes {label = "jit(loss)/vmap(checkpoint#0)"}
// SCRIPT: remat.region policy(#remat.dots_saveable) {{.*}} attributes {label = "jit(loss)/vmap(checkpoint#0)/while/body/checkpoint#1"}
func.func @loop_in_a_checkpoint(%x: tensor<4xf32>, %w: tensor<4xf32> {opt.param}) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0 = arith.mulf %x, %w : tensor<4xf32> loc("jit(loss)/vmap(checkpoint#0)/mul")
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%h = %0) -> tensor<4xf32> {
    %1 = math.tanh %h : tensor<4xf32> loc("jit(loss)/vmap(checkpoint#0)/while/body/checkpoint#1/tanh")
    %2 = arith.mulf %1, %w : tensor<4xf32> loc("jit(loss)/vmap(checkpoint#0)/while/body/checkpoint#1/mul")
    scf.yield %2 : tensor<4xf32>
  } loc("jit(loss)/vmap(checkpoint#0)/while")
  return %r : tensor<4xf32>
}

// -----

// A checkpoint around nothing but a checkpoint is that one. PyTorch's paths say
// modules and checkpoints apart from each other.

// CHECK-LABEL: func.func @checkpoint_of_a_checkpoint
// CHECK: %[[R:.*]] = remat.region {{.*}} attributes {label = "checkpoint#0.checkpoint#1"} {
// CHECK-NEXT: arith.mulf
// CHECK-NEXT: math.tanh
// CHECK-NEXT: remat.yield
// CHECK: return %[[R]]
func.func @checkpoint_of_a_checkpoint(%x: tensor<4xf32>, %w: tensor<4xf32> {opt.param}) -> tensor<4xf32> {
  %0 = arith.mulf %x, %w : tensor<4xf32> loc(fused["layers.0", "checkpoint#0.checkpoint#1"])
  %1 = math.tanh %0 : tensor<4xf32> loc(fused["layers.0.act", "checkpoint#0.checkpoint#1"])
  return %1 : tensor<4xf32>
}
