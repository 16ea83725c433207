// RUN: remat-opt %s --convert-linalg-to-kernels --canonicalize --cse --split-input-file | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func @two_layers_share_a_kernel
// CHECK: call @[[SHARED:kernel_[a-z]+]](
// CHECK: call @[[SHARED]](
// CHECK: call @[[OTHER:kernel_generic_[0-9]+]](
func.func @two_layers_share_a_kernel(%a : memref<4x16xf32>, %b : memref<4x16xf32>, %c : memref<4x32xf32>) {
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%a : memref<4x16xf32>) {
  ^bb0(%x : f32):
    %0 = arith.addf %x, %x : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%b : memref<4x16xf32>) {
  ^bb0(%x : f32):
    %0 = arith.addf %x, %x : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%c : memref<4x32xf32>) {
  ^bb0(%x : f32):
    %0 = arith.addf %x, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// Merged to one loop of 64 elements.
// CHECK: func private @[[SHARED]](%[[X:.*]]: memref<64xf32, strided<[1]>>) attributes {no_inline
// CHECK-DAG: %[[END:.*]] = arith.constant 64
// CHECK-DAG: %[[STEP:.*]] = arith.constant 16
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %[[END]] step %[[STEP]]
// CHECK-NEXT: %[[V:.*]] = vector.load %[[X]][%[[I]]] : {{.*}}, vector<16xf32>
// CHECK-NEXT: %[[S:.*]] = arith.addf %[[V]], %[[V]] : vector<16xf32>
// CHECK-NEXT: vector.store %[[S]], %[[X]][%[[I]]]

// -----

// Parts of one tensor share a kernel: their offsets are generalized.
// CHECK-LABEL: func @slices_share_a_kernel
// CHECK: call @[[SLICE:kernel_[a-z]+]]({{.*}}memref<?xf32, strided<[1], offset: ?>>
// CHECK: call @[[SLICE]](
// CHECK: func private @[[SLICE]](
func.func @slices_share_a_kernel(%x : f32, %a : memref<16xf32, strided<[1], offset: 16>>, %b : memref<16xf32, strided<[1], offset: 32>>) {
  linalg.fill ins(%x : f32) outs(%a : memref<16xf32, strided<[1], offset: 16>>)
  linalg.fill ins(%x : f32) outs(%b : memref<16xf32, strided<[1], offset: 32>>)
  return
}

// -----

// CHECK-LABEL: func @a_phase_moves_to_the_call
// CHECK: call @kernel_copy({{.*}}) {remat.phase = "backward"}
func.func @a_phase_moves_to_the_call(%a : memref<4x16xf32>, %b : memref<4x16xf32>) {
  linalg.copy {remat.phase = "backward"} ins(%a : memref<4x16xf32>) outs(%b : memref<4x16xf32>)
  return
}

// -----

// CHECK-LABEL: func @a_memref_copy_is_a_kernel
// CHECK-NOT: memref.copy
// CHECK: call @[[COPY:kernel_[a-z_0-9]+]](
func.func @a_memref_copy_is_a_kernel(%a : memref<6x16xf32, strided<[32, 1]>>, %b : memref<6x16xf32>) {
  memref.copy %a, %b : memref<6x16xf32, strided<[32, 1]>> to memref<6x16xf32>
  return
}

// -----

// CHECK-LABEL: func @a_map_that_is_not_linear_becomes_loops_over_scalars
// CHECK-NOT: linalg.generic
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[HALF:.*]] = affine.apply {{.*}}(%[[I]])
// CHECK: %[[X:.*]] = memref.load %{{.*}}[%[[HALF]]]
// CHECK: memref.store %[[X]], %{{.*}}[%[[I]]]
func.func @a_map_that_is_not_linear_becomes_loops_over_scalars(%a : memref<4xf32>, %b : memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i floordiv 2)>, affine_map<(i) -> (i)>],
                  iterator_types = ["parallel"]} ins(%a : memref<4xf32>) outs(%b : memref<8xf32>) {
  ^bb0(%x : f32, %o : f32):
    linalg.yield %x : f32
  }
  return
}

