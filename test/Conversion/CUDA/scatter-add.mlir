// RUN: remat-opt %s --convert-linalg-to-gpu-kernels --canonicalize --cse --split-input-file | FileCheck %s
// RUN: remat-opt %s --convert-linalg-to-gpu-kernels=block-size=64 --canonicalize --cse --split-input-file | FileCheck %s --check-prefix=SMALL

// Three tiles of 256 columns times 340 of 148 rows: 16.7 million indices are
// computed for 12.6 million elements.
// CHECK-LABEL: func @the_gradient_of_an_embedding
// CHECK-DAG: %[[BLOCKS:.*]] = arith.constant 1020
// CHECK-DAG: %[[THREADS:.*]] = arith.constant 256
// CHECK: gpu.launch_func @kernels::@scatter_add blocks in (%[[BLOCKS]], {{.*}} threads in (%[[THREADS]], {{.*}} {remat.phase = "backward"}
// SMALL-LABEL: func @the_gradient_of_an_embedding
// SMALL: arith.constant 1032 : index
// CHECK: gpu.func @scatter_add(
// CHECK-SAME: %[[UP:[a-z0-9]+]]: !llvm.ptr {remat.access = "read", remat.bytes = 50331648 : i64}
// CHECK-SAME: %[[TP:[a-z0-9]+]]: !llvm.ptr {remat.access = "read_write", remat.bytes = 154389504 : i64}
// CHECK-SAME: !llvm.ptr {remat.access = "read", remat.bytes = 131072 : i64})
// CHECK-SAME: workgroup(%[[FLAGS:[a-z0-9]+]] : memref<256xi8, #gpu.address_space<workgroup>> {llvm.align = 16 : i64}, %[[TO:[a-z0-9]+]] : memref<256xindex, {{[^,]*}}>, %[[FROM:[a-z0-9]+]] : memref<256xindex, {{[^,]*}}>)
// CHECK-DAG: %[[ROWS:.*]] = arith.constant 148
// CHECK-DAG: %[[TILES:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[WIDTH:.*]] = arith.constant 768
// CHECK-DAG: %[[POSITIONS:.*]] = arith.constant 16384
// CHECK-DAG: llvm.insertvalue %[[UP]], %{{.*}}[1]
// CHECK: %[[U:.*]] = builtin.unrealized_conversion_cast
// CHECK: %[[T:.*]] = builtin.unrealized_conversion_cast
// CHECK: %[[TOKENS:.*]] = memref.reinterpret_cast
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[BLOCK:.*]] = gpu.block_id x
// CHECK: %[[COLUMN:.*]] = arith.addi
// CHECK: %[[IS_COLUMN:.*]] = arith.cmpi ult, %[[COLUMN]], %[[WIDTH]]
// CHECK: %[[ROW_TILE:.*]] = arith.divui %[[BLOCK]], %[[TILES]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[ROW_TILE]], %[[ROWS]]
// CHECK: scf.for %[[CHUNK:.*]] = %{{.*}} to %[[POSITIONS]] step %c256
// Each thread notes where one position's row is.
// CHECK: %[[P:.*]] = arith.addi %[[CHUNK]], %[[THREAD]]
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[P]], %[[POSITIONS]]
// CHECK: %[[FLAG:.*]] = scf.if %[[EXISTS]] -> (i8)
// CHECK: %[[TOKEN:.*]] = memref.load %[[TOKENS]][%[[P]]]
// CHECK: %[[ROW:.*]] = arith.index_cast %[[TOKEN]]
// CHECK: %[[IN_TILE:.*]] = arith.subi %[[ROW]], %[[FIRST]]
// CHECK: %[[OWN:.*]] = arith.cmpi ult, %[[IN_TILE]],
// CHECK: scf.if %[[OWN]]
// CHECK: memref.store %{{.*}}, %[[TO]][%[[THREAD]]]
// CHECK: memref.store %{{.*}}, %[[FROM]][%[[THREAD]]]
// CHECK: memref.store %[[FLAG]], %[[FLAGS]][%[[THREAD]]]
// CHECK: gpu.barrier
// All walk the notes in order, sixteen at once where none is of this tile.
// CHECK: scf.for
// CHECK: vector.load %[[FLAGS]]{{.*}} {alignment = 16 : i64} {{.*}} vector<16xi8>
// CHECK: scf.if
// CHECK: scf.for
// CHECK: %[[HIT:.*]] = arith.trunci
// CHECK: arith.andi %[[HIT]], %[[IS_COLUMN]]
// CHECK: %[[OLD:.*]] = memref.load %[[T]][%[[AT:.*]]]
// CHECK: %[[X:.*]] = memref.load %[[U]]
// CHECK: %[[SUM:.*]] = arith.addf %[[OLD]], %[[X]] : f32
// CHECK: memref.store %[[SUM]], %[[T]][%[[AT]]]
// CHECK: gpu.barrier
// CHECK: gpu.return
// CHECK-NOT: atomic
// SMALL: workgroup({{.*}}memref<64xi8,
func.func @the_gradient_of_an_embedding(%updates: memref<16384x768xf32>, %tokens: memref<16384xi64>, %table: memref<50257x768xf32>) {
  remat.scatter_add ins(%updates : memref<16384x768xf32>) outs(%table : memref<50257x768xf32>) attributes {remat.phase = "backward"} {
  ^bb0(%i: index, %j: index):
    %token = memref.load %tokens[%i] : memref<16384xi64>
    %row = arith.index_cast %token : i64 to index
    remat.yield %row, %j : index, index
  }
  return
}

