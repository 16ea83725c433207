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
/// share. Names have the types of the factors, and that of the result if it is
/// another.
#define REMAT_GEMM(NAME, A, B, C)                                              \
  REMAT_EXPORT void _mlir_ciface_remat_gemm_##NAME(                            \
      MemRef<A, 4> *a, MemRef<B, 4> *b, MemRef<C, 4> *c, int64_t accumulate) { \
    gemm(*a, *b, *c, accumulate);                                              \
  }
#define REMAT_GEMM_NARROW(NAME, N)                                             \
  REMAT_GEMM(NAME##_f32, N, N, float)                                          \
  REMAT_GEMM(NAME, N, N, N)                                                    \
  REMAT_GEMM(f32x##NAME##_f32, float, N, float)                                \
  REMAT_GEMM(NAME##xf32_f32, N, float, float)                                  \
  REMAT_GEMM(f32x##NAME##_##NAME, float, N, N)                                 \
  REMAT_GEMM(NAME##xf32_##NAME, N, float, N)
REMAT_GEMM(f32, float, float, float)
REMAT_GEMM(f64, double, double, double)
REMAT_GEMM_NARROW(bf16, BF16)
REMAT_GEMM_NARROW(f16, F16)
