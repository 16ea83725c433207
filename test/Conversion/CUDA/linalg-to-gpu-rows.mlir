// RUN: remat-opt %s --convert-linalg-to-gpu-kernels --canonicalize --cse --split-input-file | FileCheck %s

#id = affine_map<(b, t, c) -> (b, t, c)>
#row = affine_map<(b, t, c) -> (b, t)>
#column = affine_map<(b, t, c) -> (c)>

// A norm is one kernel: 64 threads take a row, a block has four rows. The divisor of a row is read once, after the barrier; the fill is a
// part of the sum. An independent operation in between stays outside.
// CHECK-LABEL: func @norm
// CHECK: %[[X:.*]] = llvm.inttoptr
// CHECK: gpu.launch_func @kernels::@[[NORM:.*]] blocks in (%c256, %c1, %c1) threads in (%c256, %c1, %c1) args(%[[X]] : !llvm.ptr, %[[S:.*]] : !llvm.ptr, %[[S]] : !llvm.ptr, %{{.*}} : !llvm.ptr)
// CHECK: gpu.launch_func @kernels::@exp
// CHECK-NOT: gpu.launch_func
// CHECK: gpu.func @[[NORM]](
// CHECK-SAME: %[[IN:.*]]: !llvm.ptr {remat.access = "read", remat.bytes = 3145728 : i64}, %{{.*}}: !llvm.ptr {remat.access = "write", remat.bytes = 4096 : i64}, %{{.*}}: !llvm.ptr {remat.access = "read", remat.bytes = 4096 : i64}
// CHECK-SAME: workgroup(%[[W:.*]] : memref<8xf32,
// CHECK-DAG: %[[LANE:.*]] = arith.remui %{{.*}}, %c64
// CHECK-DAG: %[[SLOT:.*]] = arith.divui %{{.*}}, %c64
// CHECK: gpu.barrier
// CHECK: memref.store %{{.*}} : memref<?xf32>
// CHECK-NEXT: }
// CHECK-NEXT: gpu.barrier
// CHECK: %[[SUM:.*]] = memref.load %{{.*}} : memref<?xf32>
// CHECK-NOT: memref.load
// CHECK: vector.load %{{.*}} {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// CHECK: vector.store %{{.*}} {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// CHECK-NOT: gpu.barrier
// CHECK: gpu.return
func.func @norm(%x: memref<8x128x768xf32>, %w: memref<768xf32>, %y: memref<8x128x768xf32>, %sum: memref<8x128xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%sum : memref<8x128xf32>)
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"], remat.order = "along"}
      ins(%x : memref<8x128x768xf32>) outs(%sum : memref<8x128xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  linalg.exp ins(%w : memref<768xf32>) outs(%w : memref<768xf32>)
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %sum : memref<8x128x768xf32>, memref<8x128xf32>) outs(%y : memref<8x128x768xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %d = arith.divf %a, %s : f32
    linalg.yield %d : f32
  }
  return
}

// -----

// Sums of 768 and of 8 numbers want another number of threads each, and so kernels of their own; the second one has what follows.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func @other_threads
// CHECK-COUNT-2: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @other_threads(%x: memref<4096x768xf32>, %y: memref<4096x8xf32>, %a: memref<4096xf32>, %b: memref<4096xf32>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"], remat.order = "along"}
      ins(%x : memref<4096x768xf32>) outs(%a : memref<4096xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#id, #row, #row], iterator_types = ["parallel", "reduction"], remat.order = "along"}
      ins(%y, %a : memref<4096x8xf32>, memref<4096xf32>) outs(%b : memref<4096xf32>) {
  ^bb0(%e: f32, %f: f32, %acc: f32):
    %p = arith.mulf %e, %f : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<4096xf32>) outs(%y : memref<4096x8xf32>) {
  ^bb0(%e: f32, %o: f32):
    %p = arith.mulf %e, %o : f32
    linalg.yield %p : f32
  }
  return
}

// -----

