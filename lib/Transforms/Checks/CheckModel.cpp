//===- CheckModel.cpp - What is said of a model as it was written ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model that no pass has changed yet is what the user knows: diagnostics
// about anything later would speak of operations that are not in it.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "remat/Transforms/Checks/Passes.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "remat/Transforms/Checks/PolicyNames.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CHECKMODELPASS
#include "remat/Transforms/Checks/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
struct CheckModelPass : mlir::remat::impl::CheckModelPassBase<CheckModelPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (failed(checkTypes(module)))
      return signalPassFailure();
    warnOfContents(module);
    SymbolTableCollection symbols;
    for (auto function : module.getOps<func::FuncOp>())
      if (failed(checkPolicyNames(function, symbols)))
        return signalPassFailure();
    if (failed(checkCarriedSizes(module)))
      signalPassFailure();
  }
};
} // namespace
