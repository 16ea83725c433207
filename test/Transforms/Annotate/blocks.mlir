// RUN: remat-opt %s -split-input-file -remat-annotate=blocks | FileCheck %s
// RUN: remat-opt %s -split-input-file -remat-annotate="blocks policy=dots_saveable every=2" | FileCheck %s --check-prefix=EVERY
// RUN: remat-opt %s -split-input-file -remat-annotate="blocks pick=-1" | FileCheck %s --check-prefix=LAST
// RUN: remat-opt %s -split-input-file -remat-annotate="blocks report" 2>&1 | FileCheck %s --check-prefix=TABLE

#id = affine_map<(d0, d1) -> (d0, d1)>
#map = affine_map<(d0) -> (d0)>
#all = affine_map<(d0, d1) -> ()>

// Three layers h + tanh((h * mask) w^T). The mask and the zeros stand once, as
// in what exporters write; transposing a weight is part of its layer.

// CHECK-LABEL: func.func @layers_share_a_mask
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[M:.*]]: tensor<4x8xi1>, %[[W0:.*]]: tensor<8x8xf32> {opt.param}, %[[W1:.*]]: tensor<8x8xf32> {opt.param}, %[[W2:.*]]: tensor<8x8xf32> {opt.param})
// CHECK-NOT: linalg
// CHECK: %[[MASK:.*]] = linalg.generic {{.*}} ins(%[[M]] : tensor<4x8xi1>)
// CHECK-NOT: linalg.fill
// CHECK: %[[H0:.*]] = remat.region (%[[A:.*]] = %[[X]] : tensor<4x8xf32>, %{{.*}} = %[[MASK]] : tensor<4x8xf32>, %[[V:.*]] = %[[W0]] : tensor<8x8xf32>) -> tensor<4x8xf32> attributes {label = "block 0"} {
// CHECK: linalg.fill
// CHECK: linalg.transpose ins(%[[V]] :
// CHECK: linalg.matmul
// CHECK: %[[Y:.*]] = arith.addf %[[A]]
// CHECK-NEXT: remat.yield %[[Y]] : tensor<4x8xf32>
// CHECK: %[[H1:.*]] = remat.region (%{{.*}} = %[[H0]] : tensor<4x8xf32>, %{{.*}} = %[[MASK]] : tensor<4x8xf32>, %{{.*}} = %[[W1]] : tensor<8x8xf32>) -> tensor<4x8xf32> attributes {label = "block 1"} {
// CHECK: %[[H2:.*]] = remat.region (%{{.*}} = %[[H1]] : tensor<4x8xf32>, %{{.*}} = %[[MASK]] : tensor<4x8xf32>, %{{.*}} = %[[W2]] : tensor<8x8xf32>) -> tensor<4x8xf32> attributes {label = "block 2"} {
// CHECK: }
// CHECK: linalg.generic {{.*}} ins(%[[H2]] : tensor<4x8xf32>)

// EVERY-LABEL: func.func @layers_share_a_mask
// EVERY: linalg.matmul
// EVERY: remat.region policy(#remat.dots_saveable) {{.*}} attributes {label = "block 1"} {
// EVERY-NOT: remat.region
// EVERY: return

// LAST-LABEL: func.func @layers_share_a_mask
// LAST: linalg.matmul
// LAST: linalg.matmul
// LAST: remat.region {{.*}} attributes {label = "block 2"} {
// LAST: return

