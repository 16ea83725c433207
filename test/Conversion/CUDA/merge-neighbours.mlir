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

// Other operations are merged when memory is packed.
// CHECK-LABEL: func @nothing_else_is_merged(
// CHECK-COUNT-2: linalg.exp
func.func @nothing_else_is_merged(%a: memref<8xf32>, %b: memref<8xf32>, %c: memref<8xf32>, %d: memref<8xf32>) {
  linalg.exp ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
  linalg.exp ins(%c : memref<8xf32>) outs(%d : memref<8xf32>)
  return
}
