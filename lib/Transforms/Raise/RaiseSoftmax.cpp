//===- RaiseSoftmax.cpp - Softmax out of its parts ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters spell softmax as five kernels. Differentiated one by one they save
// the scores and the probabilities; the derivative of a softmax needs only the
// latter, of which attention has one for each pair of positions.
//===----------------------------------------------------------------------===//

#include "Patterns.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Transforms/Fold/Patterns.h"
#include "remat/Transforms/Match/Copies.h"
#include "remat/Transforms/Match/PlainCopy.h"
#include "remat/Transforms/Raise/Passes.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::remat {
#define GEN_PASS_DEF_RAISESOFTMAXPASS
#include "remat/Transforms/Raise/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::GenericOp;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Returns the read of the block argument `scalar` of the body of `op`, before
/// copies.
static std::optional<Read> getRead(GenericOp op, Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  if (!argument || argument.getOwner() != op.getBlock())
    return std::nullopt;
  OpOperand *operand = op.getMatchingOpOperand(argument);
  if (op.isDpsInit(operand) || !isa<RankedTensorType>(operand->get().getType()))
    return std::nullopt;
  return lookThroughCopies(
      {operand->get(), op.getMatchingIndexingMap(operand)});
}

/// Does the same, but keeps a read by the identity as it is: a copy that is
/// read in place is as good as its source.
static std::optional<Read> getReadInPlace(GenericOp op, Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  if (argument && argument.getOwner() == op.getBlock()) {
    OpOperand *operand = op.getMatchingOpOperand(argument);
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (!op.isDpsInit(operand) && map.isIdentity())
      return Read{operand->get(), map};
  }
  return getRead(op, scalar);
}

/// The operation whose result the body yields if it is all that the body does,
/// element by element.
template <typename Op> static Op getElementwise(GenericOp op) {
  if (!op || !op.hasPureTensorSemantics() || op.getNumResults() != 1 ||
      !isParallel(op) || !op.getIndexingMapsArray().back().isIdentity() ||
      op.getBlock()->getOperations().size() != 2)
    return {};
  return op.getBlock()->getTerminator()->getOperand(0).getDefiningOp<Op>();
}

/// The elementwise `Op` that makes `read`, itself read in place.
template <typename Op> static Op getProducer(std::optional<Read> read) {
  if (!read || !read->map.isIdentity())
    return {};
  return getElementwise<Op>(read->source.getDefiningOp<GenericOp>());
}

static GenericOp getKernel(Operation *scalar) {
  return cast<GenericOp>(scalar->getParentOp());
}

namespace {
/// A reduction over one dimension: its kernel, its operand as the kernel's
/// loops read it, and the map by which they write.
struct Reduction {
  GenericOp kernel;
  Read term;
  AffineMap result;
};
/// The operand of a reduction over one dimension, and that dimension.
struct Reduced {
  Value full;
  unsigned dim;
};
} // namespace

/// Matches `value` as a reduction by one of `Op`.
template <typename... Op>
static std::optional<Reduction> getReduction(Value value) {
  auto kernel = value.getDefiningOp<GenericOp>();
  if (!kernel || kernel.getNumReductionLoops() != 1)
    return std::nullopt;
  unsigned number = cast<OpResult>(value).getResultNumber();
  Value yielded = kernel.getBlock()->getTerminator()->getOperand(number);
  Operation *combiner = yielded.getDefiningOp();
  OpOperand *init = kernel.getDpsInitOperand(number);
  Value sum = kernel.getMatchingBlockArgument(init);
  if (!isa_and_nonnull<Op...>(combiner) ||
      !llvm::is_contained(combiner->getOperands(), sum))
    return std::nullopt;
  Value term = combiner->getOperand(combiner->getOperand(0) == sum);
  std::optional<Read> read = getReadInPlace(kernel, term);
  if (!read)
    return std::nullopt;
  return Reduction{kernel, *read, kernel.getMatchingIndexingMap(init)};
}

