// RUN: remat-opt %s -remat-differentiate | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// The forward region hands out sin(x); x itself is the region's operand.
// CHECK-LABEL: func.func @sin_of_sin_grad(
// CHECK-SAME: %[[W:.*]]: tensor<4xf64>
// CHECK: %[[OUT:.*]], %[[RES:.*]] = remat.region policy(#remat.dots_saveable) ({{.*}}) -> tensor<4xf64> residuals(tensor<4xf64>) attributes {label = "layer"} {
// CHECK:   %[[S1:.*]] = linalg.generic
// CHECK:   %[[S2:.*]] = linalg.generic
// CHECK:   remat.yield %[[S2]] : tensor<4xf64> residuals(%[[S1]] : tensor<4xf64>)
// CHECK: remat.backward (%{{.*}} = %[[W]] : tensor<4xf64>) residuals(%{{.*}} = %[[RES]] : tensor<4xf64>) cotangents(%{{.*}} = %{{.*}} : tensor<4xf64>) -> tensor<4xf64> attributes {label = "layer", remat.phase = "backward"} {
// CHECK-COUNT-2: math.cos
// CHECK:   remat.yield %{{.*}} : tensor<4xf64> {remat.phase = "backward"}
func.func @sin_of_sin(%w: tensor<4xf64> {opt.param}) -> tensor<f64> {
  %y = remat.region policy(#remat.dots_saveable) (%a = %w : tensor<4xf64>) -> tensor<4xf64> attributes {label = "layer"} {
    %e = tensor.empty() : tensor<4xf64>
    %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<4xf64>) outs(%e : tensor<4xf64>) {
    ^bb0(%i: f64, %o: f64):
      %s = math.sin %i : f64
      linalg.yield %s : f64
    } -> tensor<4xf64>
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%0 : tensor<4xf64>) outs(%e : tensor<4xf64>) {
    ^bb0(%i: f64, %o: f64):
      %s = math.sin %i : f64
      linalg.yield %s : f64
    } -> tensor<4xf64>
    remat.yield %1 : tensor<4xf64>
  }
  %c = arith.constant 0.0 : f64
  %z = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%c : f64) outs(%z : tensor<f64>) -> tensor<f64>
  %l = linalg.dot ins(%y, %y : tensor<4xf64>, tensor<4xf64>) outs(%f : tensor<f64>) -> tensor<f64>
  return %l : tensor<f64>
}

// The inner region's residual goes through the outer one.
// CHECK-LABEL: func.func @nested_regions_grad(
// CHECK: %{{.*}}, %[[OUTER:.*]] = remat.region {{.*}} residuals(tensor<f64>) {
// CHECK:   %[[MID:.*]], %[[INNER:.*]] = remat.region {{.*}} residuals(tensor<f64>) {
// CHECK:     residuals(%{{.*}} : tensor<f64>)
// CHECK:   remat.yield %{{.*}} residuals(%[[INNER]] : tensor<f64>)
// CHECK: remat.backward residuals(%[[RES:.*]] = %[[OUTER]] : tensor<f64>) cotangents({{.*}}) -> tensor<f64>
// CHECK:   remat.backward residuals(%{{.*}} = %[[RES]] : tensor<f64>) cotangents({{.*}}) -> tensor<f64>
func.func @nested_regions(%w: tensor<f64> {opt.param}) -> tensor<f64> {
  %y = remat.region (%a = %w : tensor<f64>) -> tensor<f64> {
    %m = remat.region (%b = %a : tensor<f64>) -> tensor<f64> {
      %e = tensor.empty() : tensor<f64>
      %0 = linalg.exp ins(%b : tensor<f64>) outs(%e : tensor<f64>) -> tensor<f64>
      remat.yield %0 : tensor<f64>
    }
    remat.yield %m : tensor<f64>
  }
  return %y : tensor<f64>
}

