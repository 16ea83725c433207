//===- remat-opt.cpp - mlir-opt with the project's dialects and passes ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Init.h"
#include "remat/Transforms/Import/ForeignDialects.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;

namespace {
/// The last pass of a pipeline whose passes are not verified one by one:
/// nothing invalid is printed without a diagnostic.
struct VerifyPass : PassWrapper<VerifyPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyPass)
  StringRef getArgument() const override { return "verify-result"; }

  void runOnOperation() override {
    if (failed(verify(getOperation())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace

/// As upstream's function with these arguments, with a pass at the end.
static LogicalResult run(StringRef input, StringRef output,
                         DialectRegistry &registry, MlirOptMainConfig config) {
  if (!config.shouldVerifyPasses())
    config.setPassPipelineSetupFn([passes = config](PassManager &pm) {
      if (failed(passes.setupPassPipeline(pm)))
        return failure();
      if (!pm.empty())
        pm.addPass(std::make_unique<VerifyPass>());
      return success();
    });
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(input, &message);
  std::unique_ptr<llvm::ToolOutputFile> result;
  if (file)
    result = openOutputFile(output, &message);
  if (!result) {
    llvm::errs() << message << "\n";
    return failure();
  }
  if (failed(MlirOptMain(result->os(), std::move(file), registry, config)))
    return failure();
  result->keep();
  return success();
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  remat::registerAllDialects(registry);
  remat::registerForeignDialects(registry);

  registerAllPasses();
  remat::registerAllPasses();

  // The source line of a location is shown with it; the operation, which may be
  // the whole module, is added on request.
  registerMLIRContextCLOptions();
  llvm::cl::SetVersionPrinter(remat::printVersion);
  auto *printOp =
      llvm::cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic");
  if (printOp)
    static_cast<llvm::cl::opt<bool> *>(printOp)->setInitialValue(false);
  // It takes half of the time. Input and the result are verified in any case.
  MlirOptMainConfig::registerCLOptions(registry);
  auto *verifyEach = llvm::cl::getRegisteredOptions().lookup("verify-each");
  if (verifyEach)
    static_cast<llvm::cl::opt<bool, /*ExternalStorage=*/true> *>(verifyEach)
        ->setInitialValue(remat::verifiesAfterEachPass());

  auto [input, output] = registerAndParseCLIOptions(
      argc, argv, "Differentiation and rematerialization in MLIR\n", registry);
  MlirOptMainConfig config = MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return asMainReturnCode(MlirOptMain(argc, argv, input, output, registry));
  llvm::InitLLVM initialized(argc, argv);
  return asMainReturnCode(run(input, output, registry, config));
}
