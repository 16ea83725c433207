// RUN: remat-opt %s --remat-split --split-input-file | FileCheck %s
// A second run finds nothing to split.
// RUN: remat-opt %s --remat-split --remat-split --split-input-file | FileCheck %s

// Rows are this rank's. The weight's gradient is one product for each of its two parts of four; the bias is whole.
shard.grid @mesh(shape = 2) {remat.axes = ["data"], remat.parts = [4]}

// CHECK-LABEL: func.func @layer(
// CHECK-SAME: %[[X:.*]]: tensor<8x3xf32> {remat.data = "x", remat.local = {{\[\[}}"data"]]}
// CHECK-SAME: %[[W:.*]]: tensor<3x5xf32> {opt.param = "w"}
// CHECK-SAME: -> (tensor<8x5xf32>, tensor<3x5xf32> {remat.gradient_of = 1 : i64})
func.func @layer(%x: tensor<16x3xf32> {remat.data = "x", remat.shard = [["data"]]},
                 %w: tensor<3x5xf32> {opt.param = "w"},
                 %b: tensor<5xf32> {opt.param = "b"})
    -> (tensor<16x5xf32>, tensor<3x5xf32> {remat.gradient_of = 1 : i64}) {
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[Y:.*]] = linalg.matmul {{.*}}ins(%[[X]], %[[W]] : tensor<8x3xf32>, tensor<3x5xf32>) outs(%{{.*}} : tensor<8x5xf32>)
  %e = tensor.empty() : tensor<16x5xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<16x5xf32>) -> tensor<16x5xf32>
  %y = linalg.matmul ins(%x, %w : tensor<16x3xf32>, tensor<3x5xf32>) outs(%z : tensor<16x5xf32>) -> tensor<16x5xf32>
  // CHECK: %[[H:.*]] = linalg.generic {{.*}} ins(%[[Y]], %{{.*}} : tensor<8x5xf32>, tensor<5xf32>)
  %h = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%y, %b : tensor<16x5xf32>, tensor<5xf32>) outs(%e : tensor<16x5xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<16x5xf32>
  // CHECK: %[[X0:.*]] = tensor.extract_slice %[[X]][0, 0] [4, 3] [1, 1]
  // CHECK: %[[H0:.*]] = tensor.extract_slice %[[H]][0, 0] [4, 5] [1, 1]
  // CHECK: %[[P0:.*]] = linalg.generic {{.*}} ins(%[[X0]], %[[H0]] : tensor<4x3xf32>, tensor<4x5xf32>)
  // CHECK: %[[X1:.*]] = tensor.extract_slice %[[X]][4, 0] [4, 3] [1, 1]
  // CHECK: %[[H1:.*]] = tensor.extract_slice %[[H]][4, 0] [4, 5] [1, 1]
  // CHECK: %[[P1:.*]] = linalg.generic {{.*}} ins(%[[X1]], %[[H1]] : tensor<4x3xf32>, tensor<4x5xf32>)
  // CHECK: %[[P:.*]] = linalg.generic {{.*}} ins(%[[P0]], %[[P1]] : tensor<3x5xf32>, tensor<3x5xf32>)
  // CHECK: arith.addf
  // CHECK: %[[DW:.*]] = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%[[P]] : tensor<3x5xf32>)
  // CHECK: return %[[H]], %[[DW]]
  %we = tensor.empty() : tensor<3x5xf32>
  %wz = linalg.fill ins(%zero : f32) outs(%we : tensor<3x5xf32>) -> tensor<3x5xf32>
  %dw = linalg.generic {
      indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %h : tensor<16x3xf32>, tensor<16x5xf32>) outs(%wz : tensor<3x5xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %m = arith.mulf %p, %q : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<3x5xf32>
  return %h, %dw : tensor<16x5xf32>, tensor<3x5xf32>
}

// -----

// A parameter is split along another axis, and comes and leaves as a whole.
shard.grid @mesh(shape = 2x2) {remat.axes = ["data", "model"]}

// CHECK-LABEL: func.func @both(
// CHECK-SAME: %[[X:.*]]: tensor<4x3xf32> {{.*}}, %[[W:.*]]: tensor<3x6xf32> {opt.param = "w"}
func.func @both(%x: tensor<8x3xf32> {remat.data = "x", remat.shard = [["data"]]},
                %w: tensor<3x6xf32> {opt.param = "w", remat.shard = [[], ["model"]]})
    -> (tensor<f32>, tensor<3x6xf32> {remat.gradient_of = 1 : i64}) {
  // CHECK: %[[C:.*]] = remat.rank {size = 2 : i64, stride = 1 : i64} : index
  // CHECK: %[[AT:.*]] = arith.muli %[[C]], %{{.*}} : index
  // CHECK: %[[OWN:.*]] = tensor.extract_slice %[[W]][0, %[[AT]]] [3, 3] [1, 1]
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x6xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<8x6xf32>) -> tensor<8x6xf32>
  // CHECK: %[[Y:.*]] = linalg.matmul {{.*}}ins(%[[X]], %[[OWN]] : tensor<4x3xf32>, tensor<3x3xf32>) outs(%{{.*}} : tensor<4x3xf32>)
  %y = linalg.matmul ins(%x, %w : tensor<8x3xf32>, tensor<3x6xf32>) outs(%z : tensor<8x6xf32>) -> tensor<8x6xf32>
  // One sum over each axis; the initial value counts once.
  // CHECK: %[[S:.*]] = linalg.generic {{.*}} ins(%[[Y]] : tensor<4x3xf32>)
  // CHECK: %[[R:.*]] = remat.all_reduce sum {size = 2 : i64, stride = 1 : i64} ins(%[[S]]
  // CHECK: %[[Q:.*]] = remat.all_reduce sum {size = 2 : i64, stride = 2 : i64} ins(%[[R]]
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[Q]] : tensor<f32>, tensor<f32>)
  %one = arith.constant dense<1.0> : tensor<f32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
                       iterator_types = ["reduction", "reduction"]}
      ins(%y : tensor<8x6xf32>) outs(%one : tensor<f32>) {
  ^bb0(%p: f32, %o: f32):
    %t = arith.addf %p, %o : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  // CHECK: %[[D:.*]] = linalg.generic {{.*}} ins(%[[OWN]] : tensor<3x3xf32>)
  // CHECK: %[[G:.*]] = remat.all_gather dim(1) {size = 2 : i64, stride = 1 : i64} ins(%[[D]] : tensor<3x3xf32>)
  // CHECK: return %{{.*}}, %[[G]]
  %we = tensor.empty() : tensor<3x6xf32>
  %dw = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                        iterator_types = ["parallel", "parallel"]}
      ins(%w : tensor<3x6xf32>) outs(%we : tensor<3x6xf32>) {
  ^bb0(%p: f32, %o: f32):
    %t = math.sin %p : f32
    linalg.yield %t : f32
  } -> tensor<3x6xf32>
  return %s, %dw : tensor<f32>, tensor<3x6xf32>
}

