//===- PolicyNames.h - Names that policies mention --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_CHECKS_POLICYNAMES_H
#define REMAT_TRANSFORMS_CHECKS_POLICYNAMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat {
/// Fails if a policy in `function`, or in a function that it calls, mentions a
/// name that no `remat.name` in its region carries, called functions included.
LogicalResult checkPolicyNames(func::FuncOp function,
                               SymbolTableCollection &symbols);
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_CHECKS_POLICYNAMES_H
