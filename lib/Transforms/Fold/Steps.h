//===- Steps.h - What the passes of this folder do in turn ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each changes what is in `root`.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_FOLD_STEPS_H
#define REMAT_LIB_TRANSFORMS_FOLD_STEPS_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class DominanceInfo;
class Operation;
namespace remat {

// Of `remat-canonicalize`.
void mergeCarried(Operation *root);
void mergeCommonSubexpressions(Operation *root, DominanceInfo &dominance);

// Of `remat-fold`. They fail where upstream's analysis or driver does.
LogicalResult foldClamps(Operation *root);
LogicalResult dropUnusedResults(Operation *root);
LogicalResult roundProducts(Operation *root);
LogicalResult foldTransposes(Operation *root);

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_TRANSFORMS_FOLD_STEPS_H
