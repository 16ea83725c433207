//===- Version.cpp - Of which version this is -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat-c/Version.h"

#include "remat/Init.h"

#include "mlir/CAPI/Support.h"

MlirStringRef rematGetVersion(void) { return wrap(mlir::remat::getVersion()); }
