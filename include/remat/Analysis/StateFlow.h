//===- StateFlow.h - Where a random state comes from ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The next value of a random state is known by what it is computed from, not by
// its position among the results.
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_STATEFLOW_H
#define REMAT_ANALYSIS_STATEFLOW_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// A random state, before or after remat-lower-random.
bool isRandomState(Type type);

/// The arguments of the function around `state` that are random states and that
/// `state` is computed from: through draws, regions, loops, branches and calls.
/// Numbers that only say how far it advances count, too, if they depend on one.
llvm::SetVector<BlockArgument> findStateSources(Value state);

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_STATEFLOW_H