// -----

// Eight columns leave room for 32 rows beside each other; bf16 is widened
// before it is added.
// CHECK-LABEL: func @narrow_rows_are_side_by_side
// CHECK: gpu.func @scatter_add
// CHECK-SAME: workgroup({{.*}}, %[[SLOTS:[a-z0-9]+]] : memref<256xindex,
// CHECK: %[[SLOT:.*]] = arith.divui %{{.*}}, %c8
// CHECK: memref.store %{{.*}}, %[[SLOTS]]
// CHECK: %[[OWNER:.*]] = memref.load %[[SLOTS]]
// CHECK: arith.cmpi eq, %[[OWNER]], %[[SLOT]]
// CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} : bf16 to f32
// CHECK: arith.addf %{{.*}}, %[[WIDE]] : f32
func.func @narrow_rows_are_side_by_side(%updates: memref<64x8xbf16>, %rows: memref<64xi32>, %table: memref<1000x8xf32>) {
  remat.scatter_add ins(%updates : memref<64x8xbf16>) outs(%table : memref<1000x8xf32>) {
  ^bb0(%i: index, %j: index):
    %r = memref.load %rows[%i] : memref<64xi32>
    %row = arith.index_cast %r : i32 to index
    remat.yield %row, %j : index, index
  }
  return
}

// -----

// The body is copied with what it captures: two computed indices, of which one
// is clamped. Rows run along the table's first dimension.
// CHECK-LABEL: func @several_indices
// CHECK: gpu.func @scatter_add
// CHECK: scf.if %{{.*}} -> (i8)
// CHECK: %[[A:.*]] = memref.load {{.*}} memref<5xi1
// CHECK: arith.index_castui %[[A]] : i1 to index
// CHECK: %[[B:.*]] = memref.load
// CHECK: %[[LOW:.*]] = arith.maxsi %[[B]]
// CHECK: %[[HIGH:.*]] = arith.minsi %[[LOW]]
// CHECK: arith.index_cast %[[HIGH]]
func.func @several_indices(%updates: memref<7x5x3xf32>, %a: memref<5xi1>, %b: memref<5x3xi64>, %table: memref<7x2x4xf32>) {
  %c0 = arith.constant 0 : i64
  %c3 = arith.constant 3 : i64
  remat.scatter_add ins(%updates : memref<7x5x3xf32>) outs(%table : memref<7x2x4xf32>) {
  ^bb0(%i: index, %j: index, %k: index):
    %0 = memref.load %a[%j] : memref<5xi1>
    %x = arith.index_castui %0 : i1 to index
    %1 = memref.load %b[%j, %k] : memref<5x3xi64>
    %2 = arith.maxsi %1, %c0 : i64
    %3 = arith.minsi %2, %c3 : i64
    %y = arith.index_cast %3 : i64 to index
    remat.yield %i, %x, %y : index, index, index
  }
  return
}

// -----

