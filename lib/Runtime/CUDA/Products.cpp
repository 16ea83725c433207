//===- Products.cpp - Matrix products by cuBLASLt -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Products.h"

#include "DynamicLibrary.h"

#include "remat/CUDA/RuntimeMemory.h"

#include <cstdlib>
#include <cstring>

using namespace remat;
using namespace remat::cuda;

namespace remat::cuda {
/// Descriptors and algorithm of one shape.
class ProductPlan final : public LibraryCall {
public:
  ProductPlan(const CublasLt &library, cublasLtHandle_t handle,
              const ProductShape &shape, size_t workspaceBytes);
  ~ProductPlan() override;
  ProductPlan(const ProductPlan &) = delete;

  void issue(CUstream stream, const uint64_t *words) const override;
  std::string describe() const override {
    return "a product of " + shape.str();
  }

private:
  void check(cublasStatus_t status, const char *call) const {
    if (status != CUBLAS_STATUS_SUCCESS)
      library.check(status, call, " for " + describe());
  }
  void createLayout(cublasLtMatrixLayout_t &layout, const ProductMatrix &matrix,
                    cudaDataType type);
  void createDescriptor();
  void chooseAlgorithm();

  const CublasLt &library;
  cublasLtHandle_t handle;
  ProductShape shape;
  size_t workspaceBytes;
  cublasLtMatmulDesc_t descriptor = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm = {};
};
} // namespace remat::cuda

//===----------------------------------------------------------------------===//
// Plan
//===----------------------------------------------------------------------===//

void ProductPlan::createDescriptor() {
  bool isDouble = shape.types.input == CUDA_R_64F;
  cublasComputeType_t compute = isDouble ? CUBLAS_COMPUTE_64F
                                : shape.types.allowsTF32
                                    ? CUBLAS_COMPUTE_32F_FAST_TF32
                                    : CUBLAS_COMPUTE_32F;
  check(library.cublasLtMatmulDescCreate(&descriptor, compute,
                                         isDouble ? CUDA_R_64F : CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  auto transpose = [&](cublasLtMatmulDescAttributes_t attribute,
                       const ProductMatrix &matrix) {
    int32_t operation = matrix.isTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(library.cublasLtMatmulDescSetAttribute(descriptor, attribute,
                                                 &operation, sizeof(operation)),
          "cublasLtMatmulDescSetAttribute");
  };
  transpose(CUBLASLT_MATMUL_DESC_TRANSA, shape.a);
  transpose(CUBLASLT_MATMUL_DESC_TRANSB, shape.b);
}

void ProductPlan::createLayout(cublasLtMatrixLayout_t &layout,
                               const ProductMatrix &matrix, cudaDataType type) {
  check(library.cublasLtMatrixLayoutCreate(&layout, type, matrix.rows,
                                           matrix.columns,
                                           matrix.leadingDimension),
        "cublasLtMatrixLayoutCreate");
  auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, auto value) {
    check(library.cublasLtMatrixLayoutSetAttribute(layout, attribute, &value,
                                                   sizeof(value)),
          "cublasLtMatrixLayoutSetAttribute");
  };
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<int32_t>(shape.batch));
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.batchStride);
}

void ProductPlan::chooseAlgorithm() {
  cublasLtMatmulPreference_t preference = nullptr;
  check(library.cublasLtMatmulPreferenceCreate(&preference),
        "cublasLtMatmulPreferenceCreate");
  auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
    check(library.cublasLtMatmulPreferenceSetAttribute(preference, attribute,
                                                       &value, sizeof(value)),
          "cublasLtMatmulPreferenceSetAttribute");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t(workspaceBytes));
  // Partial sums in the workspace, or none: in place they would be rounded.
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      uint32_t(CUBLASLT_REDUCTION_SCHEME_NONE |
               CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t(shape.a.alignment));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, uint32_t(shape.b.alignment));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, uint32_t(shape.c.alignment));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, uint32_t(shape.c.alignment));
  cublasLtMatmulHeuristicResult_t result = {};
  int found = 0;
  cublasStatus_t status = library.cublasLtMatmulAlgoGetHeuristic(
      handle, descriptor, a, b, c, c, preference, 1, &result, &found);
  library.cublasLtMatmulPreferenceDestroy(preference);
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  if (found == 0)
    fail("cuBLASLt " + library.version + " has no algorithm for a product of " +
         shape.str());
  check(result.state, "cublasLtMatmulAlgoGetHeuristic");
  algorithm = result.algo;
}

ProductPlan::ProductPlan(const CublasLt &library, cublasLtHandle_t handle,
                         const ProductShape &shape, size_t workspaceBytes)
    : library(library), handle(handle), shape(shape),
      workspaceBytes(workspaceBytes) {
  createDescriptor();
  createLayout(a, shape.a, shape.types.input);
  createLayout(b, shape.b, shape.types.input);
  createLayout(c, shape.c, shape.types.output);
  chooseAlgorithm();
}

ProductPlan::~ProductPlan() {
  for (cublasLtMatrixLayout_t layout : {a, b, c})
    library.cublasLtMatrixLayoutDestroy(layout);
  library.cublasLtMatmulDescDestroy(descriptor);
}

void ProductPlan::issue(CUstream stream, const uint64_t *words) const {
  auto toPointer = [](uint64_t word) { return reinterpret_cast<void *>(word); };
  double one64 = 1, beta64 = double(words[4]);
  float one32 = 1, beta32 = float(words[4]);
  bool isDouble = shape.types.input == CUDA_R_64F;
  const void *alpha = isDouble ? static_cast<void *>(&one64) : &one32;
  const void *beta = isDouble ? static_cast<void *>(&beta64) : &beta32;
  check(library.cublasLtMatmul(handle, descriptor, alpha, toPointer(words[0]),
                               a, toPointer(words[1]), b, beta,
                               toPointer(words[2]), c, toPointer(words[2]), c,
                               &algorithm, toPointer(words[3]), workspaceBytes,
                               stream),
        "cublasLtMatmul");
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Products::Products(const Driver &driver, DeviceMemory &memory)
    : driver(driver), memory(memory) {}

Products::~Products() {
  plans.clear();
  if (handle)
    library->cublasLtDestroy(handle);
}

void Products::load() {
  if (handle)
    return;
  library = CublasLt::load(driver.isEmulated);
  library->check(library->cublasLtCreate(&handle), "cublasLtCreate", "");
}

void Products::start() {
  load();
  if (!reserved && !own)
    own = {memory.allocate(MemoryClass::other, kDefaultWorkspaceBytes,
                           "the workspace of products"),
           kDefaultWorkspaceBytes};
}

const LibraryCall &Products::plan(const ProductShape &shape) {
  start();
  std::unique_ptr<ProductPlan> &plan = plans[{workspace().bytes, shape}];
  if (!plan)
    plan = std::make_unique<ProductPlan>(*library, handle, shape,
                                         workspace().bytes);
  return *plan;
}
