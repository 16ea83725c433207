//===- WhileToFor.h - Loops whose trip count must be found ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tapes have a size before their loop begins. An scf.while that is
// differentiated is therefore counted first.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_WHILETOFOR_H
#define REMAT_LIB_AUTODIFF_WHILETOFOR_H

#include "remat/Analysis/Activity.h"

namespace mlir::remat {

/// Returns what is active in `body` between the values `wanted` and the
/// terminator's operands `seeded`. Turns each active `scf.while` into a loop
/// that counts and an `scf.for`. Fails with a diagnostic.
FailureOr<Activity> analyzeActivity(Block &body, ArrayRef<Value> wanted,
                                    ArrayRef<unsigned> seeded,
                                    CallSummaries &summaries);

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_WHILETOFOR_H
