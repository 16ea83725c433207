// RUN: remat-opt %s -remat-pack-memory -split-input-file -verify-diagnostics | FileCheck %s
// RUN: remat-opt %s -remat-pack-memory=reuse=false -split-input-file | FileCheck %s --check-prefix=APART
// RUN: remat-opt %s -remat-pack-memory=arena=global -split-input-file | FileCheck %s --check-prefix=GLOBAL
// RUN: remat-opt %s -remat-pack-memory=arena=none -split-input-file | FileCheck %s --check-prefix=KEPT

#id = affine_map<(d0) -> (d0)>

// CHECK-LABEL: func.func @result_takes_over_its_dying_operand
// CHECK-SAME: memref<64xi8> {remat.arena}
// APART-LABEL: func.func @result_takes_over_its_dying_operand
// APART-SAME: memref<128xi8> {remat.arena}
// GLOBAL: memref.global "private" @__remat_arena_result_takes_over_its_dying_operand : memref<64xi8> = uninitialized {alignment = 64 : i64}
// GLOBAL-LABEL: func.func @result_takes_over_its_dying_operand
// GLOBAL-SAME: (%{{.*}}: memref<16xf32>, %{{.*}}: memref<16xf32>) {
// GLOBAL: memref.get_global @__remat_arena_result_takes_over_its_dying_operand
// KEPT-LABEL: func.func @result_takes_over_its_dying_operand
// KEPT: %[[A:.*]] = memref.alloc() : memref<16xf32>
// KEPT: linalg.tanh ins(%[[A]] {{.*}} outs(%[[A]]
// KEPT: linalg.copy
// KEPT-NEXT: memref.dealloc %[[A]]
func.func @result_takes_over_its_dying_operand(%x: memref<16xf32>, %y: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%a : memref<16xf32>) outs(%b : memref<16xf32>)
  linalg.copy ins(%b : memref<16xf32>) outs(%y : memref<16xf32>)
  memref.dealloc %a : memref<16xf32>
  memref.dealloc %b : memref<16xf32>
  return
}

// -----

// CHECK-LABEL: func.func @operand_that_is_read_again_keeps_its_place
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @operand_that_is_read_again_keeps_its_place(%x: memref<16xf32>, %y: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.tanh ins(%a : memref<16xf32>) outs(%b : memref<16xf32>)
  linalg.add ins(%a, %b : memref<16xf32>, memref<16xf32>) outs(%y : memref<16xf32>)
  return
}

// -----

// Each iteration reads an element and stores one in its place, whatever is added up beside it.
// CHECK-LABEL: func.func @result_beside_a_sum_takes_over_its_dying_operand
// CHECK-SAME: memref<4160xi8>
func.func @result_beside_a_sum_takes_over_its_dying_operand(%x: memref<64x16xf32>, %y: memref<64x16xf32>, %t: memref<16xf32>) {
  %a = memref.alloc() : memref<64x16xf32>
  linalg.exp ins(%x : memref<64x16xf32>) outs(%a : memref<64x16xf32>)
  %b = memref.alloc() : memref<64x16xf32>
  %s = memref.alloc() : memref<16xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%a : memref<64x16xf32>) outs(%b, %s : memref<64x16xf32>, memref<16xf32>) {
  ^bb0(%in: f32, %out: f32, %sum: f32):
    %n = arith.negf %in : f32
    %next = arith.addf %sum, %n : f32
    linalg.yield %n, %next : f32, f32
  }
  linalg.exp ins(%b : memref<64x16xf32>) outs(%y : memref<64x16xf32>)
  linalg.exp ins(%s : memref<16xf32>) outs(%t : memref<16xf32>)
  return
}

