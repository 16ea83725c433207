//===- activations-opt.cpp - remat-opt with one more dialect --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Activations.h"

#include "remat/Init.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::remat::registerAllDialects(registry);
  registry.insert<act::ActDialect>();

  mlir::registerAllPasses();
  mlir::remat::registerAllPasses();
  act::registerPasses();

  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "remat with activations\n", registry));
}
