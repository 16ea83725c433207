//===- Phases.cpp - Phases of a training step -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whatever replaces an operation keeps its phase: reports go by it. Nothing is
// decided by it, since any pass may drop it.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

StringRef mlir::remat::getPhase(Operation *op) {
  auto phase = op->getAttrOfType<StringAttr>(RematDialect::getPhaseAttrName());
  return phase ? phase.getValue() : "";
}

/// Returns true if `op` shows a tensor in another shape, which takes neither
/// time nor memory. With a phase, equal ones of two phases would stay two, and
/// with them the kernels that read them.
static bool isReshape(Operation *op) {
  return isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
      op);
}

void mlir::remat::setPhase(Operation *op, StringRef phase) {
  if (!phase.empty() && !isReshape(op))
    op->setDiscardableAttr(RematDialect::getPhaseAttrName(),
                           StringAttr::get(op->getContext(), phase));
}

void mlir::remat::copyPhase(Operation *from, Operation *to) {
  setPhase(to, getPhase(from));
}

void PhaseListener::notifyOperationInserted(Operation *op,
                                            OpBuilder::InsertPoint) {
  if (phase.empty() || !getPhase(op).empty())
    return;
  for (Operation *at = op; Block *block = at->getBlock();) {
    at = block->getParentOp();
    // A kernel's body may be built before the kernel.
    if (!at || isa<DestinationStyleOpInterface>(at))
      return;
  }
  setPhase(op, phase);
}
