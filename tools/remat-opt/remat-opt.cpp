//===- remat-opt.cpp - mlir-opt with the project's dialects and passes ----===//

#include "remat/Init.h"
#include "remat/Transforms/Import/ForeignDialects.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::remat::registerAllDialects(registry);
  mlir::remat::registerForeignDialects(registry);

  mlir::registerAllPasses();
  mlir::remat::registerAllPasses();

  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "Differentiation and rematerialization in MLIR\n", registry));
}
