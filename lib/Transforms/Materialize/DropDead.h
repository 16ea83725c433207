//===- DropDead.h - Remove what deleted residuals leave behind --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_MATERIALIZE_DROPDEAD_H
#define REMAT_TRANSFORMS_MATERIALIZE_DROPDEAD_H

#include "remat/Analysis/Effects.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::remat {
/// Removes operations of `module` that nobody reads, results and operands of
/// regions, backwards and loops that only they needed, and tapes that nobody
/// reads; of `functions`, which are private, also results that no call reads
/// and arguments that the body does not read. Each round is one walk from the
/// last operation to the first: users come after what they use.
void dropDead(ModuleOp module, ArrayRef<func::FuncOp> functions,
              Effects &effects);
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_MATERIALIZE_DROPDEAD_H
