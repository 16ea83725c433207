// RUN: remat-opt %s --convert-linalg-to-kernels --split-input-file | FileCheck %s
// RUN: remat-opt %s --remat-fuse-rows --convert-linalg-to-kernels --split-input-file | FileCheck %s --check-prefix=ROWS

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>

// Both loops, of which the memory decides.
// CHECK-LABEL: func @large(
// CHECK: func.func private @kernel_generic(%{{.*}}, %{{.*}}, %[[Y:.*]]: memref<17039360xf32, strided<[1]>>)
// CHECK: %[[ADDRESS:.*]] = memref.extract_aligned_pointer_as_index %[[Y]]
// CHECK: %[[REST:.*]] = arith.andi
// CHECK: %[[IS_LINE:.*]] = arith.cmpi eq, %[[REST]],
// CHECK: scf.if %[[IS_LINE]]
// CHECK: scf.parallel
// CHECK: vector.store {{.*}} {alignment = 64 : i64, nontemporal = true}
// CHECK: } else {
// CHECK: scf.parallel
// CHECK-NOT: nontemporal
func.func @large(%x: memref<16384x1040xf32>, %b: memref<1040xf32>, %y: memref<16384x1040xf32>) {
  linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]} ins(%x, %b : memref<16384x1040xf32>, memref<1040xf32>) outs(%y : memref<16384x1040xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %0 = arith.addf %a, %c : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Transposed blocks are written in lines.
// CHECK-LABEL: func @transposed(
// CHECK: scf.if
// CHECK-COUNT-16: vector.store {{.*}} {alignment = 64 : i64, nontemporal = true}
func.func @transposed(%x: memref<1040x16384xf32>, %y: memref<16384x1040xf32>) {
  linalg.transpose ins(%x : memref<1040x16384xf32>) outs(%y : memref<16384x1040xf32>) permutation = [1, 0]
  return
}

// -----

// A vector is half a line, or two.
// CHECK-LABEL: func @widths(
// CHECK-DAG: vector.store {{.*}} {alignment = 32 : i64, nontemporal = true} : memref<34078720xbf16
// CHECK-DAG: vector.store {{.*}} {alignment = 64 : i64, nontemporal = true} : memref<8519680xf64
func.func @widths(%x: memref<32768x1040xbf16>, %y: memref<32768x1040xbf16>, %a: memref<8192x1040xf64>, %b: memref<8192x1040xf64>) {
  linalg.negf ins(%x : memref<32768x1040xbf16>) outs(%y : memref<32768x1040xbf16>)
  linalg.negf ins(%a : memref<8192x1040xf64>) outs(%b : memref<8192x1040xf64>)
  return
}

// -----

// In the place of an operand, in the cache, in rows that end within a line, of bytes.
// CHECK-LABEL: func @ordinary(
// CHECK-NOT: nontemporal
func.func @ordinary(%x: memref<16384x1040xf32>, %s: memref<1024x1040xf32>, %t: memref<1024x1040xf32>, %u: memref<16384x1042xf32>, %c: memref<1042xf32>, %v: memref<16384x1042xf32>, %w: memref<8192x8192xi8>, %z: memref<8192x8192xi8>) {
  linalg.negf ins(%x : memref<16384x1040xf32>) outs(%x : memref<16384x1040xf32>)
  linalg.negf ins(%s : memref<1024x1040xf32>) outs(%t : memref<1024x1040xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%u, %c : memref<16384x1042xf32>, memref<1042xf32>) outs(%v : memref<16384x1042xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  }
  linalg.copy ins(%w : memref<8192x8192xi8>) outs(%z : memref<8192x8192xi8>)
  return
}

// -----

#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (i)>

// Results that a later operation on the same rows reads stay in the cache; the last result does not.
// CHECK-LABEL: func @rows(
// ROWS-LABEL: func @rows(
// ROWS: func.func private @kernel_rows(%[[X:.*]]: memref<16384x1040xf32>, %[[E:.*]]: memref<16384x1040xf32>, %[[S:.*]]: memref<16384xf32>, %[[Y:.*]]: memref<16384x1040xf32>)
// ROWS: memref.extract_aligned_pointer_as_index %[[Y]]
// ROWS: scf.if
// ROWS: vector.store %{{[^{]*}} : memref
// ROWS: vector.store {{.*}} {alignment = 64 : i64, nontemporal = true}
// ROWS: } else {
// ROWS-NOT: nontemporal
func.func @rows(%x: memref<16384x1040xf32>, %e: memref<16384x1040xf32>, %s: memref<16384xf32>, %y: memref<16384x1040xf32>) {
  linalg.exp ins(%x : memref<16384x1040xf32>) outs(%e : memref<16384x1040xf32>)
  linalg.generic {indexing_maps = [#id, #column], iterator_types = ["parallel", "reduction"]} ins(%e : memref<16384x1040xf32>) outs(%s : memref<16384xf32>) {
  ^bb0(%a: f32, %o: f32):
    %0 = arith.addf %a, %o : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [#id, #column, #id], iterator_types = ["parallel", "parallel"]} ins(%e, %s : memref<16384x1040xf32>, memref<16384xf32>) outs(%y : memref<16384x1040xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %0 = arith.divf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}
