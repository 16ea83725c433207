//===- Steps.h - The checks of a model in turn ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each walks through `root`; one that fails has emitted a diagnostic.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_CHECKS_STEPS_H
#define REMAT_LIB_TRANSFORMS_CHECKS_STEPS_H

#include "mlir/Support/LLVM.h"

namespace mlir {
class Operation;
namespace remat {

LogicalResult checkTypes(Operation *root);
void warnOfContents(Operation *root);
/// Asserts sizes that are not known.
LogicalResult checkCarriedSizes(Operation *root);

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_TRANSFORMS_CHECKS_STEPS_H
