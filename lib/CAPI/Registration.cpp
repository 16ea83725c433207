//===- Registration.cpp - The project in a context ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat-c/Registration.h"

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Init.h"
#include "remat/Transforms/Import/ForeignDialects.h"

#include "mlir/CAPI/Registration.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"

#include <mutex>

using namespace mlir;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Remat, remat, remat::RematDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Opt, opt, opt::OptDialect)

void rematRegisterAllDialects(MlirDialectRegistry registry) {
  DialectRegistry &all = *unwrap(registry);
  registerAllDialects(all);
  registerAllExtensions(all);
  remat::registerAllDialects(all);
  remat::registerForeignDialects(all);
}

void rematRegisterAllPasses() {
  static std::once_flag once;
  std::call_once(once, [] {
    registerAllPasses();
    remat::registerAllPasses();
  });
}
