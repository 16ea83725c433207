// RUN: remat-opt %s --remat-hoist-reshapes --split-input-file | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>

// A factor for each row is split as the rows are, a bias is not.
// CHECK-DAG: #[[ID:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG: #[[COLUMN:.*]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1, d2) -> (d0, d1)>
// CHECK-LABEL: func @bias_of_rows(
// CHECK-SAME: %[[X:[^:]*]]: tensor<32x8xf32>, %[[B:[^:]*]]: tensor<8xf32>, %[[F:[^:]*]]: tensor<32xf32>
// CHECK-DAG: %[[SPLIT:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0, 1], [2]] output_shape [4, 8, 8]
// CHECK-DAG: %[[FACTORS:.*]] = tensor.expand_shape %[[F]] {{\[\[}}0, 1]] output_shape [4, 8]
// CHECK: %[[SUM:.*]] = linalg.generic {indexing_maps = [#[[ID]], #[[COLUMN]], #[[ROW]], #[[ID]]], iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[SPLIT]], %[[B]], %[[FACTORS]] : {{.*}} attrs = {remat.phase = "backward"}
// CHECK-NOT: tensor.expand_shape
// CHECK: return %[[SUM]], %[[SUM]]
func.func @bias_of_rows(%x: tensor<32x8xf32>, %b: tensor<8xf32>, %f: tensor<32xf32>) -> (tensor<4x8x8xf32>, tensor<4x8x8xf32>) {
  %e = tensor.empty() : tensor<32x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #column, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %b, %f : tensor<32x8xf32>, tensor<8xf32>, tensor<32xf32>) outs(%e : tensor<32x8xf32>) attrs = {remat.phase = "backward"} {
  ^bb0(%u: f32, %v: f32, %w: f32, %o: f32):
    %s = arith.addf %u, %v : f32
    %r = arith.mulf %s, %w : f32
    linalg.yield %r : f32
  } -> tensor<32x8xf32>
  %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [4, 8, 8] : tensor<32x8xf32> into tensor<4x8x8xf32>
  %2 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [4, 8, 8] : tensor<32x8xf32> into tensor<4x8x8xf32>
  return %1, %2 : tensor<4x8x8xf32>, tensor<4x8x8xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>

// Through a chain, to what was joined for it.
// CHECK-LABEL: func @chain_between_reshapes(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4x8x8xf32>
// CHECK-NOT: tensor.expand_shape
// CHECK: %[[FIRST:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4x8x8xf32>)
// CHECK: %[[SECOND:.*]] = linalg.generic {{.*}} ins(%[[FIRST]] : tensor<4x8x8xf32>)
// CHECK: return %[[SECOND]]
func.func @chain_between_reshapes(%x: tensor<4x8x8xf32>) -> tensor<4x8x8xf32> {
  %e = tensor.empty() : tensor<32x8xf32>
  %c = tensor.collapse_shape %x [[0, 1], [2]] : tensor<4x8x8xf32> into tensor<32x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%c : tensor<32x8xf32>) outs(%e : tensor<32x8xf32>) {
  ^bb0(%u: f32, %o: f32):
    %s = math.exp %u : f32
    linalg.yield %s : f32
  } -> tensor<32x8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<32x8xf32>) outs(%e : tensor<32x8xf32>) {
  ^bb0(%u: f32, %o: f32):
    %s = arith.negf %u : f32
    linalg.yield %s : f32
  } -> tensor<32x8xf32>
  %2 = tensor.expand_shape %1 [[0, 1], [2]] output_shape [4, 8, 8] : tensor<32x8xf32> into tensor<4x8x8xf32>
  return %2 : tensor<4x8x8xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func @read_as_it_is_too(
// CHECK: linalg.generic
// CHECK: tensor.expand_shape
func.func @read_as_it_is_too(%x: tensor<32x8xf32>) -> (tensor<4x8x8xf32>, tensor<32x8xf32>) {
  %e = tensor.empty() : tensor<32x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<32x8xf32>) outs(%e : tensor<32x8xf32>) {
  ^bb0(%u: f32, %o: f32):
    %s = math.exp %u : f32
    linalg.yield %s : f32
  } -> tensor<32x8xf32>
  %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [4, 8, 8] : tensor<32x8xf32> into tensor<4x8x8xf32>
  return %1, %0 : tensor<4x8x8xf32>, tensor<32x8xf32>
}

