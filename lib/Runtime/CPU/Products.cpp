//===- Products.cpp - Matrix products from MLIR ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Apart from the products themselves, so that who uses those does not export
// these.
//===----------------------------------------------------------------------===//

#include "Gemm.h"

using namespace remat;

/// c[i, j] = a[i, j] * b[i, j] (+ c[i, j] if `accumulate`) for every i, j of
/// the leading dimensions: a is m x k there, b is k x n, c is m x n. One of the
/// two inner strides of each must be 1 (any, if the other dimension has size
/// 1); the outer ones may be anything, 0 for an operand that all products
/// share.
REMAT_EXPORT void _mlir_ciface_remat_gemm_f32(MemRef<float, 4> *a,
                                              MemRef<float, 4> *b,
                                              MemRef<float, 4> *c,
                                              int64_t accumulate) {
  gemm(*a, *b, *c, accumulate);
}

REMAT_EXPORT void _mlir_ciface_remat_gemm_f64(MemRef<double, 4> *a,
                                              MemRef<double, 4> *b,
                                              MemRef<double, 4> *c,
                                              int64_t accumulate) {
  gemm(*a, *b, *c, accumulate);
}
