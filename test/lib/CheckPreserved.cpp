//===- CheckPreserved.cpp - A pass that checks others' word ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// After each pass of a pipeline, it fails if that one said that all analyses
// are preserved, but changed the program.
//===----------------------------------------------------------------------===//

#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;

namespace {
/// An analysis of whatever there is.
struct Program {
  explicit Program(Operation *op) { llvm::raw_string_ostream(text) << *op; }
  std::string text;
};

struct CheckPreserved : PassWrapper<CheckPreserved, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CheckPreserved)

  CheckPreserved() = default;
  CheckPreserved(const CheckPreserved &other) : PassWrapper(other) {}

  StringRef getArgument() const override {
    return "remat-test-check-preserved";
  }
  StringRef getDescription() const override {
    return "check that analyses are preserved if the last pass said so";
  }
  void runOnOperation() override {
    markAllAnalysesPreserved();
    std::optional<std::reference_wrapper<Program>> known =
        getCachedAnalysis<Program>();
    if (known && known->get().text != Program(getOperation()).text) {
      getOperation()->emitError("'")
          << after << "' changed the program, but preserves all analyses";
      return signalPassFailure();
    }
    (void)getAnalysis<Program>();
  }

  Option<std::string> after{*this, "after",
                            llvm::cl::desc("name of the pass before")};
};
} // namespace

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "remat-test", LLVM_VERSION_STRING,
          [] { PassRegistration<CheckPreserved>(); }};
}
