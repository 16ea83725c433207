//===- Copies.cpp - Kernels that only move elements -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Front ends write a transposition or a broadcast in half a dozen ways; passes
// that look through them do so by these functions.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Match/Copies.h"

#include "remat/Analysis/Views.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::remat;

bool mlir::remat::isZeroFilled(Value init) {
  return getZeroFilled(init) || matchPattern(init, m_AnyZeroFloat());
}

bool mlir::remat::isTensorReshape(Operation *op) {
  return isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op);
}

std::optional<Read> mlir::remat::getCopied(linalg::LinalgOp op) {
  if (!op || !getViewedOperand(op))
    return std::nullopt;
  AffineMap from = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  AffineMap to = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  return Read{op.getDpsInputs()[0], from.compose(inversePermutation(to))};
}

/// Returns the position of the dimension of `group` that is not of size 1,
/// nullopt if there is none, or failure if there are several.
static FailureOr<std::optional<int64_t>>
findOnlyLarge(ArrayRef<int64_t> shape, ArrayRef<int64_t> group) {
  std::optional<int64_t> found;
  for (int64_t dim : group) {
    if (shape[dim] == 1)
      continue;
    if (found)
      return failure();
    found = dim;
  }
  return found;
}

/// Returns `map` into the operand of a reshape instead of its result, or null
/// if the reshape does more than add or drop dimensions of size 1.
static AffineMap readBeforeReshape(Operation *reshape, AffineMap map) {
  SmallVector<AffineExpr> results;
  Builder b(reshape->getContext());
  AffineExpr zero = b.getAffineConstantExpr(0);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(reshape)) {
    for (const ReassociationIndices &group : expand.getReassociationIndices()) {
      auto large = findOnlyLarge(expand.getResultType().getShape(), group);
      if (failed(large))
        return {};
      // The only position, as the map that reads the result expresses it.
      results.push_back(map.getResult(*large ? **large : group.front()));
    }
  } else {
    // A result without dimensions has no groups.
    auto collapse = cast<tensor::CollapseShapeOp>(reshape);
    results.assign(collapse.getSrcType().getRank(), zero);
    for (auto [i, group] :
         llvm::enumerate(collapse.getReassociationIndices())) {
      auto large = findOnlyLarge(collapse.getSrcType().getShape(), group);
      if (failed(large))
        return {};
      results[*large ? **large : group.front()] = map.getResult(i);
    }
  }
  return AffineMap::get(map.getNumDims(), 0, results, b.getContext());
}

std::optional<Read> mlir::remat::lookThroughUnitReshape(Read read) {
  Operation *op = read.source.getDefiningOp();
  if (!isTensorReshape(op))
    return std::nullopt;
  AffineMap map = readBeforeReshape(op, read.map);
  if (!map)
    return std::nullopt;
  return Read{op->getOperand(0), map};
}

bool mlir::remat::isUnitReshape(Operation *op) {
  if (!op || op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return false;
  int64_t rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  return lookThroughUnitReshape(
             {op->getResult(0),
              AffineMap::getMultiDimIdentityMap(rank, op->getContext())})
      .has_value();
}

Read mlir::remat::lookThroughCopies(Read read) {
  while (Operation *op = read.source.getDefiningOp()) {
    if (std::optional<Read> reshaped = lookThroughUnitReshape(read)) {
      read = *reshaped;
      continue;
    }
    std::optional<Read> copied = getCopied(dyn_cast<linalg::LinalgOp>(op));
    if (!copied)
      return read;
    read = {copied->source, copied->map.compose(read.map)};
  }
  return read;
}
