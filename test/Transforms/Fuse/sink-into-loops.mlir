// RUN: remat-opt %s --remat-sink-into-loops --split-input-file | FileCheck %s

#id = affine_map<(t, i) -> (t, i)>
#row = affine_map<(t, i) -> (i)>
#scalar = affine_map<(t, i) -> ()>

// The cotangent of a stack, of what is alive anyway: the stack is read in the loop, the rest are arguments. The stack's own
// offset is added to the index, an index of the body becomes the loop's.
// CHECK-LABEL: func @cotangent(
// CHECK-SAME: %[[HS:.*]]: tensor<11x4xf32>, %[[YS:.*]]: tensor<10x4xf32>, %[[B:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<f32>
// CHECK-NOT: linalg.generic
// CHECK: scf.for %[[I:[a-z0-9]+]]
// CHECK: %[[J:.*]] = arith.subi %{{.*}}, %[[I]]
// CHECK: %[[J1:.*]] = arith.addi %[[J]], %{{.*}} {remat.phase = "backward"}
// CHECK: %[[H:.*]] = tensor.extract_slice %[[HS]][%[[J1]], 0] [1, 4] [1, 1] {remat.phase = "backward"} : tensor<11x4xf32> to tensor<4xf32>
// CHECK: %[[Y:.*]] = tensor.extract_slice %[[YS]][%[[J]], 0] [1, 4] [1, 1] {remat.phase = "backward"}
// CHECK: %[[D:.*]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[H]], %[[Y]], %[[B]], %[[C]] : {{.*}} attrs = {remat.phase = "backward"}
// CHECK: linalg.index 0
// CHECK: arith.addi %[[J]],
// CHECK: arith.addf %{{.*}}, %[[D]]
func.func @cotangent(%hs: tensor<11x4xf32>, %ys: tensor<10x4xf32>, %b: tensor<4xf32>, %c: tensor<f32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10x4xf32>
  %h = tensor.extract_slice %hs[1, 0] [10, 4] [1, 1] : tensor<11x4xf32> to tensor<10x4xf32>
  remat.begin_backward
  %d = linalg.generic {indexing_maps = [#id, #id, #row, #scalar, #id], iterator_types = ["parallel", "parallel"]}
      ins(%h, %ys, %b, %c : tensor<10x4xf32>, tensor<10x4xf32>, tensor<4xf32>, tensor<f32>) outs(%e : tensor<10x4xf32>)
      attrs = {remat.phase = "backward"} {
  ^bb0(%h1: f32, %y1: f32, %b1: f32, %c2: f32, %out: f32):
    %t = linalg.index 0 : index
    %k = linalg.index 1 : index
    %n = arith.addi %t, %k : index
    %n1 = arith.index_cast %n : index to i32
    %n2 = arith.sitofp %n1 : i32 to f32
    %0 = arith.subf %h1, %y1 : f32
    %1 = arith.mulf %0, %b1 : f32
    %2 = arith.mulf %1, %c2 : f32
    %3 = arith.addf %2, %n2 : f32
    linalg.yield %3 : f32
  } -> tensor<10x4xf32>
  %z = tensor.empty() : tensor<4xf32>
  %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %z) -> tensor<4xf32> {
    %j = arith.subi %c9, %i {remat.phase = "backward"} : index
    %x = tensor.extract_slice %d[%j, 0] [1, 4] [1, 1] {remat.phase = "backward"} : tensor<10x4xf32> to tensor<4xf32>
    %a1 = arith.addf %a, %x {remat.phase = "backward"} : tensor<4xf32>
    scf.yield %a1 : tensor<4xf32>
  } {remat.phase = "backward"}
  return %r : tensor<4xf32>
}

// -----

#id = affine_map<(t, i) -> (t, i)>

// A chain of them: the first one is computed for the second alone.
// CHECK-LABEL: func @chain(
// CHECK-NOT: linalg.generic
// CHECK: scf.for
// CHECK: math.exp
// CHECK: math.sin
// CHECK: scf.yield
func.func @chain(%x: tensor<10x4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10x4xf32>
  %u = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<10x4xf32>) outs(%e : tensor<10x4xf32>) {
  ^bb0(%x1: f32, %out: f32):
    %0 = math.exp %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<10x4xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%u : tensor<10x4xf32>) outs(%e : tensor<10x4xf32>) {
  ^bb0(%x1: f32, %out: f32):
    %0 = math.sin %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<10x4xf32>
  %z = tensor.empty() : tensor<4xf32>
  %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %z) -> tensor<4xf32> {
    %p = tensor.extract_slice %v[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>
    %a1 = arith.addf %a, %p : tensor<4xf32>
    scf.yield %a1 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

#id = affine_map<(t, i) -> (t, i)>

// Not computed in the loop: what is read elsewhere, what would keep as many bytes alive, what is of the forward, and what
// is read at the same position in each iteration.
// CHECK-LABEL: func @stays(
// CHECK-COUNT-4: math.exp
// CHECK: scf.for
// CHECK-NOT: math.exp
// CHECK: return
func.func @stays(%x: tensor<10x4xf32>, %n: index) -> (tensor<4xf32>, tensor<10x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10x4xf32>
  %forward = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<10x4xf32>) outs(%e : tensor<10x4xf32>) {
  ^bb0(%x1: f32, %out: f32):
    %0 = math.exp %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<10x4xf32>
  remat.begin_backward
  %read = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<10x4xf32>) outs(%e : tensor<10x4xf32>) {
  ^bb0(%x1: f32, %out: f32):
    %0 = math.exp %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<10x4xf32>
  %m = linalg.softmax dimension(1) ins(%x : tensor<10x4xf32>) outs(%e : tensor<10x4xf32>) -> tensor<10x4xf32>
  %bytes = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%m : tensor<10x4xf32>) outs(%e : tensor<10x4xf32>) {
  ^bb0(%x1: f32, %out: f32):
    %0 = math.exp %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<10x4xf32>
  %same = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<10x4xf32>) outs(%e : tensor<10x4xf32>) {
  ^bb0(%x1: f32, %out: f32):
    %0 = math.exp %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<10x4xf32>
  %z = tensor.empty() : tensor<4xf32>
  %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %z) -> tensor<4xf32> {
    %p = tensor.extract_slice %read[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>
    %q = tensor.extract_slice %bytes[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>
    %s = tensor.extract_slice %forward[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>
    %t = tensor.extract_slice %same[%n, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>
    %a1 = arith.addf %a, %p : tensor<4xf32>
    %a2 = arith.addf %a1, %q : tensor<4xf32>
    %a3 = arith.addf %a2, %s : tensor<4xf32>
    %a4 = arith.addf %a3, %t : tensor<4xf32>
    scf.yield %a4 : tensor<4xf32>
  }
  return %r, %read : tensor<4xf32>, tensor<10x4xf32>
}

// -----

#id = affine_map<(t, i) -> (t, i)>

// A part of a position, at a place that is not known, and one of a slice of a size that is not.
// CHECK-LABEL: func @parts(
// CHECK: linalg.generic
// CHECK: scf.for
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @parts(%x: tensor<10x4xf32>, %n: index) -> tensor<1xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10x4xf32>
  %v = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<10x4xf32>) outs(%e : tensor<10x4xf32>) {
  ^bb0(%x1: f32, %out: f32):
    %0 = math.sin %x1 : f32
    linalg.yield %0 : f32
  } -> tensor<10x4xf32>
  %z = tensor.empty() : tensor<1xf32>
  %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %z) -> tensor<1xf32> {
    %p = tensor.extract_slice %v[%i, %n] [1, 1] [1, 1] : tensor<10x4xf32> to tensor<1xf32>
    %q = tensor.extract_slice %v[%i, %n] [1, %n] [1, 1] : tensor<10x4xf32> to tensor<?xf32>
    %l = tensor.dim %q, %c0 : tensor<?xf32>
    %k = arith.index_cast %l : index to i32
    %f = arith.sitofp %k : i32 to f32
    %t = tensor.from_elements %f : tensor<1xf32>
    %a1 = arith.addf %a, %p : tensor<1xf32>
    %a2 = arith.addf %a1, %t : tensor<1xf32>
    scf.yield %a2 : tensor<1xf32>
  }
  return %r : tensor<1xf32>
}