// -----

// CHECK-LABEL: func @enough_work_is_distributed_over_threads
// CHECK: call @[[PARALLEL:kernel_[a-z_0-9]+]](
func.func @enough_work_is_distributed_over_threads(%a : memref<1000x100xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%a : memref<1000x100xf32>)
  return
}
// CHECK: func private @[[PARALLEL]](
// CHECK: scf.parallel
// CHECK: vector.store {{.*}} vector<16xf32>

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func @rows_are_reduced_along_vectors
// CHECK: call @[[ROWS:kernel_[a-z_0-9]+]](
func.func @rows_are_reduced_along_vectors(%a : memref<4x32xf32>, %b : memref<4xf32>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%a : memref<4x32xf32>) outs(%b : memref<4xf32>) {
  ^bb0(%x : f32, %o : f32):
    %0 = arith.maximumf %x, %o : f32
    linalg.yield %0 : f32
  }
  return
}
// CHECK: func private @[[ROWS]](
// CHECK: %[[NEUTRAL:.*]] = arith.constant dense<0xFF800000> : vector<16xf32>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[NEUTRAL]]) -> (vector<16xf32>)
// CHECK: arith.maximumf {{.*}} : vector<8xf32>
// CHECK: arith.maximumf {{.*}} : vector<4xf32>
// CHECK: arith.maximumf {{.*}} : vector<2xf32>
// CHECK: arith.maximumf {{.*}} : vector<1xf32>
// CHECK: arith.maximumf {{.*}} : f32

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func @columns_are_reduced_across_vectors
// CHECK: call @[[COLUMNS:kernel_[a-z_0-9]+]](
func.func @columns_are_reduced_across_vectors(%a : memref<4x32xf32>, %b : memref<32xf32>) {
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]}
      ins(%a : memref<4x32xf32>) outs(%b : memref<32xf32>) {
  ^bb0(%x : f32, %o : f32):
    %0 = arith.addf %x, %o : f32
    linalg.yield %0 : f32
  }
  return
}
// CHECK: func private @[[COLUMNS]](
// CHECK: %[[INITIAL:.*]] = vector.load
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[INITIAL]]) -> (vector<16xf32>)
// CHECK: vector.store

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func @the_rest_of_a_row_is_masked
// CHECK: call @[[REST:kernel_[a-z_0-9]+]](
func.func @the_rest_of_a_row_is_masked(%a : memref<4x19xf32>, %b : memref<19xf32>) {
  linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<19xf32>) outs(%a : memref<4x19xf32>) {
  ^bb0(%x : f32, %o : f32):
    %0 = arith.mulf %x, %o : f32
    linalg.yield %0 : f32
  }
  return
}
// CHECK: func private @[[REST]](
// CHECK: vector.store
// CHECK: %[[MASK:.*]] = vector.constant_mask [3] : vector<16xi1>
// CHECK: vector.maskedload {{.*}}, %[[MASK]]
// CHECK: vector.maskedstore {{.*}}, %[[MASK]]

// -----

// A loop that runs from the end: the view starts at the lowest element.
// CHECK-LABEL: func @backwards
// CHECK: memref.reinterpret_cast %{{.*}} to offset: [0], sizes: [8], strides: [1]
// CHECK: call @[[BACKWARDS:kernel_[a-z_0-9]+]](
func.func @backwards(%a : memref<8xf32>, %b : memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 7)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%a : memref<8xf32>) outs(%b : memref<8xf32>) {
  ^bb0(%x : f32, %o : f32):
    linalg.yield %x : f32
  }
  return
}
// CHECK: func private @[[BACKWARDS]](
// CHECK-DAG: %[[START:.*]] = arith.constant 7 : index
// CHECK: vector.gather %{{.*}}[%[[START]]]

// -----

