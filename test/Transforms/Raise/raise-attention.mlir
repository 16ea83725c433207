// RUN: remat-opt %s --remat-raise-attention --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

#q = affine_map<(b, m, n, d) -> (b, m, d)>
#k = affine_map<(b, m, n, d) -> (b, n, d)>
#s = affine_map<(b, m, n, d) -> (b, m, n)>
#all = affine_map<(b, m, n) -> (b, m, n)>
#mn = affine_map<(b, m, n) -> (m, n)>

// Scale and mask between the products; the mask is one of positions and recomputed in the body.
// CHECK-LABEL: func @scaled_and_masked(
// CHECK-SAME: %[[Q:.*]]: tensor<2x64x8xf32>, %[[K:.*]]: tensor<2x64x8xf32>, %[[V:.*]]: tensor<2x64x6xf32>
// CHECK: %[[Y:.*]]:2 = remat.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK-NOT: scores
// CHECK-SAME: outs(
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[M:.*]]: index, %[[N:.*]]: index, %[[S:.*]]: f32):
// CHECK: %[[SEEN:.*]] = arith.cmpi uge, %[[M]], %[[N]] : index
// CHECK: %[[SCALED:.*]] = arith.mulf %[[S]], %{{.*}} : f32
// CHECK: %[[T:.*]] = arith.select %[[SEEN]], %[[SCALED]], %{{.*}} : f32
// CHECK: remat.yield %[[T]] : f32
// CHECK-NOT: linalg.softmax
// CHECK: return %[[Y]]#0
func.func @scaled_and_masked(%q: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %v: tensor<2x64x6xf32>) -> tensor<2x64x6xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.5 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2x64x64xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %s = linalg.generic {indexing_maps = [#q, #k, #s], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x64x8xf32>, tensor<2x64x8xf32>) outs(%z : tensor<2x64x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> tensor<2x64x64xf32>
  %em = tensor.empty() : tensor<64x64xi1>
  %mask = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      outs(%em : tensor<64x64xi1>) {
  ^bb0(%o: i1):
    %m = linalg.index 0 : index
    %n = linalg.index 1 : index
    %c = arith.cmpi uge, %m, %n : index
    linalg.yield %c : i1
  } -> tensor<64x64xi1>
  %t = linalg.generic {indexing_maps = [#all, #mn, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%s, %mask : tensor<2x64x64xf32>, tensor<64x64xi1>) outs(%e : tensor<2x64x64xf32>) {
  ^bb0(%a: f32, %c: i1, %o: f32):
    %x = arith.mulf %a, %scale : f32
    %r = arith.select %c, %x, %low : f32
    linalg.yield %r : f32
  } -> tensor<2x64x64xf32>
  %p = linalg.softmax dimension(2) ins(%t : tensor<2x64x64xf32>) outs(%e : tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  %ey = tensor.empty() : tensor<2x64x6xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<2x64x6xf32>) -> tensor<2x64x6xf32>
  %y = linalg.batch_matmul ins(%p, %v : tensor<2x64x64xf32>, tensor<2x64x6xf32>) outs(%zy : tensor<2x64x6xf32>) -> tensor<2x64x6xf32>
  return %y : tensor<2x64x6xf32>
}

// -----

// A dropout whose mask is data: an operand, which the factor reads. Batches are joined around the products.
// CHECK-LABEL: func @dropout_and_reshapes(
// CHECK-SAME: %[[Q:.*]]: tensor<6x5x8xf32>, %[[K:.*]]: tensor<6x8x7xf32>, %{{.*}}, %[[MASK:.*]]: tensor<2x3x5x7xf32>
// CHECK: remat.attention
// CHECK-SAME: scores(%[[MASK]] : tensor<2x3x5x7xf32>)
// CHECK: ^bb0({{.*}}%[[S:.*]]: f32, %[[F:.*]]: f32):
// CHECK: remat.yield %[[S]], %[[F]] : f32, f32
// CHECK-NOT: linalg.softmax
func.func @dropout_and_reshapes(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<6x7x4xf32>, %mask: tensor<2x3x5x7xf32>)
    -> tensor<6x5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%z : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %s4 = tensor.expand_shape %s [[0, 1], [2], [3]] output_shape [2, 3, 5, 7] : tensor<6x5x7xf32> into tensor<2x3x5x7xf32>
  %e4 = tensor.empty() : tensor<2x3x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%s4 : tensor<2x3x5x7xf32>) outs(%e4 : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %d = linalg.mul ins(%p, %mask : tensor<2x3x5x7xf32>, tensor<2x3x5x7xf32>) outs(%e4 : tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %d3 = tensor.collapse_shape %d [[0, 1], [2], [3]] : tensor<2x3x5x7xf32> into tensor<6x5x7xf32>
  %ey = tensor.empty() : tensor<6x5x4xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  %y = linalg.batch_matmul ins(%d3, %v : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  return %y : tensor<6x5x4xf32>
}

// -----

// Heads that share keys are a dimension more than the scores have where the mask joins them, as an exporter writes it; the mask is
// one for all heads, and in the other case for all batches as well.
// CHECK-LABEL: func @grouped_and_masked(
// CHECK-SAME: %[[Q:.*]]: tensor<2x4x3x5x8xf32>, %[[K:.*]]: tensor<2x4x7x8xf32>, %[[V:.*]]: tensor<2x4x7x6xf32>, %[[MASK:.*]]: tensor<2x1x5x7xf32>, %[[BIAS:.*]]: tensor<1x1x1x7xf32>
// CHECK: remat.attention ins(%[[Q]], %[[K]], %[[V]] : {{.*}} scores(%[[MASK]], %[[BIAS]] : tensor<2x1x5x7xf32>, tensor<1x1x1x7xf32>)
// CHECK-NOT: linalg.softmax
#q5 = affine_map<(b, h, g, m, n, d) -> (b, h, g, m, d)>
#k4 = affine_map<(b, h, g, m, n, d) -> (b, h, n, d)>
#s5 = affine_map<(b, h, g, m, n, d) -> (b, h, g, m, n)>
#p5 = affine_map<(b, h, g, m, e, n) -> (b, h, g, m, n)>
#v4 = affine_map<(b, h, g, m, e, n) -> (b, h, n, e)>
#y5 = affine_map<(b, h, g, m, e, n) -> (b, h, g, m, e)>
#all4 = affine_map<(b, h, m, n) -> (b, h, m, n)>
#mask4 = affine_map<(b, h, m, n) -> (b, 0, m, n)>
#bias4 = affine_map<(b, h, m, n) -> (0, 0, 0, n)>
func.func @grouped_and_masked(%q: tensor<2x4x3x5x8xf32>, %k: tensor<2x4x7x8xf32>, %v: tensor<2x4x7x6xf32>, %mask: tensor<2x1x5x7xf32>,
    %bias: tensor<1x1x1x7xf32>) -> tensor<2x4x3x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2x4x3x5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x4x3x5x7xf32>) -> tensor<2x4x3x5x7xf32>
  %s = linalg.generic {indexing_maps = [#q5, #k4, #s5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x4x3x5x8xf32>, tensor<2x4x7x8xf32>) outs(%z : tensor<2x4x3x5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x4x3x5x7xf32>
  %s4 = tensor.collapse_shape %s [[0], [1, 2], [3], [4]] : tensor<2x4x3x5x7xf32> into tensor<2x12x5x7xf32>
  %e4 = tensor.empty() : tensor<2x12x5x7xf32>
  %t = linalg.generic {indexing_maps = [#all4, #mask4, #bias4, #all4], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%s4, %mask, %bias : tensor<2x12x5x7xf32>, tensor<2x1x5x7xf32>, tensor<1x1x1x7xf32>) outs(%e4 : tensor<2x12x5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    %1 = arith.addf %0, %c : f32
    linalg.yield %1 : f32
  } -> tensor<2x12x5x7xf32>
  %p = linalg.softmax dimension(3) ins(%t : tensor<2x12x5x7xf32>) outs(%e4 : tensor<2x12x5x7xf32>) -> tensor<2x12x5x7xf32>
  %p5 = tensor.expand_shape %p [[0], [1, 2], [3], [4]] output_shape [2, 4, 3, 5, 7] : tensor<2x12x5x7xf32> into tensor<2x4x3x5x7xf32>
  %ey = tensor.empty() : tensor<2x4x3x5x6xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<2x4x3x5x6xf32>) -> tensor<2x4x3x5x6xf32>
  %y = linalg.generic {indexing_maps = [#p5, #v4, #y5], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%p5, %v : tensor<2x4x3x5x7xf32>, tensor<2x4x7x6xf32>) outs(%zy : tensor<2x4x3x5x6xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<2x4x3x5x6xf32>
  return %y : tensor<2x4x3x5x6xf32>
}

// -----

// A kernel that counts positions of joined dimensions apart: nothing moves the reshape past it, which is said.
// CHECK-LABEL: func @joined_rows(
// CHECK-NOT: remat.attention
// CHECK: linalg.softmax
func.func @joined_rows(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<7x4xf32>, %f: tensor<6x7xf32>) -> tensor<30x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%z : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %s2 = tensor.collapse_shape %s [[0, 1], [2]] : tensor<6x5x7xf32> into tensor<30x7xf32>
  %e2 = tensor.empty() : tensor<30x7xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m floordiv 5, n)>, affine_map<(m, n) -> (m, n)>],
      iterator_types = ["parallel", "parallel"]} ins(%s2, %f : tensor<30x7xf32>, tensor<6x7xf32>) outs(%e2 : tensor<30x7xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<30x7xf32>
  %p = linalg.softmax dimension(1) ins(%t : tensor<30x7xf32>) outs(%e2 : tensor<30x7xf32>) -> tensor<30x7xf32>
  %ey = tensor.empty() : tensor<30x4xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<30x4xf32>) -> tensor<30x4xf32>
  // expected-remark @+1 {{a reshape of its scores or probabilities could not be moved out of the way}}
  %y = linalg.matmul ins(%p, %v : tensor<30x7xf32>, tensor<7x4xf32>) outs(%zy : tensor<30x4xf32>) -> tensor<30x4xf32>
  return %y : tensor<30x4xf32>
}

// -----

// CHECK-LABEL: func @probabilities_have_another_reader(
// CHECK-NOT: remat.attention
// CHECK: linalg.softmax
func.func @probabilities_have_another_reader(%q: tensor<6x5x8xf32>, %k: tensor<6x8x7xf32>, %v: tensor<6x7x4xf32>)
    -> (tensor<6x5x4xf32>, tensor<6x5x7xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<6x5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %s = linalg.batch_matmul ins(%q, %k : tensor<6x5x8xf32>, tensor<6x8x7xf32>) outs(%z : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %p = linalg.softmax dimension(2) ins(%s : tensor<6x5x7xf32>) outs(%e : tensor<6x5x7xf32>) -> tensor<6x5x7xf32>
  %ey = tensor.empty() : tensor<6x5x4xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  // expected-remark @+1 {{stays a product with a softmax, which keeps a number for each pair of positions: its scores or probabilities are used elsewhere, too}}
  %y = linalg.batch_matmul ins(%p, %v : tensor<6x5x7xf32>, tensor<6x7x4xf32>) outs(%zy : tensor<6x5x4xf32>) -> tensor<6x5x4xf32>
  return %y, %p : tensor<6x5x4xf32>, tensor<6x5x7xf32>
}

// -----

// One that is read in another place than its own (scores and their transpose) stays, too.
// CHECK-LABEL: func @symmetric_scores(
// CHECK-NOT: remat.attention
// CHECK: linalg.softmax
func.func @symmetric_scores(%q: tensor<5x8xf32>, %k: tensor<8x5xf32>, %v: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x5xf32>) -> tensor<5x5xf32>
  %s = linalg.matmul ins(%q, %k : tensor<5x8xf32>, tensor<8x5xf32>) outs(%z : tensor<5x5xf32>) -> tensor<5x5xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n, m)>, affine_map<(m, n) -> (m, n)>],
                       iterator_types = ["parallel", "parallel"]} ins(%s, %s : tensor<5x5xf32>, tensor<5x5xf32>) outs(%e : tensor<5x5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<5x5xf32>
  %p = linalg.softmax dimension(1) ins(%t : tensor<5x5xf32>) outs(%e : tensor<5x5xf32>) -> tensor<5x5xf32>
  %ey = tensor.empty() : tensor<5x4xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<5x4xf32>) -> tensor<5x4xf32>
  // expected-remark @+1 {{its scores are computed in a way that has no place in an attention}}
  %y = linalg.matmul ins(%p, %v : tensor<5x5xf32>, tensor<5x4xf32>) outs(%zy : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// -----

// The last key that is seen is a number, which was an array of size 1.
// CHECK-LABEL: func @number_of_keys(
// CHECK-SAME: %[[LAST:[a-z0-9]*]]: tensor<1x1xi32>
// CHECK: remat.attention ins({{.*}}) scores(%[[LAST]] : tensor<1x1xi32>)
// CHECK-NOT: linalg.softmax
func.func @number_of_keys(%q: tensor<5x8xf32>, %k: tensor<8x7xf32>, %v: tensor<7x4xf32>, %last: tensor<1x1xi32>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %s = linalg.matmul ins(%q, %k : tensor<5x8xf32>, tensor<8x7xf32>) outs(%z : tensor<5x7xf32>) -> tensor<5x7xf32>
  %number = tensor.collapse_shape %last [] : tensor<1x1xi32> into tensor<i32>
  %t = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> ()>, affine_map<(m, n) -> (m, n)>],
                       iterator_types = ["parallel", "parallel"]} ins(%s, %number : tensor<5x7xf32>, tensor<i32>) outs(%e : tensor<5x7xf32>) {
  ^bb0(%a: f32, %l: i32, %o: f32):
    %n = linalg.index 1 : index
    %i = arith.index_cast %n : index to i32
    %seen = arith.cmpi sle, %i, %l : i32
    %r = arith.select %seen, %a, %low : f32
    linalg.yield %r : f32
  } -> tensor<5x7xf32>
  %p = linalg.softmax dimension(1) ins(%t : tensor<5x7xf32>) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %ey = tensor.empty() : tensor<5x4xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<5x4xf32>) -> tensor<5x4xf32>
  %y = linalg.matmul ins(%p, %v : tensor<5x7xf32>, tensor<7x4xf32>) outs(%zy : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %y : tensor<5x4xf32>
}

