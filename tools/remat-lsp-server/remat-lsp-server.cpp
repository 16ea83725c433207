//===- remat-lsp-server.cpp - The project's dialects in an editor ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-lsp-server with our dialects: errors while typing, completion of
// policies, update rules and their hyperparameters, hover and definitions.
//===----------------------------------------------------------------------===//

#include "Hover.h"
#include "remat/Init.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::remat::registerAllDialects(registry);
  return mlir::remat::runWithAttributeHover([&]() -> int {
    return failed(mlir::MlirLspServerMain(argc, argv, registry));
  });
}
