// RUN: remat-opt %s --convert-attention-to-gpu-kernels --canonicalize --cse --split-input-file | FileCheck %s
// RUN: remat-opt %s --convert-attention-to-gpu-kernels=traffic --split-input-file | FileCheck %s --check-prefix=TRAFFIC

#q = affine_map<(h, m, n, d, v) -> (h, m, d)>
#k = affine_map<(h, m, n, d, v) -> (h, n, d)>
#v = affine_map<(h, m, n, d, v) -> (h, n, v)>
#o = affine_map<(h, m, n, d, v) -> (h, m, v)>
#l = affine_map<(h, m, n, d, v) -> (h, m)>

// A block for 64 rows of each of 4 heads, which two operations that are alike share. Tiles of 32 keys and values up to the last that a row
// sees, which come while the ones before are used; 16 bytes at once. Tensor cores multiply parts of 11 bits of each factor: rests with what
// is rounded, that with rests, and both that are rounded.
// Of each of 8 tiles of rows, all elements of queries are read once, and keys up to the last that is seen.
// TRAFFIC-LABEL: gpu.func @attention(
// TRAFFIC-SAME: remat.traffic = array<i64: 524288, 524288, 524288>
// TRAFFIC-SAME: remat.traffic = array<i64: 524288, 2359296, 524288>
// CHECK-LABEL: func.func @causal(
// CHECK-DAG: %[[BLOCKS:.*]] = arith.constant 32 : index
// CHECK-DAG: %[[THREADS:.*]] = arith.constant 128 : index
// CHECK-COUNT-2: gpu.launch_func @kernels::@attention blocks in (%[[BLOCKS]], %{{.*}}, %{{.*}}) threads in (%[[THREADS]], %{{.*}}, %{{.*}}) dynamic_shared_memory_size %c52224_i32
// CHECK-NOT: gpu.launch_func
// CHECK-LABEL: gpu.func @attention(
// CHECK-SAME: "write"
// CHECK-SAME: nvvm.minctasm = 2 : i32
// CHECK: %[[BITS:.*]] = arith.constant -8192 : i32
// CHECK: %[[MEMORY:.*]] = gpu.dynamic_shared_memory
// CHECK: %[[Q:.*]] = memref.view %[[MEMORY]][%c0][] : {{.*}} to memref<4352xf32,
// CHECK: %[[K:.*]] = memref.view %[[MEMORY]][%c17408][] : {{.*}} to memref<4352xf32,
// CHECK: %[[V:.*]] = memref.view %[[MEMORY]][%c34816][] : {{.*}} to memref<4352xf32,
// All heads are one section, of which the blocks with the last queries, which see the most keys, come first.
// CHECK: %[[HEADS:.*]] = arith.minui %{{.*}}, %c63
// CHECK: %[[TILE:.*]] = arith.divui %{{.*}}, %[[HEADS]]
// CHECK: arith.subi %c7, %[[TILE]]
// CHECK: nvgpu.device_async_copy %{{.*}}, %[[Q]][%{{.*}}], 4
// CHECK: %[[END:.*]] = affine.min
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c32 iter_args
// CHECK: gpu.barrier
// CHECK: %[[ROWS:.*]] = nvgpu.ldmatrix %[[Q]][%{{.*}}] {numTiles = 4 : i32, transpose = false}
// CHECK: %[[X:.*]] = vector.extract %[[ROWS]][0, 0]
// CHECK: %[[WORD:.*]] = arith.bitcast %[[X]] : f32 to i32
// CHECK: %[[UP:.*]] = arith.addi %[[WORD]], %c4096_i32
// CHECK: %[[ROUNDED:.*]] = arith.andi %[[UP]], %[[BITS]]
// CHECK: %[[NUMBER:.*]] = arith.bitcast %[[ROUNDED]] : i32 to f32
// CHECK: %[[LEFT:.*]] = arith.subf %[[X]], %[[NUMBER]]
// CHECK: %[[LEFT_WORD:.*]] = arith.bitcast %[[LEFT]] : f32 to i32
// CHECK: %[[REST:.*]] = arith.andi %[[LEFT_WORD]], %[[BITS]]
// CHECK: nvgpu.ldmatrix %[[K]]
// CHECK: nvvm.mma.sync A[%[[REST]], %{{.*}}] B[%[[R0:[0-9]+]], %{{.*}}] {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 8>
// CHECK: nvvm.mma.sync A[%[[ROUNDED]], %{{.*}}] B[
// CHECK: nvvm.mma.sync A[%[[ROUNDED]], %{{.*}}] B[%[[R0]], %{{.*}}]
// CHECK: arith.cmpi ule
// CHECK: gpu.shuffle xor
// CHECK: math.exp2
// A column of values, by scalars: of the row that belongs to the score.
// CHECK: memref.load %[[V]]
// CHECK: nvvm.mma.sync
// CHECK-NOT: gpu.barrier
// CHECK: math.log
// CHECK: vector.store %{{.*}} {alignment = 8 : i64} : memref<?xf32>, vector<2xf32>
func.func @causal(%q: memref<4x512x64xf32>, %k: memref<4x512x64xf32>, %v: memref<4x512x64xf32>, %o: memref<4x512x64xf32>,
                  %o2: memref<4x512x64xf32>, %l: memref<4x512xf32>) {
  %low = arith.constant 0xFF800000 : f32
  remat.attention ins(%q, %k, %v : memref<4x512x64xf32>, memref<4x512x64xf32>, memref<4x512x64xf32>)
      outs(%o, %l : memref<4x512x64xf32>, memref<4x512xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32):
    %seen = arith.cmpi ule, %n, %m : index
    %t = arith.select %seen, %s, %low : f32
    remat.yield %t : f32
  }
  remat.attention ins(%q, %k, %v : memref<4x512x64xf32>, memref<4x512x64xf32>, memref<4x512x64xf32>)
      outs(%o2, %l : memref<4x512x64xf32>, memref<4x512xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32):
    %seen = arith.cmpi ule, %n, %m : index
    %t = arith.select %seen, %s, %low : f32
    remat.yield %t : f32
  }
  return
}

