//===- CublasLtProduct.cpp - Compute what cuBLASLt is asked for -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By the CPU runtime's products. Operands of 16 bits become f32, are multiplied
// and added as such, and are rounded once. So are those of f32 that are rounded
// to TF32.
//===----------------------------------------------------------------------===//

#include "CublasLtProduct.h"

#include "BFloat16.h"
#include "CPU/HostContext.h"
#include "Core/Gemm.h"
#include "TF32.h"

#include <cstring>
#include <vector>

using namespace remat;
using namespace remat::cuda;

//===----------------------------------------------------------------------===//
// 16 bits
//===----------------------------------------------------------------------===//

static float toFloat(cudaDataType type, uint16_t bits) {
  if (type == CUDA_R_16BF)
    return fromBF16(bits);
  _Float16 half;
  std::memcpy(&half, &bits, sizeof(half));
  return static_cast<float>(half);
}

static uint16_t fromFloat(cudaDataType type, float value) {
  if (type == CUDA_R_16BF)
    return toBF16(value);
  auto half = static_cast<_Float16>(value);
  uint16_t bits;
  std::memcpy(&bits, &half, sizeof(bits));
  return bits;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

template <typename T>
static MemRef<T, 4> view(const EmulatedLayout &layout, bool isTransposed,
                         T *data) {
  int64_t rows = layout.rows, columns = layout.columns;
  int64_t rowStride = 1, columnStride = layout.leadingDimension;
  if (isTransposed) {
    std::swap(rows, columns);
    std::swap(rowStride, columnStride);
  }
  return {data,
          data,
          0,
          {layout.batch, 1, rows, columns},
          {layout.batchStride, 0, rowStride, columnStride}};
}

template <typename Visit>
static void forEach(const EmulatedLayout &layout, Visit visit) {
  for (int64_t i = 0; i < layout.batch; ++i)
    for (int64_t column = 0; column < layout.columns; ++column)
      for (int64_t row = 0; row < layout.rows; ++row)
        visit(i * layout.batchStride + column * layout.leadingDimension + row,
              (i * layout.columns + column) * layout.rows + row);
}

namespace {
/// A dense copy in f32.
struct Widened {
  EmulatedLayout layout;
  std::vector<float> elements;

  Widened(const EmulatedLayout &from, const void *data) : layout(from) {
    layout.leadingDimension = layout.rows;
    layout.batchStride = layout.rows * layout.columns;
    elements.resize(layout.batch * layout.batchStride);
    forEach(from, [&](int64_t position, int64_t dense) {
      elements[dense] =
          from.type == CUDA_R_32F
              ? static_cast<const float *>(data)[position]
              : toFloat(from.type,
                        static_cast<const uint16_t *>(data)[position]);
    });
  }
};
} // namespace

/// c = a * b (+ c).
template <typename T>
static void multiplyInto(const EmulatedMatmul &matmul, const EmulatedLayout &a,
                         const T *aData, const EmulatedLayout &b,
                         const T *bData, const EmulatedLayout &c, T *cData,
                         bool accumulate) {
  gemm(hostContext(), view(a, matmul.isATransposed, const_cast<T *>(aData)),
       view(b, matmul.isBTransposed, const_cast<T *>(bData)),
       view(c, /*isTransposed=*/false, cData), accumulate);
}

void EmulatedProduct::compute() const {
  std::memset(workspace, 0xff, workspaceBytes);
  bool accumulate = beta != 0;
  if (a.type == CUDA_R_64F)
    return multiplyInto(matmul, a, static_cast<const double *>(aData), b,
                        static_cast<const double *>(bData), c,
                        static_cast<double *>(dData), accumulate);
  if (a.type == CUDA_R_32F && matmul.compute != CUBLAS_COMPUTE_32F_FAST_TF32)
    return multiplyInto(matmul, a, static_cast<const float *>(aData), b,
                        static_cast<const float *>(bData), c,
                        static_cast<float *>(dData), accumulate);
  Widened wideA(a, aData), wideB(b, bData);
  if (a.type == CUDA_R_32F)
    for (Widened *factor : {&wideA, &wideB})
      for (float &element : factor->elements)
        element = roundToTF32(element);
  if (c.type == CUDA_R_32F)
    return multiplyInto(matmul, wideA.layout, wideA.elements.data(),
                        wideB.layout, wideB.elements.data(), c,
                        static_cast<float *>(dData), accumulate);
  Widened wideC(c, dData);
  multiplyInto(matmul, wideA.layout, wideA.elements.data(), wideB.layout,
               wideB.elements.data(), wideC.layout, wideC.elements.data(),
               accumulate);
  forEach(c, [&](int64_t position, int64_t dense) {
    static_cast<uint16_t *>(dData)[position] =
        fromFloat(c.type, wideC.elements[dense]);
  });
}
