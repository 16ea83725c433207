// RUN: remat-opt %s -remat-differentiate -split-input-file | FileCheck %s

#id = affine_map<(d0) -> (d0)>
#s = affine_map<(d0) -> ()>

// One kernel that recomputes the inner sine and nothing else: 1 sin and 2 cos.
// CHECK-LABEL: func.func @sin_of_sin_in_one_kernel_grad(
// CHECK: remat.phase = "backward"
// CHECK-COUNT-1: math.sin
// CHECK-COUNT-2: math.cos
// CHECK-NOT: math.
// CHECK: return
func.func @sin_of_sin_in_one_kernel(%x: tensor<4xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = math.sin %a : f32
    %2 = math.sin %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<4xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %l : tensor<f32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#s = affine_map<(d0, d1) -> ()>

// The mask is read off the result, so neither the product nor the bias is kept.
// CHECK-LABEL: func.func @relu_after_a_bias_reads_its_result_only_grad(
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 :
// CHECK: %[[DY:.*]] = linalg.generic {{.*}} ins(%[[Y]], %{{.*}}remat.phase = "backward"
// CHECK-NOT: %arg0
// CHECK: linalg.generic
// CHECK-SAME: ins(%[[Y]], %[[DY]] : tensor<8x4xf32>, tensor<8x4xf32>)
// CHECK: arith.cmpf ugt, %in, %{{.*}} : f32
// CHECK: arith.select
func.func @relu_after_a_bias_reads_its_result_only(%m: tensor<8x4xf32> {opt.param}, %b: tensor<4xf32>, %init: tensor<f32>) -> tensor<f32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %b : tensor<8x4xf32>, tensor<4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %1 = arith.addf %a, %c : f32
    %2 = arith.cmpf ugt, %1, %c0 : f32
    %3 = arith.select %2, %1, %c0 : f32
    linalg.yield %3 : f32
  } -> tensor<8x4xf32>
  %l = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction", "reduction"]}
      ins(%y : tensor<8x4xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.mulf %a, %a : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @sigmoid_reads_its_result_only_grad(
// CHECK: %[[Y:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1
// CHECK: linalg.reduce
// CHECK-NOT: %arg0
// CHECK: ins(%[[Y]],
// CHECK-NOT: math.exp
// CHECK: return
func.func @sigmoid_reads_its_result_only(%x: tensor<4xf32> {opt.param}, %b: tensor<4xf32>, %init: tensor<f32>) -> tensor<f32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
      ins(%x, %b : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.addf %a, %c : f32
    %1 = arith.negf %0 : f32
    %2 = math.exp %1 : f32
    %3 = arith.addf %2, %one : f32
    %4 = arith.divf %one, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<4xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<4xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %l : tensor<f32>
}

// -----

// The input is needed anyway: reading the result as well would save two tensors.
// CHECK-LABEL: func.func @x_times_tanh_x_reads_its_operand_grad(
// CHECK: %[[Y:.*]] = linalg.generic
// CHECK: linalg.reduce {{.*}} ins(%[[Y]]
// CHECK-NOT: %[[Y]]
// CHECK: ins(%arg0,
// CHECK-COUNT-1: math.tanh
// CHECK-NOT: math.tanh
// CHECK: return
#id = affine_map<(d0) -> (d0)>
func.func @x_times_tanh_x_reads_its_operand(%x: tensor<4xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = math.tanh %a : f32
    %2 = arith.mulf %a, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<4xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %l : tensor<f32>
}

// -----

// A cotangent that passes unchanged costs no kernel; nothing is read; an operand
// that is not differentiated gets no gradient.
// CHECK-LABEL: func.func @addition_passes_the_cotangent_on_grad(
// CHECK: linalg.reduce
// CHECK: linalg.generic
// CHECK-SAME: remat.phase = "backward"
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @addition_passes_the_cotangent_on(%x: tensor<4xf32> {opt.param}, %z: tensor<4xf32>, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.add ins(%x, %z : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<4xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %l : tensor<f32>
}

// -----

// As front ends write a broadcast: the unit dimension comes back by a reshape, and
// half precision is added up in f32.
// CHECK: #[[ROW:.*]] = affine_map<(d0, d1, d2) -> (d1)>
// CHECK: func.func @constant_zero_maps_become_reductions_grad(
// CHECK: linalg.generic {indexing_maps = [{{.*}}, #[[ROW]]], iterator_types = ["reduction", "parallel", "reduction"]}
// CHECK-SAME: outs(%{{.*}} : tensor<3xf32>)
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: tensor.expand_shape %{{.*}} {{\[\[}}0, 1, 2]] {{.*}} : tensor<3xbf16> into tensor<1x3x1xbf16>
#id = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#b = affine_map<(d0, d1, d2) -> (0, d1, 0)>
func.func @constant_zero_maps_become_reductions(%b: tensor<1x3x1xbf16> {opt.param}, %x: tensor<2x3x4xbf16>, %init: tensor<bf16>) -> tensor<bf16> {
  %e = tensor.empty() : tensor<2x3x4xbf16>
  %y = linalg.generic {indexing_maps = [#b, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%b, %x : tensor<1x3x1xbf16>, tensor<2x3x4xbf16>) outs(%e : tensor<2x3x4xbf16>) {
  ^bb0(%a: bf16, %c: bf16, %o: bf16):
    %1 = arith.mulf %a, %c : bf16
    linalg.yield %1 : bf16
  } -> tensor<2x3x4xbf16>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<2x3x4xbf16>) outs(%init : tensor<bf16>) dimensions = [0, 1, 2]
  return %l : tensor<bf16>
}

// -----

// The size of a dynamic batch comes from the cotangent, not from a saved value.
// CHECK-LABEL: func.func @dynamic_sizes_come_from_the_cotangent_grad(
// CHECK: %[[Y:.*]] = linalg.exp
// CHECK: %[[DY:.*]] = linalg.generic {{.*}} ins(%[[Y]], {{.*}}remat.phase = "backward"
// CHECK-NOT: %arg0
// CHECK: tensor.dim {{.*}}%[[DY]]
// CHECK: linalg.generic {{.*}} ins(%[[Y]], %[[DY]] :
#id = affine_map<(d0, d1) -> (d0, d1)>
#s = affine_map<(d0, d1) -> ()>
func.func @dynamic_sizes_come_from_the_cotangent(%x: tensor<?x4xf32> {opt.param}, %e: tensor<?x4xf32>, %init: tensor<f32>) -> tensor<f32> {
  %y = linalg.exp ins(%x : tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) -> tensor<?x4xf32>
  %l = linalg.generic {indexing_maps = [#id, #s], iterator_types = ["reduction", "reduction"]}
      ins(%y : tensor<?x4xf32>) outs(%init : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %1 = arith.mulf %a, %a : f32
    %2 = arith.addf %o, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<f32>
  return %l : tensor<f32>
}

// -----

// Both factors are one value: one kernel, no sum of two tensors.
// CHECK-LABEL: func.func @a_square_has_one_cotangent_grad(
// CHECK: linalg.reduce
// CHECK: linalg.generic
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<4xf32>)
// CHECK: arith.mulf
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: linalg.{{generic|add}}
// CHECK: return
func.func @a_square_has_one_cotangent(%x: tensor<4xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<4xf32>
  %y = linalg.mul ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<4xf32>) outs(%init : tensor<f32>) dimensions = [0]
  return %l : tensor<f32>
}

// -----

// The bias has the terms of the product's cotangent, which is in memory.
// CHECK-LABEL: func.func @a_bias_reads_the_computed_cotangent_grad(
// CHECK: %[[DM:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1, %{{.*}}remat.phase = "backward"
// CHECK: math.cos
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[DM]] :
// CHECK-NOT: math.cos
// CHECK: return
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
func.func @a_bias_reads_the_computed_cotangent(%m: tensor<8x4xf32> {opt.param}, %b: tensor<4xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m, %b : tensor<8x4xf32>, tensor<4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %1 = arith.addf %a, %c : f32
    %2 = math.sin %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8x4xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<8x4xf32>) outs(%init : tensor<f32>) dimensions = [0, 1]
  return %l : tensor<f32>
}

// -----

// Gradients of operands that are broadcast alike are summed in one pass, which computes the terms once.
// CHECK: #[[COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK: func.func @gain_and_bias_are_summed_together_grad(
// CHECK: linalg.generic {{.*}}remat.phase = "backward"
// CHECK-NOT: linalg.generic
// CHECK: %[[SUMS:.*]]:2 = linalg.generic {indexing_maps = [{{.*}}#[[COLUMN]], #[[COLUMN]]], iterator_types = ["reduction", "parallel"]}
// CHECK-SAME: outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>)
// CHECK-COUNT-1: math.tanh
// CHECK-NOT: math.tanh
// CHECK: %[[ROW:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
// CHECK: return %{{.*}}, %[[SUMS]]#0, %[[SUMS]]#1, %[[ROW]]
#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @gain_and_bias_are_summed_together(%x: tensor<8x4xf32>, %g: tensor<4xf32> {opt.param}, %b: tensor<4xf32> {opt.param}, %r: tensor<8xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [#id, #column, #column, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %g, %b, %r : tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %c: f32, %d: f32, %f: f32, %o: f32):
    %1 = arith.mulf %a, %c : f32
    %2 = arith.addf %1, %d : f32
    %3 = math.tanh %2 : f32
    %4 = arith.mulf %3, %f : f32
    linalg.yield %4 : f32
  } -> tensor<8x4xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<8x4xf32>) outs(%init : tensor<f32>) dimensions = [0, 1]
  return %l : tensor<f32>
}

