// RUN: remat-opt %s -opt-lower-steps -cse -canonicalize | FileCheck %s
// RUN: remat-opt %s -opt-lower-steps -cse -canonicalize -remat-split-destinations -one-shot-bufferize="bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map" -canonicalize | FileCheck %s --check-prefix=BUFFER

// No tensor of f32 but the gradient, the parameter and scales; no buffer but the new scales, no copy but of them.

opt.optimizer @int8 = #opt.adamw<lr = 0.001, states = int8>
opt.optimizer @int4 = #opt.lion<lr = 0.001, states = int4>
opt.optimizer @bf16 = #opt.adamw<lr = 0.001, states = bf16>
opt.optimizer @lamb = #opt.lamb<lr = 0.001, states = int8>
opt.optimizer @stochastic = #opt.sgd<lr = 0.1, rounding = stochastic>
opt.optimizer @kahan = #opt.sgd<lr = 0.1, rounding = kahan>

// Largest magnitudes, then the update, which recomputes the moments.
// CHECK-LABEL: func.func @whole_blocks(
// CHECK-SAME: %[[W:[^ ]*]]: tensor<64x64xf32>
// CHECK-SAME: %[[G:[^ ]*]]: tensor<64x64xf32>
// CHECK-SAME: %[[M:[^ ]*]]: tensor<16x256xi8>
// CHECK-SAME: %[[MS:[^ ]*]]: tensor<16xf32>
// CHECK-SAME: %[[V:[^ ]*]]: tensor<16x256xi8>
// CHECK-SAME: %[[VS:[^ ]*]]: tensor<16xf32>
// CHECK: %[[MAX:.*]]:2 = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]}
// CHECK: arith.maximumf
// CHECK: arith.maximumf
// CHECK: %[[NEW:.*]]:3 = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]}
// CHECK-SAME: %[[MAX]]#0, {{.*}}%[[MAX]]#1
// CHECK-SAME: outs(%{{.*}}, %[[M]], %[[V]] : tensor<16x256xf32>, tensor<16x256xi8>, tensor<16x256xi8>)
// CHECK-NOT: linalg.generic
// CHECK-DAG: bufferization.materialize_in_destination %[[MAX]]#0 in %[[MS]]
// CHECK-DAG: bufferization.materialize_in_destination %[[MAX]]#1 in %[[VS]]
// CHECK: return
// BUFFER-LABEL: func.func @whole_blocks(
// BUFFER-NOT: memref.alloc() {{.*}}x{{.*}}x
// BUFFER: return
func.func @whole_blocks(
    %w: tensor<64x64xf32> {bufferization.writable = true}, %g: tensor<64x64xf32> {bufferization.writable = false},
    %m: tensor<16x256xi8> {bufferization.writable = true}, %ms: tensor<16xf32> {bufferization.writable = true},
    %v: tensor<16x256xi8> {bufferization.writable = true}, %vs: tensor<16xf32> {bufferization.writable = true}, %t: i64)
    -> (tensor<64x64xf32>, tensor<16x256xi8>, tensor<16xf32>, tensor<16x256xi8>, tensor<16xf32>) {
  %0:5 = opt.eager_step @int8(%w, %g, %m, %ms, %v, %vs) step %t
      : tensor<64x64xf32>, tensor<64x64xf32>, tensor<16x256xi8>, tensor<16xf32>, tensor<16x256xi8>, tensor<16xf32>
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<64x64xf32>, tensor<16x256xi8>, tensor<16xf32>, tensor<16x256xi8>, tensor<16xf32>
}

// 37 blocks of 128 and 111 elements: low halves of bytes, then high ones, of whole blocks and of the part.
// CHECK-LABEL: func.func @a_part_of_a_block(
// CHECK-COUNT-2: linalg.generic {{.*}}["parallel", "reduction"]{{.*}}tensor<37xf32>
// CHECK-COUNT-2: linalg.generic {{.*}}["parallel", "parallel"]{{.*}}tensor<37x64xf32>, tensor<37x64xi8>
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]{{.*}}tensor<1x64xf32>
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]{{.*}}tensor<1x47xf32>
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]{{.*}}tensor<1x64xf32>, tensor<1x64xi8>
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]{{.*}}tensor<1x47xf32>, tensor<1x47xi8>
// CHECK-NOT: linalg.generic
// CHECK: return
// BUFFER-LABEL: func.func @a_part_of_a_block(
// BUFFER-NOT: memref.alloc() {{.*}}x{{.*}}x
// BUFFER-NOT: memref.alloc() {{.*}}memref<{{[0-9][0-9][0-9]+}}x
// BUFFER: return
func.func @a_part_of_a_block(
    %w: tensor<37x131xf32> {bufferization.writable = true}, %g: tensor<37x131xf32> {bufferization.writable = false},
    %m: tensor<38x64xi8> {bufferization.writable = true}, %ms: tensor<38xf32> {bufferization.writable = true}, %t: i64)
    -> (tensor<37x131xf32>, tensor<38x64xi8>, tensor<38xf32>) {
  %0:3 = opt.eager_step @int4(%w, %g, %m, %ms) step %t : tensor<37x131xf32>, tensor<37x131xf32>, tensor<38x64xi8>, tensor<38xf32>
  return %0#0, %0#1, %0#2 : tensor<37x131xf32>, tensor<38x64xi8>, tensor<38xf32>
}

