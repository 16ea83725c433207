//===- FoldIntoAttention.cpp - Operands of an attention -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FoldIntoAttention.h"

#include "ScoreBody.h"
#include "remat/Transforms/Fold/Patterns.h"
#include "remat/Transforms/Utils/Attributes.h"
#include "remat/Transforms/Utils/ConvertElements.h"

#include "remat/Dialect/Remat/IR/RoundedProduct.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

bool mlir::remat::isProjectionWithZeros(AffineMap map) {
  llvm::SmallBitVector seen(map.getNumDims());
  return llvm::all_of(map.getResults(), [&](AffineExpr expr) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return isa<AffineConstantExpr>(expr) &&
             cast<AffineConstantExpr>(expr).getValue() == 0;
    bool isNew = !seen.test(dim.getPosition());
    seen.set(dim.getPosition());
    return isNew;
  });
}

bool mlir::remat::isOnlyRounded(Value value, Type type) {
  return !value.use_empty() &&
         llvm::all_of(value.getUsers(), [&](Operation *user) {
           if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
             return isOnlyRounded(user->getResult(0), type);
           if (auto transpose = dyn_cast<linalg::TransposeOp>(user))
             return transpose.getInput() == value &&
                    isOnlyRounded(transpose->getResult(0), type);
           return isRounding(user) &&
                  getElementTypeOrSelf(user->getResult(0)) == type;
         });
}

//===----------------------------------------------------------------------===//
// Transpositions
//===----------------------------------------------------------------------===//

Read mlir::remat::readBeforeCopies(RewriterBase &rewriter, Location loc,
                                   Read operand) {
  std::optional<Read> before = operand;
  while (before) {
    Read read = lookThroughCopies(*before);
    before.reset();
    if (!isProjectionWithZeros(read.map))
      break;
    operand = read;
    auto slice = read.source.getDefiningOp<tensor::ExtractSliceOp>();
    if (slice && (before = sliceBeforeTranspose(rewriter, slice)))
      before->map = before->map.compose(read.map);
  }
  auto type = cast<RankedTensorType>(operand.source.getType());
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> results;
  for (auto [size, expr] :
       llvm::zip_equal(type.getShape(), operand.map.getResults()))
    if (isa<AffineDimExpr>(expr)) {
      shape.push_back(size);
      results.push_back(expr);
    }
  if (results.size() == operand.map.getNumResults())
    return operand;
  SmallVector<OpFoldResult> lengths =
      tensor::getMixedSizes(rewriter, loc, operand.source);
  for (auto [length, expr] : llvm::zip_equal(lengths, operand.map.getResults()))
    if (!isa<AffineDimExpr>(expr))
      length = rewriter.getIndexAttr(1);
  SmallVector<OpFoldResult> zeros(lengths.size(), rewriter.getIndexAttr(0)),
      ones(lengths.size(), rewriter.getIndexAttr(1));
  Value slice = tensor::ExtractSliceOp::create(
      rewriter, loc, RankedTensorType::get(shape, type.getElementType()),
      operand.source, zeros, lengths, ones);
  return {slice, AffineMap::get(operand.map.getNumDims(), 0, results,
                                rewriter.getContext())};
}

bool mlir::remat::foldTransposesOfResult(RewriterBase &rewriter,
                                         AttentionOp &op) {
  bool changed = false;
  Value result = op.getResults()[0];
  while (result.hasOneUse()) {
    auto user = dyn_cast<LinalgOp>(*result.user_begin());
    std::optional<Read> copied = getCopied(user);
    if (!copied || copied->source != result || !copied->map.isPermutation() ||
        user->getBlock() != op->getBlock())
      return changed;
    // Dimension i of the source is dimension copied->map(i) of the copy.
    AffineMap order = inversePermutation(copied->map);
    AffineMap map = order.compose(op.getMap(op.getIndexingMaps().size() - 2));
    SmallVector<Attribute> maps(op.getIndexingMaps().getValue());
    maps[maps.size() - 2] = AffineMapAttr::get(map);
    rewriter.setInsertionPoint(op);
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, op.getLoc(), op.getInit());
    Value init = tensor::EmptyOp::create(
        rewriter, op.getLoc(), applyPermutationMap<OpFoldResult>(order, sizes),
        getElementTypeOrSelf(result));
    auto folded = AttentionOp::create(
        rewriter, op.getLoc(),
        TypeRange{init.getType(), op.getResults()[1].getType()}, op.getQuery(),
        op.getKey(), op.getValue(), op.getScoreOperands(), init, op.getLogSum(),
        rewriter.getArrayAttr(maps));
    rewriter.inlineRegionBefore(op.getBody(), folded.getBody(),
                                folded.getBody().end());
    copyAttributes(op, folded);
    result = folded.getResults()[0];
    rewriter.replaceOp(user, result);
    rewriter.eraseOp(op);
    op = folded;
    changed = true;
  }
  return changed;
}

