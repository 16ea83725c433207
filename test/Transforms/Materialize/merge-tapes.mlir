// RUN: remat-opt %s --remat-merge-tapes --canonicalize --split-input-file | FileCheck %s

// The value that enters an iteration has left the one before: one tape, with the start first.
// CHECK-LABEL: func @recurrence(
// CHECK-SAME: %[[H0:.*]]: tensor<4xf32>
func.func @recurrence(%h0: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10x4xf32>
  // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
  // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
  // CHECK: %[[E:.*]] = tensor.empty() : tensor<11x4xf32>
  // CHECK: %[[S:.*]] = remat.tape_write %[[H0]] into %[[E]][%[[C0]]]
  // CHECK: %[[LOOP:.*]]:2 = scf.for %[[I:.*]] = %[[C0]] to %{{.*}} step %[[C1]] iter_args(%[[H:.*]] = %[[H0]], %[[T:.*]] = %[[S]]) -> (tensor<4xf32>, tensor<11x4xf32>)
  // CHECK-NEXT: %[[NEXT:.*]] = math.tanh %[[H]]
  // CHECK-NEXT: %[[J:.*]] = arith.addi %[[I]], %[[C1]]
  // CHECK-NEXT: %[[T1:.*]] = remat.tape_write %[[NEXT]] into %[[T]][%[[J]]]
  // CHECK-NEXT: scf.yield %[[NEXT]], %[[T1]]
  %h, %hs, %t = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %h0, %s = %e, %r = %e)
      -> (tensor<4xf32>, tensor<10x4xf32>, tensor<10x4xf32>) {
    %t1 = remat.tape_write %a into %r[%i] : tensor<4xf32> into tensor<10x4xf32>
    %a1 = math.tanh %a : tensor<4xf32>
    %s1 = tensor.insert_slice %a1 into %s[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<10x4xf32>
    scf.yield %a1, %s1, %t1 : tensor<4xf32>, tensor<10x4xf32>, tensor<10x4xf32>
  }
  // CHECK: %[[HS:.*]] = tensor.extract_slice %[[LOOP]]#1[1, 0] [10, 4] [1, 1]
  // CHECK: linalg.reduce {{.*}}ins(%[[HS]]
  %z = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.reduce { arith.addf } ins(%hs : tensor<10x4xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
  // CHECK: scf.for %[[K:[a-z0-9]+]]
  // CHECK: remat.tape_read %[[LOOP]]#1[%[[K]]] {remat.phase = "backward"} : tensor<11x4xf32> -> tensor<4xf32>
  %d = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %h0) -> tensor<4xf32> {
    %v = remat.tape_read %t[%i] {remat.phase = "backward"} : tensor<10x4xf32> -> tensor<4xf32>
    %a1 = arith.mulf %a, %v {remat.phase = "backward"} : tensor<4xf32>
    scf.yield %a1 : tensor<4xf32>
  }
  return %loss, %d : tensor<f32>, tensor<4xf32>
}

// -----

// From the last position to the first: the start is last. Both are tapes; one is read with its index moved, in its phase.
// CHECK-LABEL: func @backwards(
// CHECK-SAME: %[[H0:.*]]: tensor<4xf32>
// CHECK: %[[S:.*]] = remat.tape_write %[[H0]] into %{{.*}}[%{{c10.*}}]
// CHECK: %[[LOOP:.*]]:2 = scf.for %[[I:[a-z0-9]+]]
// CHECK: %[[J:.*]] = arith.subi %{{c9.*}}, %[[I]]
// CHECK: remat.tape_write %{{.*}} into %{{.*}}[%[[J]]] : tensor<4xf32> into tensor<11x4xf32>
// CHECK: scf.for %[[K:[a-z0-9]+]]
// CHECK: %[[K1:.*]] = arith.addi %[[K]], %{{.*}} {remat.phase = "backward"}
// CHECK: remat.tape_read %[[LOOP]]#1[%[[K1]]]
// CHECK: remat.tape_read %[[LOOP]]#1[%[[K]]]
func.func @backwards(%h0: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10x4xf32>
  %h, %hs, %t = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %h0, %s = %e, %r = %e)
      -> (tensor<4xf32>, tensor<10x4xf32>, tensor<10x4xf32>) {
    %j = arith.subi %c9, %i : index
    %t1 = remat.tape_write %a into %r[%j] : tensor<4xf32> into tensor<10x4xf32>
    %a1 = math.tanh %a : tensor<4xf32>
    %s1 = remat.tape_write %a1 into %s[%j] : tensor<4xf32> into tensor<10x4xf32>
    scf.yield %a1, %s1, %t1 : tensor<4xf32>, tensor<10x4xf32>, tensor<10x4xf32>
  }
  %d = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %h0) -> tensor<4xf32> {
    %v = remat.tape_read %t[%i] {remat.phase = "backward"} : tensor<10x4xf32> -> tensor<4xf32>
    %w = remat.tape_read %hs[%i] {remat.phase = "backward"} : tensor<10x4xf32> -> tensor<4xf32>
    %b = arith.mulf %a, %v : tensor<4xf32>
    %a1 = arith.mulf %b, %w : tensor<4xf32>
    scf.yield %a1 : tensor<4xf32>
  }
  return %d : tensor<4xf32>
}

