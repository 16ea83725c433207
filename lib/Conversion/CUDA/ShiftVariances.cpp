//===- ShiftVariances.cpp - Variances that need no mean first -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The squares of x - m can be added up once the mean m is known, which takes
// another pass over x: two of the three that the forward of a batch norm makes.
// Those of x - s are added up beside the sum that m is made of, for any s, and
//
//     sum (x - m)^2 = sum (x - s)^2 - n (m - s)^2.
//
// The difference loses digits where m is far from s. Here s is the mean of a
// part of the batch, at least a 64th of it, whose elements alone make the
// variance at least (m - s)^2 / 64: so the loss is bounded whatever x is. It
// would not be with s = 0, or with one element.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Transforms/Detach/Variance.h"

#include "remat/Analysis/EqualValues.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SHIFTVARIANCESPASS
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

/// Of the iterations of the outermost loop, how many are no part of the shift
/// for one that is.
static constexpr int64_t kPart = 64;
/// Fewer iterations of that loop make the part a pass of its own.
static constexpr int64_t kMinIterations = 8;
/// Fewer elements for each result are read from a cache again.
static constexpr double kMinCount = 1024;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Returns true if `x` is in memory when it is added up. The result of an
/// elementwise kernel is recomputed by each kernel that reads it, which a part
/// of it is not.
static bool isStored(Value x) {
  while (Operation *op = x.getDefiningOp()) {
    if (!isTensorReshape(op))
      return !isParallel(op);
    x = lookThroughBorders(op->getOperand(0));
  }
  return true;
}

/// The last of the names of `x` that the sum has in its block: a policy may
/// save that one.
static Value getNamed(Value x, Operation *sum) {
  while (true) {
    auto name = llvm::find_if(x.getUsers(), [&](Operation *user) {
      return isa<NameOp>(user) && user->getBlock() == sum->getBlock() &&
             user->isBeforeInBlock(sum);
    });
    if (name == x.getUsers().end())
      return x;
    x = name->getResult(0);
  }
}

