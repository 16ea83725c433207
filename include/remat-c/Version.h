//===- remat-c/Version.h - Of which version this is ---------------*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_C_VERSION_H
#define REMAT_C_VERSION_H

#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the version of the library, such as "0.1.0". */
MLIR_CAPI_EXPORTED MlirStringRef rematGetVersion(void);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_VERSION_H */
