//===- CublasLt.cpp - cuBLASLt for the emulated driver --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that the CUDA runtime calls. They check what the library checks
// or silently relies on: layouts, leading dimensions, batches, the alignment
// and the workspace that the algorithm was chosen for. The product is computed
// when the stream gets to it.
//===----------------------------------------------------------------------===//

#include "CublasLtProduct.h"
#include "MemRef.h"
#include "remat/Emulator/Library.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <tuple>

using namespace remat::cuda;

// Weak: without the emulated driver (a unit test), products are computed at
// once, and nothing knows the device's memory.
#pragma weak remat_emu_enqueue
#pragma weak remat_emu_is_device_memory
#pragma weak remat_emu_count

namespace {
struct Preference {
  uint64_t workspaceBytes = 0;
  uint32_t reductionSchemes = 7;
  /// Of a, b, c and d; 256 is the library's default.
  uint32_t alignments[4] = {256, 256, 256, 256};
};

/// An algorithm's opaque words.
struct Algorithm {
  uint64_t shape;
  uint32_t alignments[4];
  uint64_t workspaceBytes;
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

template <typename T, typename Handle> T *as(Handle handle) {
  return reinterpret_cast<T *>(handle);
}
} // namespace

static cublasStatus_t
refuse(const char *what, cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE) {
  std::fprintf(stderr, "remat: emulated cuBLASLt: %s\n", what);
  return status;
}

template <typename T>
static cublasStatus_t set(T &field, const void *value, size_t bytes) {
  if (bytes != sizeof(T))
    return refuse("an attribute has another size");
  std::memcpy(&field, value, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static bool isOnDevice(const void *pointer, size_t bytes) {
  return !remat_emu_is_device_memory ||
         remat_emu_is_device_memory(pointer, bytes);
}

static const char *findFault(const EmulatedLayout &x) {
  if (x.rows < 1 || x.columns < 1 || x.batch < 1)
    return "a matrix is empty";
  if (x.leadingDimension < x.rows)
    return "a leading dimension is less than the number of rows";
  return nullptr;
}

/// Returns true if two elements may have one address. The matrices of a batch
/// may be interleaved, as the heads of attention are: each stride has to be
/// longer than all shorter ones reach together.
static bool hasOverlap(const EmulatedLayout &x) {
  std::array<std::pair<int64_t, int64_t>, 3> steps = {
      {{1, x.rows}, {x.leadingDimension, x.columns}, {x.batchStride, x.batch}}};
  std::sort(steps.begin(), steps.end());
  int64_t reach = 0;
  for (auto [stride, count] : steps) {
    if (count > 1 && stride <= reach)
      return true;
    reach += stride * (count - 1);
  }
  return false;
}

static const char *findFault(const EmulatedMatmul &matmul,
                             const EmulatedLayout &a, const EmulatedLayout &b,
                             const EmulatedLayout &c, const EmulatedLayout &d) {
  for (const EmulatedLayout *x : {&a, &b, &c, &d})
    if (const char *fault = findFault(*x))
      return fault;
  int64_t m = matmul.isATransposed ? a.columns : a.rows;
  int64_t k = matmul.isATransposed ? a.rows : a.columns;
  int64_t kOfB = matmul.isBTransposed ? b.columns : b.rows;
  int64_t n = matmul.isBTransposed ? b.rows : b.columns;
  if (k != kOfB || m != c.rows || n != c.columns)
    return "the matrices' sizes do not fit";
  if (std::memcmp(&c, &d, sizeof(c)) != 0)
    return "c and d differ in their layout";
  if (a.batch != c.batch || b.batch != c.batch)
    return "the batches differ in their size";
  if (hasOverlap(c))
    return "the results of a batch overlap";
  bool isDouble = a.type == CUDA_R_64F;
  if (a.type != b.type || (a.type != c.type && c.type != CUDA_R_32F) ||
      isDouble != (c.type == CUDA_R_64F) ||
      isDouble != (matmul.compute == CUBLAS_COMPUTE_64F) ||
      matmul.scale != (isDouble ? CUDA_R_64F : CUDA_R_32F))
    return "no product has these types";
  return nullptr;
}

/// Tells shapes apart that an algorithm was not chosen for (FNV-1a).
static uint64_t hash(const EmulatedMatmul &matmul, const EmulatedLayout &a,
                     const EmulatedLayout &b, const EmulatedLayout &c) {
  uint64_t result = 0xcbf29ce484222325;
  auto add = [&](uint64_t value) { result = (result ^ value) * 0x100000001b3; };
  add(matmul.compute);
  add(matmul.isATransposed * 2 + matmul.isBTransposed);
  for (const EmulatedLayout *x : {&a, &b, &c})
    for (int64_t value : {int64_t(x->type), x->rows, x->columns,
                          x->leadingDimension, x->batch, x->batchStride})
      add(value);
  return result;
}

static const char *findFault(const Algorithm &algorithm, uint64_t shape,
                             const void *const (&pointers)[4],
                             const EmulatedLayout *const (&layouts)[4],
                             const void *workspace, size_t workspaceBytes) {
  if (algorithm.shape != shape)
    return "the algorithm was chosen for another product";
  for (int i = 0; i < 4; ++i) {
    auto address = reinterpret_cast<uintptr_t>(pointers[i]);
    size_t width = layouts[i]->elementBytes();
    if (!address || address % width != 0)
      return "an operand is no address of elements of its type";
    if (address % algorithm.alignments[i] != 0)
      return "an operand is aligned less than the algorithm was chosen for";
    if (!isOnDevice(pointers[i], layouts[i]->spanBytes()))
      return "an operand is not in one buffer of the device";
  }
  if (workspaceBytes < algorithm.workspaceBytes ||
      (algorithm.workspaceBytes && !workspace))
    return "the workspace is smaller than the algorithm needs";
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0)
    return "the workspace is not at a multiple of 256";
  if (workspaceBytes && !isOnDevice(workspace, workspaceBytes))
    return "the workspace is not in one buffer of the device";
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

REMAT_EXPORT size_t cublasLtGetVersion() { return 130000; }

REMAT_EXPORT const char *cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
  case CUBLAS_STATUS_SUCCESS:
    return "CUBLAS_STATUS_SUCCESS";
  case CUBLAS_STATUS_NOT_INITIALIZED:
    return "CUBLAS_STATUS_NOT_INITIALIZED";
  case CUBLAS_STATUS_ALLOC_FAILED:
    return "CUBLAS_STATUS_ALLOC_FAILED";
  case CUBLAS_STATUS_INVALID_VALUE:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case CUBLAS_STATUS_NOT_SUPPORTED:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "an unknown status";
}

REMAT_EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle) {
  static char theOnly;
  *handle = reinterpret_cast<cublasLtHandle_t>(&theOnly);
  return CUBLAS_STATUS_SUCCESS;
}

REMAT_EXPORT cublasStatus_t cublasLtDestroy(cublasLtHandle_t) {
  return CUBLAS_STATUS_SUCCESS;
}

REMAT_EXPORT cublasStatus_t
cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc,
                         cublasComputeType_t compute, cudaDataType scale) {
  *desc = reinterpret_cast<cublasLtMatmulDesc_t>(
      new EmulatedMatmul{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}

REMAT_EXPORT cublasStatus_t
cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete as<EmulatedMatmul>(desc);
  return CUBLAS_STATUS_SUCCESS;
}

REMAT_EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
    const void *value, size_t bytes) {
  int32_t operation = 0;
  if (cublasStatus_t status = set(operation, value, bytes))
    return status;
  if (operation != CUBLAS_OP_N && operation != CUBLAS_OP_T)
    return refuse("unknown operation");
  auto *matmul = as<EmulatedMatmul>(desc);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA)
    matmul->isATransposed = operation == CUBLAS_OP_T;
  else if (attribute == CUBLASLT_MATMUL_DESC_TRANSB)
    matmul->isBTransposed = operation == CUBLAS_OP_T;
  else
    return refuse("unknown attribute of a product");
  return CUBLAS_STATUS_SUCCESS;
}

