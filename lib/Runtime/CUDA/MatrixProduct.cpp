//===- MatrixProduct.cpp - A product as the library takes it --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MatrixProduct.h"

#include <algorithm>
#include <array>
#include <tuple>

using namespace remat;
using namespace remat::cuda;

int64_t cuda::byteWidth(cudaDataType type) {
  switch (type) {
  case CUDA_R_32F:
    return 4;
  case CUDA_R_64F:
    return 8;
  case CUDA_R_16F:
  case CUDA_R_16BF:
    return 2;
  }
  return 0;
}

static const char *nameOf(cudaDataType type) {
  switch (type) {
  case CUDA_R_32F:
    return "f32";
  case CUDA_R_64F:
    return "f64";
  case CUDA_R_16F:
    return "f16";
  case CUDA_R_16BF:
    return "bf16";
  }
  return "?";
}

std::string ProductShape::str() const {
  std::string text = std::to_string(m) + "x" + std::to_string(n) + "x" +
                     std::to_string(k) + " in " +
                     (types.allowsTF32 ? "tf32" : nameOf(types.input));
  return batch == 1 ? text : std::to_string(batch) + " of " + text;
}

static auto tie(const ProductMatrix &x) {
  return std::tie(x.rows, x.columns, x.leadingDimension, x.batchStride,
                  x.isTransposed, x.alignment);
}

static auto toKey(const ProductShape &x) {
  return std::tuple_cat(std::tie(x.types.input, x.types.output,
                                 x.types.allowsTF32, x.m, x.n, x.k, x.batch),
                        tie(x.a), tie(x.b), tie(x.c));
}

bool cuda::operator<(const ProductShape &left, const ProductShape &right) {
  return toKey(left) < toKey(right);
}

namespace {
/// One operand, with the batch dimensions apart.
struct Operand {
  CUdeviceptr address;
  int64_t rows, columns, rowStride, columnStride;
  int64_t outerStride, innerStride;
  int64_t width;

  Operand(const MemRef<char, 4> &memref, int64_t width)
      : address(reinterpret_cast<CUdeviceptr>(memref.aligned) +
                memref.offset * width),
        rows(memref.sizes[2]), columns(memref.sizes[3]),
        rowStride(memref.strides[2]), columnStride(memref.strides[3]),
        outerStride(memref.strides[0]), innerStride(memref.strides[1]),
        width(width) {}

  bool isRowMajor() const { return columnStride == 1 || columns == 1; }
  bool isColumnMajor() const { return rowStride == 1 || rows == 1; }
  void transpose() {
    std::swap(rows, columns);
    std::swap(rowStride, columnStride);
  }
  /// The matrix as column-major memory.
  ProductMatrix toMatrix(int64_t batchStride) const;
};
} // namespace

static int64_t alignmentOf(uint64_t multiple) {
  int64_t alignment = 16;
  while (multiple % alignment != 0)
    alignment /= 2;
  return alignment;
}

ProductMatrix Operand::toMatrix(int64_t batchStride) const {
  bool isTransposed = !isColumnMajor();
  int64_t contiguous = isTransposed ? columns : rows;
  int64_t others = isTransposed ? rows : columns;
  int64_t stride = isTransposed ? rowStride : columnStride;
  // Between vectors of which there is one, the stride may be anything.
  int64_t lead = others == 1 ? std::max<int64_t>(contiguous, 1) : stride;
  int64_t loopBytes = outerStride * width;
  return {
      contiguous,   others,
      lead,         batchStride,
      isTransposed, alignmentOf(address | static_cast<uint64_t>(loopBytes))};
}

ProductRequest cuda::makeProduct(ProductTypes types,
                                 const MemRef<char, 4> &aMemRef,
                                 const MemRef<char, 4> &bMemRef,
                                 const MemRef<char, 4> &cMemRef) {
  Operand a(aMemRef, byteWidth(types.input));
  Operand b(bMemRef, byteWidth(types.input));
  Operand c(cMemRef, byteWidth(types.output));
  // The library's c is column-major; a row-major one is c' = b' a'.
  if (c.isRowMajor()) {
    std::swap(a, b);
    for (Operand *x : {&a, &b, &c})
      x->transpose();
  }
  int64_t outer = cMemRef.sizes[0], inner = cMemRef.sizes[1];
  std::array<Operand *, 3> all = {&a, &b, &c};
  int64_t loops = 1;
  int64_t batch = outer * inner;
  auto innerStrideIsAll = [&](const Operand *x) {
    return x->outerStride == x->innerStride * inner;
  };
  if (inner == 1) {
    for (Operand *x : all)
      x->innerStride = x->outerStride;
  } else if (outer != 1 &&
             !std::all_of(all.begin(), all.end(), innerStrideIsAll)) {
    loops = outer;
    batch = inner;
  }
  for (Operand *x : all) {
    if (loops == 1)
      x->outerStride = 0;
    if (batch == 1)
      x->innerStride = 0;
  }

  ProductRequest request = {
      {types, c.rows, c.columns, a.columns, batch, a.toMatrix(a.innerStride),
       b.toMatrix(b.innerStride), c.toMatrix(c.innerStride)},
      {}};
  if (c.rows * c.columns * batch == 0)
    return request;
  for (int64_t i = 0; i < loops; ++i)
    request.calls.push_back({a.address + i * a.outerStride * a.width,
                             b.address + i * b.outerStride * b.width,
                             c.address + i * c.outerStride * c.width});
  return request;
}