/// The loop of the sum that runs along the outermost dimension of `x`, if that
/// is all that it does.
static std::optional<unsigned> getOutermostLoop(const Read &x) {
  if (x.map.getNumResults() == 0)
    return std::nullopt;
  auto dim = dyn_cast<AffineDimExpr>(x.map.getResult(0));
  if (!dim || !x.map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return std::nullopt;
  return dim.getPosition();
}

static bool shouldShift(const Variance &variance) {
  LinalgOp sum = variance.sum;
  std::optional<unsigned> outermost = getOutermostLoop(variance.x);
  if (!outermost || sum->getNumResults() != 1 || variance.count < kMinCount ||
      !isStored(variance.x.source))
    return false;
  auto type = cast<RankedTensorType>(sum->getResult(0).getType());
  auto meanType = dyn_cast<RankedTensorType>(variance.mean->get().getType());
  auto xType = cast<RankedTensorType>(variance.x.source.getType());
  Type element = type.getElementType(), xElement = xType.getElementType();
  // A mean that is rounded is not the one that the squares are around.
  bool isExact = element.isF32() || element.isF64();
  bool isWide = isa<FloatType>(xElement) &&
                (xElement == element || xElement.getIntOrFloatBitWidth() <
                                            element.getIntOrFloatBitWidth());
  for (unsigned loop = 0; loop < sum.getNumLoops(); ++loop)
    if (!variance.x.map.isFunctionOfDim(loop) &&
        !variance.meanMap.isFunctionOfDim(loop))
      return false;
  return isExact && isWide && meanType &&
         meanType.getElementType() == element && type.hasStaticShape() &&
         meanType.hasStaticShape() && xType.hasStaticShape() &&
         xType.getDimSize(0) >= kMinIterations &&
         variance.meanMap.isProjectedPermutation(
             /*allowZeroInResults=*/true) &&
         !variance.meanMap.isFunctionOfDim(*outermost) &&
         isZeroFilled(lookThroughBorders(sum.getDpsInits()[0]));
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

static Value createConstant(OpBuilder &builder, Location loc, Type type,
                            double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}

/// The mean of the first part of x, in the units and the shape in which the
/// differences read the mean; without a derivative, as the variance does not
/// depend on it.
static Value createShift(RewriterBase &rewriter, const Variance &variance,
                         Value x) {
  LinalgOp sum = variance.sum;
  Location loc = sum.getLoc();
  auto type = cast<RankedTensorType>(variance.mean->get().getType());
  auto xType = cast<RankedTensorType>(variance.x.source.getType());
  Type element = type.getElementType();

  int64_t size = llvm::divideCeil(xType.getDimSize(0), kPart);
  SmallVector<int64_t> shape(xType.getShape());
  shape[0] = size;
  SmallVector<OpFoldResult> zeros(shape.size(), rewriter.getIndexAttr(0)),
      ones(shape.size(), rewriter.getIndexAttr(1));
  Value part = tensor::ExtractSliceOp::create(
      rewriter, loc, x, zeros,
      getAsIndexOpFoldResult(rewriter.getContext(), shape), ones);

  Value empty = tensor::EmptyOp::create(rewriter, loc, type, ValueRange());
  Value zero =
      linalg::FillOp::create(rewriter, loc,
                             createConstant(rewriter, loc, element, 0), empty)
          .getResult(0);
  SmallVector<utils::IteratorType> kinds;
  for (unsigned loop = 0; loop < sum.getNumLoops(); ++loop)
    kinds.push_back(variance.meanMap.isFunctionOfDim(loop)
                        ? utils::IteratorType::parallel
                        : utils::IteratorType::reduction);
  Value total = linalg::GenericOp::create(
                    rewriter, loc, TypeRange(type), part, zero,
                    ArrayRef{variance.x.map, variance.meanMap}, kinds,
                    [&](OpBuilder &body, Location loc, ValueRange arguments) {
                      Value term = arguments[0];
                      if (term.getType() != element)
                        term = arith::ExtFOp::create(body, loc, element, term);
                      linalg::YieldOp::create(
                          body, loc,
                          arith::AddFOp::create(body, loc, arguments[1], term)
                              .getResult());
                    })
                    .getResult(0);

  double count = variance.count / xType.getDimSize(0) * size;
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  Value shift =
      linalg::GenericOp::create(
          rewriter, loc, TypeRange(type), total, empty,
          ArrayRef{identity, identity},
          SmallVector<utils::IteratorType>(type.getRank(),
                                           utils::IteratorType::parallel),
          [&](OpBuilder &body, Location loc, ValueRange arguments) {
            Value by =
                createConstant(body, loc, element, count * variance.meanFactor);
            linalg::YieldOp::create(
                body, loc,
                arith::DivFOp::create(body, loc, arguments[0], by).getResult());
          })
          .getResult(0);
  return StopGradientOp::create(rewriter, loc, shift);
}

/// How the mean is read where all of `sum` is.
static AffineMap getMeanMap(const Variance &variance) {
  LinalgOp sum = variance.sum;
  MLIRContext *context = sum->getContext();
  AffineMap output = sum.getMatchingIndexingMap(sum.getDpsInitOperand(0));
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : variance.meanMap.getResults()) {
    std::optional<unsigned> dim = isa<AffineDimExpr>(expr)
                                      ? output.getResultPosition(expr)
                                      : std::nullopt;
    results.push_back(dim ? getAffineDimExpr(*dim, context)
                          : getAffineConstantExpr(0, context));
  }
  return AffineMap::get(output.getNumResults(), 0, results, context);
}

/// Replaces the sum. Returns what computes its value now.
static Operation *shiftVariance(RewriterBase &rewriter, Variance variance) {
  LinalgOp sum = variance.sum;
  Location loc = sum.getLoc();
  Operation *kernel = variance.mean->getOwner();
  unsigned number = variance.mean->getOperandNumber();
  Value mean = variance.mean->get();

  // As soon as x is there: its sum may be added up beside the squares then.
  Value x = getNamed(variance.x.source, sum);
  Operation *made = x.getDefiningOp();
  if (made && made->getBlock() == sum->getBlock())
    rewriter.setInsertionPointAfter(made);
  else
    rewriter.setInsertionPointToStart(sum->getBlock());
  Value shift = createShift(rewriter, variance, x);

  IRMapping copies;
  copyPath(rewriter, variance, copies);
  rewriter.setInsertionPoint(sum);
  Operation *shifted = rewriter.clone(*sum, copies);
  Operation *differences =
      kernel == sum ? shifted : copies.lookupOrDefault(kernel);
  rewriter.modifyOpInPlace(
      differences, [&] { differences->getOpOperand(number).set(shift); });

  auto type = cast<RankedTensorType>(sum->getResult(0).getType());
  Type element = type.getElementType();
  AffineMap identity = rewriter.getMultiDimIdentityMap(type.getRank());
  AffineMap meanMap = getMeanMap(variance);
  Value empty = tensor::EmptyOp::create(rewriter, loc, type, ValueRange());
  auto corrected = linalg::GenericOp::create(
      rewriter, loc, TypeRange(type),
      ValueRange{shifted->getResult(0), mean, shift}, empty,
      ArrayRef{identity, meanMap, meanMap, identity},
      SmallVector<utils::IteratorType>(type.getRank(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &body, Location loc, ValueRange arguments) {
        Value d = arith::SubFOp::create(body, loc, arguments[1], arguments[2]);
        Value square = arith::MulFOp::create(body, loc, d, d);
        double scale = variance.count * variance.factor * variance.meanFactor *
                       variance.meanFactor;
        Value excess = arith::MulFOp::create(
            body, loc, square, createConstant(body, loc, element, scale));
        Value rest = arith::SubFOp::create(body, loc, arguments[0], excess);
        // Not below zero by a rounding.
        Value zero = createConstant(body, loc, element, 0);
        linalg::YieldOp::create(
            body, loc,
            arith::MaximumFOp::create(body, loc, rest, zero).getResult());
      });
  rewriter.replaceOp(sum, corrected);
  for (Operation *op : variance.path)
    if (op && isOpTriviallyDead(op))
      rewriter.eraseOp(op);
  return corrected;
}

/// Returns true if all that the squares are made of is computed in their block.
static bool isInOneRegion(const Variance &variance) {
  Value x = variance.x.source;
  return !variance.path.contains(nullptr) &&
         x.getParentRegion() == variance.sum->getParentRegion();
}

namespace {
struct ShiftVariancesPass
    : mlir::remat::impl::ShiftVariancesPassBase<ShiftVariancesPass> {
  void runOnOperation() override {
    bool changed = rewriteVariances(
        getOperation(), shouldShift,
        [](const Variance &variance) { return !isInOneRegion(variance); },
        [](RewriterBase &rewriter, Variance variance, bool) {
          return shiftVariance(rewriter, std::move(variance));
        });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