// A body without a vector form: 16 partial results all the same.
// CHECK-LABEL: func @no_vector_form
// CHECK: func private @{{.*}}(%[[X:.*]]: memref<40xi32
// CHECK: scf.for %[[I:.*]] = {{.*}} iter_args(%[[SUMS:.*]] = %{{.*}}) -> (vector<16xi32>) {
// CHECK-DAG: %[[LANE:.*]] = arith.remui %[[I]], %{{.*}} : index
// CHECK: %[[SUM:.*]] = vector.extract %[[SUMS]][%[[LANE]]] : i32 from vector<16xi32>
// CHECK: arith.divsi
// CHECK: %[[NEXT:.*]] = arith.addi %[[SUM]]
// CHECK: vector.insert %[[NEXT]], %[[SUMS]] [%[[LANE]]] : i32 into vector<16xi32>
func.func @no_vector_form(%x : memref<40xi32>, %d : i32, %sum : memref<i32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x, %d : memref<40xi32>, i32) outs(%sum : memref<i32>) {
  ^bb0(%a : i32, %b : i32, %acc : i32):
    %0 = arith.divsi %a, %b : i32
    %1 = arith.addi %acc, %0 : i32
    linalg.yield %1 : i32
  }
  return
}

// -----

// An order that somebody wrote who did not look at the loops.
// CHECK-LABEL: func.func @along_a_parallel_loop
// CHECK: call @kernel_generic
func.func @along_a_parallel_loop(%x: memref<64x768xf32>, %y: memref<768xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<64x768xf32>) outs(%y : memref<768xf32>) attrs = {remat.order = "along"} {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %b, %a : f32
    linalg.yield %s : f32
  }
  return
}