// -----

// As torch.einsum writes it: a dimension of size 1 moves between the product and the softmax.
// CHECK-LABEL: func @moved_unit(
// CHECK-SAME: %[[Q:.*]]: tensor<2x5x8xf32>, %[[K:.*]]: tensor<2x7x8xf32>, %[[V:.*]]: tensor<2x7x6xf32>
// CHECK: %[[Y:.*]]:2 = remat.attention ins(%[[Q]], %[[K]], %[[V]] :
// CHECK-NOT: linalg.softmax
// CHECK: return %[[Y]]#0
func.func @moved_unit(%q: tensor<2x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<2x7x6xf32>) -> tensor<2x5x6xf32> {
  %zero = arith.constant 0.0 : f32
  %scale = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<2x5x7xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(b, m, n, d) -> (b, m, d)>, affine_map<(b, m, n, d) -> (b, n, d)>,
      affine_map<(b, m, n, d) -> (b, m, n)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<2x5x8xf32>, tensor<2x7x8xf32>) outs(%z : tensor<2x5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %c, %p : f32
    linalg.yield %r : f32
  } -> tensor<2x5x7xf32>
  %expanded = tensor.expand_shape %s [[0], [1], [2, 3]] output_shape [2, 5, 1, 7] : tensor<2x5x7xf32> into tensor<2x5x1x7xf32>
  %moved = tensor.empty() : tensor<2x5x7x1xf32>
  %transposed = linalg.transpose ins(%expanded : tensor<2x5x1x7xf32>) outs(%moved : tensor<2x5x7x1xf32>) permutation = [0, 1, 3, 2]
  %collapsed = tensor.collapse_shape %transposed [[0], [1], [2, 3]] : tensor<2x5x7x1xf32> into tensor<2x5x7xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(b, m, n) -> (b, m, n)>, affine_map<(b, m, n) -> (b, m, n)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%collapsed : tensor<2x5x7xf32>) outs(%e : tensor<2x5x7xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = arith.mulf %a, %scale : f32
    linalg.yield %x : f32
  } -> tensor<2x5x7xf32>
  %p = linalg.softmax dimension(2) ins(%t : tensor<2x5x7xf32>) outs(%e : tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %ey = tensor.empty() : tensor<2x5x6xf32>
  %zy = linalg.fill ins(%zero : f32) outs(%ey : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  %y = linalg.batch_matmul ins(%p, %v : tensor<2x5x7xf32>, tensor<2x7x6xf32>) outs(%zy : tensor<2x5x6xf32>) -> tensor<2x5x6xf32>
  return %y : tensor<2x5x6xf32>
}
