//===- PrepareForJIT.cpp - Keep LLVM's compile time linear ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A training step is one long block that calls kernels. Optimizing it gains
// nothing, and instruction selection takes time that grows with its square.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Passes.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PREPAREFORJIT
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

/// From this many operations on, the square shows.
static constexpr size_t kLongBlock = 512;

static bool hasLongBlock(LLVM::LLVMFuncOp function) {
  return llvm::any_of(function.getBody(), [](Block &block) {
    return block.getOperations().size() > kLongBlock;
  });
}

namespace {
struct PrepareForJIT : mlir::remat::impl::PrepareForJITBase<PrepareForJIT> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<LLVM::LLVMFuncOp> entries;
    for (StringRef name : {StringRef("main"), StringRef(remat::kStepEntryName),
                           StringRef(remat::kEvaluationEntryName)})
      if (auto entry = module.lookupSymbol<LLVM::LLVMFuncOp>(name))
        entries.push_back(entry);
    for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
      if (function.isExternal())
        continue;
      if (!entries.empty() && !llvm::is_contained(entries, function))
        function.setLinkage(LLVM::Linkage::Internal);
      if (hasLongBlock(function)) {
        function.setNoInline(true);
        function.setOptimizeNone(true);
      }
    }
  }
};
} // namespace