REMAT_EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(
    cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
    uint64_t columns, int64_t leadingDimension) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new EmulatedLayout{
      type, int64_t(rows), int64_t(columns), leadingDimension});
  return CUBLAS_STATUS_SUCCESS;
}

REMAT_EXPORT cublasStatus_t
cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete as<EmulatedLayout>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

REMAT_EXPORT cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t handle, cublasLtMatrixLayoutAttribute_t attribute,
    const void *value, size_t bytes) {
  auto *layout = as<EmulatedLayout>(handle);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET)
    return set(layout->batchStride, value, bytes);
  if (attribute != CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
    return refuse("unknown attribute of a layout");
  int32_t count = 0;
  cublasStatus_t status = set(count, value, bytes);
  layout->batch = count;
  return status;
}

REMAT_EXPORT cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference());
  return CUBLAS_STATUS_SUCCESS;
}

REMAT_EXPORT cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete as<Preference>(preference);
  return CUBLAS_STATUS_SUCCESS;
}

REMAT_EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t handle,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes) {
  auto *preference = as<Preference>(handle);
  int operand = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (operand >= 0 && operand < 4)
    return set(preference->alignments[operand], value, bytes);
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return set(preference->workspaceBytes, value, bytes);
  if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK)
    return set(preference->reductionSchemes, value, bytes);
  return refuse("unknown preference");
}

