//===- ProductWorkspace.cpp - Workspaces of products in the arena ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cuBLASLt wants memory beside its operands. In the arena it is part of the
// peak that is predicted, and takes the place of what is dead meanwhile.
//===----------------------------------------------------------------------===//

#include "../Products.h"
#include "PartialSums.h"
#include "remat/CUDA/RuntimeMemory.h"
#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/PackMemory/Workspace.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PRODUCTWORKSPACE
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

static constexpr int64_t kAlignment = 256;

/// A function of the product's shape only: the library chooses the order of
/// additions by what it may use.
static int64_t getWorkspaceBytes(linalg::LinalgOp product) {
  int64_t results = 1, summands = 1;
  for (auto [size, kind] : llvm::zip_equal(product.getStaticLoopRanges(),
                                           product.getIteratorTypesArray())) {
    if (ShapedType::isDynamic(size))
      return ::remat::cuda::kDefaultWorkspaceBytes;
    int64_t &count =
        kind == utils::IteratorType::reduction ? summands : results;
    count = multiplySizes({size}, count);
  }
  // Partial results of 16 bits are kept in f32.
  auto type = cast<ShapedType>(product.getDpsInits()[0].getType());
  int64_t width = std::max<int64_t>(type.getElementTypeBitWidth() / 8, 4);
  int64_t bytes = getPartialSumBytes(results, summands, width,
                                     ::remat::cuda::kDefaultWorkspaceBytes);
  return std::max<int64_t>(llvm::alignTo(bytes, kAlignment), kAlignment);
}

/// Memory around `product`, of which the runtime knows while it lasts.
static void reserve(linalg::LinalgOp product, SymbolTable &symbols) {
  OpBuilder builder(product);
  Location loc = product.getLoc();
  auto memory = memref::AllocOp::create(
      builder, loc,
      MemRefType::get({getWorkspaceBytes(product)}, builder.getI8Type()));
  memory->setAttr(kWorkspaceAttrName, builder.getUnitAttr());
  Value bytes = memref::CastOp::create(
      builder, loc,
      MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()), memory);
  for (StringRef name :
       {"remat_cuda_begin_workspace", "remat_cuda_end_workspace"}) {
    func::CallOp call = createRuntimeCall(builder, loc, symbols, name, bytes);
    copyPhase(product, call);
    builder.setInsertionPointAfter(product);
  }
}

namespace {
struct ProductWorkspace
    : mlir::remat::impl::ProductWorkspaceBase<ProductWorkspace> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    SmallVector<linalg::LinalgOp> products;
    getOperation().walk([&](linalg::LinalgOp op) {
      if (isLibraryProduct(op, /*alike=*/true))
        products.push_back(op);
    });
    if (products.empty())
      return markAllAnalysesPreserved();
    Builder builder(&getContext());
    for (linalg::LinalgOp product : products) {
      if (product.hasPureBufferSemantics())
        reserve(product, symbols);
      else
        product->setDiscardableAttr(
            RematDialect::getWorkspaceBytesAttrName(),
            builder.getI64IntegerAttr(getWorkspaceBytes(product)));
    }
  }
};
} // namespace
