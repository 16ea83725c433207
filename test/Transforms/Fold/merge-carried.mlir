// Equal iter_args are merged, as by upstream's pattern, which is left out by its name.
// RUN: remat-opt %s --remat-canonicalize=cse=false > %t.ours
// RUN: FileCheck %s < %t.ours
// RUN: remat-opt %s --canonicalize > %t.upstream
// RUN: diff %t.ours %t.upstream
// RUN: remat-opt %s --canonicalize="disable-patterns={(anonymous namespace)::RemoveDuplicateSuccessorInputUses}" | FileCheck %s --check-prefix=LEFT-OUT

// CHECK-LABEL: func @loop
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}})
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[A]]
// CHECK-NEXT: %[[P:.*]] = arith.mulf %[[S]], %[[C]]
// CHECK-NEXT: scf.yield %[[P]], %[[P]] :
// CHECK: return %[[R]]#0, %[[R]]#0, %[[R]]#1
// LEFT-OUT-LABEL: func @loop
// LEFT-OUT: scf.for {{.*}} -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
func.func @loop(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x, %c = %y)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %s = arith.addf %a, %b : tensor<4xf32>
    %p = arith.mulf %s, %c : tensor<4xf32>
    scf.yield %p, %p, %p : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// The iter_args of the outer loop are equal once the results of the inner one are.
// CHECK-LABEL: func @nested
// CHECK: %[[OUTER:.*]] = scf.for {{.*}} iter_args(%[[A:.*]] = %{{[^,]*}}) ->
// CHECK: %[[INNER:.*]] = scf.for {{.*}} iter_args(%[[B:.*]] = %[[A]]) ->
// CHECK: %[[S:.*]] = arith.addf %[[B]], %[[B]]
// CHECK: scf.yield %[[INNER]] :
// CHECK: return %[[OUTER]], %[[OUTER]]
func.func @nested(%x: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (tensor<4xf32>, tensor<4xf32>) {
    %q:2 = scf.for %j = %c0 to %n step %c1 iter_args(%c = %a, %d = %a) -> (tensor<4xf32>, tensor<4xf32>) {
      %s = arith.addf %c, %d : tensor<4xf32>
      scf.yield %s, %s : tensor<4xf32>, tensor<4xf32>
    }
    scf.yield %q#0, %q#1 : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func @branch
// CHECK: %[[R:.*]] = scf.if {{.*}} -> (tensor<4xf32>) {
// CHECK: return %[[R]], %{{.*}}, %[[R]] :
func.func @branch(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: i1) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %r:3 = scf.if %c -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %s = arith.divf %x, %y : tensor<4xf32>
    scf.yield %s, %x, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  } else {
    scf.yield %y, %y, %y : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A while loop has two lists, which are not of one size.
// CHECK-LABEL: func @while
// CHECK: %[[R:.*]]:2 = scf.while (%[[A:.*]] = %{{.*}}, %[[I:.*]] = %{{.*}})
// CHECK: %[[S:.*]] = arith.addf %[[A]], %[[A]]
// CHECK: scf.condition(%{{.*}}) %[[S]], %[[I]]
// CHECK: ^bb0(%[[B:.*]]: tensor<4xf32>, %[[J:.*]]: i32):
// CHECK: return %[[R]]#0
func.func @while(%x: tensor<4xf32>, %i: i32) -> tensor<4xf32> {
  %r:2 = scf.while (%a = %x, %b = %x, %j = %i) : (tensor<4xf32>, tensor<4xf32>, i32) -> (tensor<4xf32>, i32) {
    %zero = arith.constant 0 : i32
    %more = arith.cmpi sgt, %j, %zero : i32
    %t = arith.addf %a, %b : tensor<4xf32>
    scf.condition(%more) %t, %j : tensor<4xf32>, i32
  } do {
  ^bb0(%a: tensor<4xf32>, %j: i32):
    %one = arith.constant 1 : i32
    %k = arith.subi %j, %one : i32
    %s = arith.mulf %a, %a : tensor<4xf32>
    scf.yield %s, %s, %k : tensor<4xf32>, tensor<4xf32>, i32
  }
  return %r#0 : tensor<4xf32>
}

// The same start or the same end alone does not make values equal.
// CHECK-LABEL: func @different
// CHECK: %[[R:.*]]:3 = scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}, %[[C:.*]] = %{{.*}})
// CHECK: arith.addf %[[A]], %[[B]]
// CHECK: arith.addf %{{.*}}, %[[C]]
// CHECK: return %[[R]]#0, %[[R]]#1, %[[R]]#2
func.func @different(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: index) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %x, %c = %y)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %s = arith.addf %a, %b : tensor<4xf32>
    %t = arith.addf %s, %c : tensor<4xf32>
    scf.yield %s, %t, %s : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// Destinations of a parallel loop are written: they are two, though they start from one value.
// CHECK-LABEL: func @forall
// CHECK: shared_outs(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}})
// CHECK: tensor.parallel_insert_slice %{{.*}} into %[[A]]
// CHECK: tensor.parallel_insert_slice %{{.*}} into %[[B]]
func.func @forall(%x: tensor<8xf32>, %y: tensor<1xf32>, %z: tensor<1xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %r:2 = scf.forall (%i) in (8) shared_outs(%a = %x, %b = %x) -> (tensor<8xf32>, tensor<8xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %y into %a[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
      tensor.parallel_insert_slice %z into %b[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
    }
  }
  return %r#0, %r#1 : tensor<8xf32>, tensor<8xf32>
}
