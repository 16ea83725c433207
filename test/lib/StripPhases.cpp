//===- StripPhases.cpp - A pass that drops phases -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands for foreign passes that build an operation anew without attributes
// that they do not know.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;

namespace {
struct StripPhases : PassWrapper<StripPhases, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StripPhases)

  StringRef getArgument() const override { return "remat-test-strip-phases"; }
  StringRef getDescription() const override { return "drop every remat.phase"; }
  void runOnOperation() override {
    getOperation()->walk([](Operation *op) {
      op->removeDiscardableAttr(remat::RematDialect::getPhaseAttrName());
    });
  }
};
} // namespace

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "remat-test", LLVM_VERSION_STRING,
          [] { PassRegistration<StripPhases>(); }};
}