// -----

// Positions count from the first row of the whole, and what a rank reads of its own rows is found by its own.
shard.grid @mesh(shape = 4) {remat.axes = ["data"]}

// CHECK-LABEL: func.func @positions(
// CHECK-SAME: %[[X:.*]]: tensor<2x5xf32>
func.func @positions(%x: tensor<8x5xf32> {remat.data = "x", remat.shard = [["data"]]},
                     %labels: tensor<8xindex> {remat.data = "labels", remat.shard = [["data"]]}) -> tensor<8xf32> {
  // CHECK: %[[C:.*]] = remat.rank
  // CHECK: %[[OFFSET:.*]] = arith.muli %[[C]], %c2
  // CHECK: linalg.generic {{.*}} ins(%{{.*}} : tensor<2xindex>) outs(%{{.*}} : tensor<2xf32>)
  // CHECK: %[[I:.*]] = linalg.index 0
  // CHECK: tensor.extract %[[X]][%[[I]], %{{.*}}] : tensor<2x5xf32>
  // CHECK: %[[GLOBAL:.*]] = arith.addi %[[I]], %[[OFFSET]]
  // CHECK: arith.index_cast %[[GLOBAL]]
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%labels : tensor<8xindex>) outs(%e : tensor<8xf32>) {
  ^bb0(%label: index, %o: f32):
    %i = linalg.index 0 : index
    %a = tensor.extract %x[%i, %label] : tensor<8x5xf32>
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %s = arith.addf %a, %f : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// Loops, branches and reshapes; time is not split, and what the loop carries is.
shard.grid @mesh(shape = 2) {remat.axes = ["data"]}

// CHECK-LABEL: func.func @recurrent(
// CHECK-SAME: %[[X:.*]]: tensor<4x7x3xf32>
func.func @recurrent(%x: tensor<8x7x3xf32> {remat.data = "x", remat.shard = [["data"]]}) -> tensor<24xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %zero = arith.constant dense<0.0> : tensor<8x3xf32>
  // CHECK: scf.for %[[T:.*]] = {{.*}} iter_args(%[[H:.*]] = %{{.*}}) -> (tensor<4x3xf32>)
  // CHECK: tensor.extract_slice %[[X]][0, %[[T]], 0] [4, 1, 3] [1, 1, 1] : tensor<4x7x3xf32> to tensor<4x3xf32>
  %h = scf.for %t = %c0 to %c7 step %c1 iter_args(%a = %zero) -> tensor<8x3xf32> {
    %s = tensor.extract_slice %x[0, %t, 0] [8, 1, 3] [1, 1, 1] : tensor<8x7x3xf32> to tensor<8x3xf32>
    %n = arith.addf %a, %s : tensor<8x3xf32>
    scf.yield %n : tensor<8x3xf32>
  }
  // CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0, 1]] : tensor<4x3xf32> into tensor<12xf32>
  %f = tensor.collapse_shape %h [[0, 1]] : tensor<8x3xf32> into tensor<24xf32>
  return %f : tensor<24xf32>
}

// -----

// Without a grid and shards nothing happens.
// CHECK-LABEL: func.func @alone(
// CHECK-SAME: tensor<8x5xf32>
// CHECK-NOT: remat
func.func @alone(%x: tensor<8x5xf32>) -> tensor<8x5xf32> {
  return %x : tensor<8x5xf32>
}
