//===- Products.h - Matrix products by cuBLASLt ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The algorithm of a product is a function of its shape: chosen once, for the
// least alignment and the one workspace size that all products of the program
// have, among those that add in a fixed order. So a product has the same bits
// wherever the packer puts its operands.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_PRODUCTS_H
#define REMAT_RUNTIME_CUDA_PRODUCTS_H

#include "CommandList.h"
#include "CublasLtLibrary.h"
#include "DeviceMemory.h"
#include "MatrixProduct.h"

#include <array>
#include <optional>

namespace remat::cuda {

class ProductPlan;

class Products {
public:
  Products(const Driver &driver, DeviceMemory &memory);
  ~Products();
  Products(const Products &) = delete;

  /// Loads the library, if it is not loaded.
  void load();
  /// Memory of the program for algorithms, instead of the runtime's own.
  void reserveWorkspace(CUdeviceptr pointer, size_t bytes) {
    reserved = {pointer, bytes};
  }
  void releaseWorkspace() { reserved.reset(); }
  /// The call for products of a shape, which are not empty.
  const LibraryCall &plan(const ProductShape &shape);
  /// The operands of the call's command.
  static constexpr int64_t kNumWords = 5;
  std::array<uint64_t, kNumWords> operands(const ProductAddresses &addresses,
                                           bool accumulate) const {
    return {addresses.a, addresses.b, addresses.c, workspace().pointer,
            accumulate};
  }
  /// Empty until there was a product.
  std::string version() const { return library ? library->version : ""; }

private:
  struct Workspace {
    CUdeviceptr pointer;
    size_t bytes;
  };
  void start();

  const Driver &driver;
  DeviceMemory &memory;
  std::optional<CublasLt> library;
  cublasLtHandle_t handle = nullptr;
  const Workspace &workspace() const { return reserved ? *reserved : *own; }
  /// Of the program, for a time, and of the runtime, if it was needed.
  std::optional<Workspace> reserved, own;
  /// By shape and workspace size.
  std::map<std::pair<size_t, ProductShape>, std::unique_ptr<ProductPlan>> plans;
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_PRODUCTS_H