// -----

// A value that is recorded twice; the second one as an exporter writes it.
// CHECK-LABEL: func @twice(
// CHECK: %[[LOOP:.*]]:2 = scf.for
// CHECK: tensor.insert_slice
// CHECK-NOT: remat.tape_write
// CHECK: scf.yield
// CHECK: ins(%[[LOOP]]#1, %[[LOOP]]#1
func.func @twice(%h0: tensor<4xf32>) -> tensor<10x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %e = tensor.empty() : tensor<10x4xf32>
  %h, %hs, %t = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %h0, %s = %e, %r = %e)
      -> (tensor<4xf32>, tensor<10x4xf32>, tensor<10x4xf32>) {
    %a1 = math.tanh %a : tensor<4xf32>
    %t1 = remat.tape_write %a1 into %r[%i] : tensor<4xf32> into tensor<10x4xf32>
    %x = tensor.expand_shape %a1 [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
    %s1 = tensor.insert_slice %x into %s[%i, 0] [1, 4] [1, 1] : tensor<1x4xf32> into tensor<10x4xf32>
    scf.yield %a1, %s1, %t1 : tensor<4xf32>, tensor<10x4xf32>, tensor<10x4xf32>
  }
  %y = linalg.map { arith.mulf } ins(%hs, %t : tensor<10x4xf32>, tensor<10x4xf32>) outs(%e : tensor<10x4xf32>)
  return %y : tensor<10x4xf32>
}

// -----

// Not merged: a stack that is returned would have to be copied; one that is read in the loop; one of other positions; one that
// the loop does not fill.
// CHECK-LABEL: func @stays(
// CHECK-NOT: tensor<11x4xf32>
// CHECK: return
func.func @stays(%h0: tensor<4xf32>, %n: index) -> (tensor<10x4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %z = arith.constant dense<0.0> : tensor<f32>
  %e = tensor.empty() : tensor<10x4xf32>
  %e12 = tensor.empty() : tensor<12x4xf32>
  %h:5 = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %h0, %s = %e, %r = %e, %q = %e, %p = %e12)
      -> (tensor<4xf32>, tensor<10x4xf32>, tensor<10x4xf32>, tensor<10x4xf32>, tensor<12x4xf32>) {
    %t1 = remat.tape_write %a into %r[%i] : tensor<4xf32> into tensor<10x4xf32>
    %old = tensor.extract_slice %q[%i, 0] [1, 4] [1, 1] : tensor<10x4xf32> to tensor<4xf32>
    %a1 = arith.addf %a, %old : tensor<4xf32>
    %s1 = tensor.insert_slice %a1 into %s[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<10x4xf32>
    %q1 = tensor.insert_slice %a1 into %q[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<10x4xf32>
    %p1 = tensor.insert_slice %a1 into %p[%i, 0] [1, 4] [1, 1] : tensor<4xf32> into tensor<12x4xf32>
    scf.yield %a1, %s1, %t1, %q1, %p1 : tensor<4xf32>, tensor<10x4xf32>, tensor<10x4xf32>, tensor<10x4xf32>, tensor<12x4xf32>
  }
  %v = remat.tape_read %h#2[%n] : tensor<10x4xf32> -> tensor<4xf32>
  %x = linalg.reduce { arith.addf } ins(%h#3 : tensor<10x4xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
  %y = linalg.reduce { arith.addf } ins(%h#4 : tensor<12x4xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
  return %h#1, %v, %x, %y : tensor<10x4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>
}

// -----

// A column of each position, at a place that is not known.
// CHECK-LABEL: func @columns(
// CHECK-NOT: tensor<11x4xf32>
// CHECK: return
func.func @columns(%h0: tensor<1xf32>, %n: index) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %z = arith.constant dense<0.0> : tensor<f32>
  %e = tensor.empty() : tensor<10x4xf32>
  %h:3 = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %h0, %s = %e, %r = %e) -> (tensor<1xf32>, tensor<10x4xf32>, tensor<10x4xf32>) {
    %t1 = tensor.insert_slice %a into %r[%i, %n] [1, 1] [1, 1] : tensor<1xf32> into tensor<10x4xf32>
    %a1 = math.tanh %a : tensor<1xf32>
    %s1 = tensor.insert_slice %a1 into %s[%i, %n] [1, 1] [1, 1] : tensor<1xf32> into tensor<10x4xf32>
    scf.yield %a1, %s1, %t1 : tensor<1xf32>, tensor<10x4xf32>, tensor<10x4xf32>
  }
  %y = linalg.reduce { arith.addf } ins(%h#1 : tensor<10x4xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
  %x = linalg.reduce { arith.addf } ins(%h#2 : tensor<10x4xf32>) outs(%y : tensor<f32>) dimensions = [0, 1]
  return %x : tensor<f32>
}
