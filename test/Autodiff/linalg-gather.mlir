// RUN: remat-opt %s -remat-differentiate -split-input-file | FileCheck %s

// Rows are added in the order of the tokens.
// CHECK-LABEL: func.func @an_embedding_becomes_a_scatter_of_rows_grad(
// CHECK: %[[DY:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<5x8xf32>) attrs = {remat.phase = "backward"}
// CHECK: %[[ZERO:.*]] = linalg.fill {{.*}} -> tensor<100x8xf32>
// CHECK: remat.scatter_add ins(%[[DY]] : tensor<5x8xf32>) outs(%[[ZERO]] : tensor<100x8xf32>) attributes {remat.phase = "backward"} {
// CHECK-NEXT: ^bb0(%[[T:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[ID:.*]] = tensor.extract %arg1[%[[T]]]
// CHECK: %[[AT:.*]] = arith.index_cast %[[ID]]
// CHECK: remat.yield {{.*}}%[[AT]], %[[J]]
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

// Positions are recomputed in the body.
// CHECK-LABEL: func.func @computed_positions_are_added_one_by_one_grad(
// CHECK: remat.scatter_add
// CHECK-NEXT: ^bb0(%[[I:.*]]: index, %[[J:.*]]: index):
// CHECK-DAG: %[[K:.*]] = arith.subi %c7, %[[J]]
// CHECK-DAG: %[[H:.*]] = arith.divui %[[J]], %c2
// CHECK: remat.yield {{.*}}%[[H]], %[[K]]
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

// The branch that chooses the row goes along.
// CHECK-LABEL: func.func @a_branch_chooses_the_row_grad(
// CHECK: remat.scatter_add
// CHECK-NEXT: ^bb0(%[[T:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[N:.*]] = tensor.extract %arg1[%[[T]]]
// CHECK: %[[ROW:.*]] = scf.if
// CHECK:   arith.addi %[[N]]
// CHECK: %[[AT:.*]] = arith.index_cast %[[ROW]]
// CHECK: remat.yield {{.*}}%[[AT]], %[[J]]
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

// -----

// A table that is a product's operand as well (tied embeddings): rows are added to the product's gradient, in place.
// CHECK-LABEL: func.func @a_tied_table_grad(
// CHECK: %[[DW:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<100x8xf32>) attrs = {remat.order = "product"
// CHECK: remat.scatter_add ins({{.*}}) outs(%[[DW]] : tensor<100x8xf32>)
#row = affine_map<(d0, d1) -> (d0)>
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @a_tied_table(%table: tensor<100x8xf32> {opt.param}, %tokens: tensor<5xi64>, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<5x8xf32>
  %y = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%tokens : tensor<5xi64>) outs(%e : tensor<5x8xf32>) {
  ^bb0(%token: i64, %o: f32):
    %i = arith.index_cast %token : i64 to index
    %j = linalg.index 1 : index
    %v = tensor.extract %table[%i, %j] : tensor<100x8xf32>
    linalg.yield %v : f32
  } -> tensor<5x8xf32>
  %zero = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<5x100xf32>
  %z = linalg.fill ins(%zero : f32) outs(%f : tensor<5x100xf32>) -> tensor<5x100xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y, %table : tensor<5x8xf32>, tensor<100x8xf32>) outs(%z : tensor<5x100xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %c, %0 : f32
    linalg.yield %1 : f32
  } -> tensor<5x100xf32>
  %l = linalg.reduce { arith.addf } ins(%p : tensor<5x100xf32>) outs(%init : tensor<f32>) dimensions = [0, 1]
  return %l : tensor<f32>
}
