//===- FoldClamps.cpp - Clamps of indices in bounds -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StableHLO clamps the start of each dynamic slice. After the clamp of a loop's
// counter, no analysis knows any more that each iteration has a slice of its
// own.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Analysis/DataFlow/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

/// Returns the values that `value` may take as far as `solver` knows.
static std::optional<ConstantIntRanges> getRange(const DataFlowSolver &solver,
                                                 Value value) {
  const auto *state =
      solver.lookupState<dataflow::IntegerValueRangeLattice>(value);
  if (!state || state->getValue().isUninitialized())
    return std::nullopt;
  return state->getValue().getValue();
}

/// Returns true if the maximum or minimum of `range` and `bound`, as `op`
/// computes it, is always the first.
static bool isWithin(Operation *op, const ConstantIntRanges &range,
                     const APInt &bound) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::MaxSIOp) { return range.smin().sge(bound); })
      .Case([&](arith::MinSIOp) { return range.smax().sle(bound); })
      .Case([&](arith::MaxUIOp) { return range.umin().uge(bound); })
      .Case([&](arith::MinUIOp) { return range.umax().ule(bound); })
      .Default(false);
}

LogicalResult mlir::remat::foldClamps(Operation *root) {
  SmallVector<Operation *> clamps;
  root->walk([&](Operation *op) {
    if (isa<arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp>(
            op) &&
        op->getResult(0).getType().isIntOrIndex())
      clamps.push_back(op);
  });
  if (clamps.empty())
    return success();
  DataFlowSolver solver;
  dataflow::loadBaselineAnalyses(solver);
  solver.load<dataflow::IntegerRangeAnalysis>();
  if (failed(solver.initializeAndRun(root)))
    return failure();
  IRRewriter rewriter(root->getContext());
  for (Operation *op : clamps) {
    APInt bound;
    std::optional<ConstantIntRanges> range =
        getRange(solver, op->getOperand(0));
    if (range && matchPattern(op->getOperand(1), m_ConstantInt(&bound)) &&
        isWithin(op, *range, bound))
      rewriter.replaceOp(op, op->getOperand(0));
  }
  return success();
}
