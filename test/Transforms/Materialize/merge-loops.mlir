// RUN: remat-opt %s --inline --remat-merge-loops --cse --split-input-file | FileCheck %s

// Rows of a product in tiles of 4: their sums, and the gradient of the weights, in one loop with one product.
#id = affine_map<(i, j) -> (i, j)>
#rows = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func @one_loop(
// CHECK-SAME: %[[X:.*]]: tensor<16x8xf32>, %[[W:.*]]: tensor<8x8xf32>
// CHECK-NOT: scf.for
// CHECK: tensor.empty() {remat.phase = "backward"} : tensor<8x8xf32>
// CHECK: %[[R:.*]]:2 = scf.for %[[I:[a-z0-9]+]] = {{.*}} -> (tensor<8x8xf32>, tensor<16xf32>) {
// CHECK: %[[J:.*]] = arith.subi %{{.*}}, %[[I]]
// CHECK-NOT: remat.barrier
// CHECK: linalg.matmul {remat.phase = "backward"}
// CHECK-NOT: linalg.matmul {
// CHECK: tensor.insert_slice
// CHECK: scf.yield
// CHECK: } {remat.phase = "backward"}
// Users of the forward's results come after it.
// CHECK: linalg.reduce {{.*}}ins(%[[R]]#1
// CHECK: return %{{.*}}, %[[R]]#0
func.func @one_loop(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>) -> (tensor<f32>, tensor<8x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %l = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %e) -> tensor<16xf32> {
    %o = arith.muli %i, %c4 : index
    %s = tensor.extract_slice %x[%o, 0] [4, 8] [1, 1] : tensor<16x8xf32> to tensor<4x8xf32>
    %e0 = tensor.empty() : tensor<4x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = linalg.matmul ins(%s, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
    %e1 = tensor.empty() : tensor<4xf32>
    %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
    %r = linalg.reduce { arith.addf } ins(%y : tensor<4x8xf32>) outs(%f1 : tensor<4xf32>) dimensions = [1]
    %n = tensor.insert_slice %r into %a[%o] [4] [1] : tensor<4xf32> into tensor<16xf32>
    scf.yield %n : tensor<16xf32>
  }
  %e2 = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e2 : tensor<f32>) -> tensor<f32>
  %loss = linalg.reduce { arith.addf } ins(%l : tensor<16xf32>) outs(%z : tensor<f32>) dimensions = [0]
  remat.begin_backward
  %e3 = tensor.empty() {remat.phase = "backward"} : tensor<8x8xf32>
  %f3 = linalg.fill {remat.phase = "backward"} ins(%zero : f32) outs(%e3 : tensor<8x8xf32>) -> tensor<8x8xf32>
  %dw = scf.for %i = %c0 to %c4 step %c1 iter_args(%b = %f3) -> tensor<8x8xf32> {
    %j = arith.subi %c3, %i {remat.phase = "backward"} : index
    %o = arith.muli %j, %c4 {remat.phase = "recompute"} : index
    %w1, %x1, %o1 = remat.barrier %w, %x, %o after %b {remat.phase = "recompute"} : tensor<8x8xf32>, tensor<16x8xf32>, index after tensor<8x8xf32>
    %s = tensor.extract_slice %x1[%o1, 0] [4, 8] [1, 1] {remat.phase = "recompute"} : tensor<16x8xf32> to tensor<4x8xf32>
    %e0 = tensor.empty() {remat.phase = "recompute"} : tensor<4x8xf32>
    %f = linalg.fill {remat.phase = "recompute"} ins(%zero : f32) outs(%e0 : tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = linalg.matmul {remat.phase = "recompute"} ins(%s, %w1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
    %d = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%s, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%b : tensor<8x8xf32>) attrs = {remat.phase = "backward"} {
    ^bb0(%p: f32, %q: f32, %acc: f32):
      %m = arith.mulf %p, %q : f32
      %n = arith.addf %acc, %m : f32
      linalg.yield %n : f32
    } -> tensor<8x8xf32>
    scf.yield {remat.phase = "backward"} %d : tensor<8x8xf32>
  } {remat.phase = "backward"}
  return %loss, %dw : tensor<f32>, tensor<8x8xf32>
}

// -----

