//===- Activations.h - A dialect outside of remat ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACTIVATIONS_H
#define ACTIVATIONS_H

#include "remat/Analysis/RecomputeCostOpInterface.h"
#include "remat/Autodiff/DifferentiableOpInterface.h"
#include "remat/Autodiff/ScalarDifferentiableOpInterface.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Decompose/DecomposableOpInterface.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include "ActivationsDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ActivationsAttributes.h.inc"
#define GET_OP_CLASSES
#include "ActivationsOps.h.inc"

namespace act {
/// Registers `act-lower`, which turns operations of `act` into linalg and math.
void registerPasses();
} // namespace act

#endif // ACTIVATIONS_H
