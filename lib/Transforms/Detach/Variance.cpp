//===- Variance.cpp - Sums of squared differences from a mean -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Detach/Variance.h"

#include "remat/Transforms/Match/PlainCopy.h"

#include "remat/Analysis/EqualValues.h"
#include "remat/Analysis/Views.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include <cmath>

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

namespace {
/// A scalar in the body of a kernel as a function of the loops of a sum:
/// `loops` maps them to those of the kernel.
struct Scalar {
  LinalgOp kernel;
  Value value;
  AffineMap loops;
};

/// The sum of a term over all loops that the result lacks.
struct Sum {
  LinalgOp kernel;
  unsigned result;
  Value term;

  AffineMap map() const {
    LinalgOp op = kernel;
    return op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  }
  Scalar scalar() const {
    LinalgOp op = kernel;
    return {
        op, term,
        AffineMap::getMultiDimIdentityMap(op.getNumLoops(), op->getContext())};
  }
};

using Path = SetVector<Operation *>;
} // namespace

static std::optional<Sum> getSum(LinalgOp op, unsigned result) {
  Value yielded = op.getBlock()->getTerminator()->getOperand(result);
  auto add = yielded.getDefiningOp<arith::AddFOp>();
  Value sum = op.getMatchingBlockArgument(op.getDpsInitOperand(result));
  if (!op.hasPureTensorSemantics() || !add || isParallel(op) ||
      (add.getLhs() == sum) == (add.getRhs() == sum) || !sum.hasOneUse() ||
      !add->hasOneUse())
    return std::nullopt;
  return Sum{op, result, add.getLhs() == sum ? add.getRhs() : add.getLhs()};
}

static Value skipCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// Returns the input that `scalar` is a block argument for, or null.
static OpOperand *getInput(const Scalar &scalar) {
  LinalgOp kernel = scalar.kernel;
  auto argument = dyn_cast<BlockArgument>(scalar.value);
  if (!argument || argument.getOwner() != kernel.getBlock())
    return nullptr;
  OpOperand *operand = kernel.getMatchingOpOperand(argument);
  return kernel.isDpsInput(operand) ? operand : nullptr;
}

/// Returns the tensor that an input reads, before names, borders of regions and
/// dimensions of size 1.
static Read getRead(const Scalar &scalar, OpOperand *input, Path *path) {
  LinalgOp kernel = scalar.kernel;
  Read read{input->get(),
            kernel.getMatchingIndexingMap(input).compose(scalar.loops)};
  while (true) {
    Value source = lookThroughBorders(read.source);
    // Null for anything but a name.
    for (Value value = read.source; path && value != source;) {
      auto name = value.getDefiningOp<NameOp>();
      path->insert(name);
      if (!name)
        break;
      value = name.getValue();
    }
    read.source = source;
    std::optional<Read> reshaped = lookThroughUnitReshape(read);
    if (!reshaped)
      return read;
    if (path)
      path->insert(read.source.getDefiningOp());
    read = *reshaped;
  }
}

/// Returns the scalar that an elementwise kernel yields for `read`, or nullopt.
static std::optional<Scalar> getYielded(const Read &read) {
  auto kernel = read.source.getDefiningOp<LinalgOp>();
  if (!isParallel(kernel) || !kernel.hasPureTensorSemantics())
    return std::nullopt;
  unsigned number = cast<OpResult>(read.source).getResultNumber();
  AffineMap map =
      kernel.getMatchingIndexingMap(kernel.getDpsInitOperand(number));
  if (!map.isPermutation())
    return std::nullopt;
  return Scalar{kernel, kernel.getBlock()->getTerminator()->getOperand(number),
                inversePermutation(map).compose(read.map)};
}

/// Returns the operation that computes `scalar`, before casts and copies, and
/// moves `scalar` into its kernel.
static Operation *getComputing(Scalar &scalar, Path *path = nullptr) {
  while (true) {
    scalar.value = skipCasts(scalar.value);
    OpOperand *input = getInput(scalar);
    if (!input)
      return scalar.value.getDefiningOp();
    std::optional<Scalar> yielded = getYielded(getRead(scalar, input, path));
    if (!yielded)
      return nullptr;
    scalar = *yielded;
    if (path)
      path->insert(scalar.kernel);
  }
}

