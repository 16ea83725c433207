// RUN: remat-opt %s -convert-structured-to-branches -allow-unregistered-dialect | FileCheck %s

// Two loops in a row, one with a loop in it, and what stands between them.
// CHECK-LABEL: func.func @loops(
// CHECK-NOT: scf.
// CHECK: cf.br ^[[HEADER:.*]](%{{.*}}, %{{.*}} : index, f32)
// CHECK: ^[[HEADER]](%[[I:.*]]: index, %[[SUM:.*]]: f32):
// CHECK: cf.cond_br %{{.*}}, ^[[BODY:.*]], ^[[EXIT:.*]]
// CHECK: ^[[BODY]]:
// CHECK: cf.br ^[[HEADER]]
// CHECK: ^[[EXIT]]:
// CHECK-NEXT: %[[BETWEEN:.*]] = arith.negf %[[SUM]]
// CHECK: cf.br ^[[OUTER:.*]](%{{.*}}, %[[BETWEEN]] : index, f32)
// CHECK: ^[[OUTER]]
// CHECK: cf.cond_br
// CHECK: cf.cond_br
// CHECK: cf.br ^[[OUTER]]
// CHECK: return
func.func @loops(%a: f32, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %first = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %a) -> f32 {
    %next = arith.addf %sum, %a : f32
    scf.yield %next : f32
  }
  %between = arith.negf %first : f32
  %second = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %between) -> f32 {
    %inner = scf.for %j = %c0 to %n step %c1 iter_args(%product = %sum) -> f32 {
      %next = arith.mulf %product, %a : f32
      scf.yield %next : f32
    }
    scf.yield %inner : f32
  }
  return %second : f32
}

// A branch in a loop with a condition, and a parallel loop, which becomes
// another loop first.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: scf.
// CHECK: return
func.func @others(%memory: memref<8xf32>, %n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.while (%i = %n) : (index) -> index {
    %more = arith.cmpi ugt, %i, %c1 : index
    scf.condition(%more) %i : index
  } do {
  ^bb0(%i: index):
    %odd = arith.andi %i, %c1 : index
    %is = arith.cmpi eq, %odd, %c1 : index
    %next = scf.if %is -> index {
      %sum = arith.addi %i, %c1 : index
      scf.yield %sum : index
    } else {
      %half = arith.shrui %i, %c1 : index
      scf.yield %half : index
    }
    scf.yield %next : index
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
    %x = memref.load %memory[%i] : memref<8xf32>
    memref.store %x, %memory[%j] : memref<8xf32>
    scf.reduce
  }
  %s = scf.index_switch %r -> index
  case 1 {
    scf.yield %n : index
  }
  default {
    scf.yield %c0 : index
  }
  return %s : index
}

// Operations of unregistered dialects stay.
// CHECK-LABEL: func.func @nothing(
// CHECK-NEXT: "other.op"
// CHECK-NEXT: return
func.func @nothing() {
  "other.op"() : () -> ()
  return
}