//===----------------------------------------------------------------------===//
// Keys that several heads share
//===----------------------------------------------------------------------===//

namespace {
/// A loop over rows that is several: over what is copied, and over its copies.
struct SplitLoop {
  unsigned loop;
  SmallVector<int64_t> sizes;
};
} // namespace

/// Returns the source of a reshape that joins dimensions `sizes`, all of them
/// known, to the dimension `dim` of `value`, and no others, or null.
static Value getSplit(Value value, unsigned dim, ArrayRef<int64_t> sizes) {
  auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
  if (!collapse)
    return {};
  SmallVector<ReassociationIndices> groups = collapse.getReassociationIndices();
  for (auto [index, group] : llvm::enumerate(groups))
    if ((group.size() > 1) != (index == dim))
      return {};
  ArrayRef<int64_t> joined =
      collapse.getSrcType().getShape().slice(dim, groups[dim].size());
  return joined == sizes ? collapse.getSrc() : Value();
}

/// Finds a loop over rows by which `value`, read by `map`, is a reshape of
/// copies.
static std::optional<SplitLoop> findLoopOfCopies(AttentionOp op, Value value,
                                                 AffineMap map) {
  auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>();
  if (!collapse)
    return std::nullopt;
  std::optional<Read> copied =
      getCopied(collapse.getSrc().getDefiningOp<LinalgOp>());
  if (!copied || copied->map.isPermutation())
    return std::nullopt;
  AttentionDims dims = op.getDims();
  for (auto [dim, group] :
       llvm::enumerate(collapse.getReassociationIndices())) {
    SplitLoop split{map.getDimPosition(dim),
                    llvm::to_vector(collapse.getSrcType().getShape().slice(
                        group.front(), group.size()))};
    if (group.size() > 1 && llvm::is_contained(dims.rows, split.loop) &&
        !ShapedType::isDynamicShape(split.sizes) &&
        getSplit(value, dim, split.sizes))
      return split;
  }
  return std::nullopt;
}

/// Returns `map` over the loops that there are when `split.loop` is several.
static AffineMap splitLoop(AffineMap map, const SplitLoop &split) {
  MLIRContext *context = map.getContext();
  unsigned more = split.sizes.size() - 1;
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : map.getResults()) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || dim.getPosition() < split.loop)
      results.push_back(expr);
    else if (dim.getPosition() > split.loop)
      results.push_back(getAffineDimExpr(dim.getPosition() + more, context));
    else
      for (unsigned part : llvm::seq(more + 1))
        results.push_back(getAffineDimExpr(split.loop + part, context));
  }
  return AffineMap::get(map.getNumDims() + more, 0, results, context);
}

/// Returns the dimension of a tensor that `loop` indexes by `map`.
static std::optional<unsigned> findDim(AffineMap map, unsigned loop) {
  return map.getResultPosition(getAffineDimExpr(loop, map.getContext()));
}

/// The groups in which `sizes` dimensions become the dimension `dim` of `rank`.
static SmallVector<ReassociationIndices> groupAt(unsigned rank, unsigned dim,
                                                 unsigned sizes) {
  SmallVector<ReassociationIndices> groups(rank);
  for (unsigned index : llvm::seq(rank + sizes - 1))
    groups[index < dim + sizes ? std::min(index, dim) : index - sizes + 1]
        .push_back(index);
  return groups;
}