// The backward starts from the forward's results (here: in %start), its tiles overlap, or it has another number of them.
func.func private @forward(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>, %step: index, %count: index) -> tensor<16x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32>
  %l = scf.for %i = %c0 to %count step %c1 iter_args(%a = %e) -> tensor<16x8xf32> {
    %o = arith.muli %i, %step : index
    %s = tensor.extract_slice %x[%o, 0] [4, 8] [1, 1] : tensor<16x8xf32> to tensor<4x8xf32>
    %e0 = tensor.empty() : tensor<4x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = linalg.matmul ins(%s, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
    %n = tensor.insert_slice %y into %a[%o, 0] [4, 8] [1, 1] : tensor<4x8xf32> into tensor<16x8xf32>
    scf.yield %n : tensor<16x8xf32>
  }
  return %l : tensor<16x8xf32>
}
func.func private @backward(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>, %start: tensor<16x8xf32>, %last: index, %count: index) -> tensor<16x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  remat.begin_backward
  %dw = scf.for %i = %c0 to %count step %c1 iter_args(%b = %start) -> tensor<16x8xf32> {
    %j = arith.subi %last, %i {remat.phase = "backward"} : index
    %o = arith.muli %j, %c4 {remat.phase = "recompute"} : index
    %w1, %x1 = remat.barrier %w, %x after %b {remat.phase = "recompute"} : tensor<8x8xf32>, tensor<16x8xf32> after tensor<16x8xf32>
    %s = tensor.extract_slice %x1[%o, 0] [4, 8] [1, 1] {remat.phase = "recompute"} : tensor<16x8xf32> to tensor<4x8xf32>
    %e0 = tensor.empty() {remat.phase = "recompute"} : tensor<4x8xf32>
    %f = linalg.fill {remat.phase = "recompute"} ins(%zero : f32) outs(%e0 : tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = linalg.matmul {remat.phase = "recompute"} ins(%s, %w1 : tensor<4x8xf32>, tensor<8x8xf32>) outs(%f : tensor<4x8xf32>) -> tensor<4x8xf32>
    %n = tensor.insert_slice %y into %b[%o, 0] [4, 8] [1, 1] {remat.phase = "backward"} : tensor<4x8xf32> into tensor<16x8xf32>
    scf.yield {remat.phase = "backward"} %n : tensor<16x8xf32>
  } {remat.phase = "backward"}
  return %dw : tensor<16x8xf32>
}
func.func @merged_without_these(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>, %start: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %l = call @forward(%x, %w, %c4, %c4) : (tensor<16x8xf32>, tensor<8x8xf32>, index, index) -> tensor<16x8xf32>
  %d = call @backward(%x, %w, %start, %c3, %c4) : (tensor<16x8xf32>, tensor<8x8xf32>, tensor<16x8xf32>, index, index) -> tensor<16x8xf32>
  return %l, %d : tensor<16x8xf32>, tensor<16x8xf32>
}
func.func @not_from_a_result(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %l = call @forward(%x, %w, %c4, %c4) : (tensor<16x8xf32>, tensor<8x8xf32>, index, index) -> tensor<16x8xf32>
  %d = call @backward(%x, %w, %l, %c3, %c4) : (tensor<16x8xf32>, tensor<8x8xf32>, tensor<16x8xf32>, index, index) -> tensor<16x8xf32>
  return %l, %d : tensor<16x8xf32>, tensor<16x8xf32>
}
func.func @not_if_tiles_overlap(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>, %start: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %l = call @forward(%x, %w, %c2, %c4) : (tensor<16x8xf32>, tensor<8x8xf32>, index, index) -> tensor<16x8xf32>
  %d = call @backward(%x, %w, %start, %c3, %c4) : (tensor<16x8xf32>, tensor<8x8xf32>, tensor<16x8xf32>, index, index) -> tensor<16x8xf32>
  return %l, %d : tensor<16x8xf32>, tensor<16x8xf32>
}
func.func @not_of_another_number(%x: tensor<16x8xf32>, %w: tensor<8x8xf32>, %start: tensor<16x8xf32>) -> (tensor<16x8xf32>, tensor<16x8xf32>) {
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %l = call @forward(%x, %w, %c4, %c3) : (tensor<16x8xf32>, tensor<8x8xf32>, index, index) -> tensor<16x8xf32>
  %d = call @backward(%x, %w, %start, %c3, %c4) : (tensor<16x8xf32>, tensor<8x8xf32>, tensor<16x8xf32>, index, index) -> tensor<16x8xf32>
  return %l, %d : tensor<16x8xf32>, tensor<16x8xf32>
}
// CHECK-LABEL: func @merged_without_these(
// CHECK-COUNT-1: scf.for
// CHECK-NOT: scf.for
// CHECK-LABEL: func @not_from_a_result(
// CHECK-COUNT-2: scf.for
// CHECK-LABEL: func @not_if_tiles_overlap(
// CHECK-COUNT-2: scf.for
// CHECK-LABEL: func @not_of_another_number(
// CHECK-COUNT-2: scf.for
