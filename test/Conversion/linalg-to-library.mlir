// RUN: remat-opt %s --convert-linalg-to-library --canonicalize --cse --split-input-file | FileCheck %s

// CHECK-LABEL: func @a_product_adds_to_what_is_there
// CHECK-DAG: %[[ADD:.*]] = arith.constant 1 : i64
// CHECK-DAG: %[[A:.*]] = memref.reinterpret_cast %arg0 to offset: [0], sizes: [1, 1, 8, 16], strides: [1, 1, 16, 1]
// CHECK-DAG: %[[B:.*]] = memref.reinterpret_cast %arg1 to offset: [0], sizes: [1, 1, 16, 32], strides: [1, 1, 32, 1]
// CHECK-DAG: %[[C:.*]] = memref.reinterpret_cast %arg2 to offset: [0], sizes: [1, 1, 8, 32], strides: [1, 1, 32, 1]
// CHECK: call @remat_gemm_f32({{.*}}%[[ADD]]) {remat.phase = "backward"}
func.func @a_product_adds_to_what_is_there(%a : memref<8x16xf32>, %b : memref<16x32xf32>, %c : memref<8x32xf32>) {
  linalg.matmul {remat.phase = "backward"} ins(%a, %b : memref<8x16xf32>, memref<16x32xf32>) outs(%c : memref<8x32xf32>)
  return
}

// -----

// CHECK-LABEL: func @a_product_overwrites_zeros
// CHECK: %[[OVERWRITE:.*]] = arith.constant 0 : i64
// CHECK-NOT: linalg.fill
// CHECK: linalg.copy
// CHECK: call @remat_gemm_f32({{.*}}%[[OVERWRITE]])
func.func @a_product_overwrites_zeros(%a : memref<8x16xf32>, %b : memref<16x32xf32>, %c : memref<8x32xf32>,
                                      %d : memref<16x32xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<8x32xf32>)
  linalg.copy ins(%d : memref<16x32xf32>) outs(%b : memref<16x32xf32>)
  linalg.matmul ins(%a, %b : memref<8x16xf32>, memref<16x32xf32>) outs(%c : memref<8x32xf32>)
  return
}

// -----

// CHECK-LABEL: func @zeros_that_someone_reads_stay
// CHECK: %[[ADD:.*]] = arith.constant 1 : i64
// CHECK: linalg.fill
// CHECK: linalg.copy
// CHECK: call @remat_gemm_f32({{.*}}%[[ADD]])
func.func @zeros_that_someone_reads_stay(%a : memref<8x16xf32>, %b : memref<16x32xf32>, %c : memref<8x32xf32>,
                                         %d : memref<4x32xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%c : memref<8x32xf32>)
  %part = memref.subview %c[0, 0] [4, 32] [1, 1] : memref<8x32xf32> to memref<4x32xf32, strided<[32, 1]>>
  linalg.copy ins(%part : memref<4x32xf32, strided<[32, 1]>>) outs(%d : memref<4x32xf32>)
  linalg.matmul ins(%a, %b : memref<8x16xf32>, memref<16x32xf32>) outs(%c : memref<8x32xf32>)
  return
}

// -----

// Rows of a sequence are rows of the matrix, heads are a batch where they lie.
// CHECK-LABEL: func @heads_of_attention_are_not_copied
// CHECK-DAG: memref.reinterpret_cast %arg0 to offset: [0], sizes: [2, 3, 9, 8], strides: [216, 8, 24, 1]
// CHECK-DAG: memref.reinterpret_cast %arg1 to offset: [0], sizes: [2, 3, 8, 11], strides: [264, 8, 1, 24]
// CHECK-DAG: memref.reinterpret_cast %arg2 to offset: [0], sizes: [2, 3, 9, 11], strides: [297, 99, 11, 1]
// CHECK: call @remat_gemm_f32
func.func @heads_of_attention_are_not_copied(%q : memref<2x9x3x8xf32>, %k : memref<2x11x3x8xf32>,
                                             %s : memref<2x3x9x11xf32>) {
  linalg.generic {indexing_maps = [affine_map<(b, h, t, s, d) -> (b, t, h, d)>,
                                   affine_map<(b, h, t, s, d) -> (b, s, h, d)>,
                                   affine_map<(b, h, t, s, d) -> (b, h, t, s)>],
                  iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : memref<2x9x3x8xf32>, memref<2x11x3x8xf32>) outs(%s : memref<2x3x9x11xf32>) {
  ^bb0(%x : f32, %y : f32, %acc : f32):
    %p = arith.mulf %x, %y : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  }
  return
}

