//===- RaiseSoftmax.cpp - Softmax out of its parts ------------------------===//
//
// Exporters spell softmax as five kernels. Differentiated one by one they save
// the scores and the probabilities; the derivative of a softmax needs only the
// latter, of which attention has one for each pair of positions. Its logarithm
// has no operation, but in it, too, the maximum is there for the range of exp
// only: with a gradient, it would be searched for once more in the backward.
//
//===----------------------------------------------------------------------===//

#include "Copies.h"
#include "ElementwiseFusion.h"
#include "remat/Transforms/Fuse/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::remat {
#define GEN_PASS_DEF_RAISESOFTMAXPASS
#include "remat/Transforms/Fuse/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::GenericOp;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// What `op` reads, before copies, for the block argument `scalar` of its body.
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

/// The operation whose result the body yields if it is all that the body does,
/// element by element.
template <typename Op> static Op getElementwise(GenericOp op) {
  if (!op || !op.hasPureTensorSemantics() || op.getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !op.getIndexingMapsArray().back().isIdentity() ||
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

/// Whether `row` is a reduction of `full` by an `Op`, read along the dimension
/// that it reduces, which is returned.
template <typename... Op>
static std::optional<unsigned> getReducedDim(std::optional<Read> row,
                                             Value full) {
  if (!row)
    return std::nullopt;
  auto kernel = row->source.getDefiningOp<GenericOp>();
  if (!kernel || kernel.getNumReductionLoops() != 1)
    return std::nullopt;
  unsigned number = cast<OpResult>(row->source).getResultNumber();
  Value yielded = kernel.getBlock()->getTerminator()->getOperand(number);
  Operation *combiner = yielded.getDefiningOp();
  OpOperand *init = kernel.getDpsInitOperand(number);
  Value sum = kernel.getMatchingBlockArgument(init);
  if (!isa_and_nonnull<Op...>(combiner) ||
      !llvm::is_contained(combiner->getOperands(), sum))
    return std::nullopt;
  Value term = combiner->getOperand(combiner->getOperand(0) == sum);
  std::optional<Read> read = getRead(kernel, term);
  if (!read || read->source != full || !read->map.isIdentity() ||
      kernel.getMatchingIndexingMap(init) != row->map)
    return std::nullopt;
  SmallVector<unsigned> reduced;
  kernel.getReductionDims(reduced);
  return reduced.front();
}

/// Whether what `reduction` starts from changes nothing in a sum.
static bool startsFromZero(Value reduction) {
  auto result = cast<OpResult>(reduction);
  auto kernel = cast<GenericOp>(result.getOwner());
  Value init = kernel.getDpsInits()[result.getResultNumber()];
  return getZeroFilled(init) || matchPattern(init, m_AnyZeroFloat());
}

/// Whether everything that depends on `value`, through copies, is `first` or
/// `second`.
static bool isReadOnlyBy(Value value, Operation *first, Operation *second) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (user == first || user == second)
      return true;
    return getCopied(dyn_cast<linalg::LinalgOp>(user)).has_value() &&
           isReadOnlyBy(user->getResult(0), first, second);
  });
}

namespace {
/// x - max x, over one dimension.
struct ShiftByMax {
  Value x;
  Operation *maximum;
  /// That the subtracting kernel reads the maximum by, perhaps through copies.
  OpOperand *operand;
  unsigned dim;
};
} // namespace

static std::optional<ShiftByMax> getShiftByMax(arith::SubFOp shift) {
  GenericOp kernel = getKernel(shift);
  std::optional<Read> x = getRead(kernel, shift.getLhs());
  std::optional<Read> max = getRead(kernel, shift.getRhs());
  if (!x || !x->map.isIdentity())
    return std::nullopt;
  std::optional<unsigned> dim =
      getReducedDim<arith::MaximumFOp, arith::MaxNumFOp>(max, x->source);
  if (!dim)
    return std::nullopt;
  auto argument = cast<BlockArgument>(shift.getRhs());
  return ShiftByMax{x->source, max->source.getDefiningOp(),
                    kernel.getMatchingOpOperand(argument), *dim};
}

