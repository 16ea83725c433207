// RUN: remat-opt %s --convert-linalg-to-gpu-kernels --canonicalize --cse --split-input-file | FileCheck %s

// Four elements of 4 bytes by a thread; what is contiguous in all operands is one loop.
// CHECK-LABEL: func @pointwise_ops_take_vectors
// CHECK: gpu.launch_func @kernels::@exp blocks in (%c4, %c1, %c1) threads in (%c256, %c1, %c1) args(%{{.*}} : !llvm.ptr, %{{.*}} : !llvm.ptr) {remat.phase = "update"}
// CHECK: gpu.func @exp(
// CHECK-SAME: !llvm.ptr {remat.access = "read", remat.bytes = 16384 : i64}, %{{.*}}: !llvm.ptr {remat.access = "write", remat.bytes = 16384 : i64}) kernel
// CHECK: %[[N:.*]] = arith.addi %{{.*}}, %{{.*}} : index
// CHECK: %[[IN:.*]] = arith.cmpi ult, %[[N]], %c1024
// CHECK: scf.if %[[IN]]
// CHECK: %[[AT:.*]] = arith.muli %[[N]], %c4
// CHECK: vector.load %{{.*}}[%[[AT]]] {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// CHECK: vector.store %{{.*}}[%[[AT]]] {alignment = 16 : i64}
func.func @pointwise_ops_take_vectors(%x: memref<64x64xf32>, %y: memref<64x64xf32>) {
  linalg.exp {remat.phase = "update"} ins(%x : memref<64x64xf32>) outs(%y : memref<64x64xf32>)
  return
}

// -----

// CHECK-LABEL: func @sizes_that_vectors_do_not_divide
// CHECK: gpu.func @exp(
// CHECK-NOT: vector
// CHECK: math.exp %{{.*}} : f32
func.func @sizes_that_vectors_do_not_divide(%x: memref<63xf32>, %y: memref<63xf32>) {
  linalg.exp ins(%x : memref<63xf32>) outs(%y : memref<63xf32>)
  return
}

// -----