// -----

// CHECK-LABEL: func @a_reduction_with_its_producer_is_no_product
// CHECK: linalg.generic
func.func @a_reduction_with_its_producer_is_no_product(%a : memref<8x16xf32>, %b : memref<8xf32>, %c : memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                                   affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%a, %b : memref<8x16xf32>, memref<8xf32>) outs(%c : memref<8xf32>) {
  ^bb0(%x : f32, %y : f32, %acc : f32):
    %p = arith.mulf %x, %y : f32
    %r = arith.addf %acc, %p : f32
    linalg.yield %r : f32
  }
  return
}

// -----

// CHECK-LABEL: func @narrow_factors_stay_narrow
// CHECK: call @remat_gemm_bf16_f32
func.func @narrow_factors_stay_narrow(%a : memref<8x16xbf16>, %b : memref<16x32xbf16>, %c : memref<8x32xf32>) {
  linalg.matmul ins(%a, %b : memref<8x16xbf16>, memref<16x32xbf16>) outs(%c : memref<8x32xf32>)
  return
}

// -----

// CHECK-LABEL: func @factors_of_two_types
// CHECK: call @remat_gemm_f32xf16_f32
func.func @factors_of_two_types(%a : memref<8x16xf32>, %b : memref<16x32xf16>, %c : memref<8x32xf32>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<8x16xf32>, memref<16x32xf16>) outs(%c : memref<8x32xf32>) attrs = {remat.order = "product"} {
  ^bb0(%x : f32, %y : f16, %s : f32):
    %q = arith.extf %y : f16 to f32
    %t = arith.mulf %x, %q : f32
    %u = arith.addf %s, %t : f32
    linalg.yield %u : f32
  }
  return
}

// -----

// CHECK-LABEL: func @the_result_is_rounded
// CHECK: call @remat_gemm_f32xbf16_bf16
func.func @the_result_is_rounded(%a : memref<8x16xf32>, %b : memref<16x32xbf16>, %c : memref<8x32xbf16>) {
  linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : memref<8x16xf32>, memref<16x32xbf16>) outs(%c : memref<8x32xbf16>) attrs = {remat.order = "rounded product"} {
  ^bb0(%x : f32, %y : bf16, %s : bf16):
    %q = arith.extf %y : bf16 to f32
    %w = arith.extf %s : bf16 to f32
    %t = arith.mulf %x, %q : f32
    %u = arith.addf %w, %t : f32
    %r = arith.truncf %u : f32 to bf16
    linalg.yield %r : bf16
  }
  return
}

// -----

// CHECK-LABEL: func @other_types_are_left_to_kernels
// CHECK: linalg.matmul
func.func @other_types_are_left_to_kernels(%a : memref<8x16xi32>, %b : memref<16x32xi32>, %c : memref<8x32xi32>) {
  linalg.matmul ins(%a, %b : memref<8x16xi32>, memref<16x32xi32>) outs(%c : memref<8x32xi32>)
  return
}

// -----

// CHECK-LABEL: func @a_matrix_without_a_unit_stride_is_left_to_kernels
// CHECK: linalg.matmul
func.func @a_matrix_without_a_unit_stride_is_left_to_kernels(%a : memref<8x16xf32, strided<[64, 2]>>,
                                                             %b : memref<16x32xf32>, %c : memref<8x32xf32>) {
  linalg.matmul ins(%a, %b : memref<8x16xf32, strided<[64, 2]>>, memref<16x32xf32>) outs(%c : memref<8x32xf32>)
  return
}