//===----------------------------------------------------------------------===//
// The pass
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
    auto power = getProducer<math::ExpOp>(getRead(op, divide.getLhs()));
    if (!power)
      return failure();
    Value powers = getKernel(power).getResult(0);
    std::optional<Read> sum = getRead(op, divide.getRhs());
    std::optional<unsigned> dim = getReducedDim<arith::AddFOp>(sum, powers);
    if (!dim || !startsFromZero(sum->source) ||
        !isReadOnlyBy(powers, op, sum->source.getDefiningOp()))
      return failure();
    auto shift = getProducer<arith::SubFOp>(
        getRead(getKernel(power), power.getOperand()));
    if (!shift)
      return failure();
    std::optional<ShiftByMax> shifted = getShiftByMax(shift);
    if (!shifted || shifted->dim != dim ||
        shifted->x.getType() != op.getResult(0).getType())
      return failure();
    // What is computed outside of a loop would move into it.
    Operation *parts[] = {shifted->maximum, getKernel(shift), getKernel(power),
                          sum->source.getDefiningOp()};
    if (llvm::any_of(parts, [&](Operation *part) {
          return part->getBlock() != op->getBlock();
        }))
      return failure();
    auto softmax = linalg::SoftmaxOp::create(
        rewriter, op.getLoc(), TypeRange{op.getResult(0).getType()}, shifted->x,
        op.getDpsInits()[0], *dim);
    copyAttributes(op, softmax);
    rewriter.replaceOp(op, softmax);
    return success();
  }
};

/// d - log sum exp(d), where d = x - max x: the same for any number in the
/// place of the maximum, so that the gradient of this one is zero.
struct DetachMax : OpRewritePattern<GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(GenericOp op,
                                PatternRewriter &rewriter) const override {
    auto subtract = getElementwise<arith::SubFOp>(op);
    if (!subtract)
      return failure();
    auto shift = getProducer<arith::SubFOp>(getRead(op, subtract.getLhs()));
    std::optional<Read> log = getRead(op, subtract.getRhs());
    if (!shift || !log)
      return failure();
    std::optional<ShiftByMax> shifted = getShiftByMax(shift);
    auto logKernel = log->source.getDefiningOp<GenericOp>();
    auto logarithm = getElementwise<math::LogOp>(logKernel);
    if (!shifted || !logarithm)
      return failure();
    std::optional<Read> sum = getRead(logKernel, logarithm.getOperand());
    auto sumKernel = sum ? sum->source.getDefiningOp<GenericOp>() : GenericOp();
    if (!sumKernel || !sum->map.isIdentity() ||
        sumKernel.getNumDpsInputs() != 1)
      return failure();
    std::optional<Read> term = lookThroughCopies(
        {sumKernel.getDpsInputs()[0],
         sumKernel.getMatchingIndexingMap(sumKernel.getDpsInputOperand(0))});
    auto power = getProducer<math::ExpOp>(term);
    Value difference = getKernel(shift).getResult(0);
    if (!power || !startsFromZero(sum->source))
      return failure();
    Value powers = getKernel(power).getResult(0);
    std::optional<Read> exponent =
        getRead(getKernel(power), power.getOperand());
    if (!exponent || exponent->source != difference ||
        !exponent->map.isIdentity() ||
        getReducedDim<arith::AddFOp>(Read{sum->source, log->map}, powers) !=
            shifted->dim ||
        !isReadOnlyBy(powers, sumKernel, sumKernel) ||
        !isReadOnlyBy(difference, op, getKernel(power)))
      return failure();
    GenericOp kernel = getKernel(shift);
    rewriter.setInsertionPoint(kernel);
    Value detached = StopGradientOp::create(rewriter, kernel.getLoc(),
                                            shifted->operand->get());
    rewriter.modifyOpInPlace(kernel, [&] { shifted->operand->set(detached); });
    return success();
  }
};

struct RaiseSoftmaxPass
    : mlir::remat::impl::RaiseSoftmaxPassBase<RaiseSoftmaxPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<DetachMax, RaiseSoftmax>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