// CHECK-LABEL: func @split_in_two_ways(
// CHECK: linalg.generic
// CHECK-COUNT-2: tensor.expand_shape
func.func @split_in_two_ways(%x: tensor<32x8xf32>) -> (tensor<4x8x8xf32>, tensor<2x16x8xf32>) {
  %e = tensor.empty() : tensor<32x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<32x8xf32>) outs(%e : tensor<32x8xf32>) {
  ^bb0(%u: f32, %o: f32):
    %s = math.exp %u : f32
    linalg.yield %s : f32
  } -> tensor<32x8xf32>
  %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [4, 8, 8] : tensor<32x8xf32> into tensor<4x8x8xf32>
  %2 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [2, 16, 8] : tensor<32x8xf32> into tensor<2x16x8xf32>
  return %1, %2 : tensor<4x8x8xf32>, tensor<2x16x8xf32>
}

// The order of a sum follows from its loops.
// CHECK-LABEL: func @sums_keep_their_loops(
// CHECK: linalg.generic
// CHECK: tensor.expand_shape
func.func @sums_keep_their_loops(%x: tensor<32x8xf32>) -> tensor<4x8xf32> {
  %z = arith.constant dense<0.0> : tensor<32xf32>
  %0 = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<32x8xf32>) outs(%z : tensor<32xf32>) {
  ^bb0(%u: f32, %o: f32):
    %s = arith.addf %o, %u : f32
    linalg.yield %s : f32
  } -> tensor<32xf32>
  %1 = tensor.expand_shape %0 [[0, 1]] output_shape [4, 8] : tensor<32xf32> into tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func @rows_that_are_counted(
// CHECK: linalg.index
// CHECK: tensor.expand_shape
func.func @rows_that_are_counted(%x: tensor<32x8xf32>) -> tensor<4x8x8xf32> {
  %e = tensor.empty() : tensor<32x8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<32x8xf32>) outs(%e : tensor<32x8xf32>) {
  ^bb0(%u: f32, %o: f32):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i32
    %f = arith.sitofp %k : i32 to f32
    %s = arith.mulf %u, %f : f32
    linalg.yield %s : f32
  } -> tensor<32x8xf32>
  %1 = tensor.expand_shape %0 [[0, 1], [2]] output_shape [4, 8, 8] : tensor<32x8xf32> into tensor<4x8x8xf32>
  return %1 : tensor<4x8x8xf32>
}

// -----

// A number becomes a tensor with one element.
// CHECK-DAG: #[[$NONE:.*]] = affine_map<(d0, d1) -> ()>
// CHECK-DAG: #[[$ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func @number(
// CHECK-SAME: %[[X:.*]]: tensor<f32>
// CHECK: %[[E:.*]] = tensor.empty() : tensor<1x1xf32>
// CHECK: %[[Y:.*]] = linalg.generic {indexing_maps = [#[[$NONE]], #[[$ALL]]], iterator_types = ["parallel", "parallel"]}
// CHECK-SAME: ins(%[[X]] : tensor<f32>) outs(%[[E]] : tensor<1x1xf32>)
// CHECK: return %[[Y]] : tensor<1x1xf32>
func.func @number(%x: tensor<f32>) -> tensor<1x1xf32> {
  %e = tensor.empty() : tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%x : tensor<f32>) outs(%e : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.tanh %a : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %s = tensor.expand_shape %y [] output_shape [1, 1] : tensor<f32> into tensor<1x1xf32>
  return %s : tensor<1x1xf32>
}
