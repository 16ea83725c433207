//===- Products.h - Matrix products from MLIR -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_RUNTIME_CORE_PRODUCTS_H
#define REMAT_RUNTIME_CORE_PRODUCTS_H

#include "Gemm.h"

/// The entry points, X(NAME, A, B, C): c[i, j] = a[i, j] * b[i, j] (+ c[i, j]
/// if `accumulate`) for every i, j of the leading dimensions; a is m x k there,
/// b is k x n, c is m x n. One of the two inner strides of each must be 1 (any,
/// if the other dimension has size 1); the outer ones may be anything, 0 for an
/// operand that all products share. Names have the types of the factors, and
/// that of the result if it is another.
#define REMAT_PRODUCTS(X)                                                      \
  X(f32, float, float, float)                                                  \
  X(f64, double, double, double)                                               \
  REMAT_NARROW_PRODUCTS(X, bf16, BF16)                                         \
  REMAT_NARROW_PRODUCTS(X, f16, F16)

#define REMAT_NARROW_PRODUCTS(X, NAME, N)                                      \
  X(NAME##_f32, N, N, float)                                                   \
  X(NAME, N, N, N)                                                             \
  X(f32x##NAME##_f32, float, N, float)                                         \
  X(NAME##xf32_f32, N, float, float)                                           \
  X(f32x##NAME##_##NAME, float, N, N)                                          \
  X(NAME##xf32_##NAME, N, float, N)

#endif // REMAT_RUNTIME_CORE_PRODUCTS_H
