// RUN: remat-opt %s --remat-carry-scalars | FileCheck %s
// RUN: remat-opt %s --remat-carry-scalars --remat-sink-scalars --canonicalize | FileCheck %s --check-prefix=SUNK

// The initial value is the host's, what the loop adds is not. The counter depends on nothing in memory and stays.
// CHECK-LABEL: func.func @should_carry_a_sum_as_a_tensor(
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<f32>
// CHECK: %[[ZERO:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%[[EMPTY]] : tensor<f32>)
// CHECK: %[[LOOP:.*]]:2 = scf.for {{.*}} iter_args(%[[COUNT:.*]] = %{{.*}}, %[[SUM:.*]] = %[[ZERO]]) -> (i64, tensor<f32>) {
// CHECK: %[[OLD:.*]] = tensor.extract %[[SUM]][]
// CHECK: %[[NEXT:.*]] = arith.addf %[[OLD]],
// CHECK: %[[WRAPPED:.*]] = tensor.from_elements %[[NEXT]] : tensor<f32>
// CHECK: scf.yield %{{.*}}, %[[WRAPPED]] : i64, tensor<f32>
// CHECK: {remat.phase = "backward"}
// CHECK: %[[TOTAL:.*]] = tensor.extract %[[LOOP]]#1[]
// CHECK: arith.mulf %[[TOTAL]],
// SUNK-LABEL: func.func @should_carry_a_sum_as_a_tensor(
// SUNK: scf.for
// SUNK-NOT: tensor.extract
// SUNK: linalg.generic {{.*}} outs({{.*}} : tensor<f32>)
// SUNK: tensor.extract
// SUNK: tensor.extract
// SUNK: arith.addf
// SUNK: linalg.yield
// SUNK: scf.yield
func.func @should_carry_a_sum_as_a_tensor(%losses: tensor<4xf32>) -> (i64, tensor<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %none = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %zero = arith.constant 0.0 : f32
  %quarter = arith.constant 0.25 : f32
  %loop:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%count = %none, %sum = %zero) -> (i64, f32) {
    %loss = tensor.extract %losses[%i] : tensor<4xf32>
    %next = arith.addf %sum, %loss : f32
    %more = arith.addi %count, %one : i64
    scf.yield %more, %next : i64, f32
  } {remat.phase = "backward"}
  %mean = arith.mulf %loop#1, %quarter : f32
  %result = tensor.from_elements %mean : tensor<f32>
  return %loop#0, %result : i64, tensor<f32>
}

// CHECK-LABEL: func.func @should_carry_through_nested_loops(
// CHECK: scf.for {{.*}} -> (tensor<f32>) {
// CHECK: scf.for {{.*}} -> (tensor<f32>) {
func.func @should_carry_through_nested_loops(%losses: tensor<4xf32>, %first: tensor<f32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %begin = tensor.extract %first[] : tensor<f32>
  %sum = scf.for %j = %c0 to %c4 step %c1 iter_args(%outer = %begin) -> (f32) {
    %inner = scf.for %i = %c0 to %c4 step %c1 iter_args(%sum = %outer) -> (f32) {
      %loss = tensor.extract %losses[%i] : tensor<4xf32>
      %next = arith.addf %sum, %loss : f32
      scf.yield %next : f32
    }
    scf.yield %inner : f32
  }
  %result = tensor.from_elements %sum : tensor<f32>
  return %result : tensor<f32>
}

// CHECK-LABEL: func.func @should_leave_what_the_host_computes(
// CHECK: scf.for {{.*}} -> (f32) {
func.func @should_leave_what_the_host_computes(%rate: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %power = scf.for %i = %c0 to %c4 step %c1 iter_args(%p = %rate) -> (f32) {
    %next = arith.mulf %p, %rate : f32
    scf.yield %next : f32
  }
  return %power : f32
}

remat.train_step @step for @loss optimizer(@o) eval(@metric) {eager}
opt.optimizer @o = #opt.sgd<lr = 1.0e-2>

// A number of the host, and the next value of a scalar argument, stay what they are.
// CHECK-LABEL: func.func @step(
// CHECK-SAME: -> (tensor<f32> {remat.loss}, f32, i64 {remat.updates = 1 : i64})
// CHECK: %[[LOSS:.*]] = tensor.from_elements %{{.*}} : tensor<f32>
// CHECK: return %[[LOSS]], %{{.*}}, %{{.*}} : tensor<f32>, f32, i64
func.func @step(%x: tensor<4xf32>, %seen: i64, %step: i64 {remat.step}) -> (f32 {remat.loss}, f32, i64 {remat.updates = 1}) {
  %c0 = arith.constant 0 : index
  %loss = tensor.extract %x[%c0] : tensor<4xf32>
  %rate = arith.sitofp %step : i64 to f32
  %n = arith.fptosi %loss : f32 to i64
  %next = arith.addi %seen, %n : i64
  return %loss, %rate, %next : f32, f32, i64
}

// CHECK-LABEL: func.func @metric(
// CHECK-SAME: -> tensor<i1>
func.func @metric(%x: tensor<4xi1>) -> i1 {
  %c0 = arith.constant 0 : index
  %e = tensor.extract %x[%c0] : tensor<4xi1>
  return %e : i1
}

// Another function may call it.
// CHECK-LABEL: func.func @other(
// CHECK-SAME: -> f32
func.func @other(%x: tensor<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %e = tensor.extract %x[%c0] : tensor<4xf32>
  return %e : f32
}

func.func @loss(%x: tensor<4xf32>) -> f32 {
  %e = func.call @other(%x) : (tensor<4xf32>) -> f32
  return %e : f32
}
