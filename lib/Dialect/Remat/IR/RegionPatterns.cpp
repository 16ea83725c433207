//===- RegionPatterns.cpp - Operands and results of regions ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operand that a region takes is kept alive for its backward: dropping one
// that is not read saves memory.
//
// Upstream's patterns for operations with RegionBranchOpInterface do the same,
// but they replace block arguments by operands and therefore refuse operations
// whose bodies are isolated; nor do they update the segments of operands.
//===----------------------------------------------------------------------===//

#include "RegionOps.h"
#include "remat/Dialect/Remat/IR/Borders.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::remat;

void mlir::remat::eraseInputs(Operation *op, const llvm::BitVector &inputs) {
  if (auto region = dyn_cast<RegionOp>(op))
    if (std::optional<ArrayRef<bool>> flags = region.getPreventCse()) {
      SmallVector<bool> kept;
      for (auto [index, flag] : llvm::enumerate(*flags))
        if (!inputs.test(index))
          kept.push_back(flag);
      region.setPreventCse(kept);
    }
  if (auto backward = dyn_cast<BackwardOp>(op)) {
    std::array<int32_t, 4> sizes = backward.getProperties().operandSegmentSizes;
    for (unsigned index : inputs.set_bits())
      --sizes[backward.getOperandGroup(index)];
    backward.getProperties().operandSegmentSizes = sizes;
  }
  op->eraseOperands(inputs);
  op->getRegion(0).front().eraseArguments(inputs);
}

template <typename OpTy>
static OpTy eraseResultsOf(RewriterBase &rewriter, OpTy op,
                           const llvm::BitVector &results) {
  SmallVector<Value> outputs, residuals, kept;
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    if (results.test(index))
      continue;
    (index < op.getOutputs().size() ? outputs : residuals)
        .push_back(op.getYield()->getOperand(index));
    kept.push_back(result);
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  OperationState state(op.getLoc(), op->getName());
  state.addOperands(op->getOperands());
  state.addTypes(ValueRange(kept).getTypes());
  state.attributes = op->getDiscardableAttrDictionary();
  auto &properties = state.getOrAddProperties<typename OpTy::Properties>();
  properties = op.getProperties();
  if constexpr (std::is_same_v<OpTy, RegionOp>)
    properties.resultSegmentSizes = {static_cast<int32_t>(outputs.size()),
                                     static_cast<int32_t>(residuals.size())};
  state.addRegion();
  Operation *slim = rewriter.create(state);
  rewriter.inlineRegionBefore(op.getBody(), slim->getRegion(0),
                              slim->getRegion(0).end());
  YieldOp yield = cast<OpTy>(slim).getYield();
  rewriter.setInsertionPoint(yield);
  rewriter.replaceOpWithNewOp<YieldOp>(yield, outputs, residuals);
  for (auto [from, to] : llvm::zip_equal(kept, slim->getResults()))
    rewriter.replaceAllUsesWith(from, to);
  rewriter.eraseOp(op);
  return cast<OpTy>(slim);
}

/// Turns sums that are no longer returned into cotangents like others, until
/// the operations that add to them are gone.
static void passReturnedSumsOnly(RewriterBase &rewriter, BackwardOp op,
                                 const llvm::BitVector &dropped) {
  while (BlockArgument sum = findSumWithoutResult(op, dropped))
    rewriter.modifyOpInPlace(op, [&] {
      rewriter.replaceAllUsesWith(
          sum, op.addCotangent(op->getOperand(sum.getArgNumber())));
      llvm::BitVector erased(op->getNumOperands());
      erased.set(sum.getArgNumber());
      eraseInputs(op, erased);
    });
}

Operation *mlir::remat::eraseResults(RewriterBase &rewriter, Operation *op,
                                     const llvm::BitVector &results) {
  if (auto region = dyn_cast<RegionOp>(op))
    return eraseResultsOf(rewriter, region, results);
  auto backward = cast<BackwardOp>(op);
  passReturnedSumsOnly(rewriter, backward, results);
  return eraseResultsOf(rewriter, backward, results);
}

