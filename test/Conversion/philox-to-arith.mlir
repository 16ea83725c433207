// RUN: remat-opt %s -convert-philox-to-arith | FileCheck %s
// RUN: remat-opt %s -convert-philox-to-arith -o %t.once
// RUN: remat-opt %t.once -convert-philox-to-arith | diff %t.once -
// RUN: remat-opt %s -convert-philox-to-arith -sccp -canonicalize | FileCheck %s --check-prefix=FOLDED

// CHECK-LABEL: func @a_block_of_scalars(
// CHECK-NOT: remat.philox
// CHECK: arith.extui %{{.*}} : i32 to i64
// CHECK-COUNT-20: arith.muli %{{.*}} : i64
// CHECK-NOT: arith.muli
// CHECK: return
func.func @a_block_of_scalars(%c: i32, %k: i32) -> (i32, i32, i32, i32) {
  %w:4 = remat.philox %c, %c, %c, %c key %k, %k : i32
  return %w#0, %w#1, %w#2, %w#3 : i32, i32, i32, i32
}

// CHECK-LABEL: func @a_vector_of_blocks(
// CHECK-NOT: remat.philox
// CHECK-COUNT-20: arith.muli %{{.*}} : vector<16xi64>
// CHECK-NOT: arith.muli
// CHECK: return
func.func @a_vector_of_blocks(%c: vector<16xi32>, %k: vector<16xi32>) -> vector<16xi32> {
  %w:4 = remat.philox %c, %c, %c, %c key %k, %k : vector<16xi32>
  return %w#3 : vector<16xi32>
}

// The first known answer of Random123 (tests/kat_vectors).
// FOLDED-LABEL: func @the_block_of_zeros(
// FOLDED-DAG: %[[A:.*]] = arith.constant 1713891541 : i32
// FOLDED-DAG: %[[B:.*]] = arith.constant -513161843 : i32
// FOLDED-DAG: %[[C:.*]] = arith.constant -1135104948 : i32
// FOLDED-DAG: %[[D:.*]] = arith.constant -1694442536 : i32
// FOLDED: return %[[A]], %[[B]], %[[C]], %[[D]]
func.func @the_block_of_zeros() -> (i32, i32, i32, i32) {
  %0 = arith.constant 0 : i32
  %w:4 = remat.philox %0, %0, %0, %0 key %0, %0 : i32
  return %w#0, %w#1, %w#2, %w#3 : i32, i32, i32, i32
}