// Constants and buffers are made anew, and a region that passes its operand on
// needs no backward.
// CHECK-LABEL: func.func @constants_are_no_residuals_grad(
// CHECK: remat.region ({{.*}}) -> tensor<f64>, tensor<f64> {
// CHECK: remat.backward cotangents(%{{.*}} = %{{.*}} : tensor<f64>) -> tensor<f64>
func.func @constants_are_no_residuals(%w: tensor<f64> {opt.param}) -> (tensor<f64>, tensor<f64>) {
  %y:2 = remat.region (%a = %w : tensor<f64>) -> tensor<f64>, tensor<f64> {
    %c = arith.constant 3.0 : f64
    %e = tensor.empty() : tensor<f64>
    %three = linalg.fill ins(%c : f64) outs(%e : tensor<f64>) -> tensor<f64>
    %0 = linalg.mul ins(%a, %three : tensor<f64>, tensor<f64>) outs(%e : tensor<f64>) -> tensor<f64>
    remat.yield %0, %a : tensor<f64>, tensor<f64>
  }
  return %y#0, %y#1 : tensor<f64>, tensor<f64>
}

// A weight that two regions read: the second backward adds to what the first
// found, in the product itself.
// CHECK-LABEL: func.func @shared_weight_grad(
// CHECK: %[[FIRST:.*]]:2 = remat.backward
// CHECK: remat.backward {{.*}} sums(%[[SUM:.*]] = %[[FIRST]]#1 : tensor<4x4xf64>)
// CHECK: linalg.{{.*}} outs(%[[SUM]] : tensor<4x4xf64>)
// CHECK-NOT: linalg.add
// CHECK: return
func.func @shared_weight(%w: tensor<4x4xf64> {opt.param}, %x: tensor<8x4xf64>) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %h = remat.region (%a = %x : tensor<8x4xf64>, %b = %w : tensor<4x4xf64>) -> tensor<8x4xf64> {
    %c = arith.constant 0.0 : f64
    %e = tensor.empty() : tensor<8x4xf64>
    %f = linalg.fill ins(%c : f64) outs(%e : tensor<8x4xf64>) -> tensor<8x4xf64>
    %0 = linalg.matmul ins(%a, %b : tensor<8x4xf64>, tensor<4x4xf64>) outs(%f : tensor<8x4xf64>) -> tensor<8x4xf64>
    remat.yield %0 : tensor<8x4xf64>
  }
  %y = remat.region (%a = %h : tensor<8x4xf64>, %b = %w : tensor<4x4xf64>) -> tensor<8x4xf64> {
    %c = arith.constant 0.0 : f64
    %e = tensor.empty() : tensor<8x4xf64>
    %f = linalg.fill ins(%c : f64) outs(%e : tensor<8x4xf64>) -> tensor<8x4xf64>
    %0 = linalg.matmul ins(%a, %b : tensor<8x4xf64>, tensor<4x4xf64>) outs(%f : tensor<8x4xf64>) -> tensor<8x4xf64>
    remat.yield %0 : tensor<8x4xf64>
  }
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce {arith.addf} ins(%y : tensor<8x4xf64>) outs(%f : tensor<f64>) dimensions = [0, 1]
  return %l : tensor<f64>
}

// Nobody asks for the gradient of the data, nor for that of the second output.
// CHECK-LABEL: func.func @only_what_is_asked_for_grad(
// CHECK-NOT: math.sin
// CHECK: remat.backward {{.*}} -> tensor<f64> attributes
// CHECK-NOT: math.sin
// CHECK: return
func.func @only_what_is_asked_for(%w: tensor<f64> {opt.param}, %x: tensor<f64>) -> (tensor<f64>, tensor<f64>) {
  %y:2 = remat.region (%a = %w : tensor<f64>, %b = %x : tensor<f64>) -> tensor<f64>, tensor<f64> {
    %e = tensor.empty() : tensor<f64>
    %0 = linalg.mul ins(%a, %b : tensor<f64>, tensor<f64>) outs(%e : tensor<f64>) -> tensor<f64>
    %1 = linalg.tanh ins(%a : tensor<f64>) outs(%e : tensor<f64>) -> tensor<f64>
    remat.yield %0, %1 : tensor<f64>, tensor<f64>
  }
  return %y#0, %y#1 : tensor<f64>, tensor<f64>
}