// CHECK-LABEL: func @views_that_are_not_aligned
// CHECK: gpu.func @exp(
// CHECK-NOT: vector
// CHECK: math.exp %{{.*}} : f32
func.func @views_that_are_not_aligned(%x: memref<64xf32, strided<[1], offset: 1>>, %y: memref<64xf32>) {
  linalg.exp ins(%x : memref<64xf32, strided<[1], offset: 1>>) outs(%y : memref<64xf32>)
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// Neighbours are lanes of one sum, which load four elements at once, and exchange sums by shuffles: once in each of the eight warps of
// a sum, and once more what these have. The fill becomes the last addition.
// CHECK-LABEL: func @sums_along_the_fastest_dimension
// CHECK-NOT: gpu.launch_func
// CHECK: gpu.launch_func @kernels::@generic blocks in (%c64, %c1, %c1) threads in (%c256, %c1, %c1)
// CHECK-NOT: gpu.launch_func
// CHECK: gpu.func @generic(
// CHECK-SAME: {remat.access = "write", remat.bytes = 256 : i64}) workgroup(%[[W:.*]] : memref<8xf32,
// CHECK: %[[LANE:.*]] = arith.remui %{{.*}}, %c256
// CHECK-COUNT-4: vector.load {{.*}} {alignment = 16 : i64}
// CHECK-COUNT-4: arith.addf {{.*}} : vector<4xf32>
// CHECK: vector.extract
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: memref.store %{{.*}}, %[[W]]
// CHECK-NEXT: }
// CHECK-NEXT: gpu.barrier
// CHECK: memref.load %[[W]]
// CHECK-COUNT-3: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: arith.addf %{{.*}}, %cst
func.func @sums_along_the_fastest_dimension(%x: memref<64x4096xf32>, %y: memref<64xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%y : memref<64xf32>)
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x4096xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// Neighbours are results: 128 lanes of eight columns each, which fill a sector.
// CHECK-LABEL: func @sums_across
// CHECK: blocks in (%c8, %c1, %c1) threads in (%c1024, %c1, %c1)
// CHECK: gpu.func @generic(
// CHECK-SAME: {remat.access = "read_write", remat.bytes = 256 : i64})
// CHECK: %[[LANE:.*]] = arith.divui %{{.*}}, %c8
// CHECK: scf.for %[[STEP:.*]] = %c0 to %c32 step %c16
// CHECK: %[[FIRST:.*]] = arith.muli %[[STEP]], %c128
// CHECK: arith.addi %[[FIRST]], %[[LANE]]
// CHECK-COUNT-16: memref.load
// CHECK-COUNT-7: gpu.barrier
// CHECK-NOT: gpu.barrier
func.func @sums_across(%x: memref<4096x64xf32>, %y: memref<64xf32>) {
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<4096x64xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// Many columns: each lane has four of them, of which it loads four rows before it adds the first.
// CHECK-LABEL: func @sums_across_many
// CHECK: gpu.func @generic(
// CHECK-SAME: remat.bytes = 69206016
// CHECK: scf.for %{{.*}} step %c4 iter_args
// CHECK-COUNT-4: vector.load {{.*}} : memref<?xbf16>, vector<4xbf16>
// CHECK: arith.extf
// CHECK: gpu.func @generic_0(
// CHECK-COUNT-4: vector.load {{.*}} {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// Where that would leave too few blocks, 4 bytes.
// CHECK: gpu.func @generic_1(
// CHECK: vector.load {{.*}} : memref<?xbf16>, vector<2xbf16>
func.func @sums_across_many(%x: memref<4096x8448xbf16>, %y: memref<8448xf32>, %u: memref<4096x8448xf32>, %v: memref<8448xf32>,
                            %few: memref<4096x64xbf16>, %z: memref<64xf32>) {
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%few : memref<4096x64xbf16>) outs(%z : memref<64xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %e = arith.extf %a : bf16 to f32
    %0 = arith.addf %o, %e : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%u : memref<4096x8448xf32>) outs(%v : memref<8448xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%x : memref<4096x8448xbf16>) outs(%y : memref<8448xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %e = arith.extf %a : bf16 to f32
    %0 = arith.addf %o, %e : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// A thread of a block of 1024 has 64 registers: a quarter of them are four elements of each of four inputs, not 16.
// CHECK-LABEL: func @loads_as_many_as_registers_allow
// CHECK: threads in (%c1024, %c1, %c1)
// CHECK: gpu.func @generic(
// CHECK: scf.for %{{.*}} step %c4 iter_args
func.func @loads_as_many_as_registers_allow(%x: memref<16384x64xf32>, %y: memref<16384x64xf32>, %z: memref<16384x64xf32>, %w: memref<16384x64xf32>, %mean: memref<64xf32>,
                %a: memref<64xf32>, %b: memref<64xf32>, %c: memref<64xf32>) {
  linalg.generic {indexing_maps = [#id, #id, #id, #id, #column, #column, #column, #column], iterator_types = ["reduction", "parallel"]}
      ins(%x, %y, %z, %w, %mean : memref<16384x64xf32>, memref<16384x64xf32>, memref<16384x64xf32>, memref<16384x64xf32>, memref<64xf32>)
      outs(%a, %b, %c : memref<64xf32>, memref<64xf32>, memref<64xf32>) {
  ^bb0(%p: f32, %q: f32, %r: f32, %t: f32, %m: f32, %o0: f32, %o1: f32, %o2: f32):
    %d = arith.subf %p, %m : f32
    %0 = arith.mulf %d, %q : f32
    %1 = arith.mulf %d, %r : f32
    %2 = arith.mulf %d, %t : f32
    %s0 = arith.addf %o0, %0 : f32
    %s1 = arith.addf %o1, %1 : f32
    %s2 = arith.addf %o2, %2 : f32
    linalg.yield %s0, %s1, %s2 : f32, f32, f32
  }
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// 16 bytes of the matrix, not of the bias that all its rows share.
// CHECK-LABEL: func @adds_a_bias
// CHECK: vector.load {{.*}} : memref<?xbf16>, vector<8xbf16>
// CHECK: vector.load {{.*}} : memref<?xf32>, vector<8xf32>
// CHECK: vector.store {{.*}} : memref<?xbf16>, vector<8xbf16>
func.func @adds_a_bias(%x: memref<512x64xbf16>, %bias: memref<64xf32>, %y: memref<512x64xbf16>) {
  linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %bias : memref<512x64xbf16>, memref<64xf32>) outs(%y : memref<512x64xbf16>) {
  ^bb0(%a: bf16, %b: f32, %o: bf16):
    %e = arith.extf %a : bf16 to f32
    %0 = arith.addf %e, %b : f32
    %r = arith.truncf %0 : f32 to bf16
    linalg.yield %r : bf16
  }
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// A reduction that is not a sum runs in order, a result in each thread.
// CHECK-LABEL: func @other_reductions_run_in_order
// CHECK: gpu.func @generic(
// CHECK-NOT: workgroup
// CHECK: scf.for %{{.*}} = %c0 to %c100 step %c1 iter_args
// CHECK: arith.mulf
// CHECK: arith.addf
func.func @other_reductions_run_in_order(%x: memref<64x100xf32>, %y: memref<64xf32>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]} ins(%x : memref<64x100xf32>) outs(%y : memref<64xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %o, %a : f32
    %1 = arith.addf %0, %a : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

#in = affine_map<(n, i, k) -> (n, i, k)>
#overlap = affine_map<(n, i, k) -> (n, i + k)>

// Windows that overlap, in loops that call themselves parallel: only the images
// never meet.
// CHECK-LABEL: func @outputs_that_overlap_are_written_in_order
// CHECK: blocks in (%c1, %c1, %c1)
// CHECK: gpu.func @generic(
// CHECK: arith.cmpi ult, %[[N:.*]], %c8
// CHECK: arith.muli %[[N]], %c256
// CHECK: scf.for %{{.*}} = %c0 to %c16
// CHECK: scf.for %{{.*}} = %c0 to %c16
// CHECK: memref.store
func.func @outputs_that_overlap_are_written_in_order(%x: memref<8x16x16xf32>, %y: memref<8x31xf32>) {
  linalg.generic {indexing_maps = [#in, #overlap], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : memref<8x16x16xf32>) outs(%y : memref<8x31xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#in = affine_map<(n, i) -> (n, i)>
#overlap = affine_map<(n, i) -> (n + i)>
#apart = affine_map<(n, i) -> (n, 2 * i + 1)>

// Where sizes are not known the maps tell: a dimension that is alone in a
// position of the output never writes an element twice.
// CHECK-LABEL: func @dynamic_outputs_that_overlap
// CHECK: gpu.launch_func @kernels::@[[ALL:[a-z_0-9]+]] blocks in (%c1, %c1, %c1)
// CHECK: %[[SOME:.*]] = arith.cmpi ne, %[[BLOCKS:.*]], %c0
// CHECK: scf.if %[[SOME]]
// CHECK: gpu.launch_func @kernels::@[[APART:[a-z_0-9]+]] blocks in (%[[BLOCKS]],
// CHECK: gpu.func @[[APART]](
// CHECK-NOT: scf.for
// CHECK: gpu.func @[[ALL]](
// CHECK: scf.for
// CHECK: scf.for
func.func @dynamic_outputs_that_overlap(%x: memref<?x?xf32>, %y: memref<?xf32>, %z: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#in, #overlap], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x?xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#in, #apart], iterator_types = ["parallel", "parallel"]} ins(%x : memref<?x?xf32>) outs(%z : memref<?x?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Copies are kernels; those between slices of one size share one.
// CHECK-LABEL: func @copies
// CHECK: gpu.launch_func @kernels::@[[COPY:[a-z_0-9]+]]
// CHECK: gpu.launch_func @kernels::@[[COPY]]
// CHECK-NOT: memref.copy
// CHECK: gpu.func @[[COPY]](
// CHECK-NOT: gpu.func
func.func @copies(%x: memref<16xf32>, %a: memref<16xf32, strided<[1], offset: 16>>, %b: memref<16xf32, strided<[1], offset: 32>>) {
  memref.copy %x, %a : memref<16xf32> to memref<16xf32, strided<[1], offset: 16>>
  memref.copy %x, %b : memref<16xf32> to memref<16xf32, strided<[1], offset: 32>>
  return
}

// -----

#id = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// A captured graph replays its arguments: scalars arrive in memory, sizes as
// they are. Until launches are lowered, the scalar stands for its address.
// CHECK-LABEL: func @scalars_arrive_in_the_step_block
// CHECK-SAME: %[[S:.*]]: f32,
// CHECK: %[[P:.*]] = builtin.unrealized_conversion_cast %[[S]] : f32 to !llvm.ptr
// CHECK: gpu.launch_func {{.*}} args(%[[P]] : !llvm.ptr, %{{.*}} : !llvm.ptr, %{{.*}} : index)
// CHECK: gpu.func @generic(%[[ARG:[a-z0-9]+]]: !llvm.ptr {remat.access = "read", remat.bytes = 4 : i64}, %{{.*}}: !llvm.ptr {remat.access = "read_write"}, %{{.*}}: index)
// CHECK: llvm.load %[[ARG]] : !llvm.ptr -> f32
func.func @scalars_arrive_in_the_step_block(%s: f32, %y: memref<?xf32>) {
  linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel"]} ins(%s : f32) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.mulf %o, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(i) -> (i)>

// CHECK-LABEL: func @booleans_are_bytes
// CHECK: gpu.func @generic(%{{.*}}: !llvm.ptr {remat.access = "read", remat.bytes = 33 : i64}
// CHECK: %[[BYTE:.*]] = memref.load %{{.*}} : memref<?xi8>
// CHECK: arith.trunci %[[BYTE]] : i8 to i1
// CHECK: %[[STORED:.*]] = arith.extui %{{.*}} : i1 to i8
// CHECK: memref.store %[[STORED]], %{{.*}} : memref<?xi8>
func.func @booleans_are_bytes(%x: memref<33xi1>, %y: memref<33xi1>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<33xi1>) outs(%y : memref<33xi1>) {
  ^bb0(%a: i1, %o: i1):
    %true = arith.constant true
    %0 = arith.xori %a, %true : i1
    linalg.yield %0 : i1
  }
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

// CHECK-LABEL: func @gathers_read_rows_as_vectors
// CHECK: gpu.func @generic({{.*}} {remat.access = "read", remat.bytes = 25600 : i64})
// CHECK: %[[TABLE:.*]] = memref.reinterpret_cast {{.*}} to memref<100x64xf32, strided<[64, 1]>>
// CHECK: vector.load %[[TABLE]][{{.*}} vector<4xf32>
func.func @gathers_read_rows_as_vectors(%x: memref<100x64xf32>, %k: memref<7xi64>, %y: memref<7x64xf32>) {
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%k : memref<7xi64>) outs(%y : memref<7x64xf32>) {
  ^bb0(%a: i64, %o: f32):
    %j = linalg.index 1 : index
    %i = arith.index_cast %a : i64 to index
    %0 = memref.load %x[%i, %j] : memref<100x64xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

// CHECK-LABEL: func @nothing_to_do
// CHECK-NOT: gpu.launch_func
func.func @nothing_to_do(%x: memref<0x4xf32>, %y: memref<0x4xf32>) {
  linalg.exp ins(%x : memref<0x4xf32>) outs(%y : memref<0x4xf32>)
  return
}

// -----

#quarter = affine_map<(i, j, k) -> ((i + k) floordiv 4, j)>
#window = affine_map<(i, j, k) -> (k)>
#out = affine_map<(i, j, k) -> (j, i)>

// Any index map: a thread for each result, which adds in order, in memory.
// CHECK-LABEL: func @maps_that_are_not_linear
// CHECK: gpu.launch_func @kernels::@generic blocks in (%c1, %c1, %c1)
// CHECK: gpu.func @generic(%{{.*}}: !llvm.ptr {remat.access = "read", remat.bytes = 144 : i64}, {{.*}} {remat.access = "read_write", remat.bytes = 480 : i64})
// CHECK: arith.cmpi ult, %{{.*}}, %c120
// CHECK: scf.for %[[K:.*]] = %c0 to %c8 step %c1
// CHECK: affine.apply #{{.*}}(%[[K]])
// CHECK: %[[PRODUCT:.*]] = arith.mulf
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[PRODUCT]]
// CHECK: memref.store %[[SUM]]
func.func @maps_that_are_not_linear(%x: memref<12x3xf32>, %w: memref<8xf32>, %y: memref<3x40xf32>) {
  linalg.generic {indexing_maps = [#quarter, #window, #out], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : memref<12x3xf32>, memref<8xf32>) outs(%y : memref<3x40xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.mulf %a, %b : f32
    %1 = arith.addf %o, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

#in = affine_map<(i, j) -> (i, j)>
#quarter = affine_map<(i, j) -> (i floordiv 4, j)>

// Iterations that write one element are one thread's.
// CHECK-LABEL: func @maps_that_are_not_linear_in_the_output
// CHECK: gpu.func @generic(
// CHECK: arith.cmpi ult, %{{.*}}, %c3
// CHECK: scf.for %{{.*}} = %c0 to %c40 step %c1
func.func @maps_that_are_not_linear_in_the_output(%x: memref<40x3xf32>, %y: memref<10x3xf32>) {
  linalg.generic {indexing_maps = [#in, #quarter], iterator_types = ["parallel", "parallel"]} ins(%x : memref<40x3xf32>) outs(%y : memref<10x3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %o, %a : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Squares of 32 x 32 through workgroup memory, with a column more: both sides
// are read and written along their rows. 33 and 70 make 2 x 3 squares of each of 5.
// CHECK-LABEL: func @transposes_go_through_workgroup_memory
// CHECK: gpu.launch_func @kernels::@transpose blocks in (%c30, %c1, %c1) threads in (%c256,
// CHECK: gpu.func @transpose(
// CHECK-SAME: workgroup(%[[W:[a-z0-9]+]] : memref<1056xf64, #gpu.address_space<workgroup>>)
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[X:.*]] = arith.remui %[[THREAD]], %c32
// CHECK: arith.cmpi ult, %{{.*}}, %c70
// CHECK: %[[Y:.*]] = arith.divui %[[THREAD]], %c32
// CHECK: scf.for %[[K:.*]] = %[[Y]] to %c32 step %c8
// CHECK: arith.cmpi ult, %{{.*}}, %c33
// CHECK: scf.if
// CHECK: %[[IN:.*]] = memref.load %[[SOURCE:[0-9]+]][
// CHECK: %[[ROW:.*]] = arith.muli %[[K]], %c33
// CHECK: %[[AT:.*]] = arith.addi %[[ROW]], %[[X]]
// CHECK: memref.store %[[IN]], %[[W]][%[[AT]]]
// CHECK: gpu.barrier
// CHECK: scf.for %[[K:.*]] = %[[Y]] to %c32 step %c8
// CHECK: %[[COLUMN:.*]] = arith.muli %[[X]], %c33
// CHECK: %[[AT:.*]] = arith.addi %[[COLUMN]], %[[K]]
// CHECK: %[[OUT:.*]] = memref.load %[[W]][%[[AT]]]
// CHECK-NOT: memref.load %[[SOURCE]]
// CHECK: memref.store %[[OUT]], %{{[0-9]+}}[
// CHECK-NOT: gpu.barrier
func.func @transposes_go_through_workgroup_memory(%x: memref<5x33x70xf64>, %y: memref<5x70x33xf64>) {
  linalg.transpose ins(%x : memref<5x33x70xf64>) outs(%y : memref<5x70x33xf64>) permutation = [0, 2, 1]
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#t = affine_map<(i, j) -> (j, i)>

// Only what is transposed goes that way; booleans as bytes, sizes that are not known, too.
// CHECK-LABEL: func @one_of_several_inputs_is_transposed
// CHECK: gpu.func @generic(
// CHECK-SAME: workgroup(%[[W:[a-z0-9]+]] : memref<1056xi8, #gpu.address_space<workgroup>>)
// CHECK: gpu.barrier
// CHECK: %[[A:.*]] = memref.load %[[W]]
// CHECK: %[[BIT:.*]] = arith.trunci %[[A]] : i8 to i1
// CHECK: %[[B:.*]] = memref.load %{{.*}} : memref<?xf32>
// CHECK: arith.select %[[BIT]], %[[B]]
func.func @one_of_several_inputs_is_transposed(%x: memref<?x?xi1>, %z: memref<?x?xf32>, %y: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#t, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %z : memref<?x?xi1>, memref<?x?xf32>) outs(%y : memref<?x?xf32>) {
  ^bb0(%a: i1, %b: f32, %o: f32):
    %0 = arith.select %a, %b, %zero : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Of a square of 32 x 32 little would be left.
// CHECK-LABEL: func @short_transposes_do_not
// CHECK: gpu.func @transpose(
// CHECK-NOT: workgroup
// CHECK: gpu.return
func.func @short_transposes_do_not(%x: memref<3x1000xf32>, %y: memref<1000x3xf32>) {
  linalg.transpose ins(%x : memref<3x1000xf32>) outs(%y : memref<1000x3xf32>) permutation = [1, 0]
  return
}

// -----

// CHECK-LABEL: func @vectors_of_index
// CHECK: gpu.func @generic(
// CHECK-SAME: remat.bytes = 512 : i64
// CHECK: vector.load %{{.*}} {alignment = 16 : i64} : memref<?xindex>, vector<2xindex>
// CHECK: arith.addi %{{.*}} : vector<2xindex>
#one = affine_map<(i) -> (i)>
func.func @vectors_of_index(%x: memref<64xindex>, %y: memref<64xindex>) {
  linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%x : memref<64xindex>) outs(%y : memref<64xindex>) {
  ^bb0(%a: index, %o: index):
    %0 = arith.addi %a, %a : index
    linalg.yield %0 : index
  }
  return
}

// -----

// Numbers of two parts have no vectors.
// CHECK-LABEL: func @complex
// CHECK: gpu.func @generic(
// CHECK-SAME: remat.bytes = 512 : i64
// CHECK: complex.add %{{.*}} : complex<f32>
#one = affine_map<(i) -> (i)>
func.func @complex(%x: memref<64xcomplex<f32>>, %y: memref<64xcomplex<f32>>) {
  linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%x : memref<64xcomplex<f32>>) outs(%y : memref<64xcomplex<f32>>) {
  ^bb0(%a: complex<f32>, %o: complex<f32>):
    %0 = complex.add %a, %a : complex<f32>
    linalg.yield %0 : complex<f32>
  }
  return
}
