// RUN: remat-opt %s -remat-annotate="blocks report" -o /dev/null 2>&1 | FileCheck %s

// The first layer takes an absolute value besides, the last one has another
// activation: all four are layers.

// CHECK: @first_and_last_differ: 4 regions
// CHECK: block 0 12 2 256 256
// CHECK-NEXT: block 1 11 2 256 256
// CHECK-NEXT: block 2 11 2 256 256
// CHECK-NEXT: block 3 11 2 256 256
func.func @first_and_last_differ(%x: tensor<8x8xf32>, %w0: tensor<8x8xf32> {opt.param}, %v0: tensor<8x8xf32> {opt.param}, %w1: tensor<8x8xf32> {opt.param}, %v1: tensor<8x8xf32> {opt.param}, %w2: tensor<8x8xf32> {opt.param}, %v2: tensor<8x8xf32> {opt.param}, %w3: tensor<8x8xf32> {opt.param}, %v3: tensor<8x8xf32> {opt.param}) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p0 = linalg.matmul ins(%x, %w0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a0 = math.tanh %p0 : tensor<8x8xf32>
  %e0 = math.absf %a0 : tensor<8x8xf32>
  %b0 = arith.mulf %e0, %p0 : tensor<8x8xf32>
  %c0 = math.sin %b0 : tensor<8x8xf32>
  %d0 = arith.subf %c0, %b0 : tensor<8x8xf32>
  %q0 = linalg.matmul ins(%d0, %v0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r0 = math.exp %q0 : tensor<8x8xf32>
  %h0 = arith.addf %r0, %x : tensor<8x8xf32>
  %p1 = linalg.matmul ins(%h0, %w1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a1 = math.tanh %p1 : tensor<8x8xf32>
  %b1 = arith.mulf %a1, %p1 : tensor<8x8xf32>
  %c1 = math.sin %b1 : tensor<8x8xf32>
  %d1 = arith.subf %c1, %b1 : tensor<8x8xf32>
  %q1 = linalg.matmul ins(%d1, %v1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r1 = math.exp %q1 : tensor<8x8xf32>
  %h1 = arith.addf %r1, %h0 : tensor<8x8xf32>
  %p2 = linalg.matmul ins(%h1, %w2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a2 = math.tanh %p2 : tensor<8x8xf32>
  %b2 = arith.mulf %a2, %p2 : tensor<8x8xf32>
  %c2 = math.sin %b2 : tensor<8x8xf32>
  %d2 = arith.subf %c2, %b2 : tensor<8x8xf32>
  %q2 = linalg.matmul ins(%d2, %v2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r2 = math.exp %q2 : tensor<8x8xf32>
  %h2 = arith.addf %r2, %h1 : tensor<8x8xf32>
  %p3 = linalg.matmul ins(%h2, %w3 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a3 = math.cos %p3 : tensor<8x8xf32>
  %b3 = arith.mulf %a3, %p3 : tensor<8x8xf32>
  %c3 = math.sin %b3 : tensor<8x8xf32>
  %d3 = arith.subf %c3, %b3 : tensor<8x8xf32>
  %q3 = linalg.matmul ins(%d3, %v3 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r3 = math.exp %q3 : tensor<8x8xf32>
  %h3 = arith.addf %r3, %h2 : tensor<8x8xf32>
  return %h3 : tensor<8x8xf32>
}

// Two kinds of layers that end alike: neither takes from the other.

// CHECK: @two_kinds_of_layers: 4 regions
// CHECK: block 0 11 2 256 256
// CHECK-NEXT: block 1 11 2 256 256
// CHECK-NEXT: block 2 12 2 256 256
// CHECK-NEXT: block 3 12 2 256 256
func.func @two_kinds_of_layers(%x: tensor<8x8xf32>, %w0: tensor<8x8xf32> {opt.param}, %v0: tensor<8x8xf32> {opt.param}, %w1: tensor<8x8xf32> {opt.param}, %v1: tensor<8x8xf32> {opt.param}, %w2: tensor<8x8xf32> {opt.param}, %v2: tensor<8x8xf32> {opt.param}, %w3: tensor<8x8xf32> {opt.param}, %v3: tensor<8x8xf32> {opt.param}) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p0 = linalg.matmul ins(%x, %w0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a0 = math.tanh %p0 : tensor<8x8xf32>
  %b0 = arith.mulf %a0, %p0 : tensor<8x8xf32>
  %c0 = math.sin %b0 : tensor<8x8xf32>
  %d0 = arith.subf %c0, %b0 : tensor<8x8xf32>
  %q0 = linalg.matmul ins(%d0, %v0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r0 = math.exp %q0 : tensor<8x8xf32>
  %h0 = arith.addf %r0, %x : tensor<8x8xf32>
  %p1 = linalg.matmul ins(%h0, %w1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a1 = math.tanh %p1 : tensor<8x8xf32>
  %b1 = arith.mulf %a1, %p1 : tensor<8x8xf32>
  %c1 = math.sin %b1 : tensor<8x8xf32>
  %d1 = arith.subf %c1, %b1 : tensor<8x8xf32>
  %q1 = linalg.matmul ins(%d1, %v1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r1 = math.exp %q1 : tensor<8x8xf32>
  %h1 = arith.addf %r1, %h0 : tensor<8x8xf32>
  %p2 = linalg.matmul ins(%h1, %w2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a2 = math.cos %p2 : tensor<8x8xf32>
  %e2 = math.absf %a2 : tensor<8x8xf32>
  %b2 = arith.mulf %e2, %p2 : tensor<8x8xf32>
  %c2 = math.sin %b2 : tensor<8x8xf32>
  %d2 = arith.subf %c2, %b2 : tensor<8x8xf32>
  %q2 = linalg.matmul ins(%d2, %v2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r2 = math.exp %q2 : tensor<8x8xf32>
  %h2 = arith.addf %r2, %h1 : tensor<8x8xf32>
  %p3 = linalg.matmul ins(%h2, %w3 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a3 = math.cos %p3 : tensor<8x8xf32>
  %e3 = math.absf %a3 : tensor<8x8xf32>
  %b3 = arith.mulf %e3, %p3 : tensor<8x8xf32>
  %c3 = math.sin %b3 : tensor<8x8xf32>
  %d3 = arith.subf %c3, %b3 : tensor<8x8xf32>
  %q3 = linalg.matmul ins(%d3, %v3 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r3 = math.exp %q3 : tensor<8x8xf32>
  %h3 = arith.addf %r3, %h2 : tensor<8x8xf32>
  return %h3 : tensor<8x8xf32>
}