// -----

#q = affine_map<(h, m, n, d, v) -> (h, m, d)>
#k = affine_map<(h, m, n, d, v) -> (h, n, d)>
#v = affine_map<(h, m, n, d, v) -> (h, n, v)>
#o = affine_map<(h, m, n, d, v) -> (h, m, v)>
#l = affine_map<(h, m, n, d, v) -> (h, m)>

// Where there are no tensor cores for the type, each product is a chain; keys and values take turns in one memory, with four barriers for a
// tile of keys.
// CHECK-LABEL: gpu.func @attention(
// CHECK-SAME: nvvm.minctasm = 1 : i32
// CHECK: vector.load %{{.*}} {alignment = 16 : i64} : memref<?xf64>, vector<2xf64>
// CHECK: scf.for %{{.*}} = %{{.*}} to %c512 step %c32 iter_args
// CHECK: gpu.barrier
// CHECK: math.fma
// CHECK: gpu.shuffle xor
// CHECK: math.exp
// CHECK: gpu.barrier
// CHECK: gpu.barrier
// CHECK: math.fma
// CHECK: gpu.barrier
// CHECK-NOT: gpu.barrier
// CHECK: math.log
// CHECK: vector.store %{{.*}} {alignment = 16 : i64} : memref<?xf64>, vector<2xf64>
func.func @chains(%q: memref<4x512x64xf64>, %k: memref<4x512x64xf64>, %v: memref<4x512x64xf64>, %o: memref<4x512x64xf64>,
                  %l: memref<4x512xf64>) {
  remat.attention ins(%q, %k, %v : memref<4x512x64xf64>, memref<4x512x64xf64>, memref<4x512x64xf64>)
      outs(%o, %l : memref<4x512x64xf64>, memref<4x512xf64>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%h: index, %m: index, %n: index, %s: f64):
    remat.yield %s : f64
  }
  return
}

// -----

#q = affine_map<(h, m, n, d, v) -> (h, m, d)>
#k = affine_map<(h, m, n, d, v) -> (n, d)>
#v = affine_map<(h, m, n, d, v) -> (n, v)>
#o = affine_map<(h, m, n, d, v) -> (h, m, v)>
#l = affine_map<(h, m, n, d, v) -> (h, m)>

