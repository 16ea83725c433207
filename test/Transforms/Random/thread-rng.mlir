// RUN: remat-opt %s -remat-thread-rng | FileCheck %s
// RUN: remat-opt %s -remat-thread-rng -o %t.once
// RUN: remat-opt %t.once -remat-thread-rng | diff %t.once -

// CHECK-NOT: remat.generator
remat.generator @dropout seed(42)
remat.generator @noise seed(7)

// CHECK-LABEL: func.func private @layer(
// CHECK-SAME:      %[[X:.*]]: tensor<4xf32>, %[[RNG:.*]]: !remat.rng) -> (tensor<4xf32>, !remat.rng)
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[U:.*]], %[[NEXT:.*]] = remat.random_uniform %[[RNG]]
  // CHECK: return %[[U]], %[[NEXT]]
  %rng = remat.get_rng @dropout
  %u, %next = remat.random_uniform %rng : tensor<4xf32>
  remat.set_rng @dropout, %next
  return %u : tensor<4xf32>
}

// CHECK-LABEL: func.func @layers_that_share_a_generator_draw_in_program_order(
// CHECK-SAME:      %[[X:.*]]: tensor<4xf32>, %[[R0:.*]]: !remat.rng {remat.seed = 42 : i64}) -> (tensor<4xf32>, !remat.rng)
func.func @layers_that_share_a_generator_draw_in_program_order(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[A:.*]]:2 = call @layer(%[[X]], %[[R0]])
  // CHECK: %[[B:.*]]:2 = call @layer(%[[A]]#0, %[[A]]#1)
  // CHECK: return %[[B]]#0, %[[B]]#1
  %0 = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = call @layer(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @two_generators_are_two_arguments(
// CHECK-SAME:      %[[D:.*]]: !remat.rng {remat.seed = 42 : i64}, %[[N:.*]]: !remat.rng {remat.seed = 7 : i64})
// CHECK-SAME:      -> (tensor<4xf32>, !remat.rng, !remat.rng)
func.func @two_generators_are_two_arguments() -> tensor<4xf32> {
  // CHECK: %{{.*}}, %[[N1:.*]] = remat.random_normal %[[N]]
  // CHECK: %[[C:.*]]:2 = call @layer(%{{.*}}, %[[D]])
  // CHECK: return %[[C]]#0, %[[C]]#1, %[[N1]]
  %rng = remat.get_rng @noise
  %n, %next = remat.random_normal %rng : tensor<4xf32>
  remat.set_rng @noise, %next
  %0 = call @layer(%n) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @loops_and_regions_carry_the_state(
// CHECK-SAME:      %[[X:.*]]: tensor<4xf32>, %{{.*}}: index, %[[R0:.*]]: !remat.rng
func.func @loops_and_regions_carry_the_state(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[FOR:.*]]:2 = scf.for {{.*}} iter_args(%[[Y:.*]] = %[[X]], %[[R1:.*]] = %[[R0]]) -> (tensor<4xf32>, !remat.rng)
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<4xf32> {
    // CHECK: %[[REGION:.*]]:2 = remat.region (%[[A:.*]] = %[[Y]] : tensor<4xf32>, %[[R2:.*]] = %[[R1]] : !remat.rng) -> tensor<4xf32>, !remat.rng
    // CHECK-SAME: prevent_cse = array<i1: false, true>
    %1 = remat.region (%a = %y : tensor<4xf32>) -> tensor<4xf32> attributes {prevent_cse = array<i1: false>} {
      // CHECK: %[[L:.*]]:2 = func.call @layer(%[[A]], %[[R2]])
      // CHECK: remat.yield %[[L]]#0, %[[L]]#1 : tensor<4xf32>, !remat.rng
      %2 = func.call @layer(%a) : (tensor<4xf32>) -> tensor<4xf32>
      remat.yield %2 : tensor<4xf32>
    }
    // CHECK: scf.yield %[[REGION]]#0, %[[REGION]]#1
    scf.yield %1 : tensor<4xf32>
  }
  // CHECK: return %[[FOR]]#0, %[[FOR]]#1
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @a_branch_that_does_not_draw_passes_the_state_on(
// CHECK-SAME:      %{{.*}}: i1, %[[R0:.*]]: !remat.rng {
func.func @a_branch_that_does_not_draw_passes_the_state_on(%c: i1) {
  // CHECK: %[[R:.*]] = scf.if %{{.*}} -> (!remat.rng) {
  // CHECK:   scf.yield %{{.*}} : !remat.rng
  // CHECK: } else {
  // CHECK:   scf.yield %[[R0]] : !remat.rng
  // CHECK: return %[[R]]
  scf.if %c {
    %rng = remat.get_rng @noise
    %n, %next = remat.random_normal %rng : tensor<4xf32>
    remat.set_rng @noise, %next
  }
  return
}

// CHECK-LABEL: func.func @both_parts_of_a_while_loop_may_draw(
// CHECK-SAME:      %[[R0:.*]]: !remat.rng {
func.func @both_parts_of_a_while_loop_may_draw() {
  // CHECK: %[[W:.*]] = scf.while (%[[R1:.*]] = %[[R0]])
  scf.while : () -> () {
    // CHECK: %{{.*}}, %[[R2:.*]] = remat.random_bernoulli %[[R1]]
    // CHECK: scf.condition(%{{.*}}) %[[R2]]
    %rng = remat.get_rng @noise
    %m, %next = remat.random_bernoulli %rng {p = 0.5 : f64} : tensor<i1>
    remat.set_rng @noise, %next
    %go = tensor.extract %m[] : tensor<i1>
    scf.condition(%go)
  } do {
    // CHECK: ^bb0(%[[R3:.*]]: !remat.rng):
    // CHECK: %{{.*}}, %[[R4:.*]] = remat.random_normal %[[R3]]
    // CHECK: scf.yield %[[R4]]
    %rng = remat.get_rng @noise
    %n, %next = remat.random_normal %rng : tensor<4xf32>
    remat.set_rng @noise, %next
    scf.yield
  }
  // CHECK: return %[[W]]
  return
}

// CHECK-LABEL: func.func @who_draws_nothing_stays_as_it_is(%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func @who_draws_nothing_stays_as_it_is(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// CHECK-LABEL: func.func @who_sets_a_generator_first_keeps_it(%{{.*}}: i64) {
func.func @who_sets_a_generator_first_keeps_it(%seed: i64) {
  // CHECK: %[[R:.*]] = remat.rng_init
  // CHECK: call @layer(%{{.*}}, %[[R]])
  // CHECK: return{{$}}
  %rng = remat.rng_init %seed
  remat.set_rng @dropout, %rng
  %x = tensor.empty() : tensor<4xf32>
  %0 = call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// A nested module has generators of its own.
// CHECK-LABEL: module @inner
// CHECK-NOT: remat.generator
// CHECK: func.func @g(%[[R:.*]]: !remat.rng {remat.seed = 7 : i64}) -> (tensor<4xf32>, !remat.rng)
// CHECK: %[[U:.*]], %[[N:.*]] = remat.random_uniform %[[R]]
// CHECK: return %[[U]], %[[N]]
module @inner {
  remat.generator @noise seed(7)
  func.func @g() -> tensor<4xf32> {
    %rng = remat.get_rng @noise
    %u, %next = remat.random_uniform %rng : tensor<4xf32>
    remat.set_rng @noise, %next
    return %u : tensor<4xf32>
  }
}