// No row: each thread owns an element.
// CHECK-LABEL: func @a_histogram
// CHECK: gpu.func @scatter_add
// CHECK: %[[THREAD:.*]] = gpu.thread_id
// CHECK: arith.cmpi eq, %{{.*}}, %[[THREAD]]
func.func @a_histogram(%updates: memref<100xf32>, %bins: memref<100xi8>, %table: memref<256xf32>) {
  remat.scatter_add ins(%updates : memref<100xf32>) outs(%table : memref<256xf32>) {
  ^bb0(%i: index):
    %bin = memref.load %bins[%i] : memref<100xi8>
    %at = arith.index_castui %bin : i8 to index
    remat.yield %at : index
  }
  return
}

// -----

// Sizes, strides and the grid come from the host; there is no launch of no blocks.
// CHECK-LABEL: func @dynamic_sizes
// CHECK: memref.extract_strided_metadata
// CHECK: %[[SOME:.*]] = arith.cmpi ne, %[[BLOCKS:.*]], %c0
// CHECK: scf.if %[[SOME]] {
// CHECK-NEXT: gpu.launch_func @kernels::@scatter_add blocks in (%[[BLOCKS]], {{.*}} args({{.*}} : index
// CHECK: gpu.func @scatter_add(%{{.*}}: !llvm.ptr {remat.access = "read"}, %{{.*}}: !llvm.ptr {remat.access = "read_write"}
func.func @dynamic_sizes(%updates: memref<?x?xf32>, %rows: memref<?xindex>, %table: memref<?x?xf32>) {
  remat.scatter_add ins(%updates : memref<?x?xf32>) outs(%table : memref<?x?xf32>) {
  ^bb0(%i: index, %j: index):
    %row = memref.load %rows[%i] : memref<?xindex>
    remat.yield %row, %j : index, index
  }
  return
}

// -----

// CHECK-LABEL: func @nothing_to_add
// CHECK-NOT: gpu.launch_func
// CHECK-NOT: gpu.func
func.func @nothing_to_add(%updates: memref<0x4xf32>, %table: memref<9x4xf32>, %others: memref<3xf32>, %none: memref<0xf32>, %at: index) {
  remat.scatter_add ins(%updates : memref<0x4xf32>) outs(%table : memref<9x4xf32>) {
  ^bb0(%i: index, %j: index):
    remat.yield %at, %j : index, index
  }
  remat.scatter_add ins(%others : memref<3xf32>) outs(%none : memref<0xf32>) {
  ^bb0(%i: index):
    remat.yield %at : index
  }
  return
}

// -----

// Rows that are longer than the table's: there are no updates at run time, and
// no row may be taken for a whole one.
// CHECK-LABEL: func @rows_that_do_not_fit
// CHECK: gpu.launch_func
// CHECK: gpu.func @scatter_add
// CHECK: arith.remui %{{.*}}, %c8
func.func @rows_that_do_not_fit(%updates: memref<?x8xf32>, %table: memref<9x4xf32>, %at: index) {
  remat.scatter_add ins(%updates : memref<?x8xf32>) outs(%table : memref<9x4xf32>) {
  ^bb0(%i: index, %j: index):
    remat.yield %at, %j : index, index
  }
  return
}

// -----

// A scalar that the host computes arrives in the step block; equal layers share a kernel.
// CHECK-LABEL: func @layers_share_a_kernel
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : i64 to !llvm.ptr
// CHECK: gpu.launch_func @kernels::@[[K:[a-z_0-9]+]]
// CHECK: gpu.launch_func @kernels::@[[K]]
// CHECK: gpu.func @[[K]](
// CHECK-NOT: gpu.func
func.func @layers_share_a_kernel(%updates: memref<6xf32>, %a: memref<9xf32>, %b: memref<9xf32>, %n: i64) {
  remat.scatter_add ins(%updates : memref<6xf32>) outs(%a : memref<9xf32>) {
  ^bb0(%i: index):
    %at = arith.index_cast %n : i64 to index
    remat.yield %at : index
  }
  remat.scatter_add ins(%updates : memref<6xf32>) outs(%b : memref<9xf32>) {
  ^bb0(%i: index):
    %at = arith.index_cast %n : i64 to index
    remat.yield %at : index
  }
  return
}
