// A workspace that can use more bytes than it needs gets those that nobody else has: the arena is what it would be.

// RUN: remat-opt %s -remat-pack-memory="arena=argument" | FileCheck %s
// RUN: remat-opt %s -remat-pack-memory="arena=none" | FileCheck %s --check-prefix=KEPT

func.func private @use(memref<?xi8>)
func.func private @use_both(memref<?xi8>, memref<128xi8>)
func.func private @use_all(memref<512xi8>)

// CHECK-LABEL: func.func @takes_free_room(
// CHECK-SAME: memref<512xi8> {remat.arena}
// KEPT-LABEL: func.func @takes_free_room(
func.func @takes_free_room() {
  // CHECK: memref.view {{.*}} to memref<512xi8>
  // CHECK: call @use(
  // KEPT: memref.alloc() {{.*}} : memref<64xi8>
  %w = memref.alloc() {remat.useful_bytes = 1024 : i64} : memref<64xi8>
  %c = memref.cast %w : memref<64xi8> to memref<?xi8>
  call @use(%c) : (memref<?xi8>) -> ()
  %b = memref.alloc() : memref<512xi8>
  call @use_all(%b) : (memref<512xi8>) -> ()
  return
}

// CHECK-LABEL: func.func @takes_no_more_than_it_can_use(
func.func @takes_no_more_than_it_can_use() {
  // CHECK: memref.view {{.*}} to memref<200xi8>
  %w = memref.alloc() {remat.useful_bytes = 200 : i64} : memref<64xi8>
  %c = memref.cast %w : memref<64xi8> to memref<?xi8>
  call @use(%c) : (memref<?xi8>) -> ()
  %b = memref.alloc() : memref<512xi8>
  call @use_all(%b) : (memref<512xi8>) -> ()
  return
}

// CHECK-LABEL: func.func @leaves_others_alone(
// CHECK-SAME: memref<512xi8> {remat.arena}
func.func @leaves_others_alone() {
  // CHECK-DAG: memref.view {{.*}} to memref<128xi8>
  // CHECK-DAG: memref.view {{.*}} to memref<384xi8>
  %w = memref.alloc() {remat.useful_bytes = 1024 : i64} : memref<64xi8>
  %n = memref.alloc() : memref<128xi8>
  %c = memref.cast %w : memref<64xi8> to memref<?xi8>
  call @use_both(%c, %n) : (memref<?xi8>, memref<128xi8>) -> ()
  %b = memref.alloc() : memref<512xi8>
  call @use_all(%b) : (memref<512xi8>) -> ()
  return
}

// CHECK-LABEL: func.func @has_no_room(
// CHECK-SAME: memref<64xi8> {remat.arena}
func.func @has_no_room() {
  // CHECK: memref.view {{.*}} to memref<64xi8>
  %w = memref.alloc() {remat.useful_bytes = 1024 : i64} : memref<64xi8>
  %c = memref.cast %w : memref<64xi8> to memref<?xi8>
  call @use(%c) : (memref<?xi8>) -> ()
  return
}

// Sizes that somebody has edited: no buffer gets smaller, and only bytes are counted in bytes.
// CHECK-LABEL: func.func @takes_no_less_than_it_has(
func.func @takes_no_less_than_it_has() {
  // CHECK: memref.view {{.*}} to memref<64xi8>
  // CHECK: memref.view {{.*}} to memref<64xi8>
  // CHECK: memref.view {{.*}} to memref<16xf32>
  %less = memref.alloc() {remat.useful_bytes = -5 : i64} : memref<64xi8>
  %c = memref.cast %less : memref<64xi8> to memref<?xi8>
  call @use(%c) : (memref<?xi8>) -> ()
  %unsigned = memref.alloc() {remat.useful_bytes = 128 : ui64} : memref<64xi8>
  %d = memref.cast %unsigned : memref<64xi8> to memref<?xi8>
  call @use(%d) : (memref<?xi8>) -> ()
  %numbers = memref.alloc() {remat.useful_bytes = 128 : i64} : memref<16xf32>
  %e = memref.cast %numbers : memref<16xf32> to memref<?xf32>
  call @use_numbers(%e) : (memref<?xf32>) -> ()
  return
}
func.func private @use_numbers(memref<?xf32>)