/// Returns the tensor that `scalar` is an element of, before casts and copies.
static std::optional<Read> getOrigin(Scalar scalar) {
  std::optional<Read> origin;
  while (true) {
    scalar.value = skipCasts(scalar.value);
    OpOperand *input = getInput(scalar);
    if (!input)
      return origin;
    origin = getRead(scalar, input, nullptr);
    std::optional<Scalar> yielded = getYielded(*origin);
    if (!yielded)
      return origin;
    scalar = *yielded;
  }
}

/// Returns the constant that `scalar` is, or null.
static FloatAttr getConstant(Scalar scalar) {
  FloatAttr number;
  if (matchPattern(scalar.value, m_Constant(&number)))
    return number;
  std::optional<Read> origin = getOrigin(scalar);
  if (!origin)
    return {};
  Value source = origin->source;
  if (auto fill = source.getDefiningOp<linalg::FillOp>())
    source = lookThroughBorders(fill.getInputs()[0]);
  if (matchPattern(source, m_Constant(&number)))
    return number;
  SplatElementsAttr splat;
  if (matchPattern(source, m_Constant(&splat)))
    return dyn_cast<FloatAttr>(splat.getSplatValue<Attribute>());
  return {};
}

namespace {
/// A value times a number whose relative error is at most `error`.
struct Scaled {
  Value value;
  double factor, error;
};
} // namespace

/// Returns the value that `op`, of the kernel of `scalar`, scales by a number,
/// or nullopt.
static std::optional<Scaled> getScaled(const Scalar &scalar, Operation *op) {
  auto at = [&](Value value) {
    return getConstant({scalar.kernel, value, scalar.loops});
  };
  if (auto divide = dyn_cast_or_null<arith::DivFOp>(op)) {
    if (FloatAttr by = at(divide.getRhs()))
      return Scaled{divide.getLhs(), 1 / by.getValueAsDouble(), 0};
  } else if (auto multiply = dyn_cast_or_null<arith::MulFOp>(op)) {
    for (unsigned i : {1, 0})
      if (FloatAttr by = at(multiply->getOperand(i))) {
        // The rounding of the reciprocal.
        unsigned bits =
            APFloat::semanticsPrecision(by.getValue().getSemantics());
        return Scaled{multiply->getOperand(1 - i), by.getValueAsDouble(),
                      std::ldexp(1.0, -int(bits))};
      }
  }
  return std::nullopt;
}

/// Returns true if both are elements of one tensor at one position.
static bool readSame(const Scalar &scalar, Value a, Value b) {
  if (a == b)
    return true;
  OpOperand *first = getInput({scalar.kernel, a, scalar.loops});
  OpOperand *second = getInput({scalar.kernel, b, scalar.loops});
  LinalgOp kernel = scalar.kernel;
  return first && second && first->get() == second->get() &&
         kernel.getMatchingIndexingMap(first) ==
             kernel.getMatchingIndexingMap(second);
}

/// Returns the value that `op` squares, or null.
static Value getSquared(const Scalar &scalar, Operation *op) {
  if (auto multiply = dyn_cast_or_null<arith::MulFOp>(op))
    return readSame(scalar, multiply.getLhs(), multiply.getRhs())
               ? multiply.getLhs()
               : Value();
  if (auto power = dyn_cast_or_null<math::PowFOp>(op)) {
    FloatAttr exponent =
        getConstant({scalar.kernel, power.getRhs(), scalar.loops});
    return exponent && exponent.getValueAsDouble() == 2 ? power.getLhs()
                                                        : Value();
  }
  APInt exponent;
  auto power = dyn_cast_or_null<math::FPowIOp>(op);
  return power && matchPattern(power.getRhs(), m_ConstantInt(&exponent)) &&
                 exponent == 2
             ? power.getLhs()
             : Value();
}

/// Returns true if the initial value of `sum` is zero.
static bool startsFromZero(const Sum &sum) {
  LinalgOp op = sum.kernel;
  Value init = lookThroughBorders(op.getDpsInits()[sum.result]);
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    init = lookThroughBorders(fill.getInputs()[0]);
  return matchPattern(init, m_AnyZeroFloat());
}

namespace {
/// A sum over all of a tensor, divided by the number of elements for each
/// result; `map` gives the result that the loops of another sum read.
struct Mean {
  Sum sum;
  AffineMap map;
  double count;
};
} // namespace

