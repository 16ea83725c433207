// Sums over few results and many elements: chunks first, then what they gave. Bits are in test/CUDA/kernels-numeric.test.
// RUN: remat-opt %s --remat-split-reductions --cse --split-input-file > %t
// RUN: FileCheck %s < %t
// Reductions that are split already stay as they are.
// RUN: remat-opt %t --split-input-file --remat-split-reductions --cse | diff %t -

#id = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func.func @should_split_the_outermost_loop(
// CHECK-SAME: %[[X:.*]]: tensor<4096x4096xf32>, %[[INIT:.*]]: tensor<f32>)
// CHECK: %[[NEUTRAL:.*]] = linalg.fill {{.*}} -> tensor<256xf32>
// CHECK: %[[VIEW:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0, 1], [2]] {{.*}} into tensor<256x16x4096xf32>
// CHECK: %[[PARTIAL:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "reduction"]} ins(%[[VIEW]] : {{.*}}) outs(%[[NEUTRAL]] : {{.*}}) attrs = {remat.order = "along", remat.phase = "backward"} {
// The iteration of the loop that there was.
// CHECK: %[[CHUNK:.*]] = linalg.index 0
// CHECK: %[[FIRST:.*]] = arith.muli %[[CHUNK]], %c16
// CHECK: %[[INNER:.*]] = linalg.index 1
// CHECK: %[[I:.*]] = arith.addi %[[FIRST]], %[[INNER]]
// CHECK: arith.index_cast %[[I]]
// CHECK: linalg.index 2
// The initial value comes last.
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction"]} ins(%[[PARTIAL]] : tensor<256xf32>) outs(%[[INIT]] : tensor<f32>) attrs = {remat.order = "along", remat.phase = "backward"} {
// CHECK-NEXT: ^bb0(%[[IN:.*]]: f32, %[[OUT:.*]]: f32):
// CHECK-NEXT: arith.addf %[[OUT]], %[[IN]] : f32
func.func @should_split_the_outermost_loop(%x: tensor<4096x4096xf32>, %init: tensor<f32>) -> tensor<f32> {
  %0 = linalg.generic {indexing_maps = [#id, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}
      ins(%x : tensor<4096x4096xf32>) outs(%init : tensor<f32>) attrs = {remat.order = "along", remat.phase = "backward"} {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %k = arith.index_cast %i : index to i32
    %f = arith.sitofp %k : i32 to f32
    %j = linalg.index 1 : index
    %l = arith.index_cast %j : index to i32
    %g = arith.sitofp %l : i32 to f32
    %m = arith.mulf %a, %f : f32
    %n = arith.mulf %m, %g : f32
    %s = arith.addf %o, %n : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

#id = affine_map<(i, j, k) -> (i, j, k)>
#rows = affine_map<(i, j, k) -> (j)>

// All of a short loop is chunks; the next one is split.
// CHECK-LABEL: func.func @should_take_whole_loops(
// CHECK: tensor.expand_shape {{.*}} into tensor<3x4x20x38000xf32>
// CHECK: iterator_types = ["parallel", "parallel", "parallel", "reduction"]} {{.*}} outs({{.*}} : tensor<3x4x20xf32>)
// CHECK: iterator_types = ["reduction", "parallel", "reduction"]} ins({{.*}} : tensor<3x4x20xf32>) outs({{.*}} : tensor<4xf32>)
func.func @should_take_whole_loops(%x: tensor<3x4x760000xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x : tensor<3x4x760000xf32>) outs(%init : tensor<4xf32>) attrs = {remat.order = "along"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>

// 200,003 is a prime number.
// CHECK-LABEL: func.func @should_begin_with_what_is_left_over(
// CHECK-SAME: %[[X:.*]]: tensor<200003x16xf32>, %[[INIT:.*]]: tensor<16xf32>)
// CHECK: tensor.extract_slice %[[X]][0, 0] [[[TAKEN:[0-9]+]], 16] [1, 1]
// CHECK: %[[PARTIAL:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK: %[[REST:.*]] = tensor.extract_slice %[[X]][[[TAKEN]], 0] [[[LEFT:[0-9]+]], 16] [1, 1]
// CHECK: %[[BEGUN:.*]] = linalg.generic {{.*}} ins(%[[REST]] : tensor<[[LEFT]]x16xf32>) outs(%[[INIT]] :
// CHECK: linalg.generic {{.*}} ins(%[[PARTIAL]] : {{.*}}) outs(%[[BEGUN]] : tensor<16xf32>)
func.func @should_begin_with_what_is_left_over(%x: tensor<200003x16xf32>, %init: tensor<16xf32>) -> tensor<16xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<200003x16xf32>) outs(%init : tensor<16xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.maximumf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

#columns = affine_map<(i, j, k) -> (j)>
#one = affine_map<(i, j, k) -> (i)>
#other = affine_map<(i, j, k) -> (k)>

// The same split as without the windows: it does not depend on what was fused with the sum.
// CHECK-DAG: #[[WINDOWS:.*]] = affine_map<(d0, d1, d2, d3) -> (d0 * 2000 + d1 + d3, d2)>
// CHECK-DAG: #[[SIZES:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1)>
// CHECK-LABEL: func.func @should_split_a_loop_that_is_part_of_a_dimension(
// CHECK-SAME: %[[X:.*]]: tensor<100002x16xf32>, %[[Y:.*]]: tensor<100000xi8>
// CHECK: %[[VIEW:.*]] = tensor.expand_shape %[[Y]] {{.*}} into tensor<50x2000xi8>
// CHECK: linalg.generic {indexing_maps = [#[[WINDOWS]], #[[SIZES]], #{{.*}}, #{{.*}}], {{.*}} ins(%[[X]], %[[VIEW]],
func.func @should_split_a_loop_that_is_part_of_a_dimension(%x: tensor<100002x16xf32>, %y: tensor<100000xi8>, %z: tensor<3xi8>, %init: tensor<16xf32>) -> tensor<16xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i + k, j)>, #one, #other, #columns],
                       iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x, %y, %z : tensor<100002x16xf32>, tensor<100000xi8>, tensor<3xi8>) outs(%init : tensor<16xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %b: i8, %c: i8, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

#columns = affine_map<(i, j, k) -> (j)>
#other = affine_map<(i, j, k) -> (k)>

// No operand has a dimension of the chunks' size any more.
// CHECK-DAG: #[[BAND:.*]] = affine_map<(d0, d1, d2, d3) -> (d0 * 2000 + d1, d0 * 2000 + d1 + d3, d2)>
// CHECK-DAG: #[[SIZE:.*]] = affine_map<(d0, d1, d2, d3) -> (d1)>
// CHECK-LABEL: func.func @should_keep_the_size_of_every_loop(
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<2000xi8>
// CHECK: linalg.generic {indexing_maps = [#[[BAND]], #{{.*}}, #[[SIZE]], #{{.*}}], {{.*}} ins(%{{.*}}, %{{.*}}, %[[EMPTY]] :
func.func @should_keep_the_size_of_every_loop(%x: tensor<100000x100002x16xf32>, %z: tensor<3xi8>, %init: tensor<16xf32>) -> tensor<16xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, i + k, j)>, #other, #columns],
                       iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x, %z : tensor<100000x100002x16xf32>, tensor<3xi8>) outs(%init : tensor<16xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %c: i8, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @should_merge_sums_over_one_tensor(
// CHECK: %[[PARTIAL:.*]]:2 = linalg.generic {{.*}} outs({{.*}} : tensor<[[N:[0-9]+]]x16xf32>, tensor<[[N]]x16xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[PARTIAL]]#0, %[[PARTIAL]]#1 : {{.*}}) outs({{.*}} : tensor<16xf32>, tensor<16xf32>)
// CHECK-NOT: linalg.generic
func.func @should_merge_sums_over_one_tensor(%x: tensor<131072x16xf32>, %g: tensor<131072x16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16xf32>) -> tensor<16xf32>
  %0 = linalg.generic {indexing_maps = [#id, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%g : tensor<131072x16xf32>) outs(%f : tensor<16xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  %e2 = tensor.empty() : tensor<16xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<16xf32>) -> tensor<16xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%g, %x : tensor<131072x16xf32>, tensor<131072x16xf32>) outs(%f2 : tensor<16xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>

// The second sum needs the first.
// CHECK-LABEL: func.func @should_not_merge_a_variance_with_its_mean(
// CHECK-COUNT-4: linalg.generic
// CHECK-NOT: linalg.generic
func.func @should_not_merge_a_variance_with_its_mean(%x: tensor<131072x16xf32>, %f: tensor<16xf32>) -> tensor<16xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<131072x16xf32>) outs(%f : tensor<16xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  %1 = linalg.generic {indexing_maps = [#id, #columns, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%x, %0 : tensor<131072x16xf32>, tensor<16xf32>) outs(%f : tensor<16xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.subf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  return %1 : tensor<16xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>

// Many results: a block has few of them, and there are chunks until the device is full.
// CHECK-LABEL: func.func @should_split_many_columns(
// CHECK: %[[PARTS:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK-SAME: ins(%{{.*}} : tensor<64x256x768xf32>) outs(%{{.*}} : tensor<64x768xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[PARTS]] : tensor<64x768xf32>) outs(%{{.*}} : tensor<768xf32>)
func.func @should_split_many_columns(%x: tensor<16384x768xf32>, %o: tensor<768xf32>) -> tensor<768xf32> {
  %0 = linalg.generic {indexing_maps = [#id, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<16384x768xf32>) outs(%o : tensor<768xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  } -> tensor<768xf32>
  return %0 : tensor<768xf32>
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @should_not_split_
// CHECK-COUNT-5: linalg.generic
// CHECK-NOT: linalg.generic
func.func @should_not_split_many_results_short_sums_unknown_sizes_and_loops_in_order(
    %many: tensor<16384x262144xf32>, %short: tensor<16384x4xf32>, %dynamic: tensor<?x16xf32>, %x: tensor<1048576x2xf32>, %y: tensor<1048576x2xf32>,
    %o262144: tensor<262144xf32>, %o4: tensor<4xf32>, %o16: tensor<16xf32>, %o2: tensor<2xf32>, %o22: tensor<2x2xf32>)
    -> (tensor<262144xf32>, tensor<4xf32>, tensor<16xf32>, tensor<2xf32>, tensor<2x2xf32>) {
  %0 = linalg.generic {indexing_maps = [#id, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%many : tensor<16384x262144xf32>) outs(%o262144 : tensor<262144xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<262144xf32>
  %1 = linalg.generic {indexing_maps = [#id, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%short : tensor<16384x4xf32>) outs(%o4 : tensor<4xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#id, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%dynamic : tensor<?x16xf32>) outs(%o16 : tensor<16xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  // Not associative.
  %3 = linalg.generic {indexing_maps = [#id, #columns], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<1048576x2xf32>) outs(%o2 : tensor<2xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.subf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<2xf32>
  // A product: the library's.
  %4 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<1048576x2xf32>, tensor<1048576x2xf32>) outs(%o22 : tensor<2x2xf32>) attrs = {remat.order = "product"} {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x2xf32>
  return %0, %1, %2, %3, %4 : tensor<262144xf32>, tensor<4xf32>, tensor<16xf32>, tensor<2xf32>, tensor<2x2xf32>
}