// TABLE-LABEL: @layers_share_a_mask: 3 regions
// TABLE-NEXT: region    ops params  bytes in bytes out policy
// TABLE-NEXT: block 0     {{[0-9]+}} 1   256       128  #remat.nothing_saveable
// TABLE-NEXT: block 1
// TABLE-NEXT: block 2
// TABLE-NEXT: @statistics_leave_their_layer: 2 regions
func.func @layers_share_a_mask(%x: tensor<4x8xf32>, %m: tensor<4x8xi1>, %w0: tensor<8x8xf32> {opt.param},
    %w1: tensor<8x8xf32> {opt.param}, %w2: tensor<8x8xf32> {opt.param}) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %square = tensor.empty() : tensor<8x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %mask = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<4x8xi1>) outs(%empty : tensor<4x8xf32>) {
  ^bb0(%b: i1, %out: f32):
    %s = arith.select %b, %one, %zero : f32
    linalg.yield %s : f32
  } -> tensor<4x8xf32>
  %a0 = arith.mulf %x, %mask : tensor<4x8xf32>
  %t0 = linalg.transpose ins(%w0 : tensor<8x8xf32>) outs(%square : tensor<8x8xf32>) permutation = [1, 0]
  %p0 = linalg.matmul ins(%a0, %t0 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %f0 = math.tanh %p0 : tensor<4x8xf32>
  %h0 = arith.addf %x, %f0 : tensor<4x8xf32>
  %t1 = linalg.transpose ins(%w1 : tensor<8x8xf32>) outs(%square : tensor<8x8xf32>) permutation = [1, 0]
  %a1 = arith.mulf %h0, %mask : tensor<4x8xf32>
  %p1 = linalg.matmul ins(%a1, %t1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %f1 = math.tanh %p1 : tensor<4x8xf32>
  %h1 = arith.addf %h0, %f1 : tensor<4x8xf32>
  %a2 = arith.mulf %h1, %mask : tensor<4x8xf32>
  %t2 = linalg.transpose ins(%w2 : tensor<8x8xf32>) outs(%square : tensor<8x8xf32>) permutation = [1, 0]
  %p2 = linalg.matmul ins(%a2, %t2 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %f2 = math.tanh %p2 : tensor<4x8xf32>
  %h2 = arith.addf %h1, %f2 : tensor<4x8xf32>
  %scalar = tensor.empty() : tensor<f32>
  %start = linalg.fill ins(%zero : f32) outs(%scalar : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#id, #all], iterator_types = ["reduction", "reduction"]}
      ins(%h2 : tensor<4x8xf32>) outs(%start : tensor<f32>) {
  ^bb0(%v: f32, %acc: f32):
    %s = arith.addf %v, %acc : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

// A statistic that the function returns leaves its region as a result, and an
// operation between two layers' texts that belongs to neither moves after them.

// CHECK-LABEL: func.func @statistics_leave_their_layer
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>, %[[W0:.*]]: tensor<8x8xf32> {opt.param}, %[[W1:.*]]: tensor<8x8xf32> {opt.param}, %[[S:.*]]: tensor<4x8xf32>)
// CHECK: %[[R0:.*]]:2 = remat.region
// CHECK: remat.yield %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4x8xf32>
// CHECK: %[[R1:.*]]:2 = remat.region (%{{.*}} = %[[R0]]#{{[01]}} : tensor<4x8xf32>
// CHECK: return
// EVERY: return
// LAST: return
func.func @statistics_leave_their_layer(%x: tensor<4x8xf32>, %w0: tensor<8x8xf32> {opt.param}, %w1: tensor<8x8xf32> {opt.param},
    %s: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p0 = linalg.matmul ins(%x, %w0 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s0 = arith.addf %p0, %s : tensor<4x8xf32>
  %h0 = math.tanh %p0 : tensor<4x8xf32>
  %p1 = linalg.matmul ins(%h0, %w1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<4x8xf32>) -> tensor<4x8xf32>
  %s1 = arith.addf %p1, %s : tensor<4x8xf32>
  %h1 = math.tanh %p1 : tensor<4x8xf32>
  return %s0, %s1, %h1 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// The same projections side by side are no layers: none reads another.

// CHECK-LABEL: func.func @heads_and_then_layers
// CHECK-COUNT-3: linalg.matmul
// CHECK-COUNT-2: remat.region
// CHECK-NOT: remat.region
// CHECK: return
// EVERY: return
// LAST: return
func.func @heads_and_then_layers(%x: tensor<8x8xf32>, %q: tensor<8x8xf32> {opt.param}, %k: tensor<8x8xf32> {opt.param},
    %v: tensor<8x8xf32> {opt.param}, %w0: tensor<8x8xf32> {opt.param}, %w1: tensor<8x8xf32> {opt.param}) -> tensor<8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x8xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x8xf32>) -> tensor<8x8xf32>
  %p = linalg.matmul ins(%x, %q : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = linalg.matmul ins(%x, %k : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = linalg.matmul ins(%x, %v : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = arith.addf %p, %r : tensor<8x8xf32>
  %h = arith.mulf %a, %s : tensor<8x8xf32>
  %p0 = linalg.matmul ins(%h, %w0 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %h0 = math.tanh %p0 : tensor<8x8xf32>
  %p1 = linalg.matmul ins(%h0, %w1 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%zeros : tensor<8x8xf32>) -> tensor<8x8xf32>
  %h1 = math.tanh %p1 : tensor<8x8xf32>
  return %h1 : tensor<8x8xf32>
}
