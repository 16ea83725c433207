// RUN: remat-opt %s "--remat-tile-updates=tile-bytes=1024 tile-length=16" --split-input-file | FileCheck %s

// 70 rows of 8 elements in tiles of at least 32: of 35. The gradient exists in tiles only.
// CHECK-LABEL: func @rows(
// CHECK-SAME: %[[W:[^:]*]]: tensor<70x8xf32> {opt.param}, %[[M:[^:]*]]: tensor<70x8xf32> {opt.state = "m"}, %[[X:.*]]: tensor<4x70xf32>, %[[D:.*]]: tensor<4x8xf32>, %[[LR:.*]]: f32
// CHECK-NOT: tensor.empty() : tensor<70x8xf32>
// CHECK: %[[R:.*]]:2 = scf.for %[[I:.*]] = %{{c0.*}} to %{{c70.*}} step %{{c35.*}} iter_args(%[[A:.*]] = %[[W]], %[[B:.*]] = %[[M]])
// CHECK: %[[X1:.*]] = tensor.extract_slice %[[X]][0, %[[I]]] [4, 35] [1, 1]
// CHECK: %[[Z:.*]] = linalg.fill {{.*}} -> tensor<35x8xf32>
// CHECK: %[[G:.*]] = linalg.generic {{.*}} ins(%[[X1]], %{{.*}} : tensor<4x35xf32>, tensor<4x8xf32>) outs(%[[Z]] : tensor<35x8xf32>) attrs = {remat.order = "product", remat.phase = "backward"}
// CHECK-DAG: %[[A1:.*]] = tensor.extract_slice %[[A]][%[[I]], 0] [35, 8] [1, 1]
// CHECK-DAG: %[[B1:.*]] = tensor.extract_slice %[[B]][%[[I]], 0] [35, 8] [1, 1]
// CHECK: %[[U:.*]]:2 = linalg.generic {{.*}} ins(%[[G]], %[[LR]] : tensor<35x8xf32>, f32) outs(%[[A1]], %[[B1]] : {{.*}} attrs = {remat.phase = "update"}
// CHECK-DAG: %[[A2:.*]] = tensor.insert_slice %[[U]]#0 into %[[A]][%[[I]], 0] [35, 8] [1, 1]
// CHECK-DAG: %[[B2:.*]] = tensor.insert_slice %[[U]]#1 into %[[B]][%[[I]], 0] [35, 8] [1, 1]
// CHECK: scf.yield {{.*}}%[[A2]], %[[B2]]
// CHECK: } {remat.phase = "update"}
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @rows(%w: tensor<70x8xf32> {opt.param}, %m: tensor<70x8xf32> {opt.state = "m"}, %x: tensor<4x70xf32>, %d: tensor<4x8xf32>, %lr: f32)
    -> (tensor<70x8xf32>, tensor<70x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<70x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<70x8xf32>) -> tensor<70x8xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(k, m, n) -> (k, m)>, affine_map<(k, m, n) -> (k, n)>, affine_map<(k, m, n) -> (m, n)>],
      iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%x, %d : tensor<4x70xf32>, tensor<4x8xf32>) outs(%z : tensor<70x8xf32>)
      attrs = {remat.order = "product", remat.phase = "backward"} {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<70x8xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%g, %lr : tensor<70x8xf32>, f32) outs(%w, %m : tensor<70x8xf32>, tensor<70x8xf32>) attrs = {remat.phase = "update"} {
  ^bb0(%g1: f32, %l: f32, %w1: f32, %m1: f32):
    %0 = arith.addf %m1, %g1 : f32
    %1 = arith.mulf %l, %0 : f32
    %2 = arith.subf %w1, %1 : f32
    linalg.yield %2, %0 : f32, f32
  } -> (tensor<70x8xf32>, tensor<70x8xf32>)
  return %r#0, %r#1 : tensor<70x8xf32>, tensor<70x8xf32>
}

// -----

