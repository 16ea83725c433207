// RUN: remat-opt %s -remat-differentiate -split-input-file | FileCheck %s

// Rows are added in the order of the tokens, one vectorizable row at a time.
// CHECK-LABEL: func.func @an_embedding_becomes_a_scatter_of_rows_grad(
// CHECK: %[[DY:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<5x8xf32>) attrs = {remat.phase = "backward"}
// CHECK: %[[ZERO:.*]] = linalg.fill {{.*}} -> tensor<100x8xf32>
// CHECK: scf.for %[[T:.*]] = %{{.*}} to %c5 step %{{.*}} iter_args(%[[TABLE:.*]] = %[[ZERO]])
// CHECK: %[[ID:.*]] = tensor.extract %arg1[%{{.*}}]
// CHECK: %[[AT:.*]] = arith.index_cast %[[ID]]
// CHECK: %[[OLD:.*]] = tensor.extract_slice %[[TABLE]][%[[AT]], 0] [1, 8] [1, 1]
// CHECK: %[[ROW:.*]] = tensor.extract_slice %[[DY]][%[[T]], 0] [1, 8] [1, 1]
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[ROW]] : tensor<8xf32>) outs(%[[OLD]] : tensor<8xf32>)
// CHECK: %[[NEW:.*]] = tensor.insert_slice %[[SUM]] into %[[TABLE]][%[[AT]], 0]
// CHECK: scf.yield {{.*}}%[[NEW]]
#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @an_embedding_becomes_a_scatter_of_rows(%table: tensor<100x8xf32> {opt.param}, %tokens: tensor<5xi64>, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<5x8xf32>
  %y = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tokens : tensor<5xi64>) outs(%e : tensor<5x8xf32>) {
  ^bb0(%token: i64, %o: f32):
    %i = arith.index_cast %token : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %table[%i, %j] : tensor<100x8xf32>
    linalg.yield %v : f32
  } -> tensor<5x8xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<5x8xf32>) outs(%init : tensor<f32>) dimensions = [0, 1]
  return %l : tensor<f32>
}

// -----

// No loop runs along a dimension of the table: elements are added one by one.
// CHECK-LABEL: func.func @computed_positions_are_added_one_by_one_grad(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tensor.extract
// CHECK: arith.addf
// CHECK: tensor.insert
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @computed_positions_are_added_one_by_one(%table: tensor<5x8xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<5x8xf32>
  %c2 = arith.constant 2 : index
  %c7 = arith.constant 7 : index
  %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%e : tensor<5x8xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.subi %c7, %j : index
    %h = arith.divui %j, %c2 : index
    %v = tensor.extract %table[%h, %k] : tensor<5x8xf32>
    linalg.yield %v : f32
  } -> tensor<5x8xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<5x8xf32>) outs(%init : tensor<f32>) dimensions = [0, 1]
  return %l : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @softmax_reads_its_result_only_grad(
// CHECK: %[[Y:.*]] = linalg.softmax
// CHECK: linalg.reduce
// CHECK-NOT: %arg0
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[DY:.*]], %[[Y]] :
// CHECK: linalg.generic {{.*}} ins(%[[DY]], %[[Y]], %[[SUM]] :
// CHECK: return
func.func @softmax_reads_its_result_only(%x: tensor<5x8xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<5x8xf32>
  %y = linalg.softmax dimension(1) ins(%x : tensor<5x8xf32>) outs(%e : tensor<5x8xf32>) -> tensor<5x8xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<5x8xf32>) outs(%init : tensor<f32>) dimensions = [0, 1]
  return %l : tensor<f32>
}

// -----

// The branch that chooses the row reads no loop along the rows.
// CHECK-LABEL: func.func @a_branch_chooses_the_row_grad(
// CHECK: scf.for %{{.*}} to %c5 step
// CHECK: %[[N:.*]] = tensor.extract %arg1[%{{.*}}]
// CHECK: %[[ROW:.*]] = scf.if
// CHECK:   arith.addi %[[N]]
// CHECK: arith.index_cast %[[ROW]]
// CHECK: tensor.extract_slice {{.*}} [1, 8] [1, 1]
#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @a_branch_chooses_the_row(%table: tensor<4x8xf32> {opt.param}, %rows: tensor<5xi64>, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<5x8xf32>
  %c0 = arith.constant 0 : i64
  %c4 = arith.constant 4 : i64
  %y = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%rows : tensor<5xi64>) outs(%e : tensor<5x8xf32>) {
  ^bb0(%n: i64, %o: f32):
    %isNegative = arith.cmpi slt, %n, %c0 : i64
    %m = scf.if %isNegative -> (i64) {
      %p = arith.addi %n, %c4 : i64
      scf.yield %p : i64
    } else {
      scf.yield %n : i64
    }
    %i = arith.index_cast %m : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %table[%i, %j] : tensor<4x8xf32>
    linalg.yield %v : f32
  } -> tensor<5x8xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<5x8xf32>) outs(%init : tensor<f32>) dimensions = [0, 1]
  return %l : tensor<f32>
}