// CHECK-LABEL: func.func @along_without_a_combiner
// CHECK: call @kernel_generic
func.func @along_without_a_combiner(%x: memref<64x4096xf32>, %y: memref<64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<64x4096xf32>) outs(%y : memref<64xf32>) attrs = {remat.order = "along"} {
  ^bb0(%a: f32, %b: f32):
    %s = math.copysign %b, %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// An operand that is read across its rows is read in tiles of 32 of the vectorized loop, within which its cache lines are
// read to their ends: the loop along them is inside. Blocks of 16 x 16 elements are transposed by shuffles, so that each line
// is loaded once; elements are gathered where less than 16 of the 380 or 500 are left.
#swapped = affine_map<(b, i, j) -> (b, j, i)>
#same = affine_map<(b, i, j) -> (b, i, j)>

// CHECK-LABEL: func.func @transposed
// CHECK: func.func private @kernel_generic
// CHECK-DAG: %[[TILES:.*]] = arith.constant 12 : index
// CHECK-DAG: %[[BATCH:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 500 : index
// CHECK: scf.parallel (%{{.*}}, %[[TILE:.*]]) = ({{.*}}) to (%[[BATCH]], %[[TILES]])
// CHECK: %[[FROM:.*]] = arith.muli %[[TILE]]
// CHECK: arith.minui
// CHECK: scf.for %{{.*}} = %{{.*}} to %c496
// CHECK: scf.for %{{.*}} = %[[FROM]] to {{.*}} step %c16
// CHECK-COUNT-16: vector.load %arg0[
// CHECK-NOT: vector.gather
// CHECK-COUNT-64: vector.shuffle
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-16: vector.store
// CHECK: scf.for {{.*}} step %c16
// CHECK: scf.for {{.*}} step %c1 {
// CHECK: vector.gather {{.*}}%[[MASK:.*]], %{{.*}} :
// CHECK: scf.for %{{.*}} = %c496 to %[[ROWS]]
// CHECK: vector.gather
func.func @transposed(%x: memref<3x380x500xf32>, %y: memref<3x500x380xf32>, %z: memref<3x500x380xf32>) {
  linalg.generic {indexing_maps = [#swapped, #same, #same], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %y : memref<3x380x500xf32>, memref<3x500x380xf32>) outs(%z : memref<3x500x380xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// Few lines stay in the cache anyway, and threads want more than a few tiles: they share the blocks.
// CHECK-LABEL: func.func @transposed_few
// CHECK: func.func private @kernel_generic
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 5000 : index
// CHECK: scf.parallel (%{{.*}}) = (%{{.*}}) to (%[[ROWS]]) step (%c16)
// CHECK: vector.shuffle
func.func @transposed_few(%x: memref<100x5000xf32>, %y: memref<5000x100xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<100x5000xf32>) outs(%y : memref<5000x100xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = math.tanh %a : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// The result lies across the rows of both operands: its blocks are transposed before they are stored.
// CHECK-LABEL: func.func @transposed_result
// CHECK: func.func private @kernel_generic
// CHECK-COUNT-16: arith.addf
// CHECK-COUNT-64: vector.shuffle
// CHECK-COUNT-16: vector.store
// CHECK-NOT: vector.scatter
func.func @transposed_result(%x: memref<64x48xf32>, %y: memref<64x48xf32>, %z: memref<48x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>],
                  iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : memref<64x48xf32>, memref<64x48xf32>) outs(%z : memref<48x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// A row has less contiguous elements than a block.
// CHECK-LABEL: func.func @transposed_short
// CHECK-NOT: vector.shuffle
// CHECK: vector.gather
func.func @transposed_short(%x: memref<64x12xf32>, %y: memref<12x64xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<64x12xf32>) outs(%y : memref<12x64xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  }
  return
}

// -----

// Long rows are read in long pieces: a vector of sums takes in eight rows and waits in memory for the next ones. Both sums
// go along.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @long_rows
// CHECK: func.func private @kernel_generic
// CHECK-DAG: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 100 : index
// CHECK: scf.parallel (%{{.*}}) = ({{.*}}) to (%[[TWO:.*]]) step
// CHECK: scf.for %[[FROM:.*]] = %{{.*}} to %[[ROWS]] step %[[EIGHT]]
// CHECK: %[[END:.*]] = arith.addi %[[FROM]], %[[EIGHT]]
// CHECK: %[[TO:.*]] = arith.minui %[[END]], %[[ROWS]]
// CHECK: scf.for {{.*}} step %{{[^ ]*}} {
// CHECK: %[[SUM:.*]] = vector.load
// CHECK: %[[SQUARES:.*]] = vector.load
// CHECK: scf.for %{{.*}} = %[[FROM]] to %[[TO]] {{.*}} iter_args(%{{.*}} = %[[SUM]], %{{.*}} = %[[SQUARES]]) -> (vector<16xf32>, vector<16xf32>)
// CHECK: vector.store
// CHECK: vector.store
func.func @long_rows(%x: memref<100x1040xf32>, %y: memref<1040xf32>, %z: memref<1040xf32>) {
  linalg.generic {indexing_maps = [#id, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<100x1040xf32>) outs(%y, %z : memref<1040xf32>, memref<1040xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %b, %a : f32
    %q = arith.mulf %a, %a : f32
    %t = arith.addf %c, %q : f32
    linalg.yield %s, %t : f32, f32
  }
  return
}

// -----

// A partial sum in memory would be read as if it were the whole sum.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @long_rows_beside_their_sum
// CHECK: func.func private @kernel_generic
// CHECK-NOT: arith.minui
// CHECK: iter_args
func.func @long_rows_beside_their_sum(%x: memref<10x1024xf32>, %y: memref<1024xf32>) {
  linalg.generic {indexing_maps = [#id, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x, %y : memref<10x1024xf32>, memref<1024xf32>) outs(%y : memref<1024xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// An element that is the same for all of a row is loaded once: for all that LLVM knows, the stores change it.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func.func @numbers_of_rows
// CHECK: func.func private @kernel_generic
// CHECK: scf.for
// CHECK: memref.load
// CHECK: scf.for
// CHECK-NOT: memref.load
// CHECK: vector.store
func.func @numbers_of_rows(%x: memref<4x160xf32>, %mean: memref<4xf32>, %y: memref<4x160xf32>) {
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %mean : memref<4x160xf32>, memref<4xf32>) outs(%y : memref<4x160xf32>) {
  ^bb0(%a: f32, %m: f32, %o: f32):
    %d = arith.subf %a, %m : f32
    linalg.yield %d : f32
  }
  return
}

// -----

// A result whose value so far nothing reads: each iteration writes it.
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func.func @result_that_is_not_read
// CHECK: func.func private @kernel_generic
// CHECK: arith.addf
// CHECK: vector.store
func.func @result_that_is_not_read(%x: memref<100x1040xf32>, %last: memref<1040xf32>, %sum: memref<1040xf32>) {
  linalg.generic {indexing_maps = [#id, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<100x1040xf32>) outs(%last, %sum : memref<1040xf32>, memref<1040xf32>) attrs = {remat.order = "across"} {
  ^bb0(%a: f32, %l: f32, %s: f32):
    %before = arith.addf %s, %a : f32
    linalg.yield %before, %before : f32, f32
  }
  return
}

// -----

// Rows that are read at places from a table: vectors are along the rows, however many tables there are.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func.func @rows_at_places
// CHECK: func.func private @kernel_generic
// CHECK-NOT: vector.gather
// CHECK: memref.load {{.*}} : memref<64xi32, strided<[1]>>
// CHECK-NOT: vector.from_elements
// CHECK: vector.load {{.*}} vector<16xf32>
// CHECK-NOT: vector.scatter
// CHECK: vector.store
func.func @rows_at_places(%x: memref<40x64xf32>, %place: memref<64xi32>, %other: memref<64xi32>, %weight: memref<64xf32>, %y: memref<64x64xf32>) {
  linalg.generic {indexing_maps = [#row, #row, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%place, %other, %weight : memref<64xi32>, memref<64xi32>, memref<64xf32>) outs(%y : memref<64x64xf32>) {
  ^bb0(%p: i32, %q: i32, %w: f32, %o: f32):
    %column = linalg.index 1 : index
    %i = arith.index_cast %p : i32 to index
    %k = arith.index_cast %q : i32 to index
    %a = memref.load %x[%i, %column] : memref<40x64xf32>
    %b = memref.load %x[%k, %column] : memref<40x64xf32>
    %s = arith.mulf %a, %w : f32
    %t = arith.addf %s, %b : f32
    linalg.yield %t : f32
  }
  return
}

// -----

// Windows that overlap are added in order; threads share images and channels, whose elements are their own.
#window = affine_map<(n, c, i, k) -> (n, c, i * 2 + k)>
#result = affine_map<(n, c, i, k) -> (n, c, i)>
#weight = affine_map<(n, c, i, k) -> (k)>

// CHECK-LABEL: func.func @windows
// CHECK: func.func private @kernel_generic
// CHECK: scf.parallel (%{{.*}}) = (%c0) to (%c64)
// CHECK: scf.for %{{.*}} = %c0 to %c500
// CHECK: scf.for %{{.*}} = %c0 to %c3
// CHECK: memref.store
func.func @windows(%g: memref<4x16x500xf32>, %w: memref<3xf32>, %x: memref<4x16x1001xf32>) {
  linalg.generic {indexing_maps = [#result, #weight, #window], iterator_types = ["parallel", "parallel", "reduction", "reduction"]}
      ins(%g, %w : memref<4x16x500xf32>, memref<3xf32>) outs(%x : memref<4x16x1001xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// Images that add to the same elements are not shared; channels are.
#result = affine_map<(n, c, i, k) -> (n, c, i)>
#weight = affine_map<(n, c, i, k) -> (k)>
#all = affine_map<(n, c, i, k) -> (c, i * 2 + k)>

// CHECK-LABEL: func.func @windows_of_all
// CHECK: func.func private @kernel_generic
// CHECK: scf.parallel (%{{.*}}) = (%c0) to (%c16)
// CHECK: scf.for %{{.*}} = %c0 to %c4
// CHECK: scf.for %{{.*}} = %c0 to %c500
func.func @windows_of_all(%g: memref<4x16x500xf32>, %w: memref<3xf32>, %x: memref<16x1001xf32>) {
  linalg.generic {indexing_maps = [#result, #weight, #all], iterator_types = ["reduction", "parallel", "reduction", "reduction"]}
      ins(%g, %w : memref<4x16x500xf32>, memref<3xf32>) outs(%x : memref<16x1001xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  }
  return
}