// The longest dimension is not the first, and its length is a prime: a rest of 36 after a loop over the others.
// CHECK-LABEL: func @columns(
// CHECK-SAME: %[[W:.*]]: tensor<8x109xf32> {opt.param}, %[[X:.*]]: tensor<8x4xf32>, %[[D:.*]]: tensor<4x109xf32>
// CHECK: %[[R:.*]] = scf.for %[[I:.*]] = %{{c0.*}} to %{{c74.*}} step %{{c37.*}} iter_args(%[[A:.*]] = %[[W]])
// CHECK: tensor.extract_slice %[[D]][0, %[[I]]] [4, 37] [1, 1]
// CHECK: linalg.matmul {{.*}} -> tensor<8x37xf32>
// CHECK: scf.yield
// CHECK: tensor.extract_slice %[[D]][0, 74] [4, 35] [1, 1]
// CHECK: linalg.matmul {{.*}} -> tensor<8x35xf32>
// CHECK: %[[LAST:.*]] = tensor.insert_slice %{{.*}} into %[[R]][0, 74] [8, 35] [1, 1]
// CHECK: return %[[LAST]]
func.func @columns(%w: tensor<8x109xf32> {opt.param}, %x: tensor<8x4xf32>, %d: tensor<4x109xf32>) -> tensor<8x109xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x109xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x109xf32>) -> tensor<8x109xf32>
  %g = linalg.matmul ins(%x, %d : tensor<8x4xf32>, tensor<4x109xf32>) outs(%z : tensor<8x109xf32>) -> tensor<8x109xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<8x109xf32>) outs(%w : tensor<8x109xf32>) {
  ^bb0(%g1: f32, %w1: f32):
    %0 = arith.subf %w1, %g1 : f32
    linalg.yield %0 : f32
  } -> tensor<8x109xf32>
  return %r : tensor<8x109xf32>
}

// -----

// As a whole: a gradient that something else reads, one that is added to another, one that is small, and an update that reads
// a row for all.
// CHECK-LABEL: func @stays(
// CHECK-NOT: scf.for
// CHECK: return
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @stays(%w: tensor<70x8xf32> {opt.param}, %small: tensor<30x8xf32> {opt.param}, %x: tensor<70x4xf32>, %y: tensor<30x4xf32>, %d: tensor<4x8xf32>,
    %old: tensor<70x8xf32>, %b: tensor<8xf32>)
    -> (tensor<70x8xf32>, tensor<70x8xf32>, tensor<70x8xf32>, tensor<30x8xf32>, tensor<70x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<70x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<70x8xf32>) -> tensor<70x8xf32>
  %g = linalg.matmul ins(%x, %d : tensor<70x4xf32>, tensor<4x8xf32>) outs(%z : tensor<70x8xf32>) -> tensor<70x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g : tensor<70x8xf32>) outs(%w : tensor<70x8xf32>) {
  ^bb0(%g1: f32, %w1: f32):
    %s = arith.subf %w1, %g1 : f32
    linalg.yield %s : f32
  } -> tensor<70x8xf32>
  %sum = linalg.matmul ins(%x, %d : tensor<70x4xf32>, tensor<4x8xf32>) outs(%old : tensor<70x8xf32>) -> tensor<70x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%sum : tensor<70x8xf32>) outs(%w : tensor<70x8xf32>) {
  ^bb0(%g1: f32, %w1: f32):
    %s = arith.subf %w1, %g1 : f32
    linalg.yield %s : f32
  } -> tensor<70x8xf32>
  %e2 = tensor.empty() : tensor<30x8xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<30x8xf32>) -> tensor<30x8xf32>
  %g2 = linalg.matmul ins(%y, %d : tensor<30x4xf32>, tensor<4x8xf32>) outs(%z2 : tensor<30x8xf32>) -> tensor<30x8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g2 : tensor<30x8xf32>) outs(%small : tensor<30x8xf32>) {
  ^bb0(%g1: f32, %w1: f32):
    %s = arith.subf %w1, %g1 : f32
    linalg.yield %s : f32
  } -> tensor<30x8xf32>
  %g3 = linalg.matmul ins(%x, %d : tensor<70x4xf32>, tensor<4x8xf32>) outs(%z : tensor<70x8xf32>) -> tensor<70x8xf32>
  %3 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%g3, %b : tensor<70x8xf32>, tensor<8xf32>) outs(%w : tensor<70x8xf32>) {
  ^bb0(%g1: f32, %b1: f32, %w1: f32):
    %s = arith.subf %w1, %g1 : f32
    %t = arith.mulf %s, %b1 : f32
    linalg.yield %t : f32
  } -> tensor<70x8xf32>
  return %g, %0, %1, %2, %3 : tensor<70x8xf32>, tensor<70x8xf32>, tensor<70x8xf32>, tensor<30x8xf32>, tensor<70x8xf32>
}

// -----