// Heads that share keys run in order in the block of the keys. The fill of one gradient goes; the others are read. What does not exist
// of the last tile is zero.
// CHECK-LABEL: func.func @shared_keys(
// CHECK-NOT: linalg.fill
// CHECK: gpu.launch_func @kernels::@attention_backward_keys blocks in (%c2,
// CHECK: gpu.launch_func @kernels::@attention_backward_queries blocks in (%c16,
// CHECK-LABEL: gpu.func @attention_backward_keys(
// CHECK-SAME: remat.access = "write"
// CHECK-SAME: remat.access = "read_write"
// CHECK: scf.for %{{.*}} = %c0 to %c4 step %c1 iter_args
// CHECK: scf.for %{{.*}} = %c0 to %c200 step %c32 iter_args
// CHECK: gpu.barrier
// CHECK: arith.cmpi ult, %{{.*}}, %c200
// CHECK: math.exp
// CHECK: gpu.barrier
// CHECK-LABEL: gpu.func @attention_backward_queries(
// CHECK: scf.for %{{.*}} = %c0 to %c70 step %c32 iter_args
func.func @shared_keys(%q: memref<4x200x8xf32>, %k: memref<70x8xf32>, %v: memref<70x6xf32>, %dy: memref<4x200x6xf32>,
                       %sum: memref<4x200xf32>, %delta: memref<4x200xf32>, %dq: memref<4x200x8xf32>, %dk: memref<70x8xf32>,
                       %dv: memref<70x6xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%dk : memref<70x8xf32>)
  remat.attention_backward ins(%q, %k, %v : memref<4x200x8xf32>, memref<70x8xf32>, memref<70x6xf32>)
      cotangent(%dy, %sum, %delta : memref<4x200x6xf32>, memref<4x200xf32>, memref<4x200xf32>)
      outs(%dq, %dk, %dv : memref<4x200x8xf32>, memref<70x8xf32>, memref<70x6xf32>)
      attributes {indexing_maps = [#q, #k, #v, #o, #l], differentiated = array<i64>} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32, %a: f32, %b: f32, %g: f32):
    %x = arith.subf %s, %a : f32
    %p = math.exp %x : f32
    %c = arith.subf %g, %b : f32
    %ds = arith.mulf %p, %c : f32
    remat.yield %ds, %p : f32, f32
  }
  return
}

// -----

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>
#mask = affine_map<(m, n, d, v) -> (m, n)>

// Eight numbers of bf16 at once; the result is rounded once, two of it at once. A mask is read where the score is.
// CHECK-LABEL: gpu.func @attention(
// CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}, 8 {bypassL1} : memref<?xbf16>
// CHECK-NOT: arith.extf
// CHECK: memref.load %{{.*}} : memref<?xi8>
// CHECK: arith.trunci
// CHECK: math.log
// CHECK: arith.truncf %{{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK: vector.store %{{.*}} {alignment = 4 : i64} : memref<?xbf16>, vector<2xbf16>
func.func @rounded(%q: memref<64x64xbf16>, %k: memref<64x64xbf16>, %v: memref<64x64xbf16>, %seen: memref<64x64xi1>,
                   %o: memref<64x64xbf16>, %l: memref<64xf32>) {
  %low = arith.constant 0xFF800000 : f32
  remat.attention ins(%q, %k, %v : memref<64x64xbf16>, memref<64x64xbf16>, memref<64x64xbf16>) scores(%seen : memref<64x64xi1>)
      outs(%o, %l : memref<64x64xbf16>, memref<64xf32>) attributes {indexing_maps = [#q, #k, #v, #mask, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32, %is: i1):
    %t = arith.select %is, %s, %low : f32
    remat.yield %t : f32
  }
  return
}

// -----

#q = affine_map<(m, n, d, v) -> (m, d)>
#k = affine_map<(m, n, d, v) -> (n, d)>
#v = affine_map<(m, n, d, v) -> (n, v)>
#o = affine_map<(m, n, d, v) -> (m, v)>
#l = affine_map<(m, n, d, v) -> (m)>

// Sizes that are not known are arguments. One tile of keys needs no barrier at its end. No rows, no launch.
// CHECK-LABEL: func.func @sizes(
// CHECK: memref.dim
// CHECK: scf.if
// CHECK: gpu.launch_func @kernels::@attention
// CHECK-NOT: gpu.launch_func
// CHECK: return
// CHECK-LABEL: gpu.func @attention(
// CHECK-COUNT-1: gpu.barrier
// CHECK-NOT: gpu.barrier
func.func @sizes(%q: memref<?x4xf32>, %k: memref<9x4xf32>, %v: memref<9x4xf32>, %o: memref<?x4xf32>, %l: memref<?xf32>,
                 %nq: memref<0x4xf32>, %no: memref<0x4xf32>, %nl: memref<0xf32>) {
  remat.attention ins(%q, %k, %v : memref<?x4xf32>, memref<9x4xf32>, memref<9x4xf32>)
      outs(%o, %l : memref<?x4xf32>, memref<?xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32):
    remat.yield %s : f32
  }
  remat.attention ins(%nq, %k, %v : memref<0x4xf32>, memref<9x4xf32>, memref<9x4xf32>)
      outs(%no, %nl : memref<0x4xf32>, memref<0xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%m: index, %n: index, %s: f32):
    remat.yield %s : f32
  }
  return
}