/// Returns the sum that `scalar` is the mean of, or nullopt if the divisor is
/// not the number of elements.
static std::optional<Mean> getMean(Scalar scalar) {
  double factor = 1, error = 0;
  while (true) {
    scalar.value = skipCasts(scalar.value);
    if (auto scaled = getScaled(scalar, scalar.value.getDefiningOp())) {
      factor *= scaled->factor;
      error += scaled->error;
      scalar.value = scaled->value;
      continue;
    }
    OpOperand *input = getInput(scalar);
    if (!input)
      return std::nullopt;
    Read read = getRead(scalar, input, nullptr);
    if (std::optional<Scalar> yielded = getYielded(read)) {
      scalar = *yielded;
      continue;
    }
    auto kernel = read.source.getDefiningOp<LinalgOp>();
    if (!kernel)
      return std::nullopt;
    std::optional<Sum> sum =
        getSum(kernel, cast<OpResult>(read.source).getResultNumber());
    if (!sum || !startsFromZero(*sum))
      return std::nullopt;
    double count = 1;
    for (auto [loop, size] : llvm::enumerate(kernel.getStaticLoopRanges())) {
      if (ShapedType::isDynamic(size))
        return std::nullopt;
      if (!sum->map().isFunctionOfDim(loop))
        count *= size;
    }
    // n - 1 is not a rounded n: this tolerance is one rounding of double.
    constexpr double kRounding = 1e-14;
    if (std::abs(count * factor - 1) > error + kRounding)
      return std::nullopt;
    return Mean{*sum, read.map, count};
  }
}

/// Returns the loop that `expr` is, or nullopt.
static std::optional<unsigned> getLoop(AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dim.getPosition();
  return std::nullopt;
}

/// Returns true if `sum` adds up the elements of the tensor that `x` reads and
/// that `mean` averages, each together with its own mean.
static bool agree(const Sum &sum, const Read &x, const Mean &mean) {
  std::optional<Read> added = getOrigin(mean.sum.scalar());
  auto type = dyn_cast<RankedTensorType>(x.source.getType());
  if (!added || !areSameViews(added->source, x.source) || !type)
    return false;
  LinalgOp op = sum.kernel, meanOp = mean.sum.kernel;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges(),
                       meanSizes = meanOp.getStaticLoopRanges();
  // The loop of the mean for each loop of the sum.
  DenseMap<unsigned, unsigned> loops;
  for (auto [size, here, there] : llvm::zip_equal(
           type.getShape(), x.map.getResults(), added->map.getResults())) {
    std::optional<unsigned> loop = getLoop(here), meanLoop = getLoop(there);
    if (size == 1)
      continue;
    if (!loop || !meanLoop || !loops.try_emplace(*loop, *meanLoop).second ||
        sizes[*loop] != size || meanSizes[*meanLoop] != size)
      return false;
  }
  unsigned numMeanLoops =
      llvm::count_if(meanSizes, [](int64_t size) { return size != 1; });
  if (numMeanLoops != loops.size())
    return false;
  for (auto [loop, size] : llvm::enumerate(sizes))
    if (size != 1 && (!loops.contains(loop) ||
                      sum.map().isFunctionOfDim(loop) !=
                          mean.sum.map().isFunctionOfDim(loops[loop])))
      return false;
  for (auto [here, there] :
       llvm::zip_equal(mean.map.getResults(), mean.sum.map().getResults())) {
    std::optional<unsigned> loop = getLoop(here), meanLoop = getLoop(there);
    if (!meanLoop || meanSizes[*meanLoop] == 1)
      continue;
    auto it = loop ? loops.find(*loop) : loops.end();
    if (it == loops.end() || it->second != *meanLoop)
      return false;
  }
  return true;
}

static bool hasOneUser(Value value) {
  return !value.use_empty() && llvm::all_equal(value.getUsers());
}

/// Returns the only input through which the mean reaches `value`, and sets
/// `factor` to its multiplier there. Returns null if it has other users.
static OpOperand *getOnlyInput(const Scalar &scalar, Value value,
                               double &factor) {
  factor = 1;
  while (hasOneUser(value)) {
    if (OpOperand *input = getInput({scalar.kernel, value, scalar.loops}))
      return isa<RankedTensorType>(input->get().getType()) ? input : nullptr;
    Operation *op = value.getDefiningOp();
    if (isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(op))
      value = op->getOperand(0);
    else if (auto scaled = getScaled(scalar, op)) {
      value = scaled->value;
      factor *= scaled->factor;
    } else
      break;
  }
  return nullptr;
}

/// Returns true if all uses of `value` in the body of its kernel lead to one
/// result.
static bool hasOneReader(Value value) {
  while (hasOneUser(value)) {
    Operation *user = *value.getUsers().begin();
    if (user->hasTrait<OpTrait::IsTerminator>())
      return value.hasOneUse();
    value = user->getResult(0);
  }
  return false;
}

