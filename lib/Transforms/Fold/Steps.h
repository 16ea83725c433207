//===- Steps.h - Rewrites that this folder's passes run ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rewrites the operations in `root`.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_FOLD_STEPS_H
#define REMAT_LIB_TRANSFORMS_FOLD_STEPS_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class DominanceInfo;
class Operation;
namespace remat {

// Called by `remat-canonicalize`.
void mergeCarried(Operation *root);
void mergeCommonSubexpressions(Operation *root, DominanceInfo &dominance);

// Called by `remat-fold`. They fail if upstream's analysis or driver does.
LogicalResult foldClamps(Operation *root);
LogicalResult dropUnusedResults(Operation *root);
LogicalResult roundProducts(Operation *root);
LogicalResult foldTransposes(Operation *root);

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_TRANSFORMS_FOLD_STEPS_H
