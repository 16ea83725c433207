//===- Branches.h - Operations that run one of their regions ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A residual of a branch leaves it as a result, which the branches that are not
// taken have to give, too. They give something undefined: whoever reads such a
// result reads the one value that is defined.
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_BRANCHES_H
#define REMAT_DIALECT_REMAT_IR_BRANCHES_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"

namespace mlir::scf {
class ForOp;
} // namespace mlir::scf

namespace mlir::remat {

/// Returns true if `op` runs one of its regions, single blocks that see the
/// values around them, and gives what that one yields: `scf.if`,
/// `scf.index_switch`, `scf.execute_region`.
bool isBranch(Operation *op);

/// Returns true if `value` is defined inside `op`.
bool isDefinedIn(Value value, Operation *op);

/// Returns true if no program may depend on `value`: the contents of a
/// `tensor.empty`, a `ub.poison`.
bool isUndefined(Value value);

/// Such a value of `type`; `sizes` are those of a tensor whose shape is not
/// static.
Value createUndefined(OpBuilder &builder, Location loc, Type type,
                      ArrayRef<OpFoldResult> sizes = {});

/// Returns the value that one region of a branch yields for `result` if all
/// others yield undefined ones; null if several are defined.
Value getOnlyDefinedValue(OpResult result);

/// Gives `branch` a result for each of `values`, which are defined inside it;
/// all other regions yield undefined values for it. Returns the operation that
/// takes its place, whose last results they are. The blocks stay the same.
Operation *appendBranchResults(Operation *branch, ArrayRef<Value> values);

/// A loop in the place of `loop` that starts from `inits`, with its bounds,
/// body and attributes; `loop` is left without a body. The body's arguments,
/// what it yields and the uses of the results are the caller's to adapt.
scf::ForOp takeLoop(OpBuilder &builder, scf::ForOp loop, ValueRange inits);

/// A tensor of the same sizes from which `value` is computed element by
/// element.
Value getSameSizes(Value value);

/// Sizes of `value`, a tensor inside `op`, by what is known before `op`; null
/// for those that are not. `builder` stands before `op`.
SmallVector<OpFoldResult> getSizesBefore(OpBuilder &builder, Operation *op,
                                         Value value);

/// Removes (unused) results; returns the operation that takes its place.
Operation *eraseBranchResults(Operation *branch,
                              const llvm::BitVector &results);

} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_BRANCHES_H