static bool hasManyResults(Operation *op) {
  return op && op->getNumResults() != 1;
}

std::optional<Variance> mlir::remat::getVariance(LinalgOp op, unsigned result) {
  std::optional<Sum> found = getSum(op, result);
  if (!found)
    return std::nullopt;
  Sum sum = *found;
  Variance variance;
  variance.sum = op;
  Scalar scalar = sum.scalar();
  Operation *computing = getComputing(scalar, &variance.path);
  while (auto scaled = getScaled(scalar, computing)) {
    scalar.value = scaled->value;
    variance.factor *= scaled->factor;
    computing = getComputing(scalar, &variance.path);
  }
  scalar.value = getSquared(scalar, computing);
  if (!scalar.value)
    return std::nullopt;
  auto subtract =
      dyn_cast_or_null<arith::SubFOp>(getComputing(scalar, &variance.path));
  if (!subtract || !hasOneReader(subtract))
    return std::nullopt;
  // Another result may be a function of the differences, too.
  if (!variance.path.empty() &&
      (op->getNumResults() != 1 || llvm::any_of(variance.path, hasManyResults)))
    return std::nullopt;
  auto at = [&](Value value) {
    return Scalar{scalar.kernel, value, scalar.loops};
  };
  for (auto [x, m] : {std::pair(subtract.getLhs(), subtract.getRhs()),
                      std::pair(subtract.getRhs(), subtract.getLhs())}) {
    std::optional<Read> origin = getOrigin(at(x));
    std::optional<Mean> mean = getMean(at(m));
    variance.mean = getOnlyInput(scalar, m, variance.meanFactor);
    if (!origin || !mean || !variance.mean || !agree(sum, *origin, *mean))
      continue;
    variance.x = *origin;
    variance.meanMap = scalar.kernel.getMatchingIndexingMap(variance.mean)
                           .compose(scalar.loops);
    variance.count = mean->count;
    return variance;
  }
  return std::nullopt;
}

/// Calls `visit` for the variances in `root`; it returns true if it has
/// replaced the operation that computes one.
static void forEachVariance(Operation *root,
                            function_ref<bool(Variance)> visit) {
  SmallVector<LinalgOp> kernels;
  root->walk([&](LinalgOp op) { kernels.push_back(op); });
  for (LinalgOp op : kernels)
    for (unsigned result = 0; result < op->getNumResults(); ++result)
      if (std::optional<Variance> variance = getVariance(op, result))
        if (visit(std::move(*variance)))
          break;
}

bool mlir::remat::rewriteVariances(
    Operation *root, function_ref<bool(const Variance &)> isWanted,
    function_ref<bool(const Variance &)> crossesBorders,
    function_ref<Operation *(RewriterBase &, Variance, bool)> rewrite) {
  IRRewriter rewriter(root->getContext());
  SetVector<Operation *> bordered;
  bool changed = false;
  forEachVariance(root, [&](Variance variance) {
    if (!isWanted(variance))
      return false;
    changed = true;
    Operation *sum = variance.sum;
    if (!crossesBorders(variance))
      return rewrite(rewriter, std::move(variance), /*isPlain=*/false) != sum;
    bordered.insert(sum->getParentOfType<FunctionOpInterface>());
    return false;
  });
  for (Operation *function : bordered) {
    PlainCopy plain(function);
    IRRewriter plainRewriter(root->getContext(), plain.getListener());
    SmallVector<Operation *> sums;
    forEachVariance(plain.get(), [&](Variance variance) {
      if (!isWanted(variance))
        return false;
      Operation *sum = variance.sum;
      sums.push_back(
          rewrite(plainRewriter, std::move(variance), /*isPlain=*/true));
      return sums.back() != sum;
    });
    for (Operation *sum : sums)
      plain.transplant(sum);
    plain.eraseDead("the sum of its squares computes it for itself; name what "
                    "it is the difference of");
  }
  return changed;
}

void mlir::remat::copyPath(RewriterBase &rewriter, const Variance &variance,
                           IRMapping &copies) {
  for (Operation *op : llvm::reverse(variance.path)) {
    // A name's value is one that other parts of the model may read.
    if (isa<NameOp>(op)) {
      copies.map(op->getResult(0), copies.lookupOrDefault(op->getOperand(0)));
      continue;
    }
    rewriter.setInsertionPointAfter(op);
    rewriter.clone(*op, copies);
  }
}
