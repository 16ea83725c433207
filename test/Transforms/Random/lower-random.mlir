// RUN: remat-opt %s -remat-lower-random -split-input-file | FileCheck %s
// RUN: remat-opt %s -remat-lower-random -split-input-file -o %t.once
// RUN: remat-opt %t.once -remat-lower-random -split-input-file | diff %t.once -
// RUN: remat-opt %s -remat-lower-random -remat-fuse -split-input-file | FileCheck %s --check-prefix=FUSED

// CHECK-LABEL: func.func @a_draw_is_a_kernel_of_key_and_counter(
// CHECK-SAME:      %[[RNG:.*]]: vector<2xi64>) -> (tensor<3x5xf32>, vector<2xi64>)
func.func @a_draw_is_a_kernel_of_key_and_counter(%rng: !remat.rng) -> (tensor<3x5xf32>, !remat.rng) {
  // CHECK:      %[[KEY:.*]] = vector.extract %[[RNG]][0]
  // CHECK:      %[[COUNTER:.*]] = vector.extract %[[RNG]][1]
  // CHECK:      %[[U:.*]] = linalg.generic {{.*}} ins(%[[KEY]], %[[COUNTER]] : i64, i64)
  // CHECK-DAG:    linalg.index 0
  // CHECK-DAG:    linalg.index 1
  // CHECK:        remat.philox %{{.*}}, %{{.*}}, %[[ZERO:.*]], %[[ZERO]] key %{{.*}}, %{{.*}} : i32
  // CHECK-NOT:  remat.
  // Fifteen elements, four in a block.
  // CHECK:      %[[BLOCKS:.*]] = arith.constant 4 : i64
  // CHECK:      %[[NEXT:.*]] = arith.addi %[[COUNTER]], %[[BLOCKS]]
  // CHECK:      %[[STATE:.*]] = vector.from_elements %[[KEY]], %[[NEXT]]
  // CHECK:      return %[[U]], %[[STATE]]
  %u, %next = remat.random_uniform %rng : tensor<3x5xf32>
  return %u, %next : tensor<3x5xf32>, !remat.rng
}

// CHECK-LABEL: func.func @dynamic_sizes_are_scalars_of_the_kernel(
// CHECK-SAME:      %{{.*}}: vector<2xi64>, %[[N:.*]]: index)
func.func @dynamic_sizes_are_scalars_of_the_kernel(%rng: !remat.rng, %n: index) -> (tensor<?x4xi64>, !remat.rng) {
  // CHECK: %[[SIZE:.*]] = arith.index_cast %[[N]]
  // CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %[[SIZE]] : i64, i64, i64)
  // Two elements of 64 bits in a block: (4 n + 1) / 2 blocks.
  // CHECK: arith.muli %[[SIZE]], %c4
  // CHECK: arith.shrui
  %b, %next = remat.random_bits %rng[%n] : tensor<?x4xi64>
  return %b, %next : tensor<?x4xi64>, !remat.rng
}

// CHECK-LABEL: func.func @states_change_their_type_wherever_they_stand(
// CHECK-NOT: !remat.rng
// CHECK: scf.for {{.*}} -> (vector<2xi64>, tensor<4xvector<2xi64>>)
// CHECK: remat.region {{.*}} -> vector<2xi64> {
// CHECK: scf.if {{.*}} -> (vector<2xi64>)
// CHECK: remat.barrier {{.*}} : vector<2xi64>
// CHECK: remat.tape_write {{.*}} : vector<2xi64> into tensor<4xvector<2xi64>>
// CHECK: func.call @draw({{.*}}) : (vector<2xi64>) -> vector<2xi64>
// CHECK-LABEL: func.func private @draw(vector<2xi64>) -> vector<2xi64>
func.func @states_change_their_type_wherever_they_stand(%rng: !remat.rng, %c: i1, %ct: tensor<f32>) -> (!remat.rng, tensor<4x!remat.rng>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %empty = tensor.empty() : tensor<4x!remat.rng>
  %0:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%r = %rng, %t = %empty) -> (!remat.rng, tensor<4x!remat.rng>) {
    %1 = remat.region (%a = %r : !remat.rng) -> !remat.rng {
      %m, %n = remat.random_bernoulli %a {p = 0.5 : f64} : tensor<8xi1>
      remat.yield %n : !remat.rng
    }
    %2 = scf.if %c -> !remat.rng {
      %3 = remat.barrier %1 after %ct : !remat.rng after tensor<f32>
      scf.yield %3 : !remat.rng
    } else {
      scf.yield %1 : !remat.rng
    }
    %t1 = remat.tape_write %2 into %t[%i] : !remat.rng into tensor<4x!remat.rng>
    %4 = func.call @draw(%2) : (!remat.rng) -> !remat.rng
    scf.yield %4, %t1 : !remat.rng, tensor<4x!remat.rng>
  }
  return %0#0, %0#1 : !remat.rng, tensor<4x!remat.rng>
}
func.func private @draw(!remat.rng) -> !remat.rng

// -----

// The backward of a dropout draws its mask again: only the state connects it to
// the forward, and after fusion neither stores a mask.
// FUSED-LABEL: func.func @no_mask_is_stored(
// FUSED-NOT: tensor<{{.*}}xi1>
// FUSED:     remat.region
// FUSED-NOT: tensor<{{.*}}xi1>
// FUSED:     linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}} : i64, i64, tensor<4x8xf32>)
// FUSED:       arith.select
// FUSED-NOT: tensor<{{.*}}xi1>
// FUSED:     remat.backward
// FUSED-NOT: tensor<{{.*}}xi1>
// FUSED:     linalg.generic {{.*}} ins(%{{.*}}, %{{.*}}, %{{.*}} : i64, i64, tensor<4x8xf32>)
// FUSED:       arith.select
// FUSED-NOT: tensor<{{.*}}xi1>
func.func @no_mask_is_stored(%x: tensor<4x8xf32>, %rng: !remat.rng, %ct: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, !remat.rng) {
  %y, %next = remat.region (%a = %x : tensor<4x8xf32>, %s = %rng : !remat.rng) -> tensor<4x8xf32>, !remat.rng {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    %m, %n = remat.random_bernoulli %s {p = 0.9 : f64} : tensor<4x8xi1>
    %d = linalg.select ins(%m, %a, %z : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    remat.yield %d, %n : tensor<4x8xf32>, !remat.rng
  }
  %dx = remat.backward (%s = %rng : !remat.rng) cotangents(%dy = %ct : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<4x8xf32>
    %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    %m, %n = remat.random_bernoulli %s {p = 0.9 : f64} : tensor<4x8xi1>
    %d = linalg.select ins(%m, %dy, %z : tensor<4x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
    remat.yield %d : tensor<4x8xf32>
  }
  return %y, %dx, %next : tensor<4x8xf32>, tensor<4x8xf32>, !remat.rng
}