// -----

// Tensor cores: tiles of bf16 in workgroup memory, for queries, and twice for keys and values: the next ones come while some are used, after
// the one barrier of a tile. Weights stay in registers, rounded to bf16 as the result is.
#q = affine_map<(h, m, n, d, v) -> (h, m, d)>
#k = affine_map<(h, m, n, d, v) -> (h, n, d)>
#v = affine_map<(h, m, n, d, v) -> (h, n, v)>
#o = affine_map<(h, m, n, d, v) -> (h, m, v)>
#l = affine_map<(h, m, n, d, v) -> (h, m)>
// TRAFFIC-LABEL: func.func @matrices(
// CHECK-LABEL: func.func @matrices(
// CHECK-LABEL: gpu.func @attention(
// CHECK-SAME: nvvm.minctasm = 4 : i32
// CHECK: %[[Q:.*]] = memref.view %{{.*}} to memref<4608xbf16,
// CHECK: %[[K:.*]] = memref.view %{{.*}} to memref<9216xbf16,
// CHECK: %[[V:.*]] = memref.view %{{.*}} to memref<9216xbf16,
// CHECK: nvgpu.device_async_copy %{{.*}}, %[[Q]][%{{.*}}], 8 {bypassL1}
// CHECK: nvgpu.device_async_copy %{{.*}}, %[[K]][%{{.*}}], 8 {bypassL1}
// CHECK: nvgpu.device_async_copy %{{.*}}, %[[V]][%{{.*}}], 8 {bypassL1}
// CHECK: scf.for %[[FIRST:.*]] = %c0 to %c512 step %c64 iter_args
// CHECK: %[[GROUP:.*]] = nvgpu.device_async_create_group
// CHECK-NEXT: nvgpu.device_async_wait %[[GROUP]] {numGroups = 0 : i32}
// CHECK-NEXT: gpu.barrier
// CHECK: %[[NEXT:.*]] = arith.addi %[[FIRST]], %c64
// CHECK: %[[IS_NEXT:.*]] = arith.cmpi ult, %[[NEXT]], %c512
// CHECK: scf.if %[[IS_NEXT]]
// CHECK: nvgpu.device_async_copy %{{.*}}, %[[K]][%{{.*}}], 8 {bypassL1}
// CHECK: nvgpu.device_async_copy %{{.*}}, %[[V]][%{{.*}}], 8 {bypassL1}
// CHECK: nvgpu.ldmatrix %[[Q]]{{.*}} {numTiles = 4 : i32, transpose = false}
// CHECK: nvgpu.ldmatrix %[[K]]{{.*}} {numTiles = 4 : i32, transpose = false}
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: arith.maximumf %{{.*}} fastmath<nsz>
// CHECK: gpu.shuffle xor
// CHECK: math.exp2 %{{.*}} fastmath<afn> : f32
// CHECK-NOT: memref.store
// CHECK-NOT: gpu.barrier
// CHECK: arith.truncf %{{.*}} : vector<2xf32> to vector<2xbf16>
// CHECK-NOT: arith.subf
// CHECK: nvgpu.ldmatrix %[[V]][%{{.*}}] {numTiles = 4 : i32, transpose = true} : {{.*}} -> vector<4x2xbf16>
// CHECK: nvvm.mma.sync
// CHECK-NOT: gpu.barrier
// CHECK: vector.store %{{.*}} {alignment = 4 : i64} : memref<?xbf16>, vector<2xbf16>
func.func @matrices(%q: memref<4x512x64xbf16>, %k: memref<4x512x64xbf16>, %v: memref<4x512x64xbf16>, %o: memref<4x512x64xbf16>,
                    %l: memref<4x512xf32>) {
  remat.attention ins(%q, %k, %v : memref<4x512x64xbf16>, memref<4x512x64xbf16>, memref<4x512x64xbf16>)
      outs(%o, %l : memref<4x512x64xbf16>, memref<4x512xf32>) attributes {indexing_maps = [#q, #k, #v, #o, #l]} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32):
    remat.yield %s : f32
  }
  return
}

// -----

// The backward in f16 of gradients in f32 has scores of f32 in workgroup memory: their cotangents may be larger than all numbers of f16.
#q = affine_map<(h, m, n, d, v) -> (h, m, d)>
#k = affine_map<(h, m, n, d, v) -> (h, n, d)>
#v = affine_map<(h, m, n, d, v) -> (h, n, v)>
#o = affine_map<(h, m, n, d, v) -> (h, m, v)>
#l = affine_map<(h, m, n, d, v) -> (h, m)>
// TRAFFIC-LABEL: func.func @half(
// CHECK-LABEL: func.func @half(
// CHECK-NOT: mma.sync
// CHECK: gpu.func @attention_backward_keys(
// CHECK: vector.load %{{.*}} {alignment = 16 : i64} : memref<?xf16>, vector<8xf16>
// CHECK: arith.extf %{{.*}} : vector<8xf16> to vector<8xf32>
// CHECK: math.fma
// CHECK: vector.store %{{.*}} {alignment = 16 : i64} : memref<?xf32>, vector<4xf32>
// CHECK-NOT: mma.sync
func.func @half(%q: memref<4x512x64xf16>, %k: memref<4x512x64xf16>, %v: memref<4x512x64xf16>, %c: memref<4x512x64xf16>,
                %l: memref<4x512xf32>, %delta: memref<4x512xf32>, %dq: memref<4x512x64xf32>, %dk: memref<4x512x64xf32>, %dv: memref<4x512x64xf32>) {
  remat.attention_backward ins(%q, %k, %v : memref<4x512x64xf16>, memref<4x512x64xf16>, memref<4x512x64xf16>)
      cotangent(%c, %l, %delta : memref<4x512x64xf16>, memref<4x512xf32>, memref<4x512xf32>)
      outs(%dq, %dk, %dv : memref<4x512x64xf32>, memref<4x512x64xf32>, memref<4x512x64xf32>)
      attributes {indexing_maps = [#q, #k, #v, #o, #l], differentiated = array<i64>} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32, %sum: f32, %de: f32, %gv: f32):
    %difference = arith.subf %s, %sum : f32
    %p = math.exp %difference : f32
    %change = arith.subf %gv, %de : f32
    %ds = arith.mulf %p, %change : f32
    remat.yield %ds, %p : f32, f32
  }
  return
}

// -----

// Where gradients are f16, so are cotangents of scores as factors.
#q = affine_map<(h, m, n, d, v) -> (h, m, d)>
#k = affine_map<(h, m, n, d, v) -> (h, n, d)>
#v = affine_map<(h, m, n, d, v) -> (h, n, v)>
#o = affine_map<(h, m, n, d, v) -> (h, m, v)>
#l = affine_map<(h, m, n, d, v) -> (h, m)>
// TRAFFIC-LABEL: func.func @half_gradients(
// CHECK-LABEL: func.func @half_gradients(
// CHECK: gpu.func @attention_backward_keys(
// CHECK: arith.truncf %{{.*}} : vector<2xf32> to vector<2xf16>
// CHECK: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK-NOT: math.fma
func.func @half_gradients(%q: memref<4x512x64xf16>, %k: memref<4x512x64xf16>, %v: memref<4x512x64xf16>, %c: memref<4x512x64xf16>,
                %l: memref<4x512xf32>, %delta: memref<4x512xf32>, %dq: memref<4x512x64xf16>, %dk: memref<4x512x64xf16>, %dv: memref<4x512x64xf16>) {
  remat.attention_backward ins(%q, %k, %v : memref<4x512x64xf16>, memref<4x512x64xf16>, memref<4x512x64xf16>)
      cotangent(%c, %l, %delta : memref<4x512x64xf16>, memref<4x512xf32>, memref<4x512xf32>)
      outs(%dq, %dk, %dv : memref<4x512x64xf16>, memref<4x512x64xf16>, memref<4x512x64xf16>)
      attributes {indexing_maps = [#q, #k, #v, #o, #l], differentiated = array<i64>} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32, %sum: f32, %de: f32, %gv: f32):
    %difference = arith.subf %s, %sum : f32
    %p = math.exp %difference : f32
    %change = arith.subf %gv, %de : f32
    %ds = arith.mulf %p, %change : f32
    remat.yield %ds, %p : f32, f32
  }
  return
}

// -----

// Tiles that the mask of positions leaves whole compare no positions. A probability is one multiply-add and a power of two, by two numbers
// of its row.
#q = affine_map<(h, m, n, d, v) -> (h, m, d)>
#k = affine_map<(h, m, n, d, v) -> (h, n, d)>
#v = affine_map<(h, m, n, d, v) -> (h, n, v)>
#o = affine_map<(h, m, n, d, v) -> (h, m, v)>
#l = affine_map<(h, m, n, d, v) -> (h, m)>
// CHECK-LABEL: func.func @visible_tiles(
// CHECK-LABEL: gpu.func @attention_backward_keys(
// CHECK: scf.for %[[QUERY:.*]] = %{{.*}} step %c32
// CHECK: arith.cmpf oge, %[[SUM:[a-z0-9]*]], %{{.*}} : f32
// CHECK: %[[FACTOR:.*]] = arith.select
// CHECK: nvvm.mma.sync
// CHECK: %[[VISIBLE:.*]] = arith.cmpi sle, %{{.*}}, %c0
// CHECK-NEXT: %[[CHANGES:.*]]:32 = scf.if %[[VISIBLE]]
// CHECK-NOT: arith.cmpi ule
// CHECK: %[[EXPONENT:.*]] = math.fma %{{.*}}, %[[FACTOR]], %{{.*}} : f32
// CHECK-NEXT: math.exp2 %[[EXPONENT]] fastmath<afn> : f32
// CHECK: } else {
// CHECK: arith.cmpi ule
// CHECK: math.exp2
// CHECK: nvvm.mma.sync
func.func @visible_tiles(%q: memref<4x512x64xbf16>, %k: memref<4x512x64xbf16>, %v: memref<4x512x64xbf16>, %c: memref<4x512x64xbf16>,
                %l: memref<4x512xf32>, %delta: memref<4x512xf32>, %dq: memref<4x512x64xbf16>, %dk: memref<4x512x64xbf16>, %dv: memref<4x512x64xbf16>) {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %base = arith.constant 1.15292150460684698e+18 : f32
  %unit = arith.constant 8.67361737988403547e-19 : f32
  remat.attention_backward ins(%q, %k, %v : memref<4x512x64xbf16>, memref<4x512x64xbf16>, memref<4x512x64xbf16>)
      cotangent(%c, %l, %delta : memref<4x512x64xbf16>, memref<4x512xf32>, memref<4x512xf32>)
      outs(%dq, %dk, %dv : memref<4x512x64xbf16>, memref<4x512x64xbf16>, memref<4x512x64xbf16>)
      attributes {indexing_maps = [#q, #k, #v, #o, #l], differentiated = array<i64>} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32, %sum: f32, %de: f32, %gv: f32):
    %seen = arith.cmpi ule, %n, %m : index
    %t = arith.select %seen, %s, %low : f32
    %masked = arith.cmpf oeq, %t, %low : f32
    %beyond = arith.cmpf oge, %sum, %base : f32
    %rest = arith.subf %base, %sum : f32
    %decoded = arith.mulf %rest, %unit : f32
    %difference = arith.subf %t, %sum : f32
    %exponent = arith.select %beyond, %decoded, %difference : f32
    %power = math.exp %exponent : f32
    %p = arith.select %masked, %zero, %power : f32
    %change = arith.subf %gv, %de : f32
    %dt = arith.mulf %p, %change : f32
    %ds = arith.select %seen, %dt, %zero : f32
    remat.yield %ds, %p : f32, f32
  }
  return
}
