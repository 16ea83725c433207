//===- AttentionRaiser.cpp - One attention out of its parts ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AttentionRaiser.h"

#include "AttentionReshapes.h"
#include "FoldIntoAttention.h"
#include "ScoreBody.h"
#include "remat/Transforms/Utils/Attributes.h"
#include "remat/Transforms/Utils/ConvertElements.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/RoundedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// The parts
//===----------------------------------------------------------------------===//

bool mlir::remat::isFloatProduct(Operation *op) {
  if (!isProductOnTensors(op))
    return false;
  auto product = cast<LinalgOp>(op);
  Type a = getElementTypeOrSelf(product.getDpsInputs()[0]),
       b = getElementTypeOrSelf(product.getDpsInputs()[1]),
       sum = getElementTypeOrSelf(product.getDpsInits()[0]);
  auto isNarrow = [](Type type) { return type.isF16() || type.isBF16(); };
  return a == b && ((isNarrow(a) && (sum == a || sum.isF32())) ||
                    ((a.isF32() || a.isF64()) && sum == a));
}

namespace {
/// The operations of one attention, and how they are indexed.
struct Parts {
  LinalgOp scores, product;
  linalg::SoftmaxOp softmax;
  /// The operand of the product that is the probabilities.
  OpOperand *probabilities = nullptr;
  /// By loops of the attention: those of the scores in the softmax's order,
  /// depth, columns.
  unsigned numLoops = 0;
  /// The dimensions of the softmax that are loops: all that are not of size 1,
  /// and the keys. The first loops, in this order.
  SmallVector<unsigned> kept;
  /// Operands, read by loops of the attention.
  Read query, key, value;
  AffineMap result;
};
} // namespace

/// Rewrites `map` over other loops: loop i becomes loopOf[i], or 0 if it has no
/// loop there, since it is of size 1.
static AffineMap replaceLoops(AffineMap map,
                              ArrayRef<std::optional<unsigned>> loopOf,
                              unsigned numLoops) {
  SmallVector<AffineExpr> dims;
  for (std::optional<unsigned> loop : loopOf)
    dims.push_back(loop ? getAffineDimExpr(*loop, map.getContext())
                        : getAffineConstantExpr(0, map.getContext()));
  return map.replaceDimsAndSymbols(dims, {}, numLoops, 0);
}

/// The loops of `op` as loops of the attention: those that index a value by
/// `map`, of which dimension d is dimOf[d]; new ones for the rest, none for
/// those of size 1.
static SmallVector<std::optional<unsigned>>
numberLoops(LinalgOp op, AffineMap map, ArrayRef<std::optional<unsigned>> dimOf,
            unsigned &numLoops) {
  SmallVector<std::optional<unsigned>> loops(map.getNumDims());
  for (auto [result, dim] : llvm::zip_equal(map.getResults(), dimOf))
    if (auto loop = dyn_cast<AffineDimExpr>(result))
      loops[loop.getPosition()] = dim;
  for (auto [loop, size] : llvm::enumerate(op.getStaticLoopRanges()))
    if (!loops[loop] && size != 1)
      loops[loop] = numLoops++;
  return loops;
}

/// Returns the parts of the attention of which `product` is the last, with
/// `operand` as probabilities, or std::nullopt if it is not one.
static std::optional<Parts> findParts(LinalgOp product, OpOperand *operand) {
  Parts parts;
  parts.product = product;
  parts.probabilities = operand;
  auto isHere = [&](Operation *op) {
    return op->getBlock() == product->getBlock();
  };
  parts.softmax = dyn_cast_or_null<linalg::SoftmaxOp>(
      findSource(operand->get(), /*throughReshapes=*/false, [&](Operation *op) {
        return isa<linalg::SoftmaxOp>(op) && isHere(op);
      }));
  if (!parts.softmax || parts.softmax.getResult().size() != 1)
    return std::nullopt;
  parts.scores = dyn_cast_or_null<LinalgOp>(findSource(
      parts.softmax.getInput(), /*throughReshapes=*/false,
      [&](Operation *op) { return isFloatProduct(op) && isHere(op); }));
  if (!parts.scores || !getZeroFilled(product.getDpsInits()[0]))
    return std::nullopt;
  return parts;
}

/// Returns true if all users of `op` are among `readers`.
static bool isReadOnlyBy(Operation *op, ArrayRef<Operation *> readers) {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return llvm::is_contained(readers, user);
  });
}

namespace {
class Raiser {
public:
  Raiser(RewriterBase &rewriter, Parts parts, bool rounds)
      : rewriter(rewriter), parts(parts), loc(this->parts.product.getLoc()),
        rounds(rounds) {}

