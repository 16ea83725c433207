//===- CountedLoops.h - Loops from 0 by 1 -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_MATERIALIZE_COUNTEDLOOPS_H
#define REMAT_TRANSFORMS_MATERIALIZE_COUNTEDLOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {
/// The number of iterations of a loop from 0 by 1; none if it is not known, or
/// if the loop counts in another way.
std::optional<int64_t> getTripCount(scf::ForOp loop);

/// Returns true if `index` is the induction variable of `loop`, in any type of
/// integers: exporters count in i32.
bool countsUp(scf::ForOp loop, Value index);

/// Returns true if `index` is `count` - 1 minus the induction variable of
/// `loop`.
bool countsDown(scf::ForOp loop, Value index, int64_t count);
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_MATERIALIZE_COUNTEDLOOPS_H
