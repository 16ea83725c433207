// RUN: remat-opt %s -remat-pack-products -split-input-file | FileCheck %s

#b = affine_map<(b, m, n, k) -> (b, m, k)>
#w = affine_map<(b, m, n, k) -> (k, n)>
#c = affine_map<(b, m, n, k) -> (b, m, n)>

// No stride is 1.
// CHECK-LABEL: func.func @every_second_column(
// CHECK-SAME: %[[A:.*]]: memref<8x4xf32, strided<[8, 2]>>, %[[B:.*]]: memref<4x32xf32>, %[[C:.*]]: memref<8x32xf32>
// CHECK-NEXT: %[[COPY:.*]] = memref.alloc() : memref<8x4xf32>
// CHECK-NEXT: memref.copy %[[A]], %[[COPY]]
// CHECK-NEXT: linalg.matmul ins(%[[COPY]], %[[B]] : {{.*}}) outs(%[[C]] :
// CHECK-NEXT: return
func.func @every_second_column(%a: memref<8x4xf32, strided<[8, 2]>>, %b: memref<4x32xf32>, %c: memref<8x32xf32>) {
  linalg.matmul ins(%a, %b : memref<8x4xf32, strided<[8, 2]>>, memref<4x32xf32>) outs(%c : memref<8x32xf32>)
  return
}

