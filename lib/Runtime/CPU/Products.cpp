//===- Products.cpp - Matrix products in this process ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Apart from the products themselves, so that who uses those does not export
// these.
//===----------------------------------------------------------------------===//

#include "Core/Products.h"

#include "HostContext.h"

using namespace remat;

#define X(NAME, A, B, C)                                                       \
  REMAT_EXPORT void _mlir_ciface_remat_gemm_##NAME(                            \
      MemRef<A, 4> *a, MemRef<B, 4> *b, MemRef<C, 4> *c, int64_t accumulate) { \
    gemm(hostContext(), *a, *b, *c, accumulate);                               \
  }
REMAT_PRODUCTS(X)
