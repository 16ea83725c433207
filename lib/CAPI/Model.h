//===- Model.h - From text to a module that can be trained -----*- C++ -*-===//

#ifndef REMAT_LIB_CAPI_MODEL_H
#define REMAT_LIB_CAPI_MODEL_H

#include "Diagnostics.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir {
class OpPassManager;
namespace remat {

/// A module in a context of its own, whose diagnostics go to a callback.
class Model {
public:
  Model(const RematStepOptions &options, RematDiagnosticCallback callback,
        void *userData);

  /// Parses the text and runs the passes that come first.
  LogicalResult load();
  /// Adds a `remat.train_step` unless there is one.
  LogicalResult addTrainStep();
  /// Runs what `build` appends; fails, after a diagnostic, if it does.
  LogicalResult run(llvm::function_ref<LogicalResult(OpPassManager &)> build);

  ModuleOp getModule() { return *module; }
  MLIRContext *getContext() { return &context; }
  /// An error about the module as a whole, or about what was asked for.
  InFlightDiagnostic emitError();

private:
  FailureOr<StringRef> findLoss();

  const RematStepOptions &options;
  llvm::SourceMgr sources;
  MLIRContext context;
  DiagnosticForwarder diagnostics;
  OwningOpRef<ModuleOp> module;
};

/// Parses the options of a pipeline; an error says what is wrong with them.
template <typename Options>
LogicalResult parseOptions(Model &model, StringRef text, Options &options) {
  std::string message;
  llvm::raw_string_ostream os(message);
  if (succeeded(options.parseFromString(text, os)))
    return success();
  return model.emitError() << "options '" << text << "' of remat-train: "
                           << (message.empty() ? "a value is not allowed"
                                               : StringRef(message).rtrim());
}

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_CAPI_MODEL_H
