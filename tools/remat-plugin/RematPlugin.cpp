//===- RematPlugin.cpp - The project as a plugin of mlir-opt --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who has an mlir-opt of their own need not build another one: the stock tools
// load this library and then know what remat-opt knows.
//===----------------------------------------------------------------------===//

#include "remat/Init.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "llvm/Config/llvm-config.h"

using namespace mlir;

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {
      MLIR_PLUGIN_API_VERSION, "remat", LLVM_VERSION_STRING,
      [](DialectRegistry *registry) { remat::registerAllDialects(*registry); }};
}

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "remat", LLVM_VERSION_STRING,
          remat::registerAllPasses};
}