  /// Returns the reason why it cannot be raised; std::nullopt if it was.
  std::optional<StringRef> raise();
  /// Null if it could not be.
  AttentionOp getRaised() { return raised; }

private:
  bool indexProducts(AffineMap scoreMap);
  std::optional<AffineMap> findReadMap(Value from, Operation *to);
  Value createEmpty(Type element, AffineMap map);
  void measureLoops();

  RewriterBase &rewriter;
  Parts parts;
  /// Of the last product, which is gone in the end.
  Location loc;
  bool rounds;
  SmallVector<OpFoldResult> sizes;
  AttentionOp raised;
};
} // namespace

/// How elements of `from` are computed from those of the result of `to`: by
/// which map, if that is the same along the chain of kernels.
std::optional<AffineMap> Raiser::findReadMap(Value from, Operation *to) {
  Operation *op = from.getDefiningOp();
  AffineMap identity = AffineMap::getMultiDimIdentityMap(
      cast<RankedTensorType>(from.getType()).getRank(), op->getContext());
  if (op == to)
    return identity;
  if (std::optional<Read> reshaped = lookThroughUnitReshape({from, identity})) {
    std::optional<AffineMap> inner = findReadMap(reshaped->source, to);
    return inner ? std::optional(inner->compose(reshaped->map)) : std::nullopt;
  }
  auto kernel = cast<LinalgOp>(op);
  OpOperand *init =
      kernel.getDpsInitOperand(cast<OpResult>(from).getResultNumber());
  for (OpOperand *input : kernel.getDpsInputOperands()) {
    if (!findSource(input->get(), /*throughReshapes=*/false,
                    [&](Operation *source) { return source == to; }))
      continue;
    std::optional<AffineMap> inner = findReadMap(input->get(), to);
    if (!inner)
      return std::nullopt;
    return inner->compose(kernel.getMatchingIndexingMap(input))
        .compose(inversePermutation(kernel.getMatchingIndexingMap(init)));
  }
  return std::nullopt;
}

/// Numbers the loops of both products, the softmax's first.
bool Raiser::indexProducts(AffineMap scoreMap) {
  auto type = cast<RankedTensorType>(parts.softmax.getInput().getType());
  unsigned keyDim = parts.softmax.getDimension();
  SmallVector<std::optional<unsigned>> loopOfDim(type.getRank());
  for (unsigned dim : llvm::seq<unsigned>(type.getRank()))
    if (type.getDimSize(dim) != 1 || dim == keyDim) {
      loopOfDim[dim] = parts.kept.size();
      parts.kept.push_back(dim);
    }
  unsigned numScoreLoops = parts.kept.size(), key = *loopOfDim[keyDim];
  parts.numLoops = numScoreLoops;
  auto readsEachLoop = [&](ArrayRef<std::optional<unsigned>> loops) {
    return llvm::all_of(llvm::seq(numScoreLoops), [&](unsigned loop) {
      return llvm::is_contained(loops, std::optional(loop));
    });
  };
  // Loops of the scores' product.
  if (!isProjectionWithZeros(scoreMap))
    return false;
  AffineMap init =
      parts.scores.getMatchingIndexingMap(parts.scores.getDpsInitOperand(0));
  if (!isProjectionWithZeros(init))
    return false;
  auto loopsOfScore = llvm::map_to_vector(
      scoreMap.getResults(), [&](AffineExpr expr) -> std::optional<unsigned> {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        return dim ? loopOfDim[dim.getPosition()] : std::nullopt;
      });
  auto scoreLoops =
      numberLoops(parts.scores, init, loopsOfScore, parts.numLoops);
  unsigned endOfDepth = parts.numLoops;
  // Loops of the product with the values: where each dimension of the softmax
  // is among them.
  std::optional<AffineMap> read =
      findReadMap(parts.probabilities->get(), parts.softmax);
  if (!read)
    return false;
  AffineMap probabilities =
      read->compose(parts.product.getMatchingIndexingMap(parts.probabilities));
  if (!isProjectionWithZeros(probabilities))
    return false;
  auto loops =
      numberLoops(parts.product, probabilities, loopOfDim, parts.numLoops);
  if (!readsEachLoop(scoreLoops) || !readsEachLoop(loops))
    return false;
  for (auto [loop, kind] :
       llvm::zip_equal(loops, parts.product.getIteratorTypesArray()))
    if (loop && (loop == key) != (kind == utils::IteratorType::reduction))
      return false;

  auto indexed = [&](LinalgOp op, unsigned operand,
                     ArrayRef<std::optional<unsigned>> loopOf) {
    OpOperand *input = op.getDpsInputOperand(operand);
    return Read{input->get(), replaceLoops(op.getMatchingIndexingMap(input),
                                           loopOf, parts.numLoops)};
  };
  parts.query = indexed(parts.scores, 0, scoreLoops);
  parts.key = indexed(parts.scores, 1, scoreLoops);
  if (parts.query.map.isFunctionOfDim(key))
    std::swap(parts.query, parts.key);
  parts.value = indexed(parts.product,
                        1 - parts.probabilities->getOperandNumber(), loops);
  parts.result = replaceLoops(
      parts.product.getMatchingIndexingMap(parts.product.getDpsInitOperand(0)),
      loops, parts.numLoops);
  bool allProjections = llvm::all_of(
      ArrayRef{parts.query.map, parts.key.map, parts.value.map, parts.result},
      [](AffineMap map) { return isProjectionWithZeros(map); });
  auto usesDepth = [&](AffineMap map) {
    return llvm::all_of(
        llvm::seq(numScoreLoops, endOfDepth),
        [&](unsigned loop) { return map.isFunctionOfDim(loop); });
  };
  return allProjections && !parts.query.map.isFunctionOfDim(key) &&
         parts.key.map.isFunctionOfDim(key) &&
         parts.value.map.isFunctionOfDim(key) && usesDepth(parts.query.map) &&
         usesDepth(parts.key.map);
}

