// RUN: remat-opt %s --remat-merge-launches=neighbours --split-input-file | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

// CHECK-LABEL: func @a_sum_right_after_what_it_adds_up(
// CHECK: linalg.fill
// CHECK-NEXT: linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} : memref<256x1024xf32>, memref<1024xf32>) attrs = {remat.order = "across"}
// CHECK-NOT: linalg.mul
func.func @a_sum_right_after_what_it_adds_up(%a: memref<256x1024xf32>, %b: memref<256x1024xf32>, %m: memref<256x1024xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.mul ins(%a, %b : memref<256x1024xf32>, memref<256x1024xf32>) outs(%m : memref<256x1024xf32>)
  %s = memref.alloc() : memref<1024xf32>
  linalg.fill ins(%zero : f32) outs(%s : memref<1024xf32>)
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

// Its operands would live longer.
// CHECK-LABEL: func @nothing_waits_for_a_sum_further_on(
// CHECK: linalg.mul
// CHECK-NEXT: linalg.exp
// CHECK-NEXT: linalg.generic
func.func @nothing_waits_for_a_sum_further_on(%a: memref<256x1024xf32>, %b: memref<256x1024xf32>, %m: memref<256x1024xf32>, %s: memref<1024xf32>, %x: memref<8xf32>, %y: memref<8xf32>) {
  linalg.mul ins(%a, %b : memref<256x1024xf32>, memref<256x1024xf32>) outs(%m : memref<256x1024xf32>)
  linalg.exp ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["reduction", "parallel"]} ins(%m : memref<256x1024xf32>) outs(%s : memref<1024xf32>) attrs = {remat.order = "across"} {
  ^bb0(%p: f32, %o: f32):
    %0 = arith.addf %o, %p : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(i, j, k) -> (i, j, k)>
#row = affine_map<(i, j) -> (j)>
#pair = affine_map<(i, j) -> (i, j)>
#result = affine_map<(i, j, k) -> (i, k)>

// The sum's rows are in chunks, as remat-split-reductions makes them.
// CHECK-LABEL: func @a_sum_of_chunks_of_what_is_stored(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<16384x64xf32>, %[[V:[a-z0-9]+]]: memref<64xf32>, %[[M:[a-z0-9]+]]: memref<16384x64xf32>
// CHECK-DAG: %[[CHUNKS:.*]] = memref.expand_shape %[[M]]
// CHECK-DAG: %[[READ:.*]] = memref.expand_shape %[[A]] {{.*}} into memref<32x512x64xf32>
// CHECK-NOT: linalg.generic
// CHECK: linalg.generic {{.*}} ins(%[[READ]], %[[V]] : {{.*}}) outs(%[[CHUNKS]], %{{.*}} : memref<32x512x64xf32>, memref<32x64xf32>) attrs = {remat.order = "across"}
// CHECK-NOT: linalg.generic
func.func @a_sum_of_chunks_of_what_is_stored(%a: memref<16384x64xf32>, %v: memref<64xf32>, %m: memref<16384x64xf32>, %s: memref<32x64xf32>) {
  %chunks = memref.expand_shape %m [[0, 1], [2]] output_shape [32, 512, 64] : memref<16384x64xf32> into memref<32x512x64xf32>
  linalg.generic {indexing_maps = [#pair, #row, #pair], iterator_types = ["parallel", "parallel"]} ins(%a, %v : memref<16384x64xf32>, memref<64xf32>) outs(%m : memref<16384x64xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %0 = arith.mulf %x, %y : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #result], iterator_types = ["parallel", "reduction", "parallel"]} ins(%chunks : memref<32x512x64xf32>) outs(%s : memref<32x64xf32>) attrs = {remat.order = "across"} {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.addf %o, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(i, j, k) -> (i, j, k)>
#pair = affine_map<(i, j) -> (i, j)>
#result = affine_map<(i, j, k) -> (i, k)>

// CHECK-LABEL: func @a_sum_of_chunks_of_something_else(
// CHECK: linalg.exp
// CHECK: linalg.generic
func.func @a_sum_of_chunks_of_something_else(%a: memref<16384x64xf32>, %m: memref<16384x64xf32>, %s: memref<32x64xf32>) {
  %chunks = memref.expand_shape %a [[0, 1], [2]] output_shape [32, 512, 64] : memref<16384x64xf32> into memref<32x512x64xf32>
  linalg.exp ins(%a : memref<16384x64xf32>) outs(%m : memref<16384x64xf32>)
  linalg.generic {indexing_maps = [#id, #result], iterator_types = ["parallel", "reduction", "parallel"]} ins(%chunks : memref<32x512x64xf32>) outs(%s : memref<32x64xf32>) attrs = {remat.order = "across"} {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.addf %o, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#id = affine_map<(i, j, k) -> (i, j, k)>
#pair = affine_map<(i, j) -> (i, j)>
#result = affine_map<(i, j, k) -> (i, k)>

// Too few threads would add it up. A view that is left keeps a buffer alive.
// CHECK-LABEL: func @few_chunks_of_what_is_stored(
// CHECK: linalg.exp
// CHECK-NOT: memref.expand_shape %arg0
// CHECK: linalg.generic
func.func @few_chunks_of_what_is_stored(%a: memref<512x64xf32>, %m: memref<512x64xf32>, %s: memref<32x64xf32>) {
  %chunks = memref.expand_shape %m [[0, 1], [2]] output_shape [32, 16, 64] : memref<512x64xf32> into memref<32x16x64xf32>
  linalg.exp ins(%a : memref<512x64xf32>) outs(%m : memref<512x64xf32>)
  linalg.generic {indexing_maps = [#id, #result], iterator_types = ["parallel", "reduction", "parallel"]} ins(%chunks : memref<32x16x64xf32>) outs(%s : memref<32x64xf32>) attrs = {remat.order = "across"} {
  ^bb0(%x: f32, %o: f32):
    %0 = arith.addf %o, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Other operations are merged when memory is packed.
// CHECK-LABEL: func @nothing_else_is_merged(
// CHECK-COUNT-2: linalg.exp
func.func @nothing_else_is_merged(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %d: memref<8xf32>) {
  linalg.exp ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
  linalg.exp ins(%c : memref<8xf32>) outs(%d : memref<8xf32>)
  return
}
