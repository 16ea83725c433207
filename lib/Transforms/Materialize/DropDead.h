//===- DropDead.h - Remove the remains of deleted residuals -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_MATERIALIZE_DROPDEAD_H
#define REMAT_TRANSFORMS_MATERIALIZE_DROPDEAD_H

#include "remat/Analysis/Effects.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::remat {
/// Removes dead operations of `module`, dead results, operands and carried
/// values of regions, backwards, branches and loops, and unread tapes; of
/// `functions`, which are private, also results that no call uses and arguments
/// that the body does not use. Each round is one walk from the last operation
/// to the first, so that users come before producers.
void dropDead(ModuleOp module, ArrayRef<func::FuncOp> functions,
              Effects &effects);
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_MATERIALIZE_DROPDEAD_H
