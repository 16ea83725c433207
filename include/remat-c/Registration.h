//===- remat-c/Registration.h - The project in a context ----------*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dialects and passes for programs that use MLIR's C API.
//===----------------------------------------------------------------------===//

#ifndef REMAT_C_REGISTRATION_H
#define REMAT_C_REGISTRATION_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Remat, remat);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Opt, opt);

/** Adds what `remat-opt` knows: upstream's dialects and extensions, this
 *  project's dialects, and the external models that it attaches to others. */
MLIR_CAPI_EXPORTED void rematRegisterAllDialects(MlirDialectRegistry registry);

/** Makes upstream's and this project's passes and pipelines known to textual
 *  pipelines. May be called again, and from several threads. */
MLIR_CAPI_EXPORTED void rematRegisterAllPasses(void);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_REGISTRATION_H */
