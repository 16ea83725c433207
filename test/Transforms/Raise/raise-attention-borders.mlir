// RUN: remat-opt %s --remat-raise-attention --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// Attention is found wherever names and borders of regions stand: bits must not depend on them.

// CHECK-LABEL: func @named_scores(
// CHECK-SAME: %[[Q:.*]]: tensor<6x5x8xf32>, %[[K:.*]]: tensor<6x8x7xf32>, %[[V:.*]]: tensor<6x7x4xf32>
// CHECK-NOT: remat.name
// CHECK: %[[Y:.*]]:2 = remat.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK: return %[[Y]]#0
func.func @named_scores(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
  %es = tensor.empty() : tensor<6x5x7xf32>
  %zeros = arith.constant 0.0 : f32
  %zs = linalg.fill ins(%zeros : f32) outs(%es : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%zs : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  // expected-remark @+1 {{the name "scores" is gone: attention computes this value a few rows at a time}}
  %n = remat.name "scores" %s : tensor<6x5x7xf32>
  %ep = tensor.empty() : tensor<6x5x7xf32>
  %p = linalg.softmax dimension(2) ins(%n : tensor<6x5x7xf32>) outs(%ep : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %ey = tensor.empty() : tensor<6x5x4xf32>
  %zeroy = arith.constant 0.0 : f32
  %zy = linalg.fill ins(%zeroy : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %y = linalg.batch_matmul ins(%p, %v : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  return %y : tensor<6x5x4xf32>
}

// -----

// CHECK-LABEL: func @named_probabilities(
// CHECK-NOT: remat.name
// CHECK: remat.attention
// CHECK-NOT: linalg.softmax
func.func @named_probabilities(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
  %es = tensor.empty() : tensor<6x5x7xf32>
  %zeros = arith.constant 0.0 : f32
  %zs = linalg.fill ins(%zeros : f32) outs(%es : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%zs : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %ep = tensor.empty() : tensor<6x5x7xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<6x5x7xf32>) outs(%ep : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  // expected-remark @+1 {{the name "probabilities" is gone: attention computes this value a few rows at a time}}
  %n = remat.name "probabilities" %p : tensor<6x5x7xf32>
  %ey = tensor.empty() : tensor<6x5x4xf32>
  %zeroy = arith.constant 0.0 : f32
  %zy = linalg.fill ins(%zeroy : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %y = linalg.batch_matmul ins(%n, %v : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  return %y : tensor<6x5x4xf32>
}

// -----

#all = affine_map<(b, m, n) -> (b, m, n)>
#row = affine_map<(b, m, n) -> (b, m)>

// A name of a part of the softmax hides neither.
// CHECK-LABEL: func @named_powers(
// CHECK: remat.attention
// CHECK-NOT: linalg.softmax
// CHECK-NOT: math.exp
func.func @named_powers(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %es = tensor.empty() : tensor<6x5x7xf32>
  %zs = linalg.fill ins(%zero : f32) outs(%es : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%zs : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %er = tensor.empty() : tensor<6x5xf32>
  %lows = linalg.fill ins(%low : f32) outs(%er : tensor<6x5xf32>) -> tensor<6x5xf32>
  %m = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s : tensor<6x5x7xf32>) outs(%lows : tensor<6x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.maximumf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<6x5xf32>
  %d = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %m : tensor<6x5x7xf32>, tensor<6x5xf32>) outs(%es : tensor<6x5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<6x5x7xf32>
  %x = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%d : tensor<6x5x7xf32>) outs(%es : tensor<6x5x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<6x5x7xf32>
  // expected-remark @+1 {{the name "powers" is gone: attention computes this value a few rows at a time}}
  %n = remat.name "powers" %x : tensor<6x5x7xf32>
  %zr = linalg.fill ins(%zero : f32) outs(%er : tensor<6x5xf32>) -> tensor<6x5xf32>
  %t = linalg.generic {indexing_maps = [#all, #row], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%n : tensor<6x5x7xf32>) outs(%zr : tensor<6x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = arith.addf %o, %a : f32
    linalg.yield %r : f32
  } -> tensor<6x5xf32>
  %p = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%n, %t : tensor<6x5x7xf32>, tensor<6x5xf32>) outs(%es : tensor<6x5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.divf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<6x5x7xf32>
  %ey = tensor.empty() : tensor<6x5x4xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %y = linalg.batch_matmul ins(%p, %v : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  return %y : tensor<6x5x4xf32>
}

// -----

// Query, key, value and result have names: attention reads and makes what is named.
// CHECK-LABEL: func @named_operands(
// CHECK-DAG: %[[Q:.*]] = remat.name "q" %arg0
// CHECK-DAG: %[[K:.*]] = remat.name "k" %arg1
// CHECK-DAG: %[[V:.*]] = remat.name "v" %arg2
// CHECK: %[[Y:.*]]:2 = remat.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK: %[[N:.*]] = remat.name "out" %[[Y]]#0
// CHECK: return %[[N]]
func.func @named_operands(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
  %nq = remat.name "q" %q : tensor<6x5x8xf32>
  %nk = remat.name "k" %k : tensor<6x8x7xf32>
  %nv = remat.name "v" %v : tensor<6x7x4xf32>
  %es = tensor.empty() : tensor<6x5x7xf32>
  %zeros = arith.constant 0.0 : f32
  %zs = linalg.fill ins(%zeros : f32) outs(%es : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %s = linalg.batch_matmul ins(%nq, %nk : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%zs : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %ep = tensor.empty() : tensor<6x5x7xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<6x5x7xf32>) outs(%ep : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %ey = tensor.empty() : tensor<6x5x4xf32>
  %zeroy = arith.constant 0.0 : f32
  %zy = linalg.fill ins(%zeroy : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %y = linalg.batch_matmul ins(%p, %nv : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %n = remat.name "out" %y : tensor<6x5x4xf32>
  return %n : tensor<6x5x4xf32>
}

// -----

// A transposition is read through whether its result has a name or not: what attention reads gets the name.
// CHECK-LABEL: func @named_transpose(
// CHECK-SAME: %[[Q:.*]]: tensor<6x5x8xf32>, %[[K:.*]]: tensor<6x7x8xf32>
// CHECK-NOT: linalg.transpose
// CHECK: %[[N:.*]] = remat.name "k" %[[K]] : tensor<6x7x8xf32>
// CHECK: remat.attention ins(%[[Q]], %[[N]],
func.func @named_transpose(%q: tensor<6x5x8xf32>, %k: tensor<6x7x8xf32>, %v: tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
  %et = tensor.empty() : tensor<6x8x7xf32>
  %t = linalg.transpose ins(%k : tensor<6x7x8xf32>) outs(%et : tensor<6x8x7xf32>) permutation = [0, 2, 1]
  %n = remat.name "k" %t : tensor<6x8x7xf32>
  %es = tensor.empty() : tensor<6x5x7xf32>
  %zeros = arith.constant 0.0 : f32
  %zs = linalg.fill ins(%zeros : f32) outs(%es : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %s = linalg.batch_matmul ins(%q, %n : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%zs : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %ep = tensor.empty() : tensor<6x5x7xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<6x5x7xf32>) outs(%ep : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %ey = tensor.empty() : tensor<6x5x4xf32>
  %zeroy = arith.constant 0.0 : f32
  %zy = linalg.fill ins(%zeroy : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %y = linalg.batch_matmul ins(%p, %v : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  return %y : tensor<6x5x4xf32>
}

// -----

// The result is written in the order in which it is read, in the region that computes it, and keeps its name.
// CHECK-LABEL: func @transposed_behind_name_and_border(
// CHECK: %[[R:.*]] = remat.region
// CHECK: %[[Y:.*]]:2 = remat.attention
// CHECK: %[[N:.*]] = remat.name "out" %[[Y]]#0 : tensor<5x6x4xf32>
// CHECK: remat.yield %[[N]]
// CHECK-NOT: linalg.transpose
// CHECK: return %[[R]]
func.func @transposed_behind_name_and_border(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<6x7x4xf32>) -> tensor<5x6x4xf32> {
  %r = remat.region policy(#remat.save_only_names<"out">) (%q0 = %q : tensor<6x5x8xf32>, %k0 = %k : tensor<6x8x7xf32>, %v0 = %v : tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
    %es = tensor.empty() : tensor<6x5x7xf32>
    %zeros = arith.constant 0.0 : f32
    %zs = linalg.fill ins(%zeros : f32) outs(%es : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
    %s = linalg.batch_matmul ins(%q0, %k0 : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%zs : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
    %ep = tensor.empty() : tensor<6x5x7xf32>
    %p = linalg.softmax dimension(2) ins(%s : tensor<6x5x7xf32>) outs(%ep : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
    %ey = tensor.empty() : tensor<6x5x4xf32>
    %zeroy = arith.constant 0.0 : f32
    %zy = linalg.fill ins(%zeroy : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
    %y = linalg.batch_matmul ins(%p, %v0 : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
    %n = remat.name "out" %y : tensor<6x5x4xf32>
    remat.yield %n : tensor<6x5x4xf32>
  }
  %et = tensor.empty() : tensor<5x6x4xf32>
  %t = linalg.transpose ins(%r : tensor<6x5x4xf32>) outs(%et : tensor<5x6x4xf32>) permutation = [1, 0, 2]
  return %t : tensor<5x6x4xf32>
}

// -----

// CHECK-LABEL: func @border_before_softmax(
// CHECK-SAME: %[[Q:.*]]: tensor<6x5x8xf32>, %[[K:.*]]: tensor<6x8x7xf32>, %[[V:.*]]: tensor<6x7x4xf32>
// CHECK-NEXT: %[[EY:.*]] = tensor.empty
// CHECK-NOT: remat.region
// CHECK: remat.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK-NOT: remat.region
// CHECK: return
func.func @border_before_softmax(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
  %r = remat.region (%q0 = %q : tensor<6x5x8xf32>, %k0 = %k : tensor<6x8x7xf32>) -> tensor<6x5x7xf32> {
    %es = tensor.empty() : tensor<6x5x7xf32>
    %zeros = arith.constant 0.0 : f32
    %zs = linalg.fill ins(%zeros : f32) outs(%es : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
    %s = linalg.batch_matmul ins(%q0, %k0 : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%zs : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
    remat.yield %s : tensor<6x5x7xf32>
  }
  %ep = tensor.empty() : tensor<6x5x7xf32>
  %p = linalg.softmax dimension(2) ins(%r : tensor<6x5x7xf32>) outs(%ep : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %ey = tensor.empty() : tensor<6x5x4xf32>
  %zeroy = arith.constant 0.0 : f32
  %zy = linalg.fill ins(%zeroy : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %y = linalg.batch_matmul ins(%p, %v : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  return %y : tensor<6x5x4xf32>
}

// -----

// The region keeps what else it computes, and yields what attention reads instead of probabilities.
// CHECK-LABEL: func @border_before_last_product(
// CHECK: %[[R:.*]] = remat.region policy(#remat.dots_saveable) (%[[A:.*]] = %arg0 : tensor<6x5x8xf32>) -> tensor<6x5x8xf32> {
// CHECK: %[[T:.*]] = linalg.tanh ins(%[[A]]
// CHECK: remat.yield %[[T]]
// CHECK: %[[Y:.*]]:2 = remat.attention ins(%[[R]], %arg1, %arg2 :
// CHECK: return %[[Y]]#0
func.func @border_before_last_product(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
  %r = remat.region policy(#remat.dots_saveable) (%q0 = %q : tensor<6x5x8xf32>, %k0 = %k : tensor<6x8x7xf32>) -> tensor<6x5x7xf32> {
    %eq = tensor.empty() : tensor<6x5x8xf32>
    %t = linalg.tanh ins(%q0 : tensor<6x5x8xf32>) outs(%eq : tensor<6x5x8xf32>) -> tensor<6x5x8xf32>
    %es = tensor.empty() : tensor<6x5x7xf32>
    %zeros = arith.constant 0.0 : f32
    %zs = linalg.fill ins(%zeros : f32) outs(%es : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
    %s = linalg.batch_matmul ins(%t, %k0 : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%zs : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
    %ep = tensor.empty() : tensor<6x5x7xf32>
    %p = linalg.softmax dimension(2) ins(%s : tensor<6x5x7xf32>) outs(%ep : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
    remat.yield %p : tensor<6x5x7xf32>
  }
  %ey = tensor.empty() : tensor<6x5x4xf32>
  %zeroy = arith.constant 0.0 : f32
  %zy = linalg.fill ins(%zeroy : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %y = linalg.batch_matmul ins(%r, %v : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  return %y : tensor<6x5x4xf32>
}

// -----

// Into the region of the last product, whose policy then says what is saved; a name that it saves stands in there.
// CHECK-LABEL: func @last_product_inside(
// CHECK: remat.region policy(#remat.save_only_names<"out">) (%[[V:.*]] = %arg2 : {{.*}}, %[[Q:.*]] = %arg0 : {{.*}}, %[[K:.*]] = %arg1 : {{.*}}) ->
// CHECK: %[[Y:.*]]:2 = remat.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK: remat.name "out" %[[Y]]#0
func.func @last_product_inside(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
  %es = tensor.empty() : tensor<6x5x7xf32>
  %zeros = arith.constant 0.0 : f32
  %zs = linalg.fill ins(%zeros : f32) outs(%es : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%zs : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %ep = tensor.empty() : tensor<6x5x7xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<6x5x7xf32>) outs(%ep : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %r = remat.region policy(#remat.save_only_names<"out">) (%p0 = %p : tensor<6x5x7xf32>, %v0 = %v : tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
    %ey = tensor.empty() : tensor<6x5x4xf32>
    %zeroy = arith.constant 0.0 : f32
    %zy = linalg.fill ins(%zeroy : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
    %y = linalg.batch_matmul ins(%p0, %v0 : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
    %n = remat.name "out" %y : tensor<6x5x4xf32>
    remat.yield %n : tensor<6x5x4xf32>
  }
  return %r : tensor<6x5x4xf32>
}

// -----

// Three regions, one in another.
// CHECK-LABEL: func @nested_borders(
// CHECK: remat.region policy(#remat.dots_saveable)
// CHECK: remat.region policy(#remat.everything_saveable) {{.*}} attributes {prevent_cse = array<i1: false, true, true>} {
// CHECK: remat.attention
// CHECK-NOT: linalg.softmax
func.func @nested_borders(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
  %r = remat.region policy(#remat.dots_saveable) (%q0 = %q : tensor<6x5x8xf32>, %k0 = %k : tensor<6x8x7xf32>, %v0 = %v : tensor<6x7x4xf32>) -> tensor<6x5x4xf32> {
    %a = remat.region (%q1 = %q0 : tensor<6x5x8xf32>, %k1 = %k0 : tensor<6x8x7xf32>) -> tensor<6x5x7xf32> {
      %es = tensor.empty() : tensor<6x5x7xf32>
      %zeros = arith.constant 0.0 : f32
      %zs = linalg.fill ins(%zeros : f32) outs(%es : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
      %s = linalg.batch_matmul ins(%q1, %k1 : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%zs : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
      remat.yield %s : tensor<6x5x7xf32>
    }
    %ep = tensor.empty() : tensor<6x5x7xf32>
    %p = linalg.softmax dimension(2) ins(%a : tensor<6x5x7xf32>) outs(%ep : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
    %b = remat.region policy(#remat.everything_saveable) (%v1 = %v0 : tensor<6x7x4xf32>, %p1 = %p : tensor<6x5x7xf32>) -> tensor<6x5x4xf32> attributes {prevent_cse = array<i1: false, false>} {
      %ey = tensor.empty() : tensor<6x5x4xf32>
      %zeroy = arith.constant 0.0 : f32
      %zy = linalg.fill ins(%zeroy : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
      %y = linalg.batch_matmul ins(%p1, %v1 : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
      remat.yield %y : tensor<6x5x4xf32>
    }
    remat.yield %b : tensor<6x5x4xf32>
  }
  return %r : tensor<6x5x4xf32>
}

// -----

// Sizes that are not known are those of what the region takes.
// CHECK-LABEL: func @dynamic_inside(
// CHECK: remat.region (%[[V:.*]] = %arg2 : {{.*}}, %[[Q:.*]] = %arg0 : {{.*}}, %[[K:.*]] = %arg1 :
// CHECK-DAG: tensor.dim %[[Q]]
// CHECK: remat.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK-NOT: linalg.batch_matmul
func.func @dynamic_inside(%q: tensor<?x?x8xf32>, %k: tensor<?x8x?xf32>, %v: tensor<?x?x4xf32>) -> tensor<?x?x4xf32> {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x8xf32>
  %m = tensor.dim %q, %c1 : tensor<?x?x8xf32>
  %n = tensor.dim %k, %c2 : tensor<?x8x?xf32>
  %e = tensor.empty(%b, %m, %n) : tensor<?x?x?xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<?x?x8xf32>, tensor<?x8x?xf32>) outs(%z : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<?x?x?xf32>) outs(%e : tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %r = remat.region (%p0 = %p : tensor<?x?x?xf32>, %v0 = %v : tensor<?x?x4xf32>, %b0 = %b : index, %m0 = %m : index) -> tensor<?x?x4xf32> {
    %zero0 = arith.constant 0.0 : f32
    %ey = tensor.empty(%b0, %m0) : tensor<?x?x4xf32>
    %zy = linalg.fill ins(%zero0 : f32) outs(%ey : tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
    %y = linalg.batch_matmul ins(%p0, %v0 : tensor<?x?x?xf32>, tensor<?x?x4xf32>) outs(%zy : tensor<?x?x4xf32>) -> tensor<?x?x4xf32>
    remat.yield %y : tensor<?x?x4xf32>
  }
  return %r : tensor<?x?x4xf32>
}

// -----

// Operations that are not raised keep their names and regions.
// CHECK-LABEL: func @read_elsewhere(
// CHECK: %[[R:.*]] = remat.region
// CHECK: remat.name "scores"
// CHECK: linalg.softmax {{.*}} ins(%[[R]]
// CHECK: linalg.batch_matmul
func.func @read_elsewhere(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<6x7x4xf32>) -> (tensor<6x5x4xf32>, tensor<6x5x7xf32>) {
  %r = remat.region (%q0 = %q : tensor<6x5x8xf32>, %k0 = %k : tensor<6x8x7xf32>) -> tensor<6x5x7xf32> {
    %es = tensor.empty() : tensor<6x5x7xf32>
    %zeros = arith.constant 0.0 : f32
    %zs = linalg.fill ins(%zeros : f32) outs(%es : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
    %s = linalg.batch_matmul ins(%q0, %k0 : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%zs : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
    %n = remat.name "scores" %s : tensor<6x5x7xf32>
    remat.yield %n : tensor<6x5x7xf32>
  }
  %ep = tensor.empty() : tensor<6x5x7xf32>
  %p = linalg.softmax dimension(2) ins(%r : tensor<6x5x7xf32>) outs(%ep : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %ey = tensor.empty() : tensor<6x5x4xf32>
  %zeroy = arith.constant 0.0 : f32
  %zy = linalg.fill ins(%zeroy : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  // expected-remark @+1 {{its scores or probabilities are used elsewhere, too}}
  %y = linalg.batch_matmul ins(%p, %v : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  return %y, %r : tensor<6x5x4xf32>, tensor<6x5x7xf32>
}
