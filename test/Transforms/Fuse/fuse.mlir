// RUN: remat-opt %s -remat-fuse -split-input-file | FileCheck %s
// RUN: remat-opt %s -remat-fuse -split-input-file -o %t.once
// RUN: remat-opt %s -remat-fuse -remat-fuse -split-input-file | diff %t.once -

// CHECK-LABEL: func.func @a_chain_of_named_operations_becomes_one_kernel(
// CHECK-SAME:      %[[X:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<8xf32>)
func.func @a_chain_of_named_operations_becomes_one_kernel(%x: tensor<4x8xf32>, %b: tensor<8xf32>) -> tensor<8x4xf32> {
  // CHECK-NOT: linalg.
  // CHECK:     linalg.generic {{.*}} ins(%[[X]], %[[B]] : tensor<4x8xf32>, tensor<8xf32>)
  // CHECK:       %[[EXP:.*]] = math.exp
  // CHECK-NEXT:  %[[SUM:.*]] = arith.addf %[[EXP]]
  // CHECK-NEXT:  %[[TWICE:.*]] = arith.addf %[[SUM]], %[[SUM]]
  // CHECK-NEXT:  linalg.yield %[[TWICE]]
  // CHECK-NOT: linalg.generic
  // CHECK:     return
  %e = tensor.empty() : tensor<4x8xf32>
  %t = tensor.empty() : tensor<8x4xf32>
  %0 = linalg.map { math.exp } ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>)
  %1 = linalg.broadcast ins(%b : tensor<8xf32>) outs(%e : tensor<4x8xf32>) dimensions = [0]
  %2 = linalg.add ins(%0, %1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = linalg.add ins(%2, %2 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = linalg.transpose ins(%3 : tensor<4x8xf32>) outs(%t : tensor<8x4xf32>) permutation = [1, 0]
  return %4 : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @fills_and_splats_become_scalars(
func.func @fills_and_splats_become_scalars(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  // CHECK-NOT: linalg.fill
  // CHECK:     linalg.generic {{.*}} ins(%{{[^,]*}} : tensor<?xf32>)
  // CHECK-DAG:   %[[ONE:.*]] = arith.constant 1.0
  // CHECK:       arith.mulf
  // CHECK-NEXT:  arith.addf %{{.*}}, %[[ONE]]
  %one = arith.constant 1.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %0 = linalg.fill ins(%one : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %1 = linalg.mul ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %2 = linalg.add ins(%1, %0 : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %2 : tensor<?xf32>
}

// CHECK-LABEL: func.func @a_splat_constant_is_no_operand(
func.func @a_splat_constant_is_no_operand(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: linalg.generic {{.*}} ins(%{{[^,]*}} : tensor<4xf32>)
  // CHECK:   arith.constant 2.0
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.mul ins(%x, %two : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @a_splat_that_alone_tells_the_size_stays(
func.func @a_splat_that_alone_tells_the_size_stays(%init: tensor<f32>) -> tensor<f32> {
  // CHECK: arith.constant dense<2.0
  // CHECK: linalg.reduce
  %two = arith.constant dense<2.0> : tensor<4xf32>
  %0 = linalg.reduce { arith.addf } ins(%two : tensor<4xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %0 : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @a_producer_fuses_into_a_reduction(
func.func @a_producer_fuses_into_a_reduction(%x: tensor<4x8xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NOT: linalg.exp
  // CHECK:     linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}} outs(%arg1
  // CHECK:       %[[EXP:.*]] = math.exp
  // CHECK:       arith.addf %out, %[[EXP]]
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<4x8xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  return %1 : tensor<4xf32>
}

#x = affine_map<(i, j, k) -> (i, k)>
#y = affine_map<(i, j, k) -> (j, k)>
#all = affine_map<(i, j, k) -> (i, j, k)>
// A library's product would add in another order than this sum.
// CHECK-LABEL: func.func @a_reduction_does_not_become_a_matrix_product(
func.func @a_reduction_does_not_become_a_matrix_product(%x: tensor<4x8xf32>, %y: tensor<5x8xf32>, %init: tensor<4x5xf32>) -> tensor<4x5xf32> {
  // CHECK: linalg.generic
  // CHECK: arith.mulf
  // CHECK: linalg.reduce
  %e = tensor.empty() : tensor<4x5x8xf32>
  %0 = linalg.generic {indexing_maps = [#x, #y, #all], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %y : tensor<4x8xf32>, tensor<5x8xf32>) outs(%e : tensor<4x5x8xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<4x5x8xf32>
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<4x5x8xf32>) outs(%init : tensor<4x5xf32>) dimensions = [2]
  return %1 : tensor<4x5xf32>
}

// CHECK-LABEL: func.func @a_sum_of_elementwise_products_is_one_kernel(
func.func @a_sum_of_elementwise_products_is_one_kernel(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: linalg.generic {{.*}}"reduction"]
  // CHECK:   arith.mulf
  // CHECK:   arith.addf
  // CHECK-NOT: linalg.reduce
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.mul ins(%x, %y : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = linalg.reduce { arith.addf } ins(%0 : tensor<4x8xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @a_reduction_is_not_repeated_in_its_reader(
func.func @a_reduction_is_not_repeated_in_its_reader(%x: tensor<4x8xf32>, %init: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: linalg.reduce
  // CHECK: linalg.exp
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<4x8xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  %1 = linalg.exp ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @contractions_and_softmax_keep_their_operands(
func.func @contractions_and_softmax_keep_their_operands(%x: tensor<8x8xf32>, %init: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: linalg.exp
  // CHECK: linalg.matmul
  // CHECK: linalg.negf
  // CHECK: linalg.softmax
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.exp ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.matmul ins(%0, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.negf ins(%1 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %3 = linalg.softmax dimension(1) ins(%2 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %3 : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @poolings_and_marked_convolutions_keep_their_operands(
func.func @poolings_and_marked_convolutions_keep_their_operands(%x: tensor<1x4x4x1xf32>, %init: tensor<1x3x3x1xf32>) -> (tensor<1x3x3x1xf32>, tensor<1x4x4x1xf32>) {
  // CHECK: linalg.exp
  // CHECK: linalg.pooling_nhwc_max
  // CHECK: linalg.negf
  // CHECK: linalg.generic {{.*}} attrs = {remat.conv}
  %e = tensor.empty() : tensor<1x4x4x1xf32>
  %w = tensor.empty() : tensor<2x2xf32>
  %0 = linalg.exp ins(%x : tensor<1x4x4x1xf32>) outs(%e : tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>
  %1 = linalg.pooling_nhwc_max ins(%0, %w : tensor<1x4x4x1xf32>, tensor<2x2xf32>) outs(%init : tensor<1x3x3x1xf32>) -> tensor<1x3x3x1xf32>
  %2 = linalg.negf ins(%x : tensor<1x4x4x1xf32>) outs(%e : tensor<1x4x4x1xf32>) -> tensor<1x4x4x1xf32>
  %3 = linalg.generic {
    indexing_maps = [affine_map<(a, b, c, d) -> (a, b, c, d)>, affine_map<(a, b, c, d) -> (a, b, c, d)>],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%2 : tensor<1x4x4x1xf32>) outs(%e : tensor<1x4x4x1xf32>) attrs = {remat.conv} {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<1x4x4x1xf32>
  return %1, %3 : tensor<1x3x3x1xf32>, tensor<1x4x4x1xf32>
}

// -----

// CHECK-LABEL: func.func @names_and_barriers_are_borders(
func.func @names_and_barriers_are_borders(%x: tensor<4xf32>, %ct: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:      linalg.exp
  // CHECK-NEXT: remat.name
  // CHECK-NEXT: linalg.negf
  // CHECK-NEXT: remat.barrier
  // CHECK-NEXT: linalg.exp
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = remat.name "a" %0 : tensor<4xf32>
  %2 = linalg.negf ins(%1 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %3 = remat.barrier %2 after %ct : tensor<4xf32> after tensor<4xf32>
  %4 = linalg.exp ins(%3 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// CHECK-LABEL: func.func @regions_are_fused_inside_and_not_across(
func.func @regions_are_fused_inside_and_not_across(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: linalg.exp
  // CHECK: remat.region
  // CHECK:   tensor.empty
  // CHECK-NEXT: linalg.generic
  // CHECK:     arith.negf
  // CHECK-NEXT: math.exp
  // CHECK:   remat.yield
  // CHECK: linalg.negf
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = remat.region (%a = %0 : tensor<4xf32>) -> tensor<4xf32> {
    %i = tensor.empty() : tensor<4xf32>
    %2 = linalg.negf ins(%a : tensor<4xf32>) outs(%i : tensor<4xf32>) -> tensor<4xf32>
    %3 = linalg.exp ins(%2 : tensor<4xf32>) outs(%i : tensor<4xf32>) -> tensor<4xf32>
    remat.yield %3 : tensor<4xf32>
  }
  %4 = linalg.negf ins(%1 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// CHECK-LABEL: func.func @what_a_loop_reads_is_not_repeated_in_each_iteration(
func.func @what_a_loop_reads_is_not_repeated_in_each_iteration(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  // CHECK: linalg.exp
  // CHECK: scf.for
  // CHECK:   linalg.generic
  // CHECK:     arith.mulf
  // CHECK-NEXT: arith.addf
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<4xf32> {
    %2 = linalg.mul ins(%y, %0 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %3 = linalg.add ins(%2, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %3 : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @a_mask_is_made_in_every_reader(
func.func @a_mask_is_made_in_every_reader(%x: tensor<4xf32>, %seed: i64, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NOT: tensor<4xi1>
  // CHECK: scf.for
  // CHECK:   linalg.generic {{.*}} ins(%arg1, %{{.*}}, %arg0 : i64,
  // CHECK:     arith.cmpi
  // CHECK:     arith.select
  // CHECK: linalg.generic {{.*}} ins(%arg1, %arg0 : i64, tensor<4xf32>) {{.*}} attrs = {remat.phase = "backward"}
  // CHECK:     arith.cmpi
  // CHECK:     arith.select
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m0 = tensor.empty() : tensor<4xi1>
  %e = tensor.empty() : tensor<4xf32>
  %mask = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, #id], iterator_types = ["parallel"]} ins(%seed : i64) outs(%m0 : tensor<4xi1>) {
  ^bb0(%s: i64, %out: i1):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %b = arith.cmpi slt, %j, %s : i64
    linalg.yield %b : i1
  } -> tensor<4xi1>
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<4xf32> {
    %2 = linalg.select ins(%mask, %y, %x : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    scf.yield %2 : tensor<4xf32>
  }
  remat.begin_backward
  %1 = linalg.select {remat.phase = "backward"} ins(%mask, %x, %x : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @a_cheap_producer_disappears_into_all_its_readers(
func.func @a_cheap_producer_disappears_into_all_its_readers(%x: tensor<4x8xf32>, %mean: tensor<4xf32>, %init: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  // CHECK:      %[[E:.*]] = tensor.empty() : tensor<4x8xf32>
  // CHECK-NEXT: linalg.generic {{.*}} ins(%arg0, %arg1
  // CHECK:        arith.subf
  // CHECK-NEXT:   arith.addf
  // CHECK:      linalg.generic {{.*}} ins(%arg0, %arg1
  // CHECK:        %[[D:.*]] = arith.subf
  // CHECK-NEXT:   arith.mulf %[[D]], %[[D]]
  // CHECK-NOT:  linalg.generic
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.broadcast ins(%mean : tensor<4xf32>) outs(%e : tensor<4x8xf32>) dimensions = [1]
  %1 = linalg.sub ins(%x, %0 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.reduce { arith.addf } ins(%1 : tensor<4x8xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  %3 = linalg.mul ins(%1, %1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2, %3 : tensor<4xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @a_costly_producer_is_not_evaluated_twice(
func.func @a_costly_producer_is_not_evaluated_twice(%x: tensor<4x8xf32>, %init: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x8xf32>) {
  // CHECK: linalg.exp
  // CHECK: linalg.reduce
  // CHECK: linalg.mul
  %e = tensor.empty() : tensor<4x8xf32>
  %1 = linalg.exp ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = linalg.reduce { arith.addf } ins(%1 : tensor<4x8xf32>) outs(%init : tensor<4xf32>) dimensions = [1]
  %3 = linalg.mul ins(%1, %1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2, %3 : tensor<4xf32>, tensor<4x8xf32>
}

// CHECK-LABEL: func.func @two_tensors_are_not_kept_alive_instead_of_one(
func.func @two_tensors_are_not_kept_alive_instead_of_one(%x: tensor<4xf32>, %h: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: linalg.add
  // CHECK: linalg.exp
  // CHECK: linalg.mul
  %e = tensor.empty() : tensor<4xf32>
  %1 = linalg.add ins(%x, %h : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %2 = linalg.exp ins(%1 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %3 = linalg.mul ins(%1, %1 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @a_diamond_becomes_one_kernel(
func.func @a_diamond_becomes_one_kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:     linalg.generic
  // CHECK:       %[[EXP:.*]] = math.exp
  // CHECK-NOT:   math.exp
  // CHECK:       arith.addf
  // CHECK-NOT: linalg.generic
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.negf ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %2 = linalg.mul ins(%0, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %3 = linalg.add ins(%1, %2 : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// CHECK-LABEL: func.func @a_value_that_a_product_needs_stays_a_second_result(
func.func @a_value_that_a_product_needs_stays_a_second_result(%x: tensor<8x8xf32>, %init: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK:      %[[K:.*]]:2 = linalg.generic
  // CHECK:        %[[EXP:.*]] = math.exp
  // CHECK-NEXT:   %[[NEG:.*]] = arith.negf %[[EXP]]
  // CHECK-NEXT:   linalg.yield %[[EXP]], %[[NEG]]
  // CHECK:      %[[P:.*]] = linalg.matmul ins(%[[K]]#0, %arg0
  // CHECK:      return %[[K]]#1, %[[P]]
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.exp ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.negf ins(%0 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.matmul ins(%0, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// CHECK-LABEL: func.func @a_reader_after_the_product_reads_the_stored_value(
func.func @a_reader_after_the_product_reads_the_stored_value(%x: tensor<8x8xf32>, %init: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK: linalg.exp
  // CHECK: linalg.matmul
  // CHECK: linalg.negf
  %e = tensor.empty() : tensor<8x8xf32>
  %0 = linalg.exp ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = linalg.matmul ins(%0, %x : tensor<8x8xf32>, tensor<8x8xf32>) outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = linalg.negf ins(%0 : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// CHECK-LABEL: func.func @a_costly_value_is_not_evaluated_for_each_element_of_a_row(
func.func @a_costly_value_is_not_evaluated_for_each_element_of_a_row(%x: tensor<4x8xf32>, %v: tensor<4xf32>) -> tensor<4x8xf32> {
  // CHECK: linalg.rsqrt
  // CHECK: linalg.generic {{.*}} ins(%arg0, %{{.*}} : tensor<4x8xf32>, tensor<4xf32>)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: arith.mulf
  %r = tensor.empty() : tensor<4xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = linalg.rsqrt ins(%v : tensor<4xf32>) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.broadcast ins(%0 : tensor<4xf32>) outs(%e : tensor<4x8xf32>) dimensions = [1]
  %2 = linalg.mul ins(%x, %1 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @constant_zero_maps_and_unit_dimensions_compose(
// CHECK-SAME: %[[X:.*]]: tensor<2x8x3xf32>, %[[B:.*]]: tensor<1x8x1xf32>
func.func @constant_zero_maps_and_unit_dimensions_compose(%x: tensor<2x8x3xf32>, %b: tensor<1x8x1xf32>) -> tensor<2x8x3xf32> {
  // CHECK-NOT: linalg.negf
  // CHECK: linalg.generic {indexing_maps = [#[[ID:.*]], #[[ZERO:.*]], #[[ID]]]{{.*}} ins(%[[X]], %[[B]]
  // CHECK-DAG: arith.constant 0 : index
  // CHECK-DAG: linalg.index 1
  %e = tensor.empty() : tensor<2x8x3xf32>
  %f = tensor.empty() : tensor<1x8x1xf32>
  %0 = linalg.generic {
    indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, c)>],
    iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%b : tensor<1x8x1xf32>) outs(%f : tensor<1x8x1xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 1 : index
    %j = linalg.index 2 : index
    %s = arith.addi %i, %j : index
    %k = arith.index_cast %s : index to i32
    %l = arith.sitofp %k : i32 to f32
    %m = arith.addf %in, %l : f32
    linalg.yield %m : f32
  } -> tensor<1x8x1xf32>
  %1 = linalg.generic {
    indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (0, b, 0)>, affine_map<(a, b, c) -> (a, b, c)>],
    iterator_types = ["parallel", "parallel", "parallel"]}
    ins(%x, %0 : tensor<2x8x3xf32>, tensor<1x8x1xf32>) outs(%e : tensor<2x8x3xf32>) {
  ^bb0(%in: f32, %in_0: f32, %out: f32):
    %s = arith.addf %in, %in_0 : f32
    linalg.yield %s : f32
  } -> tensor<2x8x3xf32>
  return %1 : tensor<2x8x3xf32>
}

// -----

// The plan decides which values the backward recomputes.
// CHECK-LABEL: func.func @a_forward_producer_is_not_recomputed_in_the_backward(
func.func @a_forward_producer_is_not_recomputed_in_the_backward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: linalg.negf
  // CHECK: linalg.exp {remat.phase = "backward"}
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.negf ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  remat.begin_backward
  %1 = linalg.exp {remat.phase = "backward"} ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @a_recomputed_slice_fuses_into_the_backward(
func.func @a_recomputed_slice_fuses_into_the_backward(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK:     linalg.generic {{.*}} attrs = {remat.phase = "backward"}
  // CHECK-NOT: linalg.generic
  %e = tensor.empty() : tensor<4xf32>
  remat.begin_backward
  %0 = linalg.negf {remat.phase = "recompute"} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.exp {remat.phase = "backward"} ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// The same where what is overwritten is the result of a fusion.
// CHECK-LABEL: func.func @a_read_of_a_fused_result_does_not_move_behind_what_overwrites_it(
// CHECK: %[[K:.*]] = linalg.generic
// CHECK: %[[P:.*]] = linalg.broadcast ins(%[[K]]
// CHECK: %[[O:.*]] = linalg.generic {{.*}} outs(%[[K]]
// CHECK: linalg.generic {{.*}} ins(%[[P]], %[[O]]
func.func @a_read_of_a_fused_result_does_not_move_behind_what_overwrites_it(%x: tensor<4xf32>) -> tensor<4x4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %f = tensor.empty() : tensor<4x4xf32>
  %a = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %k = linalg.mul ins(%a, %a : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %p = linalg.broadcast ins(%k : tensor<4xf32>) outs(%f : tensor<4x4xf32>) dimensions = [1]
  %o = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%k : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %c = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%p, %o : tensor<4x4xf32>, tensor<4xf32>) outs(%f : tensor<4x4xf32>) {
  ^bb0(%in: f32, %old: f32, %out: f32):
    %s = arith.addf %in, %old : f32
    linalg.yield %s : f32
  } -> tensor<4x4xf32>
  return %c : tensor<4x4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @an_update_in_place_keeps_its_destination(
func.func @an_update_in_place_keeps_its_destination(%w: tensor<4xf32> {bufferization.writable = true}, %g: tensor<4xf32>, %lr: f32) -> tensor<4xf32> {
  // CHECK:     linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : f32, tensor<4xf32>) outs(%arg0
  // CHECK:       %[[STEP:.*]] = arith.mulf
  // CHECK:       arith.subf %out, %[[STEP]]
  // CHECK-NOT: linalg.generic
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> ()>, #id, #id], iterator_types = ["parallel"]} ins(%lr, %g : f32, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%l: f32, %in: f32, %out: f32):
    %1 = arith.mulf %l, %in : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<4xf32>) outs(%w : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.subf %out, %in : f32
    linalg.yield %3 : f32
  } -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// CHECK-LABEL: func.func @a_read_does_not_move_behind_an_update_in_place(
func.func @a_read_does_not_move_behind_an_update_in_place(%w: tensor<4xf32> {bufferization.writable = true}, %g: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: linalg.exp
  // CHECK: linalg.generic
  // CHECK: linalg.negf
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.exp ins(%w : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%g : tensor<4xf32>) outs(%w : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.subf %out, %in : f32
    linalg.yield %3 : f32
  } -> tensor<4xf32>
  %2 = linalg.negf ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @a_kernel_does_not_read_elsewhere_what_it_overwrites(
func.func @a_kernel_does_not_read_elsewhere_what_it_overwrites(%w: tensor<4x4xf32> {bufferization.writable = true}) -> tensor<4x4xf32> {
  // CHECK: linalg.transpose
  // CHECK: linalg.generic {{.*}} outs(%arg0
  %e = tensor.empty() : tensor<4x4xf32>
  %0 = linalg.transpose ins(%w : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) permutation = [1, 0]
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x4xf32>) outs(%w : tensor<4x4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %3 = arith.addf %out, %in : f32
    linalg.yield %3 : f32
  } -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @elements_of_other_types_have_a_size_too(
func.func @elements_of_other_types_have_a_size_too(%x: tensor<4xindex>, %z: tensor<4xcomplex<f32>>) -> (tensor<4xindex>, tensor<4xindex>, tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) {
  // CHECK:     linalg.generic {{.*}} ins(%arg0
  // CHECK:       arith.addi
  // CHECK:       arith.muli
  // CHECK:     linalg.generic {{.*}} ins(%arg0
  // CHECK:       arith.addi
  // CHECK:       arith.subi
  // A complex product is not cheap: its first reader takes it along.
  // CHECK:     complex.mul
  // CHECK-NOT: complex.mul
  // CHECK:     return
  %e = tensor.empty() : tensor<4xindex>
  %f = tensor.empty() : tensor<4xcomplex<f32>>
  %0 = linalg.map { arith.addi } ins(%x, %x : tensor<4xindex>, tensor<4xindex>) outs(%e : tensor<4xindex>)
  %1 = linalg.map { arith.muli } ins(%0, %x : tensor<4xindex>, tensor<4xindex>) outs(%e : tensor<4xindex>)
  %2 = linalg.map { arith.subi } ins(%0, %x : tensor<4xindex>, tensor<4xindex>) outs(%e : tensor<4xindex>)
  %3 = linalg.mul ins(%z, %z : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) outs(%f : tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %4 = linalg.add ins(%3, %z : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) outs(%f : tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %5 = linalg.sub ins(%3, %z : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) outs(%f : tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %1, %2, %4, %5 : tensor<4xindex>, tensor<4xindex>, tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>
}

// -----

// Its reader has it as an operand that it ignores, and extracts from it: its value has to be there before.
// CHECK-LABEL: func @extracted_by_its_reader(
// CHECK:         %[[P:.*]] = linalg.exp
// CHECK:         linalg.generic
// CHECK:           tensor.extract %[[P]]
func.func @extracted_by_its_reader(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<4x3xf32>
  %p = linalg.exp ins(%x : tensor<4x3xf32>) outs(%e : tensor<4x3xf32>) -> tensor<4x3xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%p : tensor<4x3xf32>) outs(%e : tensor<4x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %at = arith.subi %c3, %i : index
    %v = tensor.extract %p[%at, %j] : tensor<4x3xf32>
    linalg.yield %v : f32
  } -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

// Readers in other blocks come neither before nor after.
// CHECK-LABEL: func.func @unstructured_control_flow(
// CHECK: linalg.exp
// CHECK: linalg.tanh
// CHECK: cf.br
// CHECK: linalg.tanh
func.func @unstructured_control_flow(%u: tensor<4xf32>, %e: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %x = linalg.exp ins(%u : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %y = linalg.tanh ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  cf.br ^bb1
^bb1:
  %z = linalg.tanh ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// An update overwrites the parameter in place: a value that is computed from the old one before it is not recomputed
// after it, which would make the update a copy.
// CHECK-LABEL: func.func @update_overwrites_what_the_producer_reads(
// CHECK-SAME: %[[W:[^ ]*]]: tensor<4xf32>
// CHECK: %[[S:.*]]:2 = linalg.generic
// CHECK-SAME: ins(%[[W]]
// CHECK: opt.eager_step @sgd(%[[W]],
// CHECK-NEXT: linalg.mul ins(%[[S]]#0, %[[S]]#1
opt.optimizer @sgd = #opt.sgd<lr = 0.1>
func.func @update_overwrites_what_the_producer_reads(%w: tensor<4xf32>, %x: tensor<4xf32>, %t: i64) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %s = linalg.add ins(%w, %w : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %y = linalg.mul ins(%s, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %w1 = opt.eager_step @sgd(%w, %y) step %t : tensor<4xf32>, tensor<4xf32>
  %z = linalg.mul ins(%s, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %z, %w1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Each random block becomes more than a hundred operations: a kernel that draws
// three is one, and four are two.
// CHECK-LABEL: func.func @kernels_that_draw_little(
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return
// CHECK-LABEL: func.func @kernels_that_draw_much(
// CHECK-COUNT-2: linalg.generic
// CHECK: return
#id = affine_map<(i) -> (i)>
func.func @kernels_that_draw_little(%x: tensor<64xf32>, %k: i32, %p: i32, %q: i32, %r: i32) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %w0:4 = remat.philox %p, %k, %k, %k key %k, %k : i32
    %f0 = arith.uitofp %w0#0 : i32 to f32
    %m0 = arith.mulf %a, %f0 : f32
    %w1:4 = remat.philox %q, %k, %k, %k key %k, %k : i32
    %f1 = arith.uitofp %w1#0 : i32 to f32
    %m1 = arith.mulf %m0, %f1 : f32
    linalg.yield %m1 : f32
  } -> tensor<64xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %w0:4 = remat.philox %r, %k, %k, %k key %k, %k : i32
    %f0 = arith.uitofp %w0#0 : i32 to f32
    %m0 = arith.mulf %a, %f0 : f32
    linalg.yield %m0 : f32
  } -> tensor<64xf32>
  return %z : tensor<64xf32>
}
func.func @kernels_that_draw_much(%x: tensor<64xf32>, %k: i32, %p: i32, %q: i32, %r: i32, %s: i32) -> tensor<64xf32> {
  %e = tensor.empty() : tensor<64xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %w0:4 = remat.philox %p, %k, %k, %k key %k, %k : i32
    %f0 = arith.uitofp %w0#0 : i32 to f32
    %m0 = arith.mulf %a, %f0 : f32
    %w1:4 = remat.philox %q, %k, %k, %k key %k, %k : i32
    %f1 = arith.uitofp %w1#0 : i32 to f32
    %m1 = arith.mulf %m0, %f1 : f32
    linalg.yield %m1 : f32
  } -> tensor<64xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%y : tensor<64xf32>) outs(%e : tensor<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %w0:4 = remat.philox %r, %k, %k, %k key %k, %k : i32
    %f0 = arith.uitofp %w0#0 : i32 to f32
    %m0 = arith.mulf %a, %f0 : f32
    %w1:4 = remat.philox %s, %k, %k, %k key %k, %k : i32
    %f1 = arith.uitofp %w1#0 : i32 to f32
    %m1 = arith.mulf %m0, %f1 : f32
    linalg.yield %m1 : f32
  } -> tensor<64xf32>
  return %z : tensor<64xf32>
}