REMAT_EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference,
    int requested, cublasLtMatmulHeuristicResult_t *results, int *returned) {
  const auto &matmul = *as<EmulatedMatmul>(desc);
  const auto &wanted = *as<Preference>(preference);
  const auto &[aLayout, bLayout, cLayout, dLayout] =
      std::tie(*as<EmulatedLayout>(a), *as<EmulatedLayout>(b),
               *as<EmulatedLayout>(c), *as<EmulatedLayout>(d));
  *returned = 0;
  if (const char *fault = findFault(matmul, aLayout, bLayout, cLayout, dLayout))
    return refuse(fault);
  if (requested < 1)
    return refuse("no algorithm is asked for");
  // In place is the only scheme whose sums depend on the order of blocks.
  if (wanted.reductionSchemes & 1)
    return refuse("an algorithm may add in any order",
                  CUBLAS_STATUS_NOT_SUPPORTED);
  Algorithm algorithm = {};
  algorithm.shape = hash(matmul, aLayout, bLayout, cLayout);
  std::copy_n(wanted.alignments, 4, algorithm.alignments);
  algorithm.workspaceBytes = std::min<uint64_t>(wanted.workspaceBytes, 4096);
  results[0] = {};
  std::memcpy(results[0].algo.data, &algorithm, sizeof(algorithm));
  results[0].workspaceSize = algorithm.workspaceBytes;
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

REMAT_EXPORT cublasStatus_t
cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc, const void *alpha,
               const void *a, cublasLtMatrixLayout_t aLayout, const void *b,
               cublasLtMatrixLayout_t bLayout, const void *beta, const void *c,
               cublasLtMatrixLayout_t cLayout, void *d,
               cublasLtMatrixLayout_t dLayout, const cublasLtMatmulAlgo_t *algo,
               void *workspace, size_t workspaceBytes, CUstream stream) {
  const auto &matmul = *as<EmulatedMatmul>(desc);
  const EmulatedLayout *layouts[4] = {
      as<EmulatedLayout>(aLayout), as<EmulatedLayout>(bLayout),
      as<EmulatedLayout>(cLayout), as<EmulatedLayout>(dLayout)};
  if (const char *fault =
          findFault(matmul, *layouts[0], *layouts[1], *layouts[2], *layouts[3]))
    return refuse(fault);
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof(algorithm));
  uint64_t shape = hash(matmul, *layouts[0], *layouts[1], *layouts[2]);
  if (const char *fault = findFault(algorithm, shape, {a, b, c, d}, layouts,
                                    workspace, workspaceBytes))
    return refuse(fault);
  auto scalar = [&](const void *value) {
    return matmul.scale == CUDA_R_64F ? *static_cast<const double *>(value)
                                      : *static_cast<const float *>(value);
  };
  auto *product = new EmulatedProduct{matmul,
                                      *layouts[0],
                                      *layouts[1],
                                      *layouts[2],
                                      a,
                                      b,
                                      c,
                                      d,
                                      scalar(alpha),
                                      scalar(beta),
                                      workspace,
                                      algorithm.workspaceBytes};
  if (product->alpha != 1 || (product->beta != 0 && product->beta != 1) ||
      (product->beta != 0 && c != d)) {
    delete product;
    return refuse("only a * b and a * b + c in place are emulated",
                  CUBLAS_STATUS_NOT_SUPPORTED);
  }
  auto run = [](void *data) {
    const auto &product = *static_cast<EmulatedProduct *>(data);
    product.compute();
    if (remat_emu_count)
      remat_emu_count("cublasLtMatmul", product.bytesRead(), product.c.bytes());
    return CUDA_SUCCESS;
  };
  auto release = [](void *data) {
    delete static_cast<EmulatedProduct *>(data);
  };
  if (remat_emu_enqueue)
    return remat_emu_enqueue(stream, run, product, release) == CUDA_SUCCESS
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_NOT_INITIALIZED;
  run(product);
  release(product);
  return CUBLAS_STATUS_SUCCESS;
}