void Raiser::measureLoops() {
  sizes.resize(parts.numLoops);
  auto add = [&](Value value, AffineMap map) {
    SmallVector<OpFoldResult> dims =
        tensor::getMixedSizes(rewriter, loc, value);
    for (auto [size, expr] : llvm::zip_equal(dims, map.getResults()))
      if (OpFoldResult &loop = sizes[cast<AffineDimExpr>(expr).getPosition()];
          !loop || isa<Value>(loop))
        loop = size;
  };
  SmallVector<OpFoldResult> scores =
      tensor::getMixedSizes(rewriter, loc, parts.softmax.getInput());
  for (auto [loop, dim] : llvm::enumerate(parts.kept))
    sizes[loop] = scores[dim];
  add(parts.query.source, parts.query.map);
  add(parts.value.source, parts.value.map);
}

Value Raiser::createEmpty(Type element, AffineMap map) {
  SmallVector<OpFoldResult> dims =
      llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) {
        return sizes[cast<AffineDimExpr>(expr).getPosition()];
      });
  return tensor::EmptyOp::create(rewriter, loc, dims, element);
}

std::optional<StringRef> Raiser::raise() {
  MLIRContext *context = rewriter.getContext();
  std::optional<AffineMap> scoreMap =
      findReadMap(parts.softmax.getInput(), parts.scores);
  if (!scoreMap || !indexProducts(*scoreMap))
    return "the loops of its products are not those of an attention";
  Type factorType = getElementTypeOrSelf(parts.query.source);
  if (getElementTypeOrSelf(parts.value.source) != factorType ||
      getElementTypeOrSelf(parts.key.source) != factorType)
    return "query, key and value have different element types";
  Type sumType =
      factorType.isF64() ? factorType : Type(Float32Type::get(context));
  auto softmaxType = dyn_cast<FloatType>(
      getElementTypeOrSelf(parts.softmax.getInput().getType()));
  if (!softmaxType || softmaxType.getWidth() > sumType.getIntOrFloatBitWidth())
    return "its softmax is computed in a wider type than its products";

  ScoreBody body(rewriter, loc, sumType, parts.scores, *scoreMap,
                 parts.softmax);
  FailureOr<Value> score = body.buildModifiedScore();
  if (failed(score))
    return "its scores are computed in a way that has no place in an attention";
  FailureOr<Value> factor =
      body.buildFactor(parts.probabilities->get(),
                       invertProjection(*findReadMap(parts.probabilities->get(),
                                                     parts.softmax)));
  if (failed(factor))
    return "its probabilities are changed by more than a factor";
  SmallVector<Operation *> inside(body.getPath());
  inside.push_back(parts.softmax);
  inside.push_back(parts.product);
  for (Operation *op : ArrayRef(inside).drop_back())
    if (!isReadOnlyBy(op, inside))
      return "its scores or probabilities are used elsewhere, too";
  if (!isReadOnlyBy(parts.scores, inside))
    return "its scores or probabilities are used elsewhere, too";

  rewriter.setInsertionPoint(parts.product);
  for (Read *factor : {&parts.query, &parts.key, &parts.value})
    *factor = readBeforeCopies(rewriter, loc, *factor);
  measureLoops();
  // Of dimensions of the softmax, over loops.
  SmallVector<AffineExpr> loopOfDim(scoreMap->getNumDims(),
                                    rewriter.getAffineConstantExpr(0));
  SmallVector<AffineExpr> rows;
  for (auto [loop, dim] : llvm::enumerate(parts.kept)) {
    loopOfDim[dim] = rewriter.getAffineDimExpr(loop);
    if (dim != parts.softmax.getDimension())
      rows.push_back(loopOfDim[dim]);
  }
  // Dimensions that are indexed by the constant 0 are not in the attention's
  // result.
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : parts.result.getResults())
    if (isa<AffineDimExpr>(expr))
      results.push_back(expr);
  AffineMap resultMap = AffineMap::get(parts.numLoops, 0, results, context);
  SmallVector<AffineMap> maps{parts.query.map, parts.key.map, parts.value.map};
  for (AffineMap map : body.getMaps())
    maps.push_back(map.replaceDimsAndSymbols(loopOfDim, {}, parts.numLoops, 0));
  maps.push_back(resultMap);
  maps.push_back(AffineMap::get(parts.numLoops, 0, rows, context));
  auto wanted = cast<RankedTensorType>(parts.product->getResult(0).getType());
  Value whole = parts.product->getResult(0);
  bool isRounded =
      wanted.getElementType() == factorType || isOnlyRounded(whole, factorType);
  Type resultType = rounds && isRounded ? factorType : sumType;
  Value init = createEmpty(resultType, resultMap);
  Value logSum = createEmpty(sumType, maps.back());
  auto op = AttentionOp::create(
      rewriter, loc, TypeRange{init.getType(), logSum.getType()},
      parts.query.source, parts.key.source, parts.value.source,
      body.getOperands(), init, logSum, rewriter.getAffineMapArrayAttr(maps));
  op.getBody().push_back(body.finish(*score, *factor, parts.kept, rounds));
  copyAttributes(parts.product, op);
  rewriter.setInsertionPointAfter(op);
  Value result = op.getResults()[0];
  if (results.size() != parts.result.getNumResults()) {
    auto type = RankedTensorType::get(wanted.getShape(), resultType);
    SmallVector<ReassociationIndices> groups =
        *getReassociationIndicesForCollapse(
            type.getShape(),
            cast<RankedTensorType>(result.getType()).getShape());
    result = tensor::ExpandShapeOp::create(rewriter, loc, type, result, groups);
  }
  result = convertElements(rewriter, loc, result, getElementTypeOrSelf(wanted));
  rewriter.replaceOp(parts.product, result);
  // An operation whose only users are dead goes after these.
  bool erased = true;
  SmallVector<Operation *> dead(body.getPath());
  dead.push_back(parts.softmax);
  dead.push_back(parts.scores);
  while (std::exchange(erased, false))
    for (Operation *&part : dead)
      if (part && part->use_empty()) {
        rewriter.eraseOp(std::exchange(part, nullptr));
        erased = true;
      }
  foldTransposesOfResult(rewriter, op);
  raised = op;
  return std::nullopt;
}

