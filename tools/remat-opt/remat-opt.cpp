//===- remat-opt.cpp - mlir-opt with the project's dialects and passes ----===//

#include "remat/Init.h"
#include "remat/Transforms/Import/ForeignDialects.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/CommandLine.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::remat::registerAllDialects(registry);
  mlir::remat::registerForeignDialects(registry);

  mlir::registerAllPasses();
  mlir::remat::registerAllPasses();

  // What stands at a location is shown with it; the operation, which may be the
  // whole module, is added on request.
  mlir::registerMLIRContextCLOptions();
  auto *printOp =
      llvm::cl::getRegisteredOptions().lookup("mlir-print-op-on-diagnostic");
  if (printOp)
    static_cast<llvm::cl::opt<bool> *>(printOp)->setInitialValue(false);
  // It takes half of the time, as in LLVM's opt. Input is verified in any case.
  mlir::MlirOptMainConfig::registerCLOptions(registry);
  auto *verifyEach = llvm::cl::getRegisteredOptions().lookup("verify-each");
  if (verifyEach)
    static_cast<llvm::cl::opt<bool, /*ExternalStorage=*/true> *>(verifyEach)
        ->setInitialValue(mlir::remat::verifiesAfterEachPass());

  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Differentiation and rematerialization in MLIR\n", registry));
}
