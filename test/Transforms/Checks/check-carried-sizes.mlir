// RUN: remat-opt %s -remat-check-model -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @the_same_size
// CHECK-NOT: cf.assert
// CHECK: return
func.func @the_same_size(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?xf32>) {
    %s = math.sin %a : tensor<?xf32>
    %t = arith.mulf %s, %a : tensor<?xf32>
    scf.yield %t : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// -----

// CHECK-LABEL: func.func @perhaps_another_size
// CHECK: scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}})
// CHECK: %[[NEXT:.*]] = func.call @next
// CHECK-DAG: %[[NEW:.*]] = tensor.dim %[[NEXT]]
// CHECK-DAG: %[[OLD:.*]] = tensor.dim %[[A]]
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[NEW]], %[[OLD]]
// CHECK: cf.assert %[[SAME]], "{{.*}}: the size of dimension 0 changes in the loop"
func.func private @next(tensor<?xf32>) -> tensor<?xf32>
func.func @perhaps_another_size(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<?xf32>) {
    %b = func.call @next(%a) : (tensor<?xf32>) -> tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// -----

func.func @grows(%x: tensor<1xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %start = tensor.cast %x : tensor<1xf32> to tensor<?xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %start) -> (tensor<?xf32>) {
    %s = math.sin %a : tensor<?xf32>
    // expected-error @+1 {{this tensor takes the place of another one in the loop, whose dimension 0 has another size; carry one of the largest size, and mask what is not used}}
    %b = tensor.concat dim(0) %s, %x : (tensor<?xf32>, tensor<1xf32>) -> tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// -----

func.func @shrinks(%x: tensor<?xf32>, %n: i32) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k0 = arith.constant 0 : i32
  %r, %count = scf.while (%a = %x, %k = %k0) : (tensor<?xf32>, i32) -> (tensor<?xf32>, i32) {
    %goes_on = arith.cmpi slt, %k, %n : i32
    scf.condition(%goes_on) %a, %k : tensor<?xf32>, i32
  } do {
  ^bb0(%a: tensor<?xf32>, %k: i32):
    %size = tensor.dim %a, %c0 : tensor<?xf32>
    %less = arith.subi %size, %c1 : index
    // expected-error @+1 {{this tensor takes the place of another one in the loop, whose dimension 0 has another size}}
    %b = tensor.extract_slice %a[1] [%less] [1] : tensor<?xf32> to tensor<?xf32>
    scf.yield %b, %k : tensor<?xf32>, i32
  }
  return %r : tensor<?xf32>
}