// Both operands are larger than the gradient: they would wait for the last read of the parameter.
// CHECK-LABEL: func @must_not_keep_activations(
// CHECK-NOT: scf.for
// CHECK: return
func.func @must_not_keep_activations(%w: tensor<70x80xf32> {opt.param}, %x: tensor<70x400xf32>, %d: tensor<400x80xf32>, %lr: f32) -> tensor<70x80xf32> {
  %zero = arith.constant 0.0 : f32
  %ex = tensor.empty() : tensor<70x400xf32>
  %ed = tensor.empty() : tensor<400x80xf32>
  %e = tensor.empty() : tensor<70x80xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<70x80xf32>) -> tensor<70x80xf32>
  %x1 = linalg.exp ins(%x : tensor<70x400xf32>) outs(%ex : tensor<70x400xf32>) -> tensor<70x400xf32>
  %d1 = linalg.exp ins(%d : tensor<400x80xf32>) outs(%ed : tensor<400x80xf32>) -> tensor<400x80xf32>
  %g = linalg.matmul ins(%x1, %d1 : tensor<70x400xf32>, tensor<400x80xf32>) outs(%z : tensor<70x80xf32>) -> tensor<70x80xf32>
  %u = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%g, %lr : tensor<70x80xf32>, f32) outs(%w : tensor<70x80xf32>) {
  ^bb0(%a: f32, %l: f32, %p: f32):
    %s = arith.mulf %a, %l : f32
    %q = arith.subf %p, %s : f32
    linalg.yield %q : f32
  } -> tensor<70x80xf32>
  return %u : tensor<70x80xf32>
}

// -----

// A product of vectors is a number that the gradient of each element has in it, and not the gradient.
// CHECK-LABEL: func @a_number(
// CHECK: linalg.dot
// CHECK-NOT: scf.for
// CHECK: return
func.func @a_number(%w: tensor<7000xf32> {opt.param}, %x: tensor<7000xf32>, %d: tensor<7000xf32>) -> tensor<7000xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %n = linalg.dot ins(%x, %d : tensor<7000xf32>, tensor<7000xf32>) outs(%z : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%n, %x : tensor<f32>, tensor<7000xf32>) outs(%w : tensor<7000xf32>) attrs = {remat.phase = "update"} {
  ^bb0(%a: f32, %b: f32, %w1: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.subf %w1, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<7000xf32>
  return %r : tensor<7000xf32>
}

// -----

// A sum over the iterations of a loop, to which parts of the product are added. What is not yielded, or has another user, stays.
// CHECK-LABEL: func @sum(
// CHECK: scf.for %{{.*}} iter_args(%[[S:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %[[S]])
// CHECK: linalg.matmul {{.*}} -> tensor<35x8xf32>
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<35x8xf32>)
// CHECK: } {remat.phase = "backward"}
// CHECK: linalg.matmul {{.*}} -> tensor<70x8xf32>
// CHECK: scf.yield %[[R]],
func.func @sum(%x: tensor<70x4xf32>, %d: tensor<4x8xf32>, %s: tensor<70x8xf32>, %t: tensor<70x8xf32>, %n: index) -> (tensor<70x8xf32>, tensor<70x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<70x8xf32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s, %b = %t) -> (tensor<70x8xf32>, tensor<70x8xf32>) {
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<70x8xf32>) -> tensor<70x8xf32>
    %g = linalg.matmul ins(%x, %d : tensor<70x4xf32>, tensor<4x8xf32>) outs(%z : tensor<70x8xf32>) -> tensor<70x8xf32>
    %a1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%g : tensor<70x8xf32>) outs(%a : tensor<70x8xf32>) attrs = {remat.phase = "backward"} {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    } -> tensor<70x8xf32>
    %h = linalg.matmul ins(%x, %d : tensor<70x4xf32>, tensor<4x8xf32>) outs(%z : tensor<70x8xf32>) -> tensor<70x8xf32>
    %b1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%h : tensor<70x8xf32>) outs(%b : tensor<70x8xf32>) attrs = {remat.phase = "backward"} {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %out, %in : f32
      linalg.yield %0 : f32
    } -> tensor<70x8xf32>
    %b2 = linalg.add ins(%b1, %b : tensor<70x8xf32>, tensor<70x8xf32>) outs(%e : tensor<70x8xf32>) -> tensor<70x8xf32>
    scf.yield %a1, %b2 : tensor<70x8xf32>, tensor<70x8xf32>
  }
  return %r#0, %r#1 : tensor<70x8xf32>, tensor<70x8xf32>
}