/// Matches `row` as a sum that is broadcast along the dimension that it sums.
static std::optional<Reduced> getSummed(std::optional<Read> row) {
  auto sum = row ? getReduction<arith::AddFOp>(row->source) : std::nullopt;
  if (!sum || !sum->term.map.isIdentity() || sum->result != row->map)
    return std::nullopt;
  SmallVector<unsigned> reduced;
  sum->kernel.getReductionDims(reduced);
  return Reduced{sum->term.source, reduced.front()};
}

/// Returns true if `reduction` starts from zeros.
static bool startsFromZero(Value reduction) {
  auto result = cast<OpResult>(reduction);
  auto kernel = cast<GenericOp>(result.getOwner());
  return isZeroFilled(kernel.getDpsInits()[result.getResultNumber()]);
}

/// Returns true if all users of `value`, also of its copies, are `first` or
/// `second`.
static bool isReadOnlyBy(Value value, Operation *first, Operation *second) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (user == first || user == second)
      return true;
    return getCopied(dyn_cast<linalg::LinalgOp>(user)).has_value() &&
           isReadOnlyBy(user->getResult(0), first, second);
  });
}

/// The same elements, before copies and `remat.stop_gradient`s. Softmax does
/// not depend on its maximum, whose gradient exporters stop for that reason.
static std::optional<Read> lookThroughStops(std::optional<Read> read) {
  while (read) {
    auto stop = read->source.getDefiningOp<StopGradientOp>();
    if (!stop)
      break;
    read = lookThroughCopies({stop.getValue(), read->map});
  }
  return read;
}

namespace {
/// The sum of exp(x - max x) over one dimension.
struct SumOfPowers {
  Value x, differences, powers;
  Operation *maximum, *sum;
  unsigned dim;
};
} // namespace

/// Returns true if two reads are of the same elements.
static bool isSameRead(Read first, Read second) {
  first = lookThroughCopies(first);
  second = lookThroughCopies(second);
  if (first.source != second.source)
    return false;
  auto type = cast<RankedTensorType>(first.source.getType());
  return llvm::all_of(llvm::seq(type.getRank()), [&](int64_t dim) {
    return type.getDimSize(dim) == 1 ||
           first.map.getResult(dim) == second.map.getResult(dim);
  });
}

/// Returns true if `row`, read at the positions of `x`, is its maximum over
/// `dim`.
static bool isMaximum(std::optional<Read> row, Read x, unsigned dim) {
  auto max =
      row ? getReduction<arith::MaximumFOp, arith::MaxNumFOp>(row->source)
          : std::nullopt;
  if (!max || !max->result.isProjectedPermutation())
    return false;
  // Loops of the reduction, by those of what reads it.
  MLIRContext *context = max->kernel.getContext();
  SmallVector<AffineExpr> loops(max->kernel.getNumLoops(),
                                getAffineDimExpr(dim, context));
  for (auto [position, at] :
       llvm::zip_equal(max->result.getResults(), row->map.getResults()))
    loops[cast<AffineDimExpr>(position).getPosition()] = at;
  AffineMap here = AffineMap::get(row->map.getNumDims(), 0, loops, context);
  return isSameRead({max->term.source, max->term.map.compose(here)}, x);
}

/// `row`, read along the dimension of the sum, as such a sum.
static std::optional<SumOfPowers> getSumOfPowers(std::optional<Read> row) {
  std::optional<Reduced> sum = getSummed(row);
  if (!sum || !startsFromZero(row->source))
    return std::nullopt;
  auto power =
      getElementwise<math::ExpOp>(sum->full.getDefiningOp<GenericOp>());
  if (!power)
    return std::nullopt;
  auto subtract =
      getProducer<arith::SubFOp>(getRead(getKernel(power), power.getOperand()));
  if (!subtract)
    return std::nullopt;
  GenericOp kernel = getKernel(subtract);
  std::optional<Read> x = getReadInPlace(kernel, subtract.getLhs());
  std::optional<Read> maximum =
      lookThroughStops(getRead(kernel, subtract.getRhs()));
  if (!x || !x->map.isIdentity() || !isMaximum(maximum, *x, sum->dim))
    return std::nullopt;
  return SumOfPowers{x->source,
                     kernel.getResult(0),
                     sum->full,
                     maximum->source.getDefiningOp(),
                     row->source.getDefiningOp(),
                     sum->dim};
}