llvm::BitVector mlir::remat::getUnusedInputs(Operation *op) {
  Block &body = op->getRegion(0).front();
  llvm::BitVector unused(body.getNumArguments());
  for (BlockArgument argument : body.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  // A recompute waits for a cotangent, read or not.
  if (auto backward = dyn_cast<BackwardOp>(op)) {
    Block::BlockArgListType cotangents = backward.getCotangentArguments();
    if (!cotangents.empty() &&
        llvm::all_of(cotangents, [](Value value) { return value.use_empty(); }))
      unused.reset(cotangents.front().getArgNumber());
  }
  return unused;
}

llvm::BitVector mlir::remat::getUnusedResults(Operation *op) {
  llvm::BitVector unused(op->getNumResults());
  for (OpResult result : op->getResults())
    if (result.use_empty())
      unused.set(result.getResultNumber());
  return unused;
}

BlockArgument mlir::remat::addInput(RegionOp region, Value value) {
  for (auto [operand, argument] :
       llvm::zip_equal(region.getInputs(), region.getBody().getArguments()))
    if (operand == value)
      return argument;
  if (std::optional<ArrayRef<bool>> flags = region.getPreventCse()) {
    SmallVector<bool> more(*flags);
    more.push_back(true);
    region.setPreventCse(more);
  }
  region.getInputsMutable().append(value);
  return region.getBody().addArgument(value.getType(), value.getLoc());
}

/// `first` and `number`: where the group of results begins, and which it is.
static Value addResult(RegionOp region, Value value, MutableOperandRange group,
                       unsigned first, unsigned number) {
  for (auto [index, yielded] : llvm::enumerate(OperandRange(group)))
    if (yielded == value)
      return region->getResult(first + index);
  unsigned added = first + group.size();
  OpBuilder builder(region);
  SmallVector<Type> types(region->getResultTypes());
  types.insert(types.begin() + added, value.getType());
  OperationState state(region.getLoc(), region->getName());
  state.addOperands(region->getOperands());
  state.addTypes(types);
  state.attributes = region->getDiscardableAttrDictionary();
  auto &properties = state.getOrAddProperties<RegionOp::Properties>();
  properties = region.getProperties();
  properties.resultSegmentSizes[number] += 1;
  state.addRegion()->takeBody(region.getBody());
  Operation *grown = builder.create(state);
  group.append(value);
  for (OpResult result : region->getResults()) {
    unsigned index = result.getResultNumber();
    result.replaceAllUsesWith(grown->getResult(index + (index >= added)));
  }
  region->erase();
  return grown->getResult(added);
}

Value mlir::remat::addOutput(RegionOp region, Value value) {
  return addResult(region, value, region.getYield().getOutputsMutable(), 0, 0);
}

Value mlir::remat::addResidual(RegionOp region, Value value) {
  return addResult(region, value, region.getYield().getResidualsMutable(),
                   region.getOutputs().size(), 1);
}

Value mlir::remat::getPassedOn(OpOperand &use) {
  Operation *user = use.getOwner();
  unsigned index = use.getOperandNumber();
  if (isa<NameOp>(user))
    return user->getResult(0);
  if (auto region = dyn_cast<RegionOp>(user))
    return region.getBodyBlock()->getArgument(index);
  auto region = dyn_cast<RegionOp>(user->getParentOp());
  return region && isa<YieldOp>(user) ? region->getResult(index) : Value();
}

void mlir::remat::inlineBody(Operation *op) {
  Block &body = op->getRegion(0).front();
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), op->getOperands()))
    argument.replaceAllUsesWith(operand);
  Operation *yield = body.getTerminator();
  for (auto [result, yielded] :
       llvm::zip_equal(op->getResults(), yield->getOperands()))
    result.replaceAllUsesWith(yielded);
  yield->erase();
  op->getBlock()->getOperations().splice(op->getIterator(),
                                         body.getOperations());
  op->erase();
}

/// Lowered to branches by mistake, the body is several blocks, and the
/// verifier, which says so, may not run between two passes.
static bool hasYield(Operation *op) {
  return isa<YieldOp>(op->getRegion(0).front().getTerminator());
}

namespace {
/// Drops operands whose block argument has no users, so that they are not live
/// until the backward.
template <typename OpTy> struct DropUnusedInputs : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    llvm::BitVector unused = getUnusedInputs(op);
    if (unused.none())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { eraseInputs(op, unused); });
    return success();
  }
};

/// Drops outputs and residuals without users: dead outputs cost nothing.
template <typename OpTy> struct DropDeadResults : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    llvm::BitVector unused = getUnusedResults(op);
    if (unused.none() || unused.all() || !hasYield(op))
      return failure();
    eraseResults(rewriter, op, unused);
    return success();
  }
};

/// Feeds a value that is passed twice through one argument.
template <typename OpTy> struct MergeEqualInputs : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Block *body = op.getBodyBlock();
    DenseMap<std::pair<Value, unsigned>, unsigned> firstIndex;
    bool changed = false;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      unsigned flag;
      if constexpr (std::is_same_v<OpTy, RegionOp>)
        flag = op.preventsCSE(index);
      else
        flag = op.getOperandGroup(index);
      auto [it, isFirst] = firstIndex.try_emplace({operand, flag}, index);
      if (isFirst || body->getArgument(index).use_empty())
        continue;
      rewriter.replaceAllUsesWith(body->getArgument(index),
                                  body->getArgument(it->second));
      changed = true;
    }
    return success(changed);
  }
};

/// A result that only passes an operand through is that operand, and one that
/// is yielded twice is the first of the two. A residual stays a residual: a
/// backward is known by those that it reads.
template <typename OpTy> struct ForwardKnownResults : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (!hasYield(op))
      return failure();
    DenseMap<std::pair<Value, unsigned>, OpResult> firstResult;
    bool changed = false;
    for (auto [result, yielded] :
         llvm::zip_equal(op->getResults(), op.getYield()->getOperands())) {
      unsigned isResidual = result.getResultNumber() >= op.getOutputs().size();
      Value known =
          firstResult.try_emplace({yielded, isResidual}, result).first->second;
      if (auto argument = dyn_cast<BlockArgument>(yielded);
          argument && !isResidual && argument.getOwner() == op.getBodyBlock())
        known = op->getOperand(argument.getArgNumber());
      if (known == result || result.use_empty())
        continue;
      rewriter.replaceAllUsesWith(result, known);
      changed = true;
    }
    return success(changed);
  }
};
} // namespace

void RegionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<DropUnusedInputs<RegionOp>, DropDeadResults<RegionOp>,
               MergeEqualInputs<RegionOp>, ForwardKnownResults<RegionOp>>(
      context);
}

void BackwardOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<DropUnusedInputs<BackwardOp>, DropDeadResults<BackwardOp>,
               MergeEqualInputs<BackwardOp>, ForwardKnownResults<BackwardOp>>(
      context);
}
