// RUN: remat-opt %s -remat-plan-functions -split-input-file | FileCheck %s --check-prefix=PLAN
// RUN: remat-opt %s -remat-plan-functions -remat-plan-functions -split-input-file | FileCheck %s --check-prefix=PLAN
// RUN: remat-opt %s -remat-plan-functions -remat-materialize -remat-inline-regions -split-input-file | FileCheck %s
// RUN: remat-opt %s -remat-plan-functions -remat-materialize -cse -remat-inline-regions -cse -split-input-file | FileCheck %s

#row = affine_map<(o, k) -> (o + k)>
#out = affine_map<(o, k) -> (o)>
#tap = affine_map<(o, k) -> (k)>

// PLAN-LABEL: func.func @the_backward_pads_again(
// PLAN: %[[PADDED:.*]] = tensor.pad
// PLAN: %[[Y:.*]] = linalg.conv_1d
// PLAN: %[[KEPT:.*]]:2 = remat.plan %[[PADDED]], %[[Y]] : tensor<12xf32>, tensor<8xf32>
// PLAN-SAME: [#remat.decision<rebuild by "function" because "cheap to make of what is kept anyway">,
// PLAN-SAME: #remat.decision<save by "function" because "read by the backward">]
// PLAN: linalg.exp {{.*}} ins(%[[KEPT]]#1
// PLAN: linalg.generic {{.*}} ins(%[[KEPT]]#0,

