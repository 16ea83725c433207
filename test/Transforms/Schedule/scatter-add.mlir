// RUN: remat-opt %s -remat-schedule | FileCheck %s

// A user of the old table, which would free memory later, stays before the
// write: a copy would cost more.
// CHECK-LABEL: func.func @readers_of_the_table_stay_first(
// CHECK: %[[T:.*]] = linalg.tanh
// CHECK: %[[OLD:.*]] = linalg.exp ins(%[[T]]
// CHECK: %[[NEW:.*]] = remat.scatter_add {{.*}} outs(%[[T]]
// CHECK: return %[[NEW]], %[[OLD]]
func.func @readers_of_the_table_stay_first(%u: tensor<16xf32>, %x: tensor<16xi64>, %y: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %et = tensor.empty() : tensor<64xf32>
  %t = linalg.tanh ins(%y : tensor<64xf32>) outs(%et : tensor<64xf32>) -> tensor<64xf32>
  %e = tensor.empty() : tensor<64xf32>
  %1 = linalg.exp ins(%t : tensor<64xf32>) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %0 = remat.scatter_add ins(%u : tensor<16xf32>) outs(%t : tensor<64xf32>) {
  ^bb0(%i: index):
    %a = tensor.extract %x[%i] : tensor<16xi64>
    %at = arith.index_cast %a : i64 to index
    remat.yield %at : index
  } -> tensor<64xf32>
  return %0, %1 : tensor<64xf32>, tensor<64xf32>
}

// The indices are computed where the body reads them, not before the large
// tensor that is done with by then.
// CHECK-LABEL: func.func @indices_are_made_when_they_are_read(
// CHECK: %[[SUM:.*]] = linalg.reduce
// CHECK: %[[ROWS:.*]] = linalg.add
// CHECK: remat.scatter_add ins(%[[SUM]]
// CHECK: tensor.extract %[[ROWS]]
func.func @indices_are_made_when_they_are_read(%u: tensor<16xf32>, %x: tensor<16xi64>, %t: tensor<64xf32>) -> tensor<64xf32> {
  %ei = tensor.empty() : tensor<16xi64>
  %rows = linalg.add ins(%x, %x : tensor<16xi64>, tensor<16xi64>) outs(%ei : tensor<16xi64>) -> tensor<16xi64>
  %ew = tensor.empty() : tensor<16x16xf32>
  %wide = linalg.broadcast ins(%u : tensor<16xf32>) outs(%ew : tensor<16x16xf32>) dimensions = [0]
  %es = tensor.empty() : tensor<16xf32>
  %zero = arith.constant 0.0 : f32
  %zeros = linalg.fill ins(%zero : f32) outs(%es : tensor<16xf32>) -> tensor<16xf32>
  %sum = linalg.reduce {arith.addf} ins(%wide : tensor<16x16xf32>) outs(%zeros : tensor<16xf32>) dimensions = [1]
  %0 = remat.scatter_add ins(%sum : tensor<16xf32>) outs(%t : tensor<64xf32>) {
  ^bb0(%i: index):
    %a = tensor.extract %rows[%i] : tensor<16xi64>
    %at = arith.index_cast %a : i64 to index
    remat.yield %at : index
  } -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