/// Replaces a loop of `op` by several, of these sizes.
static AttentionOp splitLoopOf(RewriterBase &rewriter, AttentionOp op,
                               const SplitLoop &split) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  auto getType = [&](Value value, unsigned dim) {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + dim);
    shape.insert(shape.begin() + dim, split.sizes.begin(), split.sizes.end());
    return RankedTensorType::get(shape, type.getElementType());
  };
  SmallVector<Value> values;
  SmallVector<AffineMap> maps;
  for (auto [index, value] : llvm::enumerate(op.getIndexedValues())) {
    AffineMap map = op.getMap(index);
    maps.push_back(splitLoop(map, split));
    std::optional<unsigned> dim = findDim(map, split.loop);
    if (!dim) {
      values.push_back(value);
    } else if (Value whole = getSplit(value, *dim, split.sizes)) {
      values.push_back(whole);
    } else {
      values.push_back(tensor::ExpandShapeOp::create(
          rewriter, loc, getType(value, *dim), value,
          groupAt(map.getNumResults(), *dim, split.sizes.size())));
    }
  }
  unsigned numOperands = op.getScoreOperands().size();
  Value init = values[3 + numOperands], logSum = values.back();
  auto splitOp = AttentionOp::create(
      rewriter, loc, TypeRange{init.getType(), logSum.getType()}, values[0],
      values[1], values[2], ArrayRef(values).slice(3, numOperands), init,
      logSum, rewriter.getAffineMapArrayAttr(maps));
  rewriter.inlineRegionBefore(op.getBody(), splitOp.getBody(),
                              splitOp.getBody().end());
  copyAttributes(op, splitOp);
  // The index of the loop is computed from those of its parts.
  Block &body = splitOp.getBody().front();
  SmallVector<unsigned> scoreDims = op.getDims().getScoreDims();
  unsigned number = llvm::find(scoreDims, split.loop) - scoreDims.begin();
  BlockArgument index = body.getArgument(number);
  SmallVector<Value> parts;
  for (unsigned part : llvm::seq(split.sizes.size()))
    parts.push_back(body.insertArgument(number + part, index.getType(), loc));
  if (!index.use_empty()) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(&body);
    AffineExpr position = rewriter.getAffineConstantExpr(0);
    for (auto [part, size] : llvm::enumerate(split.sizes))
      position = position * size + rewriter.getAffineDimExpr(part);
    index.replaceAllUsesWith(affine::AffineApplyOp::create(
        rewriter, loc, AffineMap::get(split.sizes.size(), 0, position), parts));
  }
  body.eraseArgument(index.getArgNumber());
  rewriter.setInsertionPointAfter(splitOp);
  SmallVector<Value> results;
  for (auto [index, old, now] :
       llvm::enumerate(op.getResults(), splitOp.getResults())) {
    AffineMap map = op.getMap(3 + numOperands + index);
    results.push_back(tensor::CollapseShapeOp::create(
        rewriter, loc, old.getType(), now,
        groupAt(map.getNumResults(), *findDim(map, split.loop),
                split.sizes.size())));
  }
  rewriter.replaceOp(op, results);
  return splitOp;
}

/// Lets heads of `op` that share keys or values read these before they are
/// copied for each of them. Null if none do.
static AttentionOp readSharedHeads(RewriterBase &rewriter, AttentionOp op) {
  Value values[] = {op.getKey(), op.getValue()};
  for (auto [index, value] : llvm::enumerate(values))
    if (std::optional<SplitLoop> split =
            findLoopOfCopies(op, value, op.getMap(1 + index)))
      return splitLoopOf(rewriter, op, *split);
  return {};
}

//===----------------------------------------------------------------------===//
// All operands
//===----------------------------------------------------------------------===//

namespace {
/// Tensors that modify the scores of an attention, their maps over all loops,
/// and the block that reads them.
struct Scores {
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  std::unique_ptr<Block> body;
};
} // namespace

