//===- ProductInterface.cpp - Matrix products that programs ask for -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As the CPU's remat_gemm_f32 and _f64, on memory of the device, with inputs of
// 16 bits whose products are added in f32, and with factors of f32 that may be
// rounded to TF32.
//===----------------------------------------------------------------------===//

#include "MemRef.h"
#include "Session.h"

using namespace remat;
using namespace remat::cuda;

/// A sum of no products is 0.
static void fillWithZeros(Session &current, const ProductRequest &request) {
  const ProductMatrix &c = request.shape.c;
  int64_t width = byteWidth(request.shape.types.output);
  for (const ProductAddresses &addresses : request.calls)
    for (int64_t i = 0; i < request.shape.batch; ++i) {
      CUdeviceptr start = addresses.c + i * c.batchStride * width;
      if (c.leadingDimension == c.rows) {
        current.fill(start, 0, c.rows * c.columns * width);
        continue;
      }
      for (int64_t column = 0; column < c.columns; ++column)
        current.fill(start + column * c.leadingDimension * width, 0,
                     c.rows * width);
    }
}

static void multiply(ProductTypes types, const MemRef<char, 4> *a,
                     const MemRef<char, 4> *b, const MemRef<char, 4> *c,
                     bool accumulate) {
  ProductRequest request = makeProduct(types, *a, *b, *c);
  if (request.calls.empty())
    return;
  Session &current = session();
  if (request.shape.k == 0) {
    if (!accumulate)
      fillWithZeros(current, request);
    return;
  }
  const LibraryCall &call = current.products.plan(request.shape);
  for (const ProductAddresses &addresses : request.calls)
    current.call(call, current.products.operands(addresses, accumulate).data(),
                 Products::kNumWords);
}

#define REMAT_PRODUCT(NAME, ...)                                               \
  REMAT_EXPORT void _mlir_ciface_remat_gemm_##NAME(                            \
      const MemRef<char, 4> *a, const MemRef<char, 4> *b,                      \
      const MemRef<char, 4> *c, int64_t accumulate) {                          \
    multiply({__VA_ARGS__}, a, b, c, accumulate);                              \
  }
REMAT_PRODUCT(f32, CUDA_R_32F, CUDA_R_32F)
REMAT_PRODUCT(tf32, CUDA_R_32F, CUDA_R_32F, /*allowsTF32=*/true)
REMAT_PRODUCT(f64, CUDA_R_64F, CUDA_R_64F)
REMAT_PRODUCT(bf16, CUDA_R_16BF, CUDA_R_16BF)
REMAT_PRODUCT(bf16_f32, CUDA_R_16BF, CUDA_R_32F)
REMAT_PRODUCT(f16, CUDA_R_16F, CUDA_R_16F)
REMAT_PRODUCT(f16_f32, CUDA_R_16F, CUDA_R_32F)
#undef REMAT_PRODUCT

/// Memory of the program that products may use from here to
/// remat_cuda_end_workspace; without it, the runtime allocates some of its own.
REMAT_EXPORT void
_mlir_ciface_remat_cuda_begin_workspace(const MemRef<char, 1> *memory) {
  if (reinterpret_cast<uintptr_t>(memory->data()) % 256 != 0)
    fail("the workspace of a product must be at a multiple of 256");
  session().products.reserveWorkspace(
      reinterpret_cast<CUdeviceptr>(memory->data()), memory->sizes[0]);
}

REMAT_EXPORT void
_mlir_ciface_remat_cuda_end_workspace(const MemRef<char, 1> *) {
  session().products.releaseWorkspace();
}