// Without a reduction, a grid of all elements is better. The sum over columns does not go through rows.
#id = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func @no_rows
// CHECK-COUNT-3: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @no_rows(%x: memref<4096x768xf32>, %y: memref<4096x768xf32>, %b: memref<768xf32>) {
  linalg.exp ins(%x : memref<4096x768xf32>) outs(%y : memref<4096x768xf32>)
  linalg.log ins(%y : memref<4096x768xf32>) outs(%x : memref<4096x768xf32>)
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"], remat.order = "across"}
      ins(%x : memref<4096x768xf32>) outs(%b : memref<768xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// The first operation reads the result of the second one in another row, which another block may not have summed up yet.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func @other_rows
// CHECK-COUNT-2: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @other_rows(%x: memref<4097x768xf32>, %a: memref<4096xf32>) {
  %upper = memref.subview %x[0, 0] [4096, 768] [1, 1] : memref<4097x768xf32> to memref<4096x768xf32, strided<[768, 1]>>
  %lower = memref.subview %x[1, 0] [4096, 768] [1, 1] : memref<4097x768xf32> to memref<4096x768xf32, strided<[768, 1], offset: 768>>
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"], remat.order = "along"}
      ins(%upper : memref<4096x768xf32, strided<[768, 1]>>) outs(%a : memref<4096xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<4096xf32>) outs(%lower : memref<4096x768xf32, strided<[768, 1], offset: 768>>) {
  ^bb0(%e: f32, %o: f32):
    %p = arith.mulf %e, %o : f32
    linalg.yield %p : f32
  }
  return
}

// -----

// 64 rows of a million numbers: the threads of the sums are too few for what follows.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func @few_rows
// CHECK-COUNT-2: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @few_rows(%x: memref<64x1048576xf32>, %a: memref<64xf32>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"], remat.order = "along"}
      ins(%x : memref<64x1048576xf32>) outs(%a : memref<64xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<64xf32>) outs(%x : memref<64x1048576xf32>) {
  ^bb0(%e: f32, %o: f32):
    %p = arith.mulf %e, %o : f32
    linalg.yield %p : f32
  }
  return
}

// -----

// Where a part of the memory is, is only known when the program runs: the operations may meet in any rows.
#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func @dynamic
// CHECK-COUNT-2: gpu.launch_func
// CHECK-NOT: gpu.launch_func
func.func @dynamic(%x: memref<4096x768xf32, strided<[768, 1], offset: ?>>, %a: memref<4096xf32>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"], remat.order = "along"}
      ins(%x : memref<4096x768xf32, strided<[768, 1], offset: ?>>) outs(%a : memref<4096xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %s = arith.addf %acc, %e : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a : memref<4096xf32>) outs(%x : memref<4096x768xf32, strided<[768, 1], offset: ?>>) {
  ^bb0(%e: f32, %o: f32):
    %p = arith.mulf %e, %o : f32
    linalg.yield %p : f32
  }
  return
}

// -----

// Rows are counted before they are merged with what follows: an iteration's number is that of its row.
#id = affine_map<(b, t, c) -> (b, t, c)>
#row = affine_map<(b, t, c) -> (b, t)>
// CHECK-LABEL: func @numbers
// CHECK-COUNT-1: gpu.launch_func
// CHECK-NOT: gpu.launch_func
// CHECK: gpu.func
// CHECK: %[[NUMBER:.*]] = arith.minui %{{.*}}, %c1023
// CHECK-DAG: arith.remui %[[NUMBER]], %c128
// CHECK-DAG: arith.divui %[[NUMBER]], %c128
func.func @numbers(%x: memref<8x128x64xf32>, %sum: memref<8x128xf32>) {
  linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "parallel", "reduction"], remat.order = "along"}
      ins(%x : memref<8x128x64xf32>) outs(%sum : memref<8x128xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %s = arith.addf %acc, %a : f32
    linalg.yield %s : f32
  }
  linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%sum : memref<8x128xf32>) outs(%x : memref<8x128x64xf32>) {
  ^bb0(%s: f32, %o: f32):
    %t = linalg.index 1 : index
    %i = arith.index_cast %t : index to i32
    %f = arith.sitofp %i : i32 to f32
    %d = arith.divf %f, %s : f32
    linalg.yield %d : f32
  }
  return
}
