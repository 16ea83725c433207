//===- Conv.cpp - Convolutions in this process ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Core/ConvCall.h"

#include "HostContext.h"

using namespace remat;

#define REMAT_CONV_2D(NAME, FUNCTION, T, CHANNELS_FIRST, X, W, Y)              \
  REMAT_CORE void remat_core_##NAME(Context *, MemRef<T, 4> *, MemRef<T, 4> *, \
                                    MemRef<T, 4> *, int64_t, int64_t, int64_t, \
                                    int64_t, int64_t, int64_t);                \
  REMAT_EXPORT void _mlir_ciface_remat_##NAME(                                 \
      MemRef<T, 4> *a, MemRef<T, 4> *b, MemRef<T, 4> *c, int64_t strideH,      \
      int64_t strideW, int64_t dilationH, int64_t dilationW, int64_t padH,     \
      int64_t padW) {                                                          \
    remat_core_##NAME(&hostContext(), a, b, c, strideH, strideW, dilationH,    \
                      dilationW, padH, padW);                                  \
  }

#define REMAT_CONV_3D(NAME, FUNCTION, T, CHANNELS_FIRST, X, W, Y)              \
  REMAT_CORE void remat_core_##NAME(                                           \
      Context *, MemRef<T, 5> *, MemRef<T, 5> *, MemRef<T, 5> *, int64_t,      \
      int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t); \
  REMAT_EXPORT void _mlir_ciface_remat_##NAME(                                 \
      MemRef<T, 5> *a, MemRef<T, 5> *b, MemRef<T, 5> *c, int64_t strideD,      \
      int64_t strideH, int64_t strideW, int64_t dilationD, int64_t dilationH,  \
      int64_t dilationW, int64_t padD, int64_t padH, int64_t padW) {           \
    remat_core_##NAME(&hostContext(), a, b, c, strideD, strideH, strideW,      \
                      dilationD, dilationH, dilationW, padD, padH, padW);      \
  }

REMAT_CONVOLUTIONS(REMAT_CONV_2D, REMAT_CONV_3D)