// CHECK-LABEL: func.func @transposed_operand_is_not_overwritten
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @transposed_operand_is_not_overwritten(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  linalg.exp ins(%x : memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  %b = memref.alloc() : memref<4x4xf32>
  linalg.transpose ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>) permutation = [1, 0]
  linalg.copy ins(%b : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  return
}

// -----

#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>

// CHECK-LABEL: func.func @operand_that_is_also_read_transposed_is_not_overwritten
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @operand_that_is_also_read_transposed_is_not_overwritten(%x: memref<4x4xf32>, %y: memref<4x4xf32>) {
  %a = memref.alloc() : memref<4x4xf32>
  linalg.exp ins(%x : memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  %b = memref.alloc() : memref<4x4xf32>
  linalg.generic {indexing_maps = [#ij, #ji, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%a, %a : memref<4x4xf32>, memref<4x4xf32>) outs(%b : memref<4x4xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }
  linalg.copy ins(%b : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  return
}

// -----

#gather = affine_map<(i) -> (i)>

// CHECK-LABEL: func.func @operand_that_the_body_gathers_from_is_not_overwritten
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @operand_that_the_body_gathers_from_is_not_overwritten(%x: memref<16xf32>, %n: memref<16xindex>, %y: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.generic {indexing_maps = [#gather, #gather, #gather], iterator_types = ["parallel"]}
      ins(%a, %n : memref<16xf32>, memref<16xindex>) outs(%b : memref<16xf32>) {
  ^bb0(%p: f32, %k: index, %o: f32):
    %q = memref.load %a[%k] : memref<16xf32>
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  }
  linalg.copy ins(%b : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}

// -----

// A buffer that a view shows before anything writes it can still be that of an operand.
// CHECK-LABEL: func.func @view_is_no_access
// CHECK-SAME: memref<64xi8> {remat.arena}
func.func @view_is_no_access(%x: memref<16xf32>, %y: memref<4x4xf32>) {
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  %v = memref.expand_shape %b [[0, 1]] output_shape [4, 4] : memref<16xf32> into memref<4x4xf32>
  linalg.exp ins(%a : memref<16xf32>) outs(%b : memref<16xf32>)
  linalg.exp ins(%v : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @view_keeps_its_buffer_alive
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @view_keeps_its_buffer_alive(%x: memref<16xf32>, %y: memref<4x4xf32>) {
  %a = memref.alloc() : memref<16xf32>
  %v = memref.expand_shape %a [[0, 1]] output_shape [4, 4] : memref<16xf32> into memref<4x4xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%b : memref<16xf32>)
  %w = memref.expand_shape %b [[0, 1]] output_shape [4, 4] : memref<16xf32> into memref<4x4xf32>
  linalg.add ins(%v, %w : memref<4x4xf32>, memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  return
}

// -----

// %a is read in every iteration, so nothing in the loop may take its place;
// %b and %c follow each other within an iteration.
// CHECK-LABEL: func.func @buffer_lives_through_a_loop_that_reads_it
// CHECK-SAME: memref<128xi8> {remat.arena}
func.func @buffer_lives_through_a_loop_that_reads_it(%x: memref<4x4xf32>, %y: memref<4x4xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc() : memref<4x4xf32>
  linalg.exp ins(%x : memref<4x4xf32>) outs(%a : memref<4x4xf32>)
  scf.for %i = %c0 to %n step %c1 {
    %b = memref.alloc() : memref<4x4xf32>
    linalg.tanh ins(%a : memref<4x4xf32>) outs(%b : memref<4x4xf32>)
    linalg.copy ins(%b : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
    %c = memref.alloc() : memref<4x4xf32>
    linalg.transpose ins(%y : memref<4x4xf32>) outs(%c : memref<4x4xf32>) permutation = [1, 0]
    linalg.copy ins(%c : memref<4x4xf32>) outs(%y : memref<4x4xf32>)
  }
  return
}

// -----

// CHECK-LABEL: func.func private @callee
// CHECK-SAME: %[[FRAME:[a-z0-9]+]]: memref<64xi8> {remat.arena}
func.func private @callee(%x: memref<16xf32>, %y: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  linalg.tanh ins(%a : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}

// The frame of the second call is where that of the first one was.
// CHECK-LABEL: func.func @call_gets_its_arena_from_the_caller
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: memref<128xi8> {remat.arena}
// CHECK: %[[OFFSET:.*]] = arith.constant [[#]] : index
// CHECK: %[[FRAME:.*]] = memref.view %[[ARENA]][%{{.*}}][] : memref<128xi8> to memref<64xi8>
// CHECK: call @callee(%{{.*}}, %{{.*}}, %[[FRAME]])
func.func @call_gets_its_arena_from_the_caller(%x: memref<16xf32>, %y: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  call @callee(%x, %a) : (memref<16xf32>, memref<16xf32>) -> ()
  call @callee(%a, %y) : (memref<16xf32>, memref<16xf32>) -> ()
  return
}

// -----

// CHECK-LABEL: func.func @main_allocates_its_arena() {
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<64xi8>
func.func @main_allocates_its_arena() {
  %c = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<16xf32>
  linalg.fill ins(%c : f32) outs(%a : memref<16xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @nothing_to_pack_needs_no_arena(%{{.*}}: memref<4xf32>) {
func.func @nothing_to_pack_needs_no_arena(%x: memref<4xf32>) {
  linalg.exp ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @copy_from_a_dying_buffer_disappears
// CHECK-SAME: memref<64xi8> {remat.arena}
// CHECK-NOT: memref.copy
func.func @copy_from_a_dying_buffer_disappears(%x: memref<16xf32>, %y: memref<16xf32>) {
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %b = memref.alloc() : memref<16xf32>
  memref.copy %a, %b : memref<16xf32> to memref<16xf32>
  linalg.tanh ins(%b : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @dynamic_buffer_is_freed_after_its_last_use
// CHECK: %[[A:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: linalg.tanh ins(%[[A]]
// CHECK-NEXT: memref.dealloc %[[A]]
// CHECK-NEXT: linalg.exp
func.func @dynamic_buffer_is_freed_after_its_last_use(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  // expected-remark @below {{buffer stays an allocation: it has no static shape}}
  %a = memref.alloc(%n) : memref<?xf32>
  linalg.exp ins(%x : memref<?xf32>) outs(%a : memref<?xf32>)
  linalg.tanh ins(%a : memref<?xf32>) outs(%y : memref<?xf32>)
  linalg.exp ins(%x : memref<?xf32>) outs(%x : memref<?xf32>)
  return
}

// -----

// CHECK-LABEL: func.func @buffer_of_the_last_iteration_stays_an_allocation
// CHECK: memref.alloc() : memref<16xf32>
func.func @buffer_of_the_last_iteration_stays_an_allocation(%x: memref<16xf32>, %y: memref<16xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> memref<16xf32> {
    // expected-remark @below {{buffer stays an allocation: it outlives the iteration of the loop that allocates it}}
    %a = memref.alloc() : memref<16xf32>
    linalg.exp ins(%h : memref<16xf32>) outs(%a : memref<16xf32>)
    scf.yield %a : memref<16xf32>
  }
  linalg.copy ins(%r : memref<16xf32>) outs(%y : memref<16xf32>)
  return
}

// -----

// A random state that a call returns is not the memory that the call got.
// CHECK-LABEL: func.func @what_is_no_memory_keeps_none
// CHECK-SAME: memref<64xi8> {remat.arena}
// CHECK-NOT: memref.alloc
// CHECK: return
func.func private @next(%x: memref<16xf32>, %state: vector<2xi64>) -> vector<2xi64>
func.func @what_is_no_memory_keeps_none(%x: memref<16xf32>, %state: vector<2xi64>) -> vector<2xi64> {
  %a = memref.alloc() : memref<16xf32>
  linalg.exp ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %next = call @next(%a, %state) : (memref<16xf32>, vector<2xi64>) -> vector<2xi64>
  return %next : vector<2xi64>
}
