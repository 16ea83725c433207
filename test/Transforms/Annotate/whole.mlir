// RUN: remat-opt %s -remat-annotate="whole policy=dots_saveable function=computes_nothing,globals_stay_outside" | FileCheck %s
// RUN: remat-opt %s -remat-annotate="blocks group=2 pick=0" -remat-annotate="whole policy=#remat.every_k<1>" | FileCheck %s --check-prefix=NESTED
// RUN: not remat-opt %s -remat-annotate="whole name=x function=computes_nothing" 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: whole.mlir:[[#@LINE+9]]:{{[0-9]+}}: error: @computes_nothing only returns what it gets: 'whole' selects nothing there; name other functions by function=

// There is nothing to keep of it.
// CHECK-LABEL: func.func private @computes_nothing
// CHECK-NEXT: return
// NESTED-LABEL: func.func private @computes_nothing
// NESTED-NEXT: return
func.func private @computes_nothing(%loss: tensor<f32> {opt.param}) -> tensor<f32> {
  // The only place of the function's that says where it is.
  return %loss : tensor<f32>
}

// Reads and writes of globals happen once and in their order, so they stay outside.

ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>

// CHECK-LABEL: func.func @globals_stay_outside
// CHECK: %[[S:.*]] = ml_program.global_load @seed
// CHECK: %[[N:.*]] = arith.addi %[[S]]
// CHECK: ml_program.global_store @seed = %[[N]]
// CHECK: %[[R:.*]] = remat.region policy(#remat.dots_saveable)
// CHECK-SAME: attributes {label = "@globals_stay_outside"}
// CHECK-NOT: ml_program
// CHECK: remat.yield
// CHECK: return %[[R]]

// NESTED-LABEL: func.func @globals_stay_outside
// NESTED: remat.region policy(#remat.every_k<1>)
// NESTED: remat.region {{.*}} attributes {label = "block 0-1"} {
// NESTED-COUNT-2: linalg.matmul
// NESTED: remat.yield
// NESTED: linalg.matmul
func.func @globals_stay_outside(%x: tensor<8x8xf32>, %w0: tensor<8x8xf32> {opt.param}, %w1: tensor<8x8xf32> {opt.param},
    %w2: tensor<8x8xf32> {opt.param}) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1> : tensor<i64>
  %empty = tensor.empty() : tensor<8x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
  %seed = ml_program.global_load @seed : tensor<i64>
  %next = arith.addi %seed, %one : tensor<i64>
  %p0 = linalg.matmul ins(%x, %w0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %h0 = math.tanh %p0 : tensor<8x8xf32>
  ml_program.global_store @seed = %next : tensor<i64>
  %p1 = linalg.matmul ins(%h0, %w1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %h1 = math.tanh %p1 : tensor<8x8xf32>
  %p2 = linalg.matmul ins(%h1, %w2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %h2 = math.tanh %p2 : tensor<8x8xf32>
  return %h2 : tensor<8x8xf32>
}
