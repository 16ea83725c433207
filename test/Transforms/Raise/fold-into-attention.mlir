// RUN: remat-opt %s --remat-raise-attention --canonicalize --cse --split-input-file | FileCheck %s

// Attention that a model has as one operation reads heads where they are, and writes them where they are read.
#bhmd = affine_map<(b, h, m, n, d, v) -> (b, h, m, d)>
#bhnd = affine_map<(b, h, m, n, d, v) -> (b, h, n, d)>
#bhnv = affine_map<(b, h, m, n, d, v) -> (b, h, n, v)>
#bhmv = affine_map<(b, h, m, n, d, v) -> (b, h, m, v)>
#bhm = affine_map<(b, h, m, n, d, v) -> (b, h, m)>
// CHECK-DAG: #[[BMHD:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d4)>
// CHECK-DAG: #[[BNHD:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d4)>
// CHECK-DAG: #[[BNHV:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d1, d5)>
// CHECK-DAG: #[[BMHV:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d2, d1, d5)>
// CHECK-DAG: #[[BHM:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2)>
// CHECK-LABEL: func @transposed_heads(
// CHECK-SAME: %[[Q:.*]]: tensor<2x5x4x8xf32>, %[[KV:.*]]: tensor<2x7x6x8xf32>
// CHECK: %[[K:.*]] = tensor.extract_slice %[[KV]][0, 0, 0, 0] [2, 7, 4, 8]
// CHECK: %[[Y:.*]]:2 = remat.attention ins(%[[Q]], %[[K]], %[[K]] :
// CHECK-SAME: indexing_maps = [#[[BMHD]], #[[BNHD]], #[[BNHV]], #[[BMHV]], #[[BHM]]]
// CHECK-NOT: linalg.transpose
// CHECK: return %[[Y]]#0 : tensor<2x5x4x8xf32>
func.func @transposed_heads(%q: tensor<2x5x4x8xf32>, %kv: tensor<2x7x6x8xf32>) -> tensor<2x5x4x8xf32> {
  %eq = tensor.empty() : tensor<2x4x5x8xf32>
  %hq = linalg.transpose ins(%q : tensor<2x5x4x8xf32>) outs(%eq : tensor<2x4x5x8xf32>) permutation = [0, 2, 1, 3]
  %ek = tensor.empty() : tensor<2x6x7x8xf32>
  %hk = linalg.transpose ins(%kv : tensor<2x7x6x8xf32>) outs(%ek : tensor<2x6x7x8xf32>) permutation = [0, 2, 1, 3]
  %k = tensor.extract_slice %hk[0, 0, 0, 0] [2, 4, 7, 8] [1, 1, 1, 1] : tensor<2x6x7x8xf32> to tensor<2x4x7x8xf32>
  %el = tensor.empty() : tensor<2x4x5xf32>
  %y:2 = remat.attention ins(%hq, %k, %k : tensor<2x4x5x8xf32>, tensor<2x4x7x8xf32>, tensor<2x4x7x8xf32>)
      outs(%eq, %el : tensor<2x4x5x8xf32>, tensor<2x4x5xf32>) attributes {indexing_maps = [#bhmd, #bhnd, #bhnv, #bhmv, #bhm]} {
  ^bb0(%b: index, %h: index, %m: index, %n: index, %score: f32):
    remat.yield %score : f32
  } -> tensor<2x4x5x8xf32>, tensor<2x4x5xf32>
  %ey = tensor.empty() : tensor<2x5x4x8xf32>
  %t = linalg.transpose ins(%y#0 : tensor<2x4x5x8xf32>) outs(%ey : tensor<2x5x4x8xf32>) permutation = [0, 2, 1, 3]
  return %t : tensor<2x5x4x8xf32>
}

// -----

// The operands from which a mask is computed are read, not the mask.
#md = affine_map<(m, n, d, v) -> (m, d)>
#nd = affine_map<(m, n, d, v) -> (n, d)>
#nv = affine_map<(m, n, d, v) -> (n, v)>
#mn = affine_map<(m, n, d, v) -> (m, n)>
#mv = affine_map<(m, n, d, v) -> (m, v)>
#m = affine_map<(m, n, d, v) -> (m)>
// CHECK-LABEL: func @mask_of_positions(
// CHECK-SAME: %[[X:.*]]: tensor<64x64xf32>, %[[LAST:.*]]: tensor<64xi32>)
// CHECK: remat.attention ins(%[[X]], %[[X]], %[[X]] : {{.*}} scores(%[[LAST]] : tensor<64xi32>)
// CHECK-NEXT: ^bb0(%[[M:.*]]: index, %[[N:.*]]: index, %[[S:.*]]: f32, %[[L:.*]]: i32):
// CHECK: %[[KEY:.*]] = arith.index_cast %[[N]] : index to i32
// CHECK: %[[SEEN:.*]] = arith.cmpi sle, %[[KEY]], %[[L]] : i32
// CHECK: arith.select %[[SEEN]], %[[S]]
func.func @mask_of_positions(%x: tensor<64x64xf32>, %last: tensor<64xi32>) -> tensor<64x64xf32> {
  %low = arith.constant 0xFF800000 : f32
  %em = tensor.empty() : tensor<64x64xi1>
  %mask = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
      ins(%last : tensor<64xi32>) outs(%em : tensor<64x64xi1>) {
  ^bb0(%l: i32, %o: i1):
    %n = linalg.index 1 : index
    %key = arith.index_cast %n : index to i32
    %c = arith.cmpi sle, %key, %l : i32
    linalg.yield %c : i1
  } -> tensor<64x64xi1>
  %ey = tensor.empty() : tensor<64x64xf32>
  %el = tensor.empty() : tensor<64xf32>
  %y:2 = remat.attention ins(%x, %x, %x : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) scores(%mask : tensor<64x64xi1>)
      outs(%ey, %el : tensor<64x64xf32>, tensor<64xf32>) attributes {indexing_maps = [#md, #nd, #nv, #mn, #mv, #m]} {
  ^bb0(%m: index, %n: index, %score: f32, %seen: i1):
    %t = arith.select %seen, %score, %low : f32
    remat.yield %t : f32
  } -> tensor<64x64xf32>, tensor<64xf32>
  return %y#0 : tensor<64x64xf32>
}

// -----

// Keys that were copied for the heads which share them are read in their place: a loop over heads becomes two. The body computes the
// number of the head.
#hmd = affine_map<(h, m, n, d, v) -> (h, m, d)>
#hnd = affine_map<(h, m, n, d, v) -> (h, n, d)>
#hnv = affine_map<(h, m, n, d, v) -> (h, n, v)>
#hn = affine_map<(h, m, n, d, v) -> (h, n)>
#hmv = affine_map<(h, m, n, d, v) -> (h, m, v)>
#hm = affine_map<(h, m, n, d, v) -> (h, m)>
// CHECK-DAG: #[[QUERIES:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d4)>
// CHECK-DAG: #[[KEYS:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4)>
// CHECK-DAG: #[[VALUES:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d3, d5)>
// CHECK-DAG: #[[HEAD:.*]] = affine_map<(d0, d1) -> (d0 * 3 + d1)>
// CHECK-LABEL: func @shared_keys(
// CHECK-SAME: %[[Q:.*]]: tensor<6x5x8xf32>, %[[K:.*]]: tensor<2x7x8xf32>, %[[V:.*]]: tensor<6x7x4xf32>, %[[BIAS:.*]]: tensor<6x7xf32>
// CHECK-DAG: %[[Q2:.*]] = tensor.expand_shape %[[Q]] {{.*}} into tensor<2x3x5x8xf32>
// CHECK-DAG: %[[V2:.*]] = tensor.expand_shape %[[V]] {{.*}} into tensor<2x3x7x4xf32>
// CHECK-DAG: %[[BIAS2:.*]] = tensor.expand_shape %[[BIAS]] {{.*}} into tensor<2x3x7xf32>
// CHECK: %[[Y:.*]]:2 = remat.attention ins(%[[Q2]], %[[K]], %[[V2]] : {{.*}} scores(%[[BIAS2]] :
// CHECK-SAME: indexing_maps = [#[[QUERIES]], #[[KEYS]], #[[VALUES]],
// CHECK-NEXT: ^bb0(%[[H0:[^:]*]]: index, %[[H1:[^:]*]]: index,
// CHECK: affine.apply #[[HEAD]](%[[H0]], %[[H1]])
// CHECK: %[[R:.*]] = tensor.collapse_shape %[[Y]]#0 {{\[}}[0, 1], [2], [3]]
// CHECK: return %[[R]] : tensor<6x5x4xf32>
func.func @shared_keys(%q: tensor<6x5x8xf32>, %k: tensor<2x7x8xf32>, %v: tensor<6x7x4xf32>, %bias: tensor<6x7xf32>) -> tensor<6x5x4xf32> {
  %ek = tensor.empty() : tensor<2x3x7x8xf32>
  %copies = linalg.broadcast ins(%k : tensor<2x7x8xf32>) outs(%ek : tensor<2x3x7x8xf32>) dimensions = [1]
  %all = tensor.collapse_shape %copies [[0, 1], [2], [3]] : tensor<2x3x7x8xf32> into tensor<6x7x8xf32>
  %ey = tensor.empty() : tensor<6x5x4xf32>
  %el = tensor.empty() : tensor<6x5xf32>
  %y:2 = remat.attention ins(%q, %all, %v : tensor<6x5x8xf32>, tensor<6x7x8xf32>, tensor<6x7x4xf32>) scores(%bias : tensor<6x7xf32>)
      outs(%ey, %el : tensor<6x5x4xf32>, tensor<6x5xf32>) attributes {indexing_maps = [#hmd, #hnd, #hnv, #hn, #hmv, #hm]} {
  ^bb0(%h: index, %m: index, %n: index, %score: f32, %e: f32):
    %i = arith.index_cast %h : index to i32
    %f = arith.sitofp %i : i32 to f32
    %s = arith.mulf %f, %e : f32
    %t = arith.addf %score, %s : f32
    remat.yield %t : f32
  } -> tensor<6x5x4xf32>, tensor<6x5xf32>
  return %y#0 : tensor<6x5x4xf32>
}

// -----

// A sum that a model reads keeps its form, and with it all of the attention.
#md = affine_map<(m, n, d, v) -> (m, d)>
#nd = affine_map<(m, n, d, v) -> (n, d)>
#nv = affine_map<(m, n, d, v) -> (n, v)>
#mv = affine_map<(m, n, d, v) -> (m, v)>
#m = affine_map<(m, n, d, v) -> (m)>
// CHECK-LABEL: func @sums_are_read(
// CHECK: %[[T:.*]] = linalg.transpose
// CHECK: remat.attention ins(%[[T]],
func.func @sums_are_read(%x: tensor<8x5xf32>, %k: tensor<5x8xf32>) -> (tensor<5x8xf32>, tensor<5xf32>) {
  %ey = tensor.empty() : tensor<5x8xf32>
  %q = linalg.transpose ins(%x : tensor<8x5xf32>) outs(%ey : tensor<5x8xf32>) permutation = [1, 0]
  %el = tensor.empty() : tensor<5xf32>
  %y:2 = remat.attention ins(%q, %k, %k : tensor<5x8xf32>, tensor<5x8xf32>, tensor<5x8xf32>)
      outs(%ey, %el : tensor<5x8xf32>, tensor<5xf32>) attributes {indexing_maps = [#md, #nd, #nv, #mv, #m]} {
  ^bb0(%m: index, %n: index, %score: f32):
    remat.yield %score : f32
  } -> tensor<5x8xf32>, tensor<5xf32>
  return %y#0, %y#1 : tensor<5x8xf32>, tensor<5xf32>
}

// -----

// Names and regions do not hide what is read, as in attention out of parts.
#md = affine_map<(m, n, d, v) -> (m, d)>
#nd = affine_map<(m, n, d, v) -> (n, d)>
#nv = affine_map<(m, n, d, v) -> (n, v)>
#mv = affine_map<(m, n, d, v) -> (m, v)>
#m = affine_map<(m, n, d, v) -> (m)>
// CHECK-LABEL: func @named_and_in_a_region(
// CHECK-SAME: %[[X:.*]]: tensor<8x5xf32>, %[[K:.*]]: tensor<5x8xf32>
// CHECK-NOT: linalg.transpose
// CHECK: %[[Y:.*]] = remat.region (%[[K1:.*]] = %[[K]] : {{.*}} %[[X1:.*]] = %[[X]] :
// CHECK: %[[Q:.*]] = remat.name "q" %[[X1]]
// CHECK: %[[Z:.*]]:2 = remat.attention ins(%[[Q]], %[[K1]], %[[K1]]
// CHECK: remat.yield %[[Z]]#0 : tensor<8x5xf32>
// CHECK: remat.name "y" %[[Y]]
func.func @named_and_in_a_region(%x: tensor<8x5xf32>, %k: tensor<5x8xf32>) -> tensor<8x5xf32> {
  %ey = tensor.empty() : tensor<5x8xf32>
  %t = linalg.transpose ins(%x : tensor<8x5xf32>) outs(%ey : tensor<5x8xf32>) permutation = [1, 0]
  %q = remat.name "q" %t : tensor<5x8xf32>
  %y = remat.region (%a = %q : tensor<5x8xf32>, %b = %k : tensor<5x8xf32>) -> tensor<5x8xf32> {
    %e = tensor.empty() : tensor<5x8xf32>
    %el = tensor.empty() : tensor<5xf32>
    %y:2 = remat.attention ins(%a, %b, %b : tensor<5x8xf32>, tensor<5x8xf32>, tensor<5x8xf32>)
        outs(%e, %el : tensor<5x8xf32>, tensor<5xf32>) attributes {indexing_maps = [#md, #nd, #nv, #mv, #m]} {
    ^bb0(%m: index, %n: index, %score: f32):
      remat.yield %score : f32
    } -> tensor<5x8xf32>, tensor<5xf32>
    remat.yield %y#0 : tensor<5x8xf32>
  }
  %n = remat.name "y" %y : tensor<5x8xf32>
  %er = tensor.empty() : tensor<8x5xf32>
  %r = linalg.transpose ins(%n : tensor<5x8xf32>) outs(%er : tensor<8x5xf32>) permutation = [1, 0]
  return %r : tensor<8x5xf32>
}