/// Returns true if `probabilities` comes from a softmax of another product's
/// result, through reshapes that no pattern has moved.
static bool readsThroughReshapes(OpOperand *probabilities) {
  Operation *softmax =
      findSource(probabilities->get(), /*throughReshapes=*/true,
                 [](Operation *op) { return isa<linalg::SoftmaxOp>(op); });
  return softmax && findSource(cast<linalg::SoftmaxOp>(softmax).getInput(),
                               /*throughReshapes=*/true, isFloatProduct);
}

static void remarkStays(LinalgOp product, StringRef reason) {
  emitRemark(product.getLoc())
      << "stays a product with a softmax, which keeps a number for each pair "
         "of positions: "
      << reason;
}

AttentionOp mlir::remat::raiseAttentionOf(RewriterBase &rewriter,
                                          LinalgOp product, bool rounds) {
  for (OpOperand *operand : product.getDpsInputOperands()) {
    std::optional<Parts> parts = findParts(product, operand);
    if (!parts) {
      if (readsThroughReshapes(operand))
        remarkStays(product, "a reshape of its scores or probabilities could "
                             "not be moved out of the way");
      continue;
    }
    Raiser raiser(rewriter, *parts, rounds);
    if (std::optional<StringRef> reason = raiser.raise())
      remarkStays(product, *reason);
    return raiser.getRaised();
  }
  return {};
}
