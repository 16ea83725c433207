// RUN: remat-opt %s -remat-differentiate -canonicalize -cse | FileCheck %s

// Each branch's residual leaves it as a result, undefined if it is not taken;
// the backward makes the same choice. A value that only one branch reads gets
// zeros from the other.
// CHECK-LABEL: func.func @residuals_grad(
// CHECK-SAME: %[[W:.*]]: tensor<4xf64> {opt.param}, %[[V:.*]]: tensor<4xf64> {opt.param}, %[[C:.*]]: i1)
// CHECK: %[[F:.*]]:3 = scf.if %[[C]] -> (tensor<4xf64>, tensor<4xf64>, tensor<4xf64>) {
// CHECK:   %[[S:.*]] = linalg.generic
// CHECK:     math.sin
// CHECK:   %[[E:.*]] = linalg.generic
// CHECK:     math.exp
// CHECK:   scf.yield %{{.*}}, %[[S]], %[[E]]
// CHECK: } else {
// CHECK:   %[[U:.*]] = tensor.empty() : tensor<4xf64>
// CHECK:   scf.yield %{{.*}}, %[[U]], %[[U]]
// CHECK: %[[ZEROS:.*]] = linalg.fill
// CHECK: %[[B:.*]]:2 = scf.if %[[C]] -> (tensor<4xf64>, tensor<4xf64>) {
// CHECK:   linalg.generic {{.*}} ins(%[[F]]#1, %[[F]]#2
// CHECK:   scf.yield {{.*}} %{{.*}}, %[[ZEROS]]
// CHECK: } else {
// CHECK: } {remat.phase = "backward"}
// CHECK: return %{{.*}}, %[[B]]#0, %[[B]]#1
func.func @residuals(%w: tensor<4xf64> {opt.param}, %v: tensor<4xf64> {opt.param}, %c: i1) -> f64 {
  %c0 = arith.constant 0 : index
  %r = scf.if %c -> (tensor<4xf64>) {
    %s = math.sin %w : tensor<4xf64>
    %e = math.exp %s : tensor<4xf64>
    %m = arith.mulf %s, %e : tensor<4xf64>
    scf.yield %m : tensor<4xf64>
  } else {
    %m = arith.mulf %w, %v : tensor<4xf64>
    scf.yield %m : tensor<4xf64>
  }
  %l = tensor.extract %r[%c0] : tensor<4xf64>
  return %l : f64
}

// A gradient that has been begun is the buffer to which the branches add.
// CHECK-LABEL: func.func @sums_in_place_grad(
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}}"backward"
// CHECK: scf.if %{{.*}} -> (tensor<4xf64>) {
// CHECK:   %[[ADDED:.*]] = linalg.generic {{.*}} outs(%[[SUM]]
// CHECK:   scf.yield {{.*}} %[[ADDED]]
// CHECK: } else {
// CHECK:   scf.yield {{.*}} %[[SUM]]
func.func @sums_in_place(%w: tensor<4xf64> {opt.param}, %x: tensor<4xf64>, %c: i1) -> tensor<f64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<f64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<f64>) -> tensor<f64>
  %r = scf.if %c -> (tensor<4xf64>) {
    %m = arith.mulf %w, %x : tensor<4xf64>
    scf.yield %m : tensor<4xf64>
  } else {
    scf.yield %x : tensor<4xf64>
  }
  %l0 = linalg.dot ins(%r, %x : tensor<4xf64>, tensor<4xf64>) outs(%f : tensor<f64>) -> tensor<f64>
  %l = linalg.dot ins(%w, %x : tensor<4xf64>, tensor<4xf64>) outs(%l0 : tensor<f64>) -> tensor<f64>
  return %l : tensor<f64>
}

// A choice among several, and none where nothing is active. A scalar residual is
// poison where it is not defined.
// CHECK-LABEL: func.func @switch_grad(
// CHECK: %[[P:.*]] = ub.poison : f64
// CHECK: %[[F:.*]]:2 = scf.index_switch %{{.*}} -> f64, f64
// CHECK-NEXT: case 3 {
// CHECK:   scf.yield %{{.*}}, %[[P]]
// CHECK: scf.index_switch %{{.*}} {remat.phase = "backward"} -> f64
// CHECK-NEXT: case 3 {
// CHECK:   math.cos
// CHECK: default {
// CHECK:   scf.yield {{.*}} %[[F]]#1
// CHECK-NOT: scf.index_switch
// CHECK: return
func.func @switch(%w: f64 {opt.param}, %i: index) -> f64 {
  %j = scf.index_switch %i -> index
  case 7 {
    scf.yield %i : index
  }
  default {
    %k = arith.addi %i, %i : index
    scf.yield %k : index
  }
  %r = scf.index_switch %j -> f64
  case 3 {
    %s = math.sin %w : f64
    scf.yield %s : f64
  }
  default {
    %s = math.exp %w : f64
    scf.yield %s : f64
  }
  return %r : f64
}
