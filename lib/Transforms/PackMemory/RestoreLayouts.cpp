//===- RestoreLayouts.cpp - Branches hand on contiguous buffers -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One-shot bufferization gives up on the layout of a buffer that a branch
// returns from a loop: its strides become unknown. What reads it then looks
// like something else than what reads the same values from a buffer of its own
// (no product for the library, no vectors), and would add in another order.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/PackMemory/Passes.h"

#include "remat/Dialect/Remat/IR/Branches.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::remat {
#define GEN_PASS_DEF_RESTORELAYOUTSPASS
#include "remat/Transforms/PackMemory/Passes.h.inc"

namespace {

Value skipCasts(Value value) {
  while (auto cast = value.getDefiningOp<memref::CastOp>())
    value = cast.getSource();
  return value;
}

/// Returns the type that all regions yield for `result`, before casts, if it is
/// a contiguous buffer of one type.
MemRefType getYieldedType(Operation *branch, unsigned result) {
  MemRefType common;
  for (Region &region : branch->getRegions()) {
    if (region.empty())
      return {};
    Value yielded = region.front().getTerminator()->getOperand(result);
    auto type = dyn_cast<MemRefType>(skipCasts(yielded).getType());
    // A static size is no reason to know less of the layout.
    if (type && type.getLayout().isIdentity())
      type = MemRefType::Builder(type).setShape(
          cast<MemRefType>(yielded.getType()).getShape());
    if (!type || !type.getLayout().isIdentity() || (common && common != type))
      return {};
    common = type;
  }
  return common;
}

/// Casts `value`, as it is before casts, to `type`, which may differ in static
/// sizes.
Value castTo(OpBuilder &builder, Location loc, MemRefType type, Value value) {
  value = skipCasts(value);
  if (value.getType() == type)
    return value;
  return memref::CastOp::create(builder, loc, type, value);
}

struct RestoreLayoutsPass
    : public impl::RestoreLayoutsPassBase<RestoreLayoutsPass> {
  using RestoreLayoutsPassBase::RestoreLayoutsPassBase;

  void runOnOperation() override {
    bool isChanged = false;
    // Inner branches first: outer ones yield what they return.
    getOperation()->walk([&](Operation *op) {
      if (!isBranch(op))
        return;
      for (OpResult result : op->getResults()) {
        auto type = dyn_cast<MemRefType>(result.getType());
        if (!type || type.getLayout().isIdentity())
          continue;
        restore(op, result, type);
        isChanged = true;
      }
    });
    if (!isChanged)
      markAllAnalysesPreserved();
  }

private:
  void restore(Operation *branch, OpResult result, MemRefType type) {
    unsigned number = result.getResultNumber();
    MemRefType yielded = getYieldedType(branch, number);
    if (!yielded || yielded.getShape() != type.getShape())
      return;
    OpBuilder builder(branch->getContext());
    for (Region &region : branch->getRegions()) {
      OpOperand &operand = region.front().getTerminator()->getOpOperand(number);
      builder.setInsertionPoint(operand.getOwner());
      operand.set(castTo(builder, result.getLoc(), yielded, operand.get()));
    }
    result.setType(yielded);
    builder.setInsertionPointAfter(branch);
    auto cast = memref::CastOp::create(builder, result.getLoc(), type, result);
    result.replaceAllUsesExcept(cast.getResult(), cast);
  }
};

} // namespace
} // namespace mlir::remat
