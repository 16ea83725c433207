// RUN: remat-opt %s -split-input-file -remat-widen-products | FileCheck %s
// RUN: remat-opt %s -split-input-file -remat-widen-products -convert-linalg-to-library=alike | FileCheck %s --check-prefix=CALL

// The cotangent is f32: the other factor follows, which is exact.
// CHECK-LABEL: func @the_narrow_factor_is_copied
// CHECK-SAME: %[[A:.*]]: memref<8x16xbf16>, %[[B:.*]]: memref<16x32xf32>, %[[C:.*]]: memref<8x32xf32>
// CHECK: %[[WIDE:.*]] = memref.alloc() : memref<8x16xf32>
// CHECK: linalg.generic {{.*}} ins(%[[A]] : memref<8x16xbf16>) outs(%[[WIDE]] : memref<8x16xf32>)
// CHECK: arith.extf
// CHECK: linalg.generic {{.*}} ins(%[[WIDE]], %[[B]] : memref<8x16xf32>, memref<16x32xf32>) outs(%[[C]] : memref<8x32xf32>)
// CHECK-SAME: remat.order = "product"
// CHECK-SAME: remat.phase = "backward"
// CHECK-NOT: arith.extf
// CHECK: return
// CALL-LABEL: func @the_narrow_factor_is_copied
// CALL: call @remat_gemm_f32
func.func @the_narrow_factor_is_copied(%a: memref<8x16xbf16>, %b: memref<16x32xf32>, %c: memref<8x32xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<8x16xbf16>, memref<16x32xf32>) outs(%c : memref<8x32xf32>)
      attrs = {remat.order = "product", remat.phase = "backward"} {
  ^bb0(%p: bf16, %q: f32, %s: f32):
    %w = arith.extf %p : bf16 to f32
    %m = arith.mulf %q, %w : f32
    %r = arith.addf %s, %m : f32
    linalg.yield %r : f32
  }
  return
}

// -----

// CHECK-LABEL: func @the_library_has_products_of_one_narrow_type
// CHECK-NOT: memref.alloc
// CHECK: linalg.matmul
// CALL-LABEL: func @the_library_has_products_of_one_narrow_type
// CALL: call @remat_gemm_bf16_f32({{.*}}) : (memref<?x?x?x?xbf16, {{.*}}>, memref<?x?x?x?xbf16, {{.*}}>, memref<?x?x?x?xf32, {{.*}}>, i64)
func.func @the_library_has_products_of_one_narrow_type(%a: memref<8x16xbf16>, %b: memref<16x32xbf16>, %c: memref<8x32xf32>) {
  linalg.matmul {remat.order = "product"} ins(%a, %b : memref<8x16xbf16>, memref<16x32xbf16>) outs(%c : memref<8x32xf32>)
  return
}

// -----

// Its sum would be rounded at each step.
// CHECK-LABEL: func @a_product_that_is_added_up_in_bf16_is_a_kernel
// CHECK-NOT: memref.alloc
// CALL-LABEL: func @a_product_that_is_added_up_in_bf16_is_a_kernel
// CALL-NOT: call
// CALL: linalg.matmul
func.func @a_product_that_is_added_up_in_bf16_is_a_kernel(%a: memref<8x16xbf16>, %b: memref<16x32xbf16>, %c: memref<8x32xbf16>) {
  linalg.matmul {remat.order = "product"} ins(%a, %b : memref<8x16xbf16>, memref<16x32xbf16>) outs(%c : memref<8x32xbf16>)
  return
}

// -----

// CHECK-LABEL: func @a_factor_with_something_fused_is_no_product
// CHECK-NOT: memref.alloc
// CALL-LABEL: func @a_factor_with_something_fused_is_no_product
// CALL-NOT: call
// CALL: return
func.func @a_factor_with_something_fused_is_no_product(%a: memref<8x16xbf16>, %b: memref<16x32xf32>, %c: memref<8x32xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<8x16xbf16>, memref<16x32xf32>) outs(%c : memref<8x32xf32>) {
  ^bb0(%p: bf16, %q: f32, %s: f32):
    %w = arith.extf %p : bf16 to f32
    %t = arith.negf %w : f32
    %m = arith.mulf %q, %t : f32
    %r = arith.addf %s, %m : f32
    linalg.yield %r : f32
  }
  return
}

// -----

// CHECK-LABEL: func @sizes_may_be_dynamic
// CHECK: memref.dim
// CHECK: memref.alloc(%{{.*}}) : memref<?x16xf32>
// CALL-LABEL: func @sizes_may_be_dynamic
// CALL: call @remat_gemm_f32
func.func @sizes_may_be_dynamic(%a: memref<?x16xf16>, %b: memref<16x32xf32>, %c: memref<?x32xf32>) {
  linalg.matmul {remat.order = "product"} ins(%a, %b : memref<?x16xf16>, memref<16x32xf32>) outs(%c : memref<?x32xf32>)
  return
}

// -----

// The library rounds the sum.
// CHECK-LABEL: func @a_rounded_product_is_one_call
// CHECK-NOT: memref.alloc
// CALL-LABEL: func @a_rounded_product_is_one_call
// CALL-NOT: linalg.fill
// CALL: call @remat_gemm_bf16({{.*}}, %c0_i64) : (memref<?x?x?x?xbf16, {{.*}}>, memref<?x?x?x?xbf16, {{.*}}>, memref<?x?x?x?xbf16, {{.*}}>, i64)
// CALL-NOT: linalg
// CALL: return
func.func @a_rounded_product_is_one_call(%a: memref<8x16xbf16>, %b: memref<16x32xbf16>, %c: memref<8x32xbf16>) {
  %zero = arith.constant 0.0 : bf16
  linalg.fill ins(%zero : bf16) outs(%c : memref<8x32xbf16>)
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<8x16xbf16>, memref<16x32xbf16>) outs(%c : memref<8x32xbf16>) attrs = {remat.order = "rounded product"} {
  ^bb0(%x: bf16, %y: bf16, %s: bf16):
    %p = arith.extf %x : bf16 to f32
    %q = arith.extf %y : bf16 to f32
    %w = arith.extf %s : bf16 to f32
    %t = arith.mulf %p, %q : f32
    %u = arith.addf %w, %t : f32
    %r = arith.truncf %u : f32 to bf16
    linalg.yield %r : bf16
  }
  return
}
