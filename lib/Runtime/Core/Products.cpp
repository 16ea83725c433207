//===- Products.cpp - Matrix products from MLIR ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Products.h"

using namespace remat;

#define X(NAME, A, B, C)                                                       \
  REMAT_CORE void remat_core_gemm_##NAME(Context *context, MemRef<A, 4> *a,    \
                                         MemRef<B, 4> *b, MemRef<C, 4> *c,     \
                                         int64_t accumulate) {                 \
    gemm(*context, *a, *b, *c, accumulate);                                    \
  }
REMAT_PRODUCTS(X)
