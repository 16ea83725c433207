// RUN: remat-opt %s -remat-differentiate -canonicalize -cse -remat-plan -remat-materialize -canonicalize -cse | FileCheck %s

// A branch in a region: the backward recomputes all of it from the operands,
// and nothing leaves the forward but the output.
// CHECK-LABEL: func.func @branch_in_region_grad(
// CHECK: remat.region {{.*}} -> tensor<4xf32> {
// CHECK:   scf.if %{{.*}} -> (tensor<4xf32>) {
// CHECK: remat.backward
// CHECK:   remat.barrier
// CHECK:   %[[R:.*]] = scf.if %{{.*}} -> (tensor<4xf32>) {
// CHECK:     math.sin
// CHECK:   } else {
// CHECK:     tensor.empty
// CHECK:   } {remat.phase = "recompute"}
// CHECK:   scf.if
// CHECK:     linalg.generic {{.*}} ins(%[[R]]
func.func @branch_in_region(%w: tensor<4xf32> {opt.param}, %c: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %y = remat.region (%a = %w : tensor<4xf32>, %p = %c : i1) -> tensor<4xf32> {
    %r = scf.if %p -> (tensor<4xf32>) {
      %s = math.sin %a : tensor<4xf32>
      %t = math.tanh %s : tensor<4xf32>
      %u = math.sin %t : tensor<4xf32>
      scf.yield %u : tensor<4xf32>
    } else {
      scf.yield %a : tensor<4xf32>
    }
    remat.yield %r : tensor<4xf32>
  }
  %l = tensor.extract %y[%c0] : tensor<4xf32>
  return %l : f32
}

// A region in a branch: its residual was a result of the branch, which is gone.
// What it starts from leaves the branch in its place.
// CHECK-LABEL: func.func @region_in_branch_grad(
// CHECK: %[[F:.*]]:2 = scf.if %{{.*}} -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK:   %[[START:.*]] = linalg.generic
// CHECK:     math.exp
// CHECK:   %[[Y:.*]] = remat.region (%{{.*}} = %[[START]] : tensor<4xf32>) -> tensor<4xf32> {
// CHECK:   scf.yield %[[Y]], %[[START]]
// CHECK: } else {
// CHECK:   tensor.empty
// CHECK: scf.if
// CHECK:   remat.backward (%[[ARG:.*]] = %[[F]]#1
// CHECK:     remat.barrier %[[ARG]]
// CHECK:     math.sin
func.func @region_in_branch(%w: tensor<4xf32> {opt.param}, %c: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %r = scf.if %c -> (tensor<4xf32>) {
    %e = math.exp %w : tensor<4xf32>
    %y = remat.region (%a = %e : tensor<4xf32>) -> tensor<4xf32> {
      %s = math.sin %a : tensor<4xf32>
      %t = math.sin %s : tensor<4xf32>
      remat.yield %t : tensor<4xf32>
    }
    scf.yield %y : tensor<4xf32>
  } else {
    scf.yield %w : tensor<4xf32>
  }
  %l = tensor.extract %r[%c0] : tensor<4xf32>
  return %l : f32
}

// In a loop of unknown length, and in a branch there: a tape as long as the
// ones that there are.
// CHECK-LABEL: func.func @branch_in_dynamic_loop_grad(
// CHECK: %[[TAPE:.*]] = tensor.empty(%{{.*}}) : tensor<?x4xf32>
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %{{.*}} = %[[TAPE]])
// CHECK:   remat.tape_write %[[X]]
// CHECK:   scf.if %{{.*}} -> (tensor<4xf32>) {
// CHECK:     remat.region
// CHECK: scf.for
// CHECK:   remat.tape_read
// CHECK:   scf.if
// CHECK:     remat.backward
// CHECK:       remat.phase = "recompute"
func.func @branch_in_dynamic_loop(%w: tensor<4xf32> {opt.param}, %c: i1, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = scf.for %i = %c0 to %n step %c1 iter_args(%x = %w) -> tensor<4xf32> {
    %r = scf.if %c -> (tensor<4xf32>) {
      %y = remat.region (%a = %x : tensor<4xf32>) -> tensor<4xf32> {
        %s = math.sin %a : tensor<4xf32>
        %t = math.sin %s : tensor<4xf32>
        remat.yield %t : tensor<4xf32>
      }
      scf.yield %y : tensor<4xf32>
    } else {
      scf.yield %x : tensor<4xf32>
    }
    scf.yield %r : tensor<4xf32>
  }
  %l = tensor.extract %h[%c0] : tensor<4xf32>
  return %l : f32
}

// A name inside a branch is a name of what leaves it.
// CHECK-LABEL: func.func @name_in_branch_grad(
// CHECK: remat.region {{.*}} residuals(tensor<4xf32>) {
// CHECK: remat.backward
// CHECK-NOT: remat.phase = "recompute"
// CHECK: return
func.func @name_in_branch(%w: tensor<4xf32> {opt.param}, %c: i1) -> f32 {
  %c0 = arith.constant 0 : index
  %y = remat.region policy(#remat.save_only_names<"s">) (%a = %w : tensor<4xf32>, %p = %c : i1) -> tensor<4xf32> {
    %r = scf.if %p -> (tensor<4xf32>) {
      %s = math.sin %a : tensor<4xf32>
      %k = remat.name "s" %s : tensor<4xf32>
      %t = math.sin %k : tensor<4xf32>
      scf.yield %t : tensor<4xf32>
    } else {
      scf.yield %a : tensor<4xf32>
    }
    remat.yield %r : tensor<4xf32>
  }
  %l = tensor.extract %y[%c0] : tensor<4xf32>
  return %l : f32
}
