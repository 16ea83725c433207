//===- remat-c/Toolkit.h - What compiling for NVIDIA needs --------*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_C_TOOLKIT_H
#define REMAT_C_TOOLKIT_H

#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Looks for CUDA's `ptxas`, `fatbinary` and libdevice as the compiler does.
 *  `text` gets the folder that they are in, or after a failure what is missing
 *  and what to do. */
MLIR_CAPI_EXPORTED MlirLogicalResult
rematFindCUDAToolkit(MlirStringCallback text, void *userData);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_TOOLKIT_H */
