//===- CountedLoops.cpp - Loops from 0 by 1 -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CountedLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

std::optional<int64_t> mlir::remat::getTripCount(scf::ForOp loop) {
  APInt upper;
  if (!matchPattern(loop.getLowerBound(), m_Zero()) ||
      !matchPattern(loop.getStep(), m_One()) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
    return std::nullopt;
  return upper.getSExtValue();
}

static Value withoutCasts(Value index) {
  while (Operation *op = index.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
             arith::ExtUIOp>(op))
      break;
    index = op->getOperand(0);
  }
  return index;
}

bool mlir::remat::countsUp(scf::ForOp loop, Value index) {
  return withoutCasts(index) == loop.getInductionVar();
}

bool mlir::remat::countsDown(scf::ForOp loop, Value index, int64_t count) {
  auto subtract = withoutCasts(index).getDefiningOp<arith::SubIOp>();
  APInt last;
  return subtract && countsUp(loop, subtract.getRhs()) &&
         matchPattern(subtract.getLhs(), m_ConstantInt(&last)) &&
         last.getSExtValue() == count - 1;
}
