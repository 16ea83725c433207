//===- RecomputeCostOpInterface.h - Cost of a recompute ---------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_PLAN_RECOMPUTECOSTOPINTERFACE_H
#define REMAT_TRANSFORMS_PLAN_RECOMPUTECOSTOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

#include "remat/Transforms/Plan/RecomputeCostOpInterface.h.inc"

namespace mlir::remat {
/// What computing the results of `op` once more costs, by its interface or by
/// default.
int64_t getRecomputeCost(Operation *op);
/// Registers the costs of views of tensors.
void registerRecomputeCostExternalModels(DialectRegistry &registry);
} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PLAN_RECOMPUTECOSTOPINTERFACE_H