// Rows of the batch and rows of each example are not one dimension any more.
// CHECK-LABEL: func.func @all_but_the_last_position(
// CHECK: %[[COPY:.*]] = memref.alloc() : memref<2x7x4xf32>
// CHECK: memref.copy %arg0, %[[COPY]]
// CHECK: linalg.generic {{.*}} ins(%[[COPY]], %arg1 :
func.func @all_but_the_last_position(%a: memref<2x7x4xf32, strided<[32, 4, 1]>>, %b: memref<4x16xf32>, %c: memref<2x7x16xf32>) {
  linalg.generic {indexing_maps = [#b, #w, #c], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<2x7x4xf32, strided<[32, 4, 1]>>, memref<4x16xf32>) outs(%c : memref<2x7x16xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// A part of a fused weight, and rows of a batch: BLAS takes another leading dimension.
// CHECK-LABEL: func.func @leading_dimensions(
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @leading_dimensions(%a: memref<8x4xf32, strided<[12, 1], offset: 4>>, %b: memref<4x32xf32, strided<[96, 1], offset: ?>>,
                              %c: memref<8x32xf32, strided<[64, 1]>>) {
  linalg.matmul ins(%a, %b : memref<8x4xf32, strided<[12, 1], offset: 4>>, memref<4x32xf32, strided<[96, 1], offset: ?>>)
      outs(%c : memref<8x32xf32, strided<[64, 1]>>)
  return
}

// Heads are a batch of products whatever they are parts of; dimensions of size 1 have no stride.
// CHECK-LABEL: func.func @heads(
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @heads(%q: memref<2x4x3x8xf32, strided<[288, 72, 8, 1]>>, %k: memref<2x4x3x8xf32, strided<[288, 72, 8, 1], offset: 24>>,
                 %s: memref<2x3x4x4xf32>, %row: memref<1x4xf32, strided<[999, 1]>>, %w: memref<4x8xf32>, %y: memref<1x8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(b, h, m, n, k) -> (b, m, h, k)>, affine_map<(b, h, m, n, k) -> (b, n, h, k)>,
                                   affine_map<(b, h, m, n, k) -> (b, h, m, n)>],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : memref<2x4x3x8xf32, strided<[288, 72, 8, 1]>>, memref<2x4x3x8xf32, strided<[288, 72, 8, 1], offset: 24>>)
      outs(%s : memref<2x3x4x4xf32>) {
  ^bb0(%x: f32, %y0: f32, %z: f32):
    %0 = arith.mulf %x, %y0 : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  linalg.matmul ins(%row, %w : memref<1x4xf32, strided<[999, 1]>>, memref<4x8xf32>) outs(%y : memref<1x8xf32>)
  return
}

// -----

// A result is written to contiguous memory first: from zeros where it starts from zeros, from what is there otherwise.
// CHECK-LABEL: func.func @results(
// CHECK-SAME: %{{.*}}, %{{.*}}, %[[C:.*]]: memref<8x32xf32, strided<[64, 2]>>, %[[D:.*]]: memref<8x32xf32, strided<[64, 2]>>
// CHECK-NOT: linalg.fill {{.*}} outs(%[[C]]
// CHECK: %[[C1:.*]] = memref.alloc() : memref<8x32xf32>
// CHECK-NEXT: linalg.fill {{.*}} outs(%[[C1]] :
// CHECK-NEXT: linalg.matmul {{.*}} outs(%[[C1]] :
// CHECK-NEXT: memref.copy %[[C1]], %[[C]]
// CHECK: %[[D1:.*]] = memref.alloc() : memref<8x32xf32>
// CHECK-NEXT: memref.copy %[[D]], %[[D1]]
// CHECK-NEXT: linalg.matmul {{.*}} outs(%[[D1]] :
// CHECK-NEXT: memref.copy %[[D1]], %[[D]]
func.func @results(%a: memref<8x4xf32>, %b: memref<4x32xf32>, %c: memref<8x32xf32, strided<[64, 2]>>,
                   %d: memref<8x32xf32, strided<[64, 2]>>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<8x32xf32, strided<[64, 2]>>)
  linalg.matmul ins(%a, %b : memref<8x4xf32>, memref<4x32xf32>) outs(%c : memref<8x32xf32, strided<[64, 2]>>)
  linalg.matmul ins(%a, %b : memref<8x4xf32>, memref<4x32xf32>) outs(%d : memref<8x32xf32, strided<[64, 2]>>)
  return
}

// -----

// Dynamic sizes: a shape is known to have no gaps by its type only.
// CHECK-LABEL: func.func @dynamic(
// CHECK-SAME: %[[A:.*]]: memref<?x4xf32, strided<[?, ?], offset: ?>>
// CHECK: %[[SIZE:.*]] = memref.dim %[[A]]
// CHECK: %[[COPY:.*]] = memref.alloc(%[[SIZE]]) : memref<?x4xf32>
// CHECK: linalg.matmul ins(%[[COPY]], %{{.*}} :
// CHECK-NOT: memref.alloc
// CHECK: linalg.matmul
func.func @dynamic(%a: memref<?x4xf32, strided<[?, ?], offset: ?>>, %dense: memref<?x4xf32>, %b: memref<4x32xf32>, %c: memref<?x32xf32>) {
  linalg.matmul ins(%a, %b : memref<?x4xf32, strided<[?, ?], offset: ?>>, memref<4x32xf32>) outs(%c : memref<?x32xf32>)
  linalg.matmul ins(%dense, %b : memref<?x4xf32>, memref<4x32xf32>) outs(%c : memref<?x32xf32>)
  return
}

// Products of a type that no library takes are in one order anyway.
// CHECK-LABEL: func.func @kernels(
// CHECK-NOT: memref.alloc
// CHECK: return
func.func @kernels(%a: memref<8x4xf16, strided<[8, 2]>>, %b: memref<4x32xf16>, %c: memref<8x32xf16>) {
  linalg.matmul ins(%a, %b : memref<8x4xf16, strided<[8, 2]>>, memref<4x32xf16>) outs(%c : memref<8x32xf16>)
  return
}

// -----

#q = affine_map<(h, m, n, d, v) -> (h, m, d)>
#k = affine_map<(h, m, n, d, v) -> (h, n, d)>
#v = affine_map<(h, m, n, d, v) -> (n, h, v)>
#y = affine_map<(h, m, n, d, v) -> (h, m, v)>
#l = affine_map<(h, m, n, d, v) -> (h, m)>

// A part of each row of a fused weight's product, and heads with gaps between them, are read where they are: each product is of
// one head. Every second column is copied, before and after the operation.
// CHECK-LABEL: func.func @attention(
// CHECK: %[[Y:.*]] = memref.alloc() : memref<3x8x4xf32>
// CHECK-NEXT: remat.attention ins(%arg0, %arg1, %arg2 : {{.*}}) outs(%[[Y]], %arg4
// CHECK: memref.copy %[[Y]], %arg3
func.func @attention(%q: memref<3x8x4xf32, strided<[64, 4, 1]>>, %k: memref<3x9x4xf32>, %v: memref<9x3x4xf32, strided<[36, 4, 1]>>,
                     %y: memref<3x8x4xf32, strided<[64, 8, 2]>>, %l: memref<3x8xf32>) {
  remat.attention ins(%q, %k, %v : memref<3x8x4xf32, strided<[64, 4, 1]>>, memref<3x9x4xf32>, memref<9x3x4xf32, strided<[36, 4, 1]>>)
      outs(%y, %l : memref<3x8x4xf32, strided<[64, 8, 2]>>, memref<3x8xf32>) attributes {indexing_maps = [#q, #k, #v, #y, #l]} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32):
    remat.yield %s : f32
  }
  return
}

// CHECK-LABEL: func.func @attention_backward(
// CHECK: %[[C:.*]] = memref.alloc() : memref<3x8x4xf32>
// CHECK: memref.copy %arg3, %[[C]]
// CHECK: %[[DK:.*]] = memref.alloc() : memref<3x9x4xf32>
// CHECK: memref.copy %arg7, %[[DK]]
// CHECK: remat.attention_backward {{.*}} cotangent(%[[C]], %arg4, %arg5 : {{.*}}) outs(%arg6, %[[DK]], %arg8
// CHECK: memref.copy %[[DK]], %arg7
func.func @attention_backward(%q: memref<3x8x4xf32>, %k: memref<3x9x4xf32>, %v: memref<9x3x4xf32>,
                              %y: memref<3x8x4xf32, strided<[64, 8, 2]>>, %l: memref<3x8xf32>, %e: memref<3x8xf32>,
                              %dq: memref<3x8x4xf32>, %dk: memref<3x9x4xf32, strided<[72, 8, 2]>>, %dv: memref<9x3x4xf32>) {
  remat.attention_backward ins(%q, %k, %v : memref<3x8x4xf32>, memref<3x9x4xf32>, memref<9x3x4xf32>)
      cotangent(%y, %l, %e : memref<3x8x4xf32, strided<[64, 8, 2]>>, memref<3x8xf32>, memref<3x8xf32>)
      outs(%dq, %dk, %dv : memref<3x8x4xf32>, memref<3x9x4xf32, strided<[72, 8, 2]>>, memref<9x3x4xf32>)
      attributes {indexing_maps = [#q, #k, #v, #y, #l], differentiated = array<i64>} {
  ^bb0(%h: index, %m: index, %n: index, %s: f32, %ls: f32, %delta: f32, %g: f32):
    %t = arith.subf %s, %ls : f32
    %w = math.exp %t : f32
    %c = arith.subf %g, %delta : f32
    %ds = arith.mulf %w, %c : f32
    remat.yield %ds, %w : f32, f32
  }
  return
}