// -----

// Gradients as large as what is gone over would be alive together.
// CHECK-LABEL: func.func @large_sums_are_made_one_by_one_grad(
// CHECK: linalg.generic {{.*}}remat.phase = "backward"
// CHECK-COUNT-2: linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "parallel"]} {{.*}} outs(%{{.*}} : tensor<256x256xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
#id = affine_map<(b, i, j) -> (b, i, j)>
#each = affine_map<(b, i, j) -> (i, j)>
func.func @large_sums_are_made_one_by_one(%x: tensor<1x256x256xf32>, %g: tensor<256x256xf32> {opt.param}, %b: tensor<256x256xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<1x256x256xf32>
  %y = linalg.generic {indexing_maps = [#id, #each, #each, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %g, %b : tensor<1x256x256xf32>, tensor<256x256xf32>, tensor<256x256xf32>) outs(%e : tensor<1x256x256xf32>) {
  ^bb0(%a: f32, %c: f32, %d: f32, %o: f32):
    %1 = arith.mulf %a, %c : f32
    %2 = arith.addf %1, %d : f32
    linalg.yield %2 : f32
  } -> tensor<1x256x256xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<1x256x256xf32>) outs(%init : tensor<f32>) dimensions = [0, 1, 2]
  return %l : tensor<f32>
}

// -----

// To one cotangent contributions are added one by one: the second starts from the first.
// CHECK-LABEL: func.func @a_value_in_two_places_grad(
// CHECK: linalg.generic {{.*}}remat.phase = "backward"
// CHECK: %[[FIRST:.*]] = linalg.generic {{.*}} outs(%{{[^,]*}} : tensor<4xf32>)
// CHECK: %[[SECOND:.*]] = linalg.generic {{.*}} outs(%[[FIRST]] : tensor<4xf32>)
// CHECK: return %{{.*}}, %[[SECOND]]
#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @a_value_in_two_places(%x: tensor<4x4xf32>, %v: tensor<4xf32> {opt.param}, %init: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<4x4xf32>
  %y = linalg.generic {indexing_maps = [#id, #column, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %v, %v : tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %c: f32, %d: f32, %o: f32):
    %1 = arith.mulf %a, %c : f32
    %2 = arith.mulf %1, %d : f32
    linalg.yield %2 : f32
  } -> tensor<4x4xf32>
  %l = linalg.reduce { arith.addf } ins(%y : tensor<4x4xf32>) outs(%init : tensor<f32>) dimensions = [0, 1]
  return %l : tensor<f32>
}
