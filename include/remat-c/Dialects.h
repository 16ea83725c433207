//===- remat-c/Dialects.h - What programs can choose from ---------*- C -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_C_DIALECTS_H
#define REMAT_C_DIALECTS_H

#include "mlir-c/Support.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Passes the policies, update rules and schedules of the `remat` and `opt`
 * dialects to `result`, as JSON, for front ends that have a class or a function
 * for each. `policies`: `mnemonic`, and `parameters` (`none`, `names`,
 * `other`). `rules` and `schedules`: `class`, `mnemonic`, and `hyperparameters`
 * (`name`, `kind`, `default`, if it need not be given, and `choices`, if it is
 * one of some words). */
MLIR_CAPI_EXPORTED void rematDescribeDialects(MlirStringCallback result,
                                              void *userData);

#ifdef __cplusplus
}
#endif

#endif /* REMAT_C_DIALECTS_H */
