// RUN: remat-opt %s -split-input-file -remat-cse | FileCheck %s
// RUN: remat-opt %s -split-input-file -remat-cse -mlir-disable-threading | FileCheck %s

#id = affine_map<(d0) -> (d0)>

// Equal chains of gathers by one array of indices become one chain, links that
// differ stay, and so does nothing of what made the difference.

// CHECK-LABEL: func @gathers
// CHECK-NOT: remat.read_hash
// CHECK: %[[A:.*]] = linalg.generic
// CHECK: tensor.extract %arg0[
// CHECK: %[[B:.*]] = linalg.generic
// CHECK: tensor.extract %[[A]][
// CHECK-NOT: linalg.generic
// CHECK-NOT: remat.read_hash
// CHECK: return %[[A]], %[[B]], %[[A]], %[[B]]
func.func @gathers(%x: tensor<8xf32>, %rows: tensor<8xindex>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%rows : tensor<8xindex>) outs(%e : tensor<8xf32>) {
  ^bb0(%row: index, %out: f32):
    %v = tensor.extract %x[%row] : tensor<8xf32>
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%rows : tensor<8xindex>) outs(%e : tensor<8xf32>) {
  ^bb0(%row: index, %out: f32):
    %v = tensor.extract %0[%row] : tensor<8xf32>
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%rows : tensor<8xindex>) outs(%e : tensor<8xf32>) {
  ^bb0(%row: index, %out: f32):
    %v = tensor.extract %x[%row] : tensor<8xf32>
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %3 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%rows : tensor<8xindex>) outs(%e : tensor<8xf32>) {
  ^bb0(%row: index, %out: f32):
    %v = tensor.extract %2[%row] : tensor<8xf32>
    linalg.yield %v : f32
  } -> tensor<8xf32>
  return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// Bodies read what operands in another order have computed.

// CHECK-LABEL: func @commutative
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return %[[R:.*]], %[[R]]
func.func @commutative(%a: f32, %b: f32) -> (tensor<8xf32>, tensor<8xf32>) {
  %e = tensor.empty() : tensor<8xf32>
  %p = arith.mulf %a, %b : f32
  %q = arith.mulf %b, %a : f32
  %0 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<8xf32>) {
  ^bb0(%out: f32):
    %s = arith.addf %p, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %1 = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<8xf32>) {
  ^bb0(%out: f32):
    %s = arith.addf %q, %a : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// Equal loops, in which the bodies read what the loops carry.

// CHECK-LABEL: func @loops
// CHECK-COUNT-1: scf.for
// CHECK-NOT: scf.for
// CHECK: return %[[R:.*]], %[[R]]
func.func @loops(%x: tensor<8xf32>, %rows: tensor<8xindex>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %0 = scf.for %i = %c0 to %c4 step %c1 iter_args(%y = %x) -> (tensor<8xf32>) {
    %e = tensor.empty() : tensor<8xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%rows : tensor<8xindex>) outs(%e : tensor<8xf32>) {
    ^bb0(%row: index, %out: f32):
      %v = tensor.extract %y[%row] : tensor<8xf32>
      linalg.yield %v : f32
    } -> tensor<8xf32>
    scf.yield %1 : tensor<8xf32>
  }
  %2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%y = %x) -> (tensor<8xf32>) {
    %e = tensor.empty() : tensor<8xf32>
    %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%rows : tensor<8xindex>) outs(%e : tensor<8xf32>) {
    ^bb0(%row: index, %out: f32):
      %v = tensor.extract %y[%row] : tensor<8xf32>
      linalg.yield %v : f32
    } -> tensor<8xf32>
    scf.yield %1 : tensor<8xf32>
  }
  return %0, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----

// An earlier assertion in the same block holds: the first message stays.
// One in a branch does not dominate later ones.

// CHECK-LABEL: func @asserts
// CHECK: scf.if
// CHECK-NEXT: cf.assert %arg0, "in a branch"
// CHECK: cf.assert %arg0, "first"
// CHECK-NEXT: cf.assert %arg1, "other"
// CHECK-NEXT: return
func.func @asserts(%a: i1, %b: i1) {
  scf.if %b {
    cf.assert %a, "in a branch"
  }
  cf.assert %a, "first"
  cf.assert %b, "other"
  cf.assert %a, "second"
  return
}
