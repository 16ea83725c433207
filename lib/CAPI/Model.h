//===- Model.h - From text to a module that can be trained -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CAPI_MODEL_H
#define REMAT_LIB_CAPI_MODEL_H

#include "Diagnostics.h"
#include "Progress.h"

#include "remat/Pipelines/Options.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"

namespace mlir {
class OpPassManager;
namespace func {
class FuncOp;
} // namespace func
namespace remat {

/// A module in a context of its own, whose diagnostics go to a callback.
class Model {
public:
  Model(const RematStepOptions &options, RematDiagnosticCallback callback,
        void *userData);

  /// Parses the text and runs the passes that come first; so for the
  /// evaluation, if that has a text of its own, which becomes part of the
  /// module.
  LogicalResult load();
  /// Adds a `remat.train_step` unless there is one, and the evaluation.
  LogicalResult addTrainStep();
  /// Makes each learning rate of the optimizer an element of the array that the
  /// caller writes to, as those are which the options name; where that is a
  /// NaN, it is what it was. Returns a name for each.
  FailureOr<std::vector<std::string>> exposeLearningRates();
  /// Runs what `build` appends, passes of this project; fails, after a
  /// diagnostic, if it does. The module is verified in the end.
  LogicalResult run(llvm::function_ref<LogicalResult(OpPassManager &)> build);

  ModuleOp getModule() { return *module; }
  Progress &getProgress() { return progress; }
  /// An error about the module as a whole, or about what was asked for.
  InFlightDiagnostic emitError();
  /// Reports an error of the host or the device; returns failure.
  LogicalResult report(llvm::Error error);

private:
  OwningOpRef<ModuleOp> parse(MlirStringRef text, MlirStringRef fileName,
                              MlirStringRef passes);
  LogicalResult run(ModuleOp module,
                    llvm::function_ref<LogicalResult(OpPassManager &)> build,
                    bool verifyEach);
  LogicalResult addEvaluation(OwningOpRef<ModuleOp> evaluated);
  LogicalResult addLearningRates();
  void createRatesArray(int64_t count);
  FlatSymbolRefAttr exposeLearningRate(Attribute rate, int64_t index);
  void observe(llvm::function_ref<void()> run, const tracing::Action &action);
  FailureOr<func::FuncOp> findFunction(ModuleOp module, StringRef name,
                                       StringRef what);

  const RematStepOptions &options;
  Progress progress;
  std::atomic<int> runningPasses{0};
  llvm::SourceMgr sources;
  MLIRContext context;
  DiagnosticForwarder diagnostics;
  OwningOpRef<ModuleOp> module;
  /// The name of the evaluation; empty for the module's own.
  std::string evaluation;
};

/// Parses the options of a pipeline; an error says what is wrong with them.
template <typename Options>
LogicalResult parseOptions(Model &model, StringRef text, Options &options) {
  std::string message;
  llvm::raw_string_ostream os(message);
  OptionErrors errors(os);
  if (succeeded(options.parseFromString(text, os)))
    return success();
  return model.emitError() << "options '" << text << "' of remat-train: "
                           << StringRef(message).rtrim();
}

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_CAPI_MODEL_H
