//===- Tapes.h - Which iteration a tape's slot belongs to -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PLAN_TAPES_H
#define REMAT_TRANSFORMS_PLAN_TAPES_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {

/// Returns true if two indices are equal in every execution: the same pure
/// arithmetic on the same values, which CSE may or may not have merged.
bool isSameIndex(Value lhs, Value rhs);

/// Returns the loop whose tape `write` extends, if that loop carries the tape
/// and does not read it; sets `index` to the tape's number.
scf::ForOp getRecordingLoop(TapeWriteOp write, unsigned &index);

/// Returns the write of a tape that is the result of a loop, or null.
TapeWriteOp getWriteOf(Value tape);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PLAN_TAPES_H