//===----------------------------------------------------------------------===//
// The patterns
//===----------------------------------------------------------------------===//

namespace {
/// exp(x - max x) / sum exp(x - max x), from its division.
struct RaiseSoftmax : OpRewritePattern<GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GenericOp op,
                                PatternRewriter &rewriter) const override {
    auto divide = getElementwise<arith::DivFOp>(op);
    if (!divide)
      return failure();
    std::optional<Read> powers = getRead(op, divide.getLhs());
    auto sum = getSumOfPowers(getRead(op, divide.getRhs()));
    if (!sum || !powers || powers->source != sum->powers ||
        !powers->map.isIdentity() || !isReadOnlyBy(sum->powers, op, sum->sum) ||
        sum->x.getType() != op.getResult(0).getType())
      return failure();
    // Parts outside of a loop would move into it.
    Operation *parts[] = {sum->maximum, sum->differences.getDefiningOp(),
                          sum->powers.getDefiningOp(), sum->sum};
    if (llvm::any_of(parts, [&](Operation *part) {
          return part->getBlock() != op->getBlock();
        }))
      return failure();
    auto softmax = linalg::SoftmaxOp::create(
        rewriter, op.getLoc(), TypeRange{op.getResult(0).getType()}, sum->x,
        op.getDpsInits()[0], sum->dim);
    copyAttributes(op, softmax);
    rewriter.replaceOp(op, softmax);
    return success();
  }
};
} // namespace

void mlir::remat::populateRaiseSoftmaxPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseSoftmax>(patterns.getContext());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Works on a plain copy, so that the result depends neither on names and
/// borders of regions nor on whether equal computations were merged.
static LogicalResult raiseIn(Operation *function) {
  PlainCopy plain(function);
  DenseSet<Operation *> known;
  plain.get()->walk([&](linalg::SoftmaxOp op) { known.insert(op); });
  RewritePatternSet patterns(function->getContext());
  populateFoldTransposesPatterns(patterns);
  populateRaiseSoftmaxPatterns(patterns);
  GreedyRewriteConfig config;
  config.setListener(plain.getListener());
  IRRewriter rewriter(function->getContext(), plain.getListener());
  DominanceInfo dominance(plain.get());
  eliminateCommonSubExpressions(rewriter, dominance, plain.get());
  if (failed(applyPatternsGreedily(plain.get(), std::move(patterns), config)))
    return failure();
  SmallVector<Operation *> raised;
  plain.get()->walk([&](linalg::SoftmaxOp op) {
    if (!known.contains(op))
      raised.push_back(op);
  });
  for (Operation *op : raised)
    plain.transplant(op);
  plain.eraseDead("a softmax computes this value for itself; name what it "
                  "reads or its result, or read the value elsewhere, too");
  return success();
}

namespace {
struct RaiseSoftmaxPass
    : mlir::remat::impl::RaiseSoftmaxPassBase<RaiseSoftmaxPass> {
  void runOnOperation() override {
    SmallVector<Operation *> plain, bordered;
    getOperation()->walk([&](FunctionOpInterface function) {
      bool hasPowers = false, hasBorders = false;
      function->walk([&](Operation *op) {
        hasPowers |= isa<math::ExpOp>(op);
        hasBorders |= isa<NameOp, RegionOp>(op);
      });
      if (hasPowers)
        (hasBorders ? bordered : plain).push_back(function);
    });
    RewritePatternSet owned(&getContext());
    populateRaiseSoftmaxPatterns(owned);
    FrozenRewritePatternSet patterns(std::move(owned));
    for (Operation *function : plain)
      if (failed(applyPatternsGreedily(function, patterns)))
        return signalPassFailure();
    for (Operation *function : bordered)
      if (failed(raiseIn(function)))
        return signalPassFailure();
    if (plain.empty() && bordered.empty())
      markAllAnalysesPreserved();
  }
};
} // namespace