/// Computes in the body of `op` the operands that are computed from less. An
/// empty body if there are none.
static Scores inlineScoreOperands(OpBuilder &builder, AttentionOp op) {
  SmallVector<unsigned> dims = op.getDims().getScoreDims();
  MLIRContext *context = builder.getContext();
  unsigned numLoops = op.getMap(0).getNumDims();
  SmallVector<AffineExpr> scoreDimOf(numLoops,
                                     builder.getAffineConstantExpr(0)),
      loopOf;
  for (auto [dim, loop] : llvm::enumerate(dims)) {
    scoreDimOf[loop] = getAffineDimExpr(dim, context);
    loopOf.push_back(getAffineDimExpr(loop, context));
  }
  SmallVector<AffineMap> maps;
  for (unsigned index : llvm::seq(op.getScoreOperands().size()))
    maps.push_back(op.getMap(3 + index).replaceDimsAndSymbols(scoreDimOf, {},
                                                              dims.size(), 0));
  ScoreBody body(builder, op.getLoc(), op.getSumType(), dims.size(),
                 op->getBlock());
  FailureOr<SmallVector<Value>> yielded = body.inlineBody(op, maps);
  Scores scores;
  if (failed(yielded) || (body.getOperands() == ArrayRef(SmallVector<Value>(
                                                    op.getScoreOperands())) &&
                          body.getMaps() == ArrayRef(maps)))
    return scores;
  scores.operands.assign(body.getOperands().begin(), body.getOperands().end());
  for (AffineMap map : body.getMaps())
    scores.maps.push_back(map.replaceDimsAndSymbols(loopOf, {}, numLoops, 0));
  scores.body.reset(body.finish(
      (*yielded)[0], yielded->size() > 1 ? (*yielded)[1] : Value(),
      llvm::to_vector(llvm::seq<unsigned>(dims.size())), /*widens=*/false));
  return scores;
}

/// Replaces `op` by one that reads its operands before copies, and writes its
/// result in the order in which that is read. Null if nothing changes.
static AttentionOp foldCopies(RewriterBase &rewriter, AttentionOp op,
                              bool rounds) {
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  Value factors[] = {op.getQuery(), op.getKey(), op.getValue()};
  SmallVector<AffineMap> maps;
  bool changed = false;
  for (auto [index, factor] : llvm::enumerate(factors)) {
    Read read = readBeforeCopies(rewriter, loc, {factor, op.getMap(index)});
    changed |= read.source != factor;
    factor = read.source;
    maps.push_back(read.map);
  }
  Scores scores = inlineScoreOperands(rewriter, op);
  Type type = getElementTypeOrSelf(factors[0]);
  Value init = op.getInit();
  if (rounds && getElementTypeOrSelf(init) != type &&
      isOnlyRounded(op.getResults()[0], type))
    init = tensor::EmptyOp::create(
        rewriter, loc, tensor::getMixedSizes(rewriter, loc, init), type);
  if (!changed && !scores.body && init == op.getInit())
    return foldTransposesOfResult(rewriter, op) ? op : AttentionOp();
  if (!scores.body) {
    llvm::append_range(scores.operands, op.getScoreOperands());
    for (unsigned index : llvm::seq(scores.operands.size()))
      maps.push_back(op.getMap(3 + index));
  }
  llvm::append_range(maps, scores.maps);
  for (unsigned fromEnd : {2, 1})
    maps.push_back(op.getMap(op.getIndexingMaps().size() - fromEnd));
  auto folded = AttentionOp::create(
      rewriter, loc, TypeRange{init.getType(), op.getLogSum().getType()},
      factors[0], factors[1], factors[2], scores.operands, init, op.getLogSum(),
      rewriter.getAffineMapArrayAttr(maps));
  if (scores.body)
    folded.getBody().push_back(scores.body.release());
  else
    rewriter.inlineRegionBefore(op.getBody(), folded.getBody(),
                                folded.getBody().end());
  copyAttributes(op, folded);
  rewriter.setInsertionPointAfter(folded);
  Value result = convertElements(rewriter, loc, folded.getResults()[0],
                                 getElementTypeOrSelf(op.getInit()));
  rewriter.replaceOp(op, {result, folded.getResults()[1]});
  foldTransposesOfResult(rewriter, folded);
  return folded;
}

AttentionOp mlir::remat::foldIntoAttention(RewriterBase &rewriter,
                                           AttentionOp op, bool rounds) {
  AttentionOp folded = foldCopies(rewriter, op, rounds);
  while (AttentionOp shared = readSharedHeads(rewriter, folded ? folded : op)) {
    folded = foldCopies(rewriter, shared, rounds);
    if (!folded)
      return shared;
  }
  return folded;
}
