//===- Phases.cpp - Phases of a training step -----------------------------===//
//
// Whatever replaces an operation keeps its phase: reports go by it. Nothing is
// decided by it, since any pass may drop it.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::remat;

StringRef mlir::remat::getPhase(Operation *op) {
  auto phase = op->getAttrOfType<StringAttr>(RematDialect::getPhaseAttrName());
  return phase ? phase.getValue() : "";
}

void mlir::remat::setPhase(Operation *op, StringRef phase) {
  if (!phase.empty())
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
