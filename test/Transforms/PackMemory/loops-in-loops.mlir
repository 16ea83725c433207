// RUN: remat-opt %s -remat-prepare-bufferization | FileCheck %s
// RUN: remat-opt %s -remat-bufferize -o /dev/null

// The condition of the loop around reads what the loop starts from, before that
// runs. One-shot bufferization takes it for a conflict, unless it is copied.

// CHECK-LABEL: func.func @condition_reads(
// CHECK: scf.while
// CHECK: ^bb0(%{{.*}}: tensor<f32>, %[[B:.*]]: tensor<f32>):
// CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[B]])
// CHECK: scf.while (%{{.*}} = %[[COPY]]
func.func @condition_reads(%x: tensor<f32>, %y: tensor<f32>, %limit: f32) -> tensor<f32> {
  %r:2 = scf.while (%a = %x, %b = %y) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %v = tensor.extract %a[] : tensor<f32>
    %w = tensor.extract %b[] : tensor<f32>
    %c = arith.cmpf olt, %v, %w : f32
    scf.condition(%c) %a, %b : tensor<f32>, tensor<f32>
  } do {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %inner = scf.while (%d = %b) : (tensor<f32>) -> tensor<f32> {
      %v = tensor.extract %a[] : tensor<f32>
      %c = arith.cmpf olt, %v, %limit : f32
      scf.condition(%c) %d : tensor<f32>
    } do {
    ^bb0(%d: tensor<f32>):
      %e = tensor.empty() : tensor<f32>
      %s = linalg.add ins(%d, %a : tensor<f32>, tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
      scf.yield %s : tensor<f32>
    }
    %e = tensor.empty() : tensor<f32>
    %next = linalg.exp ins(%a : tensor<f32>) outs(%e : tensor<f32>) -> tensor<f32>
    scf.yield %next, %inner : tensor<f32>, tensor<f32>
  }
  return %r#1 : tensor<f32>
}

// A loop that starts from one tensor twice works on a copy of it.

// CHECK-LABEL: func.func @taken_twice(
// CHECK: scf.while
// CHECK: ^bb0(%[[Y:.*]]: tensor<4xf32>):
// CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[Y]])
// CHECK: scf.while (%{{.*}} = %[[COPY]], %{{.*}} = %[[Y]])
func.func @taken_twice(%x: tensor<4xf32>, %q: i1) -> tensor<4xf32> {
  %r = scf.while (%y = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    scf.condition(%q) %y : tensor<4xf32>
  } do {
  ^bb0(%y: tensor<4xf32>):
    %w:2 = scf.while (%s = %y, %t = %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      scf.condition(%q) %s, %t : tensor<4xf32>, tensor<4xf32>
    } do {
    ^bb0(%s: tensor<4xf32>, %t: tensor<4xf32>):
      %e2 = tensor.empty() : tensor<4xf32>
      %u = linalg.exp ins(%s : tensor<4xf32>) outs(%e2 : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %u, %s : tensor<4xf32>, tensor<4xf32>
    }
    scf.yield %w#0 : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// The inner loop leaves each of its tensors in the buffer of its initial value: nothing is copied after it.

// CHECK-LABEL: func.func @in_place(
// CHECK-NOT: bufferization.alloc_tensor
// CHECK: return
func.func @in_place(%x: tensor<4xf32>, %z: tensor<4xf32>, %q: i1) -> tensor<4xf32> {
  %r:2 = scf.while (%y = %x, %f = %z) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
    scf.condition(%q) %y, %f : tensor<4xf32>, tensor<4xf32>
  } do {
  ^bb0(%y: tensor<4xf32>, %f: tensor<4xf32>):
    %w:2 = scf.while (%s = %y, %t = %f) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      scf.condition(%q) %s, %t : tensor<4xf32>, tensor<4xf32>
    } do {
    ^bb0(%s: tensor<4xf32>, %t: tensor<4xf32>):
      %e2 = tensor.empty() : tensor<4xf32>
      %u = linalg.add ins(%s, %t : tensor<4xf32>, tensor<4xf32>) outs(%e2 : tensor<4xf32>) -> tensor<4xf32>
      %e3 = tensor.empty() : tensor<4xf32>
      %v = linalg.mul ins(%u, %t : tensor<4xf32>, tensor<4xf32>) outs(%e3 : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %u, %v : tensor<4xf32>, tensor<4xf32>
    }
    scf.yield %w#0, %w#1 : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0 : tensor<4xf32>
}

// The second and the third tensor could be in a circle, of which the first one, which waits for them, is no part.

// CHECK-LABEL: func.func @behind_a_circle(
// CHECK: %[[NEW:.*]] = linalg.exp
// CHECK: %[[INNER:.*]]:2 = scf.while
// CHECK: bufferization.materialize_in_destination
// CHECK: return
func.func @behind_a_circle(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>, %n: index, %q: i1) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y, %c = %z) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %e = tensor.empty() : tensor<4xf32>
    %new = linalg.exp ins(%a : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %w:2 = scf.while (%s = %a, %t = %c) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      scf.condition(%q) %s, %t : tensor<4xf32>, tensor<4xf32>
    } do {
    ^bb0(%s: tensor<4xf32>, %t: tensor<4xf32>):
      %e2 = tensor.empty() : tensor<4xf32>
      %u = linalg.exp ins(%s : tensor<4xf32>) outs(%e2 : tensor<4xf32>) -> tensor<4xf32>
      scf.yield %u, %t : tensor<4xf32>, tensor<4xf32>
    }
    scf.yield %new, %w#0, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