// CHECK-LABEL: func.func @the_backward_pads_again(
// CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[W:.*]]: tensor<5xf32>
// CHECK: %[[PADDED:.*]] = tensor.pad %[[X]]
// CHECK: linalg.conv_1d ins(%[[PADDED]], %[[W]]
// CHECK: %[[DY:.*]] = linalg.exp
// CHECK: %[[SOURCE:.*]] = remat.barrier %[[X]] after %[[DY]] {remat.phase = "backward"}
// CHECK: %[[AGAIN:.*]] = tensor.pad %[[SOURCE]]
// CHECK: remat.phase = "backward"
// CHECK: linalg.generic {{.*}} ins(%[[AGAIN]], %[[DY]]
func.func @the_backward_pads_again(%x: tensor<8xf32>, %w: tensor<5xf32>, %e: tensor<8xf32>) -> tensor<5xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[2] high[2] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<8xf32> to tensor<12xf32>
  %y = linalg.conv_1d ins(%p, %w : tensor<12xf32>, tensor<5xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  remat.begin_backward
  %dy = linalg.exp {remat.phase = "backward"} ins(%y : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %dw = linalg.generic {indexing_maps = [#row, #out, #tap], iterator_types = ["reduction", "parallel"], remat.phase = "backward"}
      ins(%p, %dy : tensor<12xf32>, tensor<8xf32>) outs(%w : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  return %dw : tensor<5xf32>
}

// -----

#row = affine_map<(o, k) -> (o + k)>
#out = affine_map<(o, k) -> (o)>
#tap = affine_map<(o, k) -> (k)>

// A constant whose padding is recomputed needs no decision: the backward recomputes it, too.
// PLAN-LABEL: func.func @of_a_constant(
// PLAN: remat.plan %{{.*}}, %{{.*}} : tensor<12xf32>, tensor<8xf32>
// PLAN-SAME: [#remat.decision<rebuild by "function" because "cheap to make of what is kept anyway">,
// PLAN-SAME: #remat.decision<save by "function" because "read by the backward">]
func.func @of_a_constant(%w: tensor<5xf32>, %e: tensor<8xf32>) -> tensor<5xf32> {
  %x = arith.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[2] high[2] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<8xf32> to tensor<12xf32>
  %y = linalg.conv_1d ins(%p, %w : tensor<12xf32>, tensor<5xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  remat.begin_backward
  %dy = linalg.exp {remat.phase = "backward"} ins(%y : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %dw = linalg.generic {indexing_maps = [#row, #out, #tap], iterator_types = ["reduction", "parallel"], remat.phase = "backward"}
      ins(%p, %dy : tensor<12xf32>, tensor<8xf32>) outs(%w : tensor<5xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<5xf32>
  return %dw : tensor<5xf32>
}

// -----

// One element more would keep 32 others alive; what only the backward reads is made there anyway.
// CHECK-LABEL: func.func @not_for_little_or_for_nothing(
// CHECK-NOT: remat.barrier
func.func @not_for_little_or_for_nothing(%w: tensor<32xf32>, %e: tensor<33xf32>, %f: tensor<64xf32>) -> (tensor<33xf32>, tensor<33xf32>, tensor<64xf32>) {
  %zero = arith.constant 0.0 : f32
  %x = linalg.exp ins(%w : tensor<32xf32>) outs(%w : tensor<32xf32>) -> tensor<32xf32>
  %p = tensor.pad %x low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<32xf32> to tensor<33xf32>
  %y = linalg.exp ins(%p : tensor<33xf32>) outs(%e : tensor<33xf32>) -> tensor<33xf32>
  %q = tensor.pad %y low[0] high[31] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<33xf32> to tensor<64xf32>
  remat.begin_backward
  %z = linalg.tanh {remat.phase = "backward"} ins(%p : tensor<33xf32>) outs(%e : tensor<33xf32>) -> tensor<33xf32>
  %u = linalg.tanh {remat.phase = "backward"} ins(%q : tensor<64xf32>) outs(%f : tensor<64xf32>) -> tensor<64xf32>
  return %y, %z, %u : tensor<33xf32>, tensor<33xf32>, tensor<64xf32>
}

// -----

// CHECK-LABEL: func.func @little_is_enough_if_the_source_is_kept(
// CHECK: remat.barrier
func.func @little_is_enough_if_the_source_is_kept(%x: tensor<?xf32>, %e: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<?xf32>
  %y = linalg.exp ins(%p : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  remat.begin_backward
  %z = linalg.tanh {remat.phase = "backward"} ins(%p : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %v = linalg.tanh {remat.phase = "backward"} ins(%x : tensor<?xf32>) outs(%x : tensor<?xf32>) -> tensor<?xf32>
  return %y, %z, %v : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
#row1 = affine_map<(i, j) -> (i)>
#full1 = affine_map<(i, j) -> (i, j)>

// The mean of a variance, in f64 inside an f32 model: x is kept, the mean is not.
// CHECK-LABEL: func.func @wide_means(
// CHECK: %[[X:.*]] = linalg.exp
// CHECK: %[[DY:.*]] = linalg.negf {remat.phase = "backward"}
// CHECK: %[[SOURCE:.*]] = remat.barrier %[[X]] after %[[DY]] {remat.phase = "backward"}
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}"reduction"{{.*}} ins(%[[SOURCE]] :
// CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<4xf64>)
// CHECK: remat.phase = "backward"
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[MEAN]], %[[DY]]
func.func @wide_means(%w: tensor<4x16xf32>, %e: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x16xf32>) {
  %zero = arith.constant 0.0 : f64
  %n = arith.constant 16.0 : f64
  %x = linalg.exp ins(%w : tensor<4x16xf32>) outs(%w : tensor<4x16xf32>) -> tensor<4x16xf32>
  %e64 = tensor.empty() : tensor<4xf64>
  %z = linalg.fill ins(%zero : f64) outs(%e64 : tensor<4xf64>) -> tensor<4xf64>
  %sum = linalg.generic {indexing_maps = [#full1, #row1], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x16xf32>) outs(%z : tensor<4xf64>) {
  ^bb0(%a: f32, %s: f64):
    %b = arith.extf %a : f32 to f64
    %c = arith.addf %s, %b : f64
    linalg.yield %c : f64
  } -> tensor<4xf64>
  %mean = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%sum : tensor<4xf64>) outs(%e64 : tensor<4xf64>) {
  ^bb0(%a: f64, %o: f64):
    %b = arith.divf %a, %n : f64
    linalg.yield %b : f64
  } -> tensor<4xf64>
  %y = linalg.generic {indexing_maps = [#full1, #row1, #row1], iterator_types = ["parallel", "reduction"]}
      ins(%x, %mean : tensor<4x16xf32>, tensor<4xf64>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %m: f64, %s: f32):
    %t = arith.truncf %m : f64 to f32
    %b = arith.subf %a, %t : f32
    %c = arith.addf %s, %b : f32
    linalg.yield %c : f32
  } -> tensor<4xf32>
  remat.begin_backward
  %dy = linalg.negf {remat.phase = "backward"} ins(%y : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %dx = linalg.generic {indexing_maps = [#full1, #row1, #row1, #full1], iterator_types = ["parallel", "parallel"], remat.phase = "backward"}
      ins(%x, %mean, %dy : tensor<4x16xf32>, tensor<4xf64>, tensor<4xf32>) outs(%w : tensor<4x16xf32>) {
  ^bb0(%a: f32, %m: f64, %b: f32, %o: f32):
    %t = arith.truncf %m : f64 to f32
    %c = arith.subf %a, %t : f32
    %d = arith.mulf %c, %b : f32
    linalg.yield %d : f32
  } -> tensor<4x16xf32>
  return %y, %dx : tensor<4xf32>, tensor<4x16xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
#row1 = affine_map<(i, j) -> (i)>
#full1 = affine_map<(i, j) -> (i, j)>

// As wide as what they are made of: statistics that the forward saves. And a source that nothing else keeps.
// CHECK-LABEL: func.func @not_the_models_own_values(
// CHECK-NOT: remat.barrier
func.func @not_the_models_own_values(%w: tensor<4x16xf32>, %e: tensor<4xf32>, %e64: tensor<4xf64>, %v: tensor<4xf64>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xf64>) {
  %x = linalg.exp ins(%w : tensor<4x16xf32>) outs(%w : tensor<4x16xf32>) -> tensor<4x16xf32>
  %sum = linalg.reduce ins(%x : tensor<4x16xf32>) outs(%e : tensor<4xf32>) dimensions = [1]
    (%a: f32, %s: f32) {
      %b = arith.addf %a, %s : f32
      linalg.yield %b : f32
    }
  %wide = linalg.generic {indexing_maps = [#full1, #row1], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x16xf32>) outs(%e64 : tensor<4xf64>) {
  ^bb0(%a: f32, %s: f64):
    %b = arith.extf %a : f32 to f64
    %c = arith.addf %s, %b : f64
    linalg.yield %c : f64
  } -> tensor<4xf64>
  %y = linalg.tanh ins(%sum : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %z = linalg.tanh ins(%wide : tensor<4xf64>) outs(%v : tensor<4xf64>) -> tensor<4xf64>
  remat.begin_backward
  %dy = linalg.exp {remat.phase = "backward"} ins(%sum : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %dz = linalg.exp {remat.phase = "backward"} ins(%wide : tensor<4xf64>) outs(%v : tensor<4xf64>) -> tensor<4xf64>
  return %y, %dy, %z, %dz : tensor<4xf32>, tensor<4xf32>, tensor<4xf64>, tensor<4xf64>
}

// -----

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @indices_made_of_arguments(
// CHECK-SAME: %[[I:.*]]: tensor<8xi64>
// CHECK: %[[DY:.*]] = linalg.negf {remat.phase = "backward"}
// CHECK: %[[SOURCE:.*]] = remat.barrier %[[I]] after %[[DY]] {remat.phase = "backward"}
// CHECK: %[[WRAPPED:.*]] = linalg.generic {{.*}} ins(%[[SOURCE]] :
// CHECK: remat.phase = "backward"
// CHECK: %[[ROWS:.*]] = tensor.expand_shape %[[WRAPPED]]
// CHECK: scf.for
// CHECK: tensor.extract %[[ROWS]]
func.func @indices_made_of_arguments(%i: tensor<8xi64>, %e: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i64
  %size = arith.constant 8 : i64
  %ei = tensor.empty() : tensor<8xi64>
  %wrapped = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%i : tensor<8xi64>) outs(%ei : tensor<8xi64>) {
  ^bb0(%a: i64, %o: i64):
    %below = arith.cmpi slt, %a, %zero : i64
    %up = arith.addi %a, %size : i64
    %w = arith.select %below, %up, %a : i64
    linalg.yield %w : i64
  } -> tensor<8xi64>
  %rows = tensor.expand_shape %wrapped [[0, 1]] output_shape [8, 1] : tensor<8xi64> into tensor<8x1xi64>
  %y = scf.for %k = %c0 to %c8 step %c1 iter_args(%t = %e) -> tensor<8xf32> {
    %r = tensor.extract %rows[%k, %c0] : tensor<8x1xi64>
    %f = arith.sitofp %r : i64 to f32
    %u = tensor.insert %f into %t[%k] : tensor<8xf32>
    scf.yield %u : tensor<8xf32>
  }
  remat.begin_backward
  %dy = linalg.negf {remat.phase = "backward"} ins(%y : tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  %dx = scf.for %k = %c0 to %c8 step %c1 iter_args(%t = %dy) -> tensor<8xf32> {
    %r = tensor.extract %rows[%k, %c0] : tensor<8x1xi64>
    %f = arith.sitofp %r : i64 to f32
    %u = tensor.insert %f into %t[%k] : tensor<8xf32>
    scf.yield %u : tensor<8xf32>
  } {remat.phase = "backward"}
  return %y, %dx : tensor<8xf32>, tensor<8xf32>
}

// -----

// A cheap kernel disappears into all that read it, and the backward keeps its operand instead.
// PLAN-LABEL: func.func @a_cheap_kernel_keeps_its_operand_instead(
// PLAN: remat.plan %{{.*}}, %{{.*}} [#remat.decision<save by "function" because "read by the backward">,
// PLAN-SAME: #remat.decision<rebuild by "function" because "fused into kernels that read it">]

// CHECK-LABEL: func.func @a_cheap_kernel_keeps_its_operand_instead(
// CHECK: %[[X:.*]] = linalg.exp
// CHECK: linalg.generic {{.*}} ins(%[[X]] : tensor<4xf32>) {{.*}}remat.phase = "backward"
// CHECK-NEXT: ^bb0
// CHECK-NEXT: arith.extf
// CHECK-NEXT: math.exp
func.func @a_cheap_kernel_keeps_its_operand_instead(%w: tensor<4xf32>) -> tensor<4xf64> {
  %e = tensor.empty() : tensor<4xf64>
  %x = linalg.exp ins(%w : tensor<4xf32>) outs(%w : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf64>) {
  ^bb0(%a: f32, %o: f64):
    %b = arith.extf %a : f32 to f64
    linalg.yield %b : f64
  } -> tensor<4xf64>
  remat.begin_backward
  %1 = linalg.exp {remat.phase = "backward"} ins(%0 : tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  return %1 : tensor<4xf64>
}

// -----

// PLAN-LABEL: func.func @not_a_costly_one(
// PLAN: remat.plan %{{.*}} : tensor<4xf32> [#remat.decision<save
func.func @not_a_costly_one(%w: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.tanh ins(%w : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  remat.begin_backward
  %1 = linalg.exp {remat.phase = "backward"} ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// PLAN-LABEL: func.func @nor_one_that_would_keep_two_tensors(
// PLAN: remat.plan %{{.*}} : tensor<4xf32> [#remat.decision<save
func.func @nor_one_that_would_keep_two_tensors(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %0 = linalg.add ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  remat.begin_backward
  %1 = linalg.exp {remat.phase = "backward"} ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A product reads it from memory, so that the forward makes it anyway.
// PLAN-LABEL: func.func @nor_one_that_is_stored_anyway(
// PLAN: remat.plan %{{.*}} : tensor<4x4xf32> [#remat.decision<save
func.func @nor_one_that_is_stored_anyway(%w: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %e = tensor.empty() : tensor<4x4xf32>
  %x = linalg.exp ins(%w : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = linalg.negf ins(%x : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %y = linalg.matmul ins(%0, %w : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  remat.begin_backward
  %1 = linalg.exp {remat.phase = "backward"} ins(%0 : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %y, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// The smaller operand counts as well.
// PLAN-LABEL: func.func @nor_one_that_would_keep_a_tensor_and_a_row(
// PLAN: remat.plan %{{.*}} : tensor<4x8xf32> [#remat.decision<save
func.func @nor_one_that_would_keep_a_tensor_and_a_row(%w: tensor<4x8xf32>, %v: tensor<8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %x = remat.barrier %w : tensor<4x8xf32>
  %r = remat.barrier %v : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x, %r : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4x8xf32>
  remat.begin_backward
  %dy = linalg.exp {remat.phase = "backward"} ins(%y : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %dy : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @but_one_of_which_it_keeps_the_tensor_anyway(
// CHECK: %[[X:.*]] = remat.barrier %arg0
// CHECK: %[[R:.*]] = remat.barrier %arg1
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[R]] {{.*}} attrs = {remat.phase = "backward"}
// CHECK: linalg.matmul
func.func @but_one_of_which_it_keeps_the_tensor_anyway(%w: tensor<4x8xf32>, %v: tensor<8xf32>, %z: tensor<4x4xf32>) -> (tensor<4x8xf32>, tensor<4x4xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  %x = remat.barrier %w : tensor<4x8xf32>
  %r = remat.barrier %v : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%x, %r : tensor<4x8xf32>, tensor<8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<4x8xf32>
  remat.begin_backward
  %dy = linalg.exp {remat.phase = "backward"} ins(%y : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %dx = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      {remat.phase = "backward"} ins(%x, %x : tensor<4x8xf32>, tensor<4x8xf32>) outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %dy, %dx : tensor<4x8xf32>, tensor<4x4xf32>
}

// -----

#id = affine_map<(i) -> (i)>

// Kernels of the backward do not grow without end: at most eight operations together are recomputed.
// PLAN-LABEL: func.func @nor_two_that_are_cheap_only_one_by_one(
// PLAN: %[[FIRST:.*]] = linalg.generic
// PLAN: %[[SECOND:.*]] = linalg.generic
// PLAN: remat.plan %[[FIRST]], %[[SECOND]] : tensor<4xf32>, tensor<4xf32> [#remat.decision<save {{.*}}>, #remat.decision<rebuild
func.func @nor_two_that_are_cheap_only_one_by_one(%w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %x = linalg.exp ins(%w : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %first = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %0, %a : f32
    %2 = arith.mulf %1, %a : f32
    %3 = arith.addf %2, %a : f32
    %4 = arith.mulf %3, %a : f32
    linalg.yield %4 : f32
  } -> tensor<4xf32>
  %second = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%first : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %a, %a : f32
    %1 = arith.addf %0, %a : f32
    %2 = arith.mulf %1, %a : f32
    %3 = arith.addf %2, %a : f32
    %4 = arith.mulf %3, %a : f32
    linalg.yield %4 : f32
  } -> tensor<4xf32>
  remat.begin_backward
  %d1 = linalg.exp {remat.phase = "backward"} ins(%first : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %d2 = linalg.exp {remat.phase = "backward"} ins(%second : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %d1, %d2 : tensor<4xf32>, tensor<4xf32>
}
