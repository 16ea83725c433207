// RUN: remat-opt %s --remat-merge-launches --split-input-file | FileCheck %s

// An operand of both is read once, where the second one stands.
// CHECK-LABEL: func @two_sums_over_one_operand(
// CHECK-SAME: %[[G:.*]]: memref<64x768xf32>, %[[X:.*]]: memref<64x768xf32>, %[[B:.*]]: memref<768xf32>, %[[W:.*]]: memref<768xf32>
// CHECK: linalg.generic {{.*}}"reduction", "parallel"]} ins(%[[G]], %[[X]] : {{.*}}) outs(%[[B]], %[[W]] : {{.*}}) attrs = {remat.order = "across"}
// CHECK-NEXT: ^bb0(%[[GE:.*]]: f32, %[[XE:.*]]: f32, %[[BE:.*]]: f32, %[[WE:.*]]: f32):
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[BE]], %[[GE]]
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[GE]], %[[XE]]
// CHECK-NEXT: %[[T:.*]] = arith.addf %[[WE]], %[[M]]
// CHECK-NEXT: linalg.yield %[[S]], %[[T]]
// CHECK-NOT: linalg.generic
#in = affine_map<(i, j) -> (i, j)>
#sum = affine_map<(i, j) -> (j)>
func.func @two_sums_over_one_operand(%g: memref<64x768xf32>, %x: memref<64x768xf32>, %b: memref<768xf32>, %w: memref<768xf32>) {
  linalg.generic {indexing_maps = [#in, #sum], iterator_types = ["reduction", "parallel"]} ins(%g : memref<64x768xf32>) outs(%b : memref<768xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#in, #in, #sum], iterator_types = ["reduction", "parallel"]} ins(%g, %x : memref<64x768xf32>, memref<64x768xf32>) outs(%w : memref<768xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %m = arith.mulf %a, %c : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#in = affine_map<(i, j) -> (i, j)>
#sum = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func @sums_of_two_orders_stay(
// CHECK-COUNT-2: linalg.generic
func.func @sums_of_two_orders_stay(%g: memref<64x768xf32>, %b: memref<768xf32>, %w: memref<768xf32>) {
  linalg.generic {indexing_maps = [#in, #sum], iterator_types = ["reduction", "parallel"]} ins(%g : memref<64x768xf32>) outs(%b : memref<768xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#in, #sum], iterator_types = ["reduction", "parallel"]} ins(%g : memref<64x768xf32>) outs(%w : memref<768xf32>) attrs = {remat.order = "along"} {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// A sum that runs in order has no lanes; the other one would lose its own.
#in = affine_map<(i, j, k) -> (i, j, k)>
#sum = affine_map<(i, j, k) -> (i, j)>
#all = affine_map<(i, j, k) -> (i)>
// CHECK-LABEL: func @a_sum_in_order_stays(
// CHECK-COUNT-2: linalg.generic
func.func @a_sum_in_order_stays(%g: memref<4x8x64xf32>, %a: memref<4x8xf32>, %b: memref<4x8xf32>, %c: memref<4xf32>) {
  linalg.generic {indexing_maps = [#in, #sum], iterator_types = ["parallel", "parallel", "reduction"]} ins(%g : memref<4x8x64xf32>) outs(%a : memref<4x8xf32>) attrs = {remat.order = "along"} {
  ^bb0(%x: f32, %o: f32):
    %s = arith.addf %o, %x : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#in, #sum, #all], iterator_types = ["parallel", "parallel", "reduction"]} ins(%g : memref<4x8x64xf32>) outs(%b, %c : memref<4x8xf32>, memref<4xf32>) attrs = {remat.order = "along"} {
  ^bb0(%x: f32, %o: f32, %p: f32):
    %s = arith.addf %o, %x : f32
    %t = arith.addf %p, %x : f32
    linalg.yield %s, %t : f32, f32
  }
  return
}

// -----

// CHECK-LABEL: func @updates_and_copies(
// CHECK-SAME: %[[X:.*]]: memref<8xf32>, %[[Y:.*]]: memref<8xf32>, %[[P:.*]]: memref<8xf32>, %[[Q:.*]]: memref<8xf32>
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[Y]] : {{.*}}) outs(%[[P]], %[[Q]] :
// CHECK-NOT: linalg.{{generic|copy}}
// CHECK: return
#id = affine_map<(i) -> (i)>
func.func @updates_and_copies(%x: memref<8xf32>, %y: memref<8xf32>, %p: memref<8xf32>, %q: memref<8xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<8xf32>) outs(%p : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %o, %a : f32
    linalg.yield %s : f32
  }
  memref.copy %y, %q : memref<8xf32> to memref<8xf32>
  return
}

// -----

// CHECK-LABEL: func @nothing_of_dynamic_shape(
// CHECK-COUNT-2: linalg.copy
func.func @nothing_of_dynamic_shape(%x: memref<?xf32>, %y: memref<?xf32>, %p: memref<?xf32>, %q: memref<?xf32>) {
  linalg.copy ins(%x : memref<?xf32>) outs(%p : memref<?xf32>)
  linalg.copy ins(%y : memref<?xf32>) outs(%q : memref<?xf32>)
  return
}

// -----

// A value that is stored and read in the same iteration is forwarded, and not read at all.
// CHECK-LABEL: func @the_second_reads_what_the_first_stores(
// CHECK: linalg.generic {{.*}} ins(%arg0 : memref<8xf32>) outs(%arg1, %arg2 : memref<8xf32>, memref<8xf32>)
// CHECK: %[[N:.*]] = arith.negf %in
// CHECK: %[[E:.*]] = math.exp %[[N]]
// CHECK: linalg.yield %[[N]], %[[E]]
// CHECK-NOT: linalg
func.func @the_second_reads_what_the_first_stores(%x: memref<8xf32>, %p: memref<8xf32>, %q: memref<8xf32>) {
  linalg.negf ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.exp ins(%p : memref<8xf32>) outs(%q : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @the_second_reads_what_another_iteration_stores(
// CHECK-COUNT-2: linalg.copy
func.func @the_second_reads_what_another_iteration_stores(%x: memref<8xf32>, %p: memref<9xf32>, %q: memref<8xf32>) {
  %0 = memref.subview %p[0] [8] [1] : memref<9xf32> to memref<8xf32, strided<[1]>>
  %1 = memref.subview %p[1] [8] [1] : memref<9xf32> to memref<8xf32, strided<[1], offset: 1>>
  linalg.copy ins(%x : memref<8xf32>) outs(%0 : memref<8xf32, strided<[1]>>)
  linalg.copy ins(%1 : memref<8xf32, strided<[1], offset: 1>>) outs(%q : memref<8xf32>)
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// The lanes of the sum store what they add up. The sum of it in another order is one more.
// CHECK-LABEL: func @a_sum_stores_what_it_adds_up(
// CHECK: linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%arg0, %arg1 : memref<256x1024xf32>, memref<256x1024xf32>)
// CHECK-SAME: outs(%arg2, %arg3 : memref<256x1024xf32>, memref<1024xf32>) attrs = {remat.order = "across"}
// CHECK-NEXT: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %{{.*}}: f32, %[[SUM:.*]]: f32):
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[A]], %[[B]]
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[SUM]], %[[M]]
// CHECK-NEXT: linalg.yield %[[M]], %[[S]]
// CHECK-NOT: linalg
func.func @a_sum_stores_what_it_adds_up(%a: memref<256x1024xf32>, %b: memref<256x1024xf32>, %m: memref<256x1024xf32>, %s: memref<1024xf32>) {
  linalg.mul ins(%a, %b : memref<256x1024xf32>, memref<256x1024xf32>) outs(%m : memref<256x1024xf32>)
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%m : memref<256x1024xf32>) outs(%s : memref<1024xf32>) attrs = {remat.order = "across"} {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.addf %o, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// 128 lanes of 64 results are few threads for so many elements.
// CHECK-LABEL: func @a_sum_with_few_lanes_stores_nothing_else(
// CHECK: linalg.mul
// CHECK: linalg.generic
func.func @a_sum_with_few_lanes_stores_nothing_else(%a: memref<4096x64xf32>, %b: memref<4096x64xf32>, %m: memref<4096x64xf32>, %s: memref<64xf32>) {
  linalg.mul ins(%a, %b : memref<4096x64xf32>, memref<4096x64xf32>) outs(%m : memref<4096x64xf32>)
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%m : memref<4096x64xf32>) outs(%s : memref<64xf32>) attrs = {remat.order = "across"} {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.addf %o, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// A lane that is ahead would have overwritten it.
// CHECK-LABEL: func @a_sum_stores_nothing_that_other_lanes_read(
// CHECK: linalg.generic
// CHECK: linalg.generic
func.func @a_sum_stores_nothing_that_other_lanes_read(%a: memref<256x1024xf32>, %m: memref<257x1024xf32>, %s: memref<1024xf32>) {
  %0 = memref.subview %m[0, 0] [256, 1024] [1, 1] : memref<257x1024xf32> to memref<256x1024xf32, strided<[1024, 1]>>
  %1 = memref.subview %m[1, 0] [256, 1024] [1, 1] : memref<257x1024xf32> to memref<256x1024xf32, strided<[1024, 1], offset: 1024>>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%a : memref<256x1024xf32>) outs(%0 : memref<256x1024xf32, strided<[1024, 1]>>) {
  ^bb0(%x: f32, %o: f32):
    %3 = arith.negf %x : f32
    linalg.yield %3 : f32
  }
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%1 : memref<256x1024xf32, strided<[1024, 1], offset: 1024>>) outs(%s : memref<1024xf32>) attrs = {remat.order = "across"} {
  ^bb0(%x: f32, %o: f32):
    %3 = arith.addf %o, %x : f32
    linalg.yield %3 : f32
  }
  return
}

// -----

// CHECK-LABEL: func @what_both_write(
// CHECK-COUNT-2: linalg.copy
func.func @what_both_write(%x: memref<8xf32>, %y: memref<8xf32>, %p: memref<8xf32>) {
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.copy ins(%y : memref<8xf32>) outs(%p : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @a_load_in_between_sees_the_first(
// CHECK: linalg.copy
// CHECK: memref.load
// CHECK: linalg.copy
func.func @a_load_in_between_sees_the_first(%x: memref<8xf32>, %y: memref<8xf32>, %p: memref<8xf32>, %q: memref<8xf32>, %r: memref<f32>) {
  %c = arith.constant 0 : index
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  %v = memref.load %p[%c] : memref<8xf32>
  memref.store %v, %r[] : memref<f32>
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @a_load_of_what_is_only_read_does_not_matter(
// CHECK: memref.load
// CHECK-NEXT: linalg.generic
func.func @a_load_of_what_is_only_read_does_not_matter(%x: memref<8xf32>, %y: memref<8xf32>, %p: memref<8xf32>, %q: memref<8xf32>) -> f32 {
  %c = arith.constant 0 : index
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  %v = memref.load %x[%c] : memref<8xf32>
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  return %v : f32
}

// -----

// CHECK-LABEL: func @a_store_in_between_to_what_the_first_reads(
// CHECK: linalg.copy
// CHECK: memref.store
// CHECK: linalg.copy
func.func @a_store_in_between_to_what_the_first_reads(%x: memref<8xf32>, %y: memref<8xf32>, %p: memref<8xf32>, %q: memref<8xf32>, %v: f32) {
  %c = arith.constant 0 : index
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  memref.store %v, %x[%c] : memref<8xf32>
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @memory_that_ends_in_between(
// CHECK: linalg.copy
// CHECK: memref.dealloc
// CHECK: linalg.copy
func.func @memory_that_ends_in_between(%y: memref<8xf32>, %p: memref<8xf32>, %q: memref<8xf32>) {
  %x = memref.alloc() : memref<8xf32>
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  memref.dealloc %x : memref<8xf32>
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @past_an_assertion_and_an_allocation(
// CHECK: cf.assert
// CHECK: memref.alloc
// CHECK-NEXT: linalg.generic
func.func @past_an_assertion_and_an_allocation(%x: memref<8xf32>, %y: memref<8xf32>, %p: memref<8xf32>, %c: i1) {
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  cf.assert %c, "no"
  %q = memref.alloc() : memref<8xf32>
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  memref.dealloc %q : memref<8xf32>
  return
}

// -----

// CHECK-LABEL: func @a_loop_in_between(
// CHECK: linalg.copy
// CHECK: scf.for
// CHECK: linalg.copy
func.func @a_loop_in_between(%x: memref<8xf32>, %y: memref<8xf32>, %p: memref<8xf32>, %q: memref<8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  scf.for %i = %c0 to %c8 step %c1 {
    memref.store %v, %x[%i] : memref<8xf32>
  }
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @a_branch_in_between(
// CHECK: linalg.copy
// CHECK: scf.if
// CHECK: linalg.copy
func.func @a_branch_in_between(%x: memref<8xf32>, %y: memref<8xf32>, %p: memref<8xf32>, %q: memref<8xf32>, %v: f32, %c: i1) {
  %c0 = arith.constant 0 : index
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  scf.if %c {
    memref.store %v, %x[%c0] : memref<8xf32>
  }
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @a_call_that_reads_it_by_a_cast(
// CHECK: linalg.copy
// CHECK: call @remat_cuda_begin_workspace
// CHECK: linalg.copy
func.func private @remat_cuda_begin_workspace(memref<?xi8>)
func.func @a_call_that_reads_it_by_a_cast(%x: memref<8xf32>, %y: memref<8xf32>, %q: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %arena = memref.alloc() : memref<64xi8>
  %p = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  %w = memref.view %arena[%c0][] : memref<64xi8> to memref<16xi8>
  %cast = memref.cast %w : memref<16xi8> to memref<?xi8>
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  call @remat_cuda_begin_workspace(%cast) : (memref<?xi8>) -> ()
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  memref.dealloc %arena : memref<64xi8>
  return
}

// -----

// CHECK-LABEL: func @a_call_on_another_part_does_not_matter(
// CHECK: call @remat_cuda_begin_workspace
// CHECK-NEXT: linalg.generic
func.func private @remat_cuda_begin_workspace(memref<?xi8>)
func.func @a_call_on_another_part_does_not_matter(%x: memref<8xf32>, %y: memref<8xf32>, %q: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %arena = memref.alloc() : memref<64xi8>
  %p = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  %w = memref.view %arena[%c32][] : memref<64xi8> to memref<16xi8>
  %cast = memref.cast %w : memref<16xi8> to memref<?xi8>
  linalg.copy ins(%p : memref<8xf32>) outs(%x : memref<8xf32>)
  call @remat_cuda_begin_workspace(%cast) : (memref<?xi8>) -> ()
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  memref.dealloc %arena : memref<64xi8>
  return
}

// -----

// CHECK-LABEL: func @a_call_on_memory_of_unknown_rank(
// CHECK: linalg.copy
// CHECK: call @print
// CHECK: linalg.copy
func.func private @print(memref<*xf32>)
func.func @a_call_on_memory_of_unknown_rank(%x: memref<8xf32>, %y: memref<8xf32>, %p: memref<8xf32>, %q: memref<8xf32>) {
  %cast = memref.cast %p : memref<8xf32> to memref<*xf32>
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  call @print(%cast) : (memref<*xf32>) -> ()
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @a_call_of_a_function_whose_body_is_here(
// CHECK: linalg.copy
// CHECK: call @helper
// CHECK: linalg.copy
memref.global "private" @state : memref<8xf32> = uninitialized
func.func private @helper() {
  %s = memref.get_global @state : memref<8xf32>
  %f = arith.constant 1.0 : f32
  linalg.fill ins(%f : f32) outs(%s : memref<8xf32>)
  return
}
func.func @a_call_of_a_function_whose_body_is_here(%y: memref<8xf32>, %p: memref<8xf32>, %q: memref<8xf32>) {
  %s = memref.get_global @state : memref<8xf32>
  linalg.copy ins(%s : memref<8xf32>) outs(%p : memref<8xf32>)
  call @helper() : () -> ()
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @one_global_by_two_names(
// CHECK-COUNT-2: linalg.copy
memref.global "private" @state : memref<8xf32> = uninitialized
func.func @one_global_by_two_names(%x: memref<8xf32>, %p: memref<8xf32>) {
  %s = memref.get_global @state : memref<8xf32>
  %t = memref.get_global @state : memref<8xf32>
  linalg.copy ins(%s : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.copy ins(%x : memref<8xf32>) outs(%t : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @views_that_share_bytes(
// CHECK: linalg.copy
// CHECK: linalg.negf
func.func @views_that_share_bytes(%x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c28 = arith.constant 28 : index
  %arena = memref.alloc() : memref<64xi8>
  %p = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  %q = memref.view %arena[%c28][] : memref<64xi8> to memref<8xf32>
  linalg.copy ins(%p : memref<8xf32>) outs(%x : memref<8xf32>)
  linalg.negf ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  memref.dealloc %arena : memref<64xi8>
  return
}

// -----

// CHECK-LABEL: func @views_at_unknown_places(
// CHECK: linalg.copy
// CHECK: linalg.negf
func.func @views_at_unknown_places(%x: memref<8xf32>, %y: memref<8xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %arena = memref.alloc() : memref<64xi8>
  %p = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  %q = memref.view %arena[%i][] : memref<64xi8> to memref<8xf32>
  linalg.copy ins(%p : memref<8xf32>) outs(%x : memref<8xf32>)
  linalg.negf ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  memref.dealloc %arena : memref<64xi8>
  return
}

// -----

// CHECK-LABEL: func @subviews_apart(
// CHECK: linalg.generic
// CHECK-NOT: linalg.copy
func.func @subviews_apart(%x: memref<2x4xf32>, %y: memref<2x4xf32>, %m: memref<4x4xf32>) {
  %p = memref.subview %m[0, 0] [2, 4] [1, 1] : memref<4x4xf32> to memref<2x4xf32, strided<[4, 1]>>
  %q = memref.subview %m[2, 0] [2, 4] [1, 1] : memref<4x4xf32> to memref<2x4xf32, strided<[4, 1], offset: 8>>
  linalg.copy ins(%x : memref<2x4xf32>) outs(%p : memref<2x4xf32, strided<[4, 1]>>)
  linalg.copy ins(%y : memref<2x4xf32>) outs(%q : memref<2x4xf32, strided<[4, 1], offset: 8>>)
  return
}

// -----

// CHECK-LABEL: func @subviews_that_share_a_row(
// CHECK-COUNT-2: linalg.copy
func.func @subviews_that_share_a_row(%x: memref<2x4xf32>, %y: memref<2x4xf32>, %m: memref<4x4xf32>) {
  %p = memref.subview %m[0, 0] [2, 4] [1, 1] : memref<4x4xf32> to memref<2x4xf32, strided<[4, 1]>>
  %q = memref.subview %m[1, 0] [2, 4] [1, 1] : memref<4x4xf32> to memref<2x4xf32, strided<[4, 1], offset: 4>>
  linalg.copy ins(%x : memref<2x4xf32>) outs(%p : memref<2x4xf32, strided<[4, 1]>>)
  linalg.copy ins(%y : memref<2x4xf32>) outs(%q : memref<2x4xf32, strided<[4, 1], offset: 4>>)
  return
}

// -----

// CHECK-LABEL: func @other_shapes_of_one_buffer(
// CHECK-COUNT-2: linalg.copy
func.func @other_shapes_of_one_buffer(%x: memref<8xf32>, %y: memref<8xf32>, %m: memref<2x4xf32>) {
  %p = memref.collapse_shape %m [[0, 1]] : memref<2x4xf32> into memref<8xf32>
  %q = memref.reinterpret_cast %m to offset: [0], sizes: [8], strides: [1] : memref<2x4xf32> to memref<8xf32>
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  return
}

// -----

// Offsets of a cast count from the memory, not from the part that is cast.
// CHECK-LABEL: func @a_cast_reaches_beyond_its_source(
// CHECK-COUNT-2: linalg.copy
func.func @a_cast_reaches_beyond_its_source(%x: memref<8xf32>, %y: memref<8xf32>, %m: memref<16xf32>) {
  %p = memref.subview %m[8] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 8>>
  %f = memref.subview %m[0] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1]>>
  %q = memref.reinterpret_cast %f to offset: [4], sizes: [8], strides: [1] : memref<8xf32, strided<[1]>> to memref<8xf32, strided<[1], offset: 4>>
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32, strided<[1], offset: 8>>)
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32, strided<[1], offset: 4>>)
  return
}

// -----

// CHECK-LABEL: func @a_result_may_be_an_argument(
// CHECK-COUNT-2: linalg.copy
func.func @a_result_may_be_an_argument(%x: memref<8xf32>, %y: memref<8xf32>, %p: memref<8xf32>, %r: memref<8xf32> {remat.result = 0 : i64}) {
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.copy ins(%y : memref<8xf32>) outs(%r : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @memory_of_an_unknown_buffer(
// CHECK-COUNT-2: linalg.copy
func.func @memory_of_an_unknown_buffer(%x: memref<8xf32>, %y: memref<8xf32>, %p: memref<8xf32>, %q: memref<8xf32>, %c: i1) {
  %s = arith.select %c, %x, %y : memref<8xf32>
  linalg.copy ins(%s : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.copy ins(%y : memref<8xf32>) outs(%q : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @arguments_of_a_block(
// CHECK: ^bb1
// CHECK-COUNT-2: linalg.copy
func.func @arguments_of_a_block(%x: memref<8xf32>, %y: memref<8xf32>, %p: memref<8xf32>) {
  cf.br ^bb1(%x : memref<8xf32>)
^bb1(%z: memref<8xf32>):
  linalg.copy ins(%z : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.copy ins(%y : memref<8xf32>) outs(%x : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @what_a_body_loads_is_written_before(
// CHECK: linalg.copy
// CHECK: linalg.generic
// CHECK-NOT: outs({{.*}},
#id = affine_map<(i) -> (i)>
func.func @what_a_body_loads_is_written_before(%x: memref<8xf32>, %p: memref<8xf32>, %q: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  linalg.copy ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%q : memref<8xf32>) {
  ^bb0(%o: f32):
    %v = memref.load %p[%c0] : memref<8xf32>
    linalg.yield %v : f32
  }
  return
}

// -----

// The accumulation reads its sum where it is.
// CHECK-LABEL: func @a_copy_that_an_accumulation_reads(
// CHECK-SAME: %[[S:.*]]: memref<8xf32>, %[[X:.*]]: memref<8xf32>
// CHECK-NOT: linalg.copy
// CHECK: linalg.generic {{.*}} ins(%[[S]], %[[X]] : {{.*}}) outs(%[[S]] :
// CHECK-NOT: linalg.{{generic|copy}}
#id = affine_map<(i) -> (i)>
func.func @a_copy_that_an_accumulation_reads(%s: memref<8xf32>, %x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %arena = memref.alloc() : memref<64xi8>
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  linalg.copy ins(%s : memref<8xf32>) outs(%t : memref<8xf32>)
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%t, %x : memref<8xf32>, memref<8xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  }
  memref.dealloc %arena : memref<64xi8>
  return
}

// -----

// Each iteration reads its element before it writes it.
// CHECK-LABEL: func @a_copy_stays_whose_source_is_written_first(
// CHECK-SAME: %[[S:.*]]: memref<8xf32>, %[[X:.*]]: memref<8xf32>, %[[O:.*]]: memref<8xf32>
// CHECK: %[[T:.*]] = memref.view
// CHECK: linalg.generic {{.*}} ins(%[[S]], %[[X]] : {{.*}}) outs(%[[T]], %[[S]], %[[O]] :
// CHECK-NEXT: ^bb0(%[[OLD:[^:]*]]: f32, %[[NEW:[^:]*]]: f32
// CHECK-NEXT: linalg.yield %[[OLD]], %[[NEW]], %[[OLD]]
func.func @a_copy_stays_whose_source_is_written_first(%s: memref<8xf32>, %x: memref<8xf32>, %o: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %arena = memref.alloc() : memref<64xi8>
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  linalg.copy ins(%s : memref<8xf32>) outs(%t : memref<8xf32>)
  linalg.copy ins(%x : memref<8xf32>) outs(%s : memref<8xf32>)
  linalg.copy ins(%t : memref<8xf32>) outs(%o : memref<8xf32>)
  memref.dealloc %arena : memref<64xi8>
  return
}

// -----

// Several iterations write an element that others still read.
// CHECK-LABEL: func @a_copy_stays_that_is_read_more_often_than_written(
// CHECK: linalg.copy
#in = affine_map<(i, j) -> (i)>
#x = affine_map<(i, j) -> (i, j)>
func.func @a_copy_stays_that_is_read_more_often_than_written(%s: memref<8xf32>, %x: memref<8x4xf32>) {
  %c0 = arith.constant 0 : index
  %arena = memref.alloc() : memref<64xi8>
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  linalg.copy ins(%s : memref<8xf32>) outs(%t : memref<8xf32>)
  linalg.generic {indexing_maps = [#in, #x, #in], iterator_types = ["parallel", "parallel"]} ins(%t, %x : memref<8xf32>, memref<8x4xf32>) outs(%s : memref<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.addf %a, %b : f32
    linalg.yield %r : f32
  }
  memref.dealloc %arena : memref<64xi8>
  return
}

// -----

// CHECK-LABEL: func @a_copy_stays_that_another_block_reads(
// CHECK: linalg.copy
// CHECK: ^bb1
func.func @a_copy_stays_that_another_block_reads(%s: memref<8xf32>, %o: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %arena = memref.alloc() : memref<64xi8>
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  linalg.copy ins(%s : memref<8xf32>) outs(%t : memref<8xf32>)
  cf.br ^bb1
^bb1:
  linalg.copy ins(%t : memref<8xf32>) outs(%o : memref<8xf32>)
  memref.dealloc %arena : memref<64xi8>
  return
}

// -----

// CHECK-LABEL: func @a_copy_stays_in_memory_of_the_caller(
// CHECK: linalg.copy
func.func @a_copy_stays_in_memory_of_the_caller(%s: memref<8xf32>, %arena: memref<64xi8>) {
  %c0 = arith.constant 0 : index
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  linalg.copy ins(%s : memref<8xf32>) outs(%t : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @a_copy_stays_that_is_a_conversion(
// CHECK: linalg.copy
func.func @a_copy_stays_that_is_a_conversion(%s: memref<8xf32>, %o: memref<f64>) {
  %c0 = arith.constant 0 : index
  %arena = memref.alloc() : memref<64xi8>
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf64>
  linalg.copy ins(%s : memref<8xf32>) outs(%t : memref<8xf64>)
  linalg.reduce {arith.addf} ins(%t : memref<8xf64>) outs(%o : memref<f64>) dimensions = [0]
  memref.dealloc %arena : memref<64xi8>
  return
}

// -----

// CHECK-LABEL: func @a_copy_stays_of_which_half_is_overwritten(
// CHECK: linalg.copy ins(%{{.*}} : memref<8xf32>) outs(%[[T:.*]] : memref<8xf32>)
// CHECK: linalg.fill
// CHECK: linalg.copy ins(%[[T]]
func.func @a_copy_stays_of_which_half_is_overwritten(%s: memref<8xf32>, %o: memref<8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %arena = memref.alloc() : memref<64xi8>
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  %half = memref.view %arena[%c0][] : memref<64xi8> to memref<4xf32>
  linalg.copy ins(%s : memref<8xf32>) outs(%t : memref<8xf32>)
  linalg.fill ins(%v : f32) outs(%half : memref<4xf32>)
  linalg.copy ins(%t : memref<8xf32>) outs(%o : memref<8xf32>)
  memref.dealloc %arena : memref<64xi8>
  return
}

// -----

// CHECK-LABEL: func @a_copy_stays_that_a_call_reads(
// CHECK: linalg.copy
func.func private @remat_read(memref<8xf32>)
func.func @a_copy_stays_that_a_call_reads(%s: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %arena = memref.alloc() : memref<64xi8>
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  linalg.copy ins(%s : memref<8xf32>) outs(%t : memref<8xf32>)
  call @remat_read(%t) : (memref<8xf32>) -> ()
  memref.dealloc %arena : memref<64xi8>
  return
}

// -----

// Columns of one matrix lie between each other, those of its last and first rows too.
// CHECK-LABEL: func @columns_apart_are_no_hazard
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : memref<4x8xf32>, memref<4x8xf32>) outs(%{{.*}}, %{{.*}} : memref<4x8xf32, strided<[32, 1]>>, memref<4x8xf32, strided<[32, 1], offset: 24>>)
// CHECK-NOT: linalg.{{generic|copy}}
// CHECK: return
func.func @columns_apart_are_no_hazard(%a: memref<4x8xf32>, %b: memref<4x8xf32>, %c: memref<4x32xf32>) {
  %0 = memref.subview %c[0, 0] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1]>>
  %1 = memref.subview %c[0, 24] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1], offset: 24>>
  memref.copy %a, %0 : memref<4x8xf32> to memref<4x8xf32, strided<[32, 1]>>
  memref.copy %b, %1 : memref<4x8xf32> to memref<4x8xf32, strided<[32, 1], offset: 24>>
  return
}

// -----

// CHECK-LABEL: func @columns_that_overlap_are_a_hazard
// CHECK: linalg.copy
// CHECK: linalg.copy
func.func @columns_that_overlap_are_a_hazard(%a: memref<4x8xf32>, %b: memref<4x8xf32>, %c: memref<4x32xf32>) {
  %0 = memref.subview %c[0, 0] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1]>>
  %1 = memref.subview %c[0, 7] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1], offset: 7>>
  memref.copy %a, %0 : memref<4x8xf32> to memref<4x8xf32, strided<[32, 1]>>
  memref.copy %b, %1 : memref<4x8xf32> to memref<4x8xf32, strided<[32, 1], offset: 7>>
  return
}

// -----

// Rows of 32 and rows of 40 meet somewhere.
// CHECK-LABEL: func @columns_of_different_matrices_are_a_hazard
// CHECK: linalg.copy
// CHECK: linalg.copy
func.func @columns_of_different_matrices_are_a_hazard(%a: memref<4x8xf32>, %b: memref<4x8xf32>, %c: memref<640xi8>) {
  %c0 = arith.constant 0 : index
  %p = memref.view %c[%c0][] : memref<640xi8> to memref<4x32xf32>
  %q = memref.view %c[%c0][] : memref<640xi8> to memref<4x40xf32>
  %0 = memref.subview %p[0, 0] [4, 8] [1, 1] : memref<4x32xf32> to memref<4x8xf32, strided<[32, 1]>>
  %1 = memref.subview %q[0, 8] [4, 8] [1, 1] : memref<4x40xf32> to memref<4x8xf32, strided<[40, 1], offset: 8>>
  memref.copy %a, %0 : memref<4x8xf32> to memref<4x8xf32, strided<[32, 1]>>
  memref.copy %b, %1 : memref<4x8xf32> to memref<4x8xf32, strided<[40, 1], offset: 8>>
  return
}

// -----

// Where such buffers would end is in no integer's range.
// CHECK-LABEL: func.func @of_sizes_that_no_memory_has
// CHECK: linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} :
func.func @of_sizes_that_no_memory_has(%a: memref<4611686018427387904xf32>, %b: memref<4611686018427387904xf32>,
                                       %c: memref<4611686018427387904xf32>) {
  linalg.copy ins(%a : memref<4611686018427387904xf32>) outs(%b : memref<4611686018427387904xf32>)
  linalg.copy ins(%b : memref<4611686018427387904xf32>) outs(%c : memref<4611686018427387904xf32>)
  return
}

// -----

// Each element is replaced in the iteration that reads it.
// CHECK-LABEL: func @the_second_writes_where_the_first_reads(
// CHECK: linalg.generic {{.*}} ins(%arg0 : memref<8xf32>) outs(%arg1, %arg0 : memref<8xf32>, memref<8xf32>)
// CHECK-NOT: linalg.{{generic|negf}}
func.func @the_second_writes_where_the_first_reads(%x: memref<8xf32>, %p: memref<8xf32>) {
  linalg.exp ins(%x : memref<8xf32>) outs(%p : memref<8xf32>)
  linalg.negf ins(%x : memref<8xf32>) outs(%x : memref<8xf32>)
  return
}

// -----

// CHECK-LABEL: func @the_second_writes_what_another_iteration_reads(
// CHECK-COUNT-2: linalg.exp
func.func @the_second_writes_what_another_iteration_reads(%x: memref<8xf32>, %p: memref<9xf32>, %q: memref<8xf32>) {
  %0 = memref.subview %p[0] [8] [1] : memref<9xf32> to memref<8xf32, strided<[1]>>
  %1 = memref.subview %p[1] [8] [1] : memref<9xf32> to memref<8xf32, strided<[1], offset: 1>>
  linalg.exp ins(%1 : memref<8xf32, strided<[1], offset: 1>>) outs(%q : memref<8xf32>)
  linalg.exp ins(%x : memref<8xf32>) outs(%0 : memref<8xf32, strided<[1]>>)
  return
}

// -----

#id = affine_map<(i) -> (i)>

// CHECK-LABEL: func @the_second_writes_what_the_first_reads_in_its_body(
// CHECK-COUNT-2: linalg.generic
func.func @the_second_writes_what_the_first_reads_in_its_body(%x: memref<8xf32>, %n: memref<8xindex>, %p: memref<8xf32>) {
  linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %n : memref<8xf32>, memref<8xindex>) outs(%p : memref<8xf32>) {
  ^bb0(%a: f32, %k: index, %o: f32):
    %b = memref.load %x[%k] : memref<8xf32>
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<8xf32>) outs(%x : memref<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

#id = affine_map<(i, j, k) -> (i, j, k)>
#result = affine_map<(i, j, k) -> (i, k)>

// The lanes of a sum also do what another operation makes of the sum's operand, in the chunks of the sum.
// CHECK-LABEL: func @a_sum_beside_what_reads_its_operand(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<16384x64xf32>, %[[M:[a-z0-9]+]]: memref<16384x64xf32>
// CHECK-DAG: %[[CHUNKS:.*]] = memref.expand_shape %[[A]]
// CHECK-DAG: %[[STORED:.*]] = memref.expand_shape %[[M]] {{.*}} into memref<32x512x64xf32>
// CHECK-NOT: linalg.exp
// CHECK: linalg.generic {{.*}} ins(%[[CHUNKS]] : {{.*}}) outs(%[[STORED]], %{{.*}} : memref<32x512x64xf32>, memref<32x64xf32>) attrs = {remat.order = "across"}
// CHECK-NOT: linalg.generic
func.func @a_sum_beside_what_reads_its_operand(%a: memref<16384x64xf32>, %m: memref<16384x64xf32>, %s: memref<32x64xf32>) {
  %chunks = memref.expand_shape %a [[0, 1], [2]] output_shape [32, 512, 64] : memref<16384x64xf32> into memref<32x512x64xf32>
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%a : memref<16384x64xf32>) outs(%m : memref<16384x64xf32>) {
  ^bb0(%x: f32, %o: f32):
    %0 = math.exp %x : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #result], iterator_types = ["parallel", "reduction", "parallel"]} ins(%chunks : memref<32x512x64xf32>) outs(%s : memref<32x64xf32>) attrs = {remat.order = "across"} {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.addf %o, %x : f32
    linalg.yield %0 : f32
  }
  return
}