// CHECK-LABEL: func.func @half_the_bytes(
// CHECK: linalg.generic {{.*}}outs(%{{.*}} : tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xbf16>)
// CHECK-NEXT: ^bb0({{.*}}, %[[M:.*]]: bf16, %[[V:.*]]: bf16):
// CHECK: arith.extf %[[M]] : bf16 to f32
// CHECK: linalg.yield %{{.*}} : f32, bf16, bf16
// CHECK-NOT: linalg.generic
// BUFFER-LABEL: func.func @half_the_bytes(
// BUFFER-NOT: memref.alloc
// BUFFER-NOT: memref.copy
// BUFFER: return
func.func @half_the_bytes(
    %w: tensor<64x64xf32> {bufferization.writable = true}, %g: tensor<64x64xf32> {bufferization.writable = false},
    %m: tensor<64x64xbf16> {bufferization.writable = true}, %v: tensor<64x64xbf16> {bufferization.writable = true}, %t: i64)
    -> (tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xbf16>) {
  %0:3 = opt.eager_step @bf16(%w, %g, %m, %v) step %t : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xbf16>
  return %0#0, %0#1, %0#2 : tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xbf16>
}

// A rule on tensors: moments first, then sums over the whole blocks and over the part, then the parameter.
// CHECK-LABEL: func.func @a_rule_that_sums(
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]
// CHECK: linalg.generic {{.*}}["reduction", "reduction"]{{.*}}tensor<64x65xf32>
// CHECK: linalg.generic {{.*}}["reduction", "reduction"]{{.*}}tensor<16x256xi8>
// CHECK: linalg.generic {{.*}}["reduction", "reduction"]{{.*}}tensor<1x64xi8>
// CHECK: return
// BUFFER-LABEL: func.func @a_rule_that_sums(
// BUFFER-NOT: memref.alloc() {{.*}}x{{.*}}x
// BUFFER: return
func.func @a_rule_that_sums(
    %w: tensor<64x65xf32> {bufferization.writable = true}, %g: tensor<64x65xf32> {bufferization.writable = false},
    %m: tensor<17x256xi8> {bufferization.writable = true}, %ms: tensor<17xf32> {bufferization.writable = true},
    %v: tensor<17x256xi8> {bufferization.writable = true}, %vs: tensor<17xf32> {bufferization.writable = true}, %t: i64)
    -> (tensor<64x65xf32>, tensor<17x256xi8>, tensor<17xf32>, tensor<17x256xi8>, tensor<17xf32>) {
  %0:5 = opt.eager_step @lamb(%w, %g, %m, %ms, %v, %vs) step %t
      : tensor<64x65xf32>, tensor<64x65xf32>, tensor<17x256xi8>, tensor<17xf32>, tensor<17x256xi8>, tensor<17xf32>
  return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<64x65xf32>, tensor<17x256xi8>, tensor<17xf32>, tensor<17x256xi8>, tensor<17xf32>
}

// The element's number is a word of the counter; a NaN stays one.
// CHECK-LABEL: func.func @rounded_by_chance(
// CHECK-SAME: %[[T:[^ ]*]]: i64, %[[KEY:[^ ]*]]: i64)
// CHECK: linalg.generic {{.*}}ins(%{{.*}}, %[[KEY]], %[[T]] : tensor<4x8xbf16>, f32, i64, i64) outs(%{{.*}} : tensor<4x8xbf16>)
// CHECK: linalg.index 1
// CHECK: linalg.index 0
// CHECK: remat.philox
// CHECK: arith.cmpf uno
// BUFFER-LABEL: func.func @rounded_by_chance(
// BUFFER-NOT: memref.alloc
// BUFFER: return
func.func @rounded_by_chance(%w: tensor<4x8xbf16> {bufferization.writable = true}, %g: tensor<4x8xbf16> {bufferization.writable = false},
                             %t: i64, %key: i64) -> tensor<4x8xbf16> {
  %0 = opt.eager_step @stochastic(%w, %g) step %t key %key : tensor<4x8xbf16>, tensor<4x8xbf16>
  return %0 : tensor<4x8xbf16>
}

// CHECK-LABEL: func.func @what_is_rounded_away(
// CHECK: linalg.generic {{.*}}outs(%{{.*}} : tensor<4x8xbf16>, tensor<4x8xbf16>)
// CHECK: ^bb0({{.*}}, %[[W:.*]]: bf16, %[[C:.*]]: bf16):
// CHECK-DAG: %[[WIDE:.*]] = arith.extf %[[W]]
// CHECK-DAG: %[[LOST:.*]] = arith.extf %[[C]]
// CHECK: %[[OLD:.*]] = arith.addf %[[WIDE]], %[[LOST]]
// CHECK: %[[NEXT:.*]] = arith.subf %[[OLD]]
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[NEXT]]
// CHECK: %[[STORED:.*]] = arith.extf %[[ROUNDED]]
// CHECK: %[[REST:.*]] = arith.subf %[[NEXT]], %[[STORED]]
// CHECK: arith.truncf %[[REST]]
// BUFFER-LABEL: func.func @what_is_rounded_away(
// BUFFER-NOT: memref.alloc
// BUFFER: return
func.func @what_is_rounded_away(%w: tensor<4x8xbf16> {bufferization.writable = true}, %g: tensor<4x8xbf16> {bufferization.writable = false},
                                %c: tensor<4x8xbf16> {bufferization.writable = true}, %t: i64) -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {
  %0:2 = opt.eager_step @kahan(%w, %g, %c) step %t : tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<4x8xbf16>
  return %0#0, %0#1 : tensor<4x8xbf16>, tensor<4x8xbf16>
}
