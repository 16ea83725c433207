//===- Residuals.h - What a function's backward may keep --------*- C++ -*-===//
//
// Who plans, who executes and who prints a plan mean the same by a residual.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PLAN_RESIDUALS_H
#define REMAT_TRANSFORMS_PLAN_RESIDUALS_H

#include "mlir/IR/Operation.h"

namespace mlir::remat {

/// Whether nobody keeps the results: constants, and buffers without contents.
bool isWithoutContents(Operation *op);

/// Whether `op` shows its operand in another shape: what is kept is the
/// operand.
bool isReshape(Operation *op);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PLAN_RESIDUALS_H