// Contributions to %w one by one in reverse order of the uses, by whatever name and wherever regions begin.
// CHECK-LABEL: func.func @one_cotangent_for_all_names_grad(
// CHECK: %[[INSIDE:.*]]:2 = remat.backward
// CHECK:   %[[LAST:.*]]:2 = linalg.generic
// CHECK:   %[[BEFORE:.*]]:2 = linalg.generic
// CHECK:   linalg.add {remat.phase = "backward"} ins(%[[LAST]]#1, %[[BEFORE]]#1
// CHECK: %[[MUL:.*]]:2 = linalg.generic
// CHECK: %[[SUM:.*]] = linalg.add {remat.phase = "backward"} ins(%[[INSIDE]]#1, %[[MUL]]#1
// CHECK: %[[ALL:.*]] = linalg.add {remat.phase = "backward"} ins(%[[SUM]], %[[MUL]]#0
// CHECK: return %{{.*}}, %[[ALL]]
func.func @one_cotangent_for_all_names(%w: tensor<4xf64> {opt.param}, %x: tensor<4xf64>) -> tensor<f64> {
  %e = tensor.empty() : tensor<4xf64>
  %n = remat.name "w" %w : tensor<4xf64>
  %1 = linalg.add ins(%n, %x : tensor<4xf64>, tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %2 = linalg.mul ins(%1, %w : tensor<4xf64>, tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  %3 = remat.region (%a = %2 : tensor<4xf64>, %b = %n : tensor<4xf64>, %c = %w : tensor<4xf64>) -> tensor<4xf64> {
    %i = tensor.empty() : tensor<4xf64>
    %4 = linalg.mul ins(%a, %c : tensor<4xf64>, tensor<4xf64>) outs(%i : tensor<4xf64>) -> tensor<4xf64>
    %5 = linalg.mul ins(%4, %b : tensor<4xf64>, tensor<4xf64>) outs(%i : tensor<4xf64>) -> tensor<4xf64>
    remat.yield %5 : tensor<4xf64>
  }
  %c0 = arith.constant 0.0 : f64
  %z = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%c0 : f64) outs(%z : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce { arith.addf } ins(%3 : tensor<4xf64>) outs(%f : tensor<f64>) dimensions = [0]
  return %l : tensor<f64>
}

// Both regions compute log(w): the cotangent of both goes back through the first.
// CHECK-LABEL: func.func @computed_twice_grad(
// CHECK: remat.backward
// CHECK-NOT: arith.divf
// CHECK: remat.backward
// CHECK: arith.divf
// CHECK-NOT: arith.divf
// CHECK: return
func.func @computed_twice(%w: tensor<4xf64> {opt.param}, %x: tensor<4xf64>) -> tensor<f64> {
  %1 = remat.region (%a = %w : tensor<4xf64>, %b = %x : tensor<4xf64>) -> tensor<4xf64> attributes {label = "one"} {
    %i = tensor.empty() : tensor<4xf64>
    %4 = linalg.log ins(%a : tensor<4xf64>) outs(%i : tensor<4xf64>) -> tensor<4xf64>
    %5 = linalg.mul ins(%4, %b : tensor<4xf64>, tensor<4xf64>) outs(%i : tensor<4xf64>) -> tensor<4xf64>
    remat.yield %5 : tensor<4xf64>
  }
  %2 = remat.region (%a = %w : tensor<4xf64>, %b = %1 : tensor<4xf64>) -> tensor<4xf64> attributes {label = "other"} {
    %i = tensor.empty() : tensor<4xf64>
    %4 = linalg.log ins(%a : tensor<4xf64>) outs(%i : tensor<4xf64>) -> tensor<4xf64>
    %5 = linalg.mul ins(%4, %b : tensor<4xf64>, tensor<4xf64>) outs(%i : tensor<4xf64>) -> tensor<4xf64>
    remat.yield %5 : tensor<4xf64>
  }
  %c0 = arith.constant 0.0 : f64
  %z = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%c0 : f64) outs(%z : tensor<f64>) -> tensor<f64>
  %l = linalg.reduce { arith.addf } ins(%2 : tensor<4xf64>) outs(%f : tensor<f64>) dimensions = [0]
  return %l : tensor<f64>
}
