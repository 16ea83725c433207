//===- LowerSteps.cpp - opt.eager_step to in-place kernels ----------------===//
//
// An update that is one kernel with the parameter and its states as `outs`
// needs no memory of its own; a chain of kernels would need a copy of each.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/InsertSteps/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::remat {
#define GEN_PASS_DEF_LOWERSTEPS
#include "remat/Transforms/InsertSteps/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using opt::EagerStepOp;

namespace {
/// Scalars that all parameters with one rule share: computed once, right where
/// the step is known.
class SharedScalars {
public:
  ArrayRef<Value> get(OpBuilder builder, opt::UpdateRuleAttrInterface rule,
                      Value step, Type computeType);

private:
  llvm::MapVector<std::tuple<Attribute, Value, Type>, SmallVector<Value>> known;
};

/// What happens to a gradient's element before the rule sees it.
struct GradientPreparation {
  Type computeType;
  std::optional<double> clipValue;

  Value emit(OpBuilder &builder, Location loc, Value element,
             Value scale) const;
};
} // namespace

ArrayRef<Value> SharedScalars::get(OpBuilder builder,
                                   opt::UpdateRuleAttrInterface rule,
                                   Value step, Type computeType) {
  SmallVector<Value> &scalars = known[{rule, step, computeType}];
  if (!scalars.empty())
    return scalars;
  builder.setInsertionPointAfterValue(step);
  Location loc = step.getLoc();
  Value lr = opt::emitLearningRate(builder, loc, rule.getLearningRate(), step);
  for (Value scalar : rule.emitScalars(builder, loc, step, lr))
    scalars.push_back(scalar.getType().isF64()
                          ? convertFloat(builder, loc, scalar, computeType)
                          : scalar);
  return scalars;
}

Value GradientPreparation::emit(OpBuilder &builder, Location loc, Value element,
                                Value scale) const {
  element = convertFloat(builder, loc, element, computeType);
  if (scale)
    element = arith::MulFOp::create(builder, loc, element, scale);
  if (!clipValue)
    return element;
  auto bound = [&](double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(computeType, value));
  };
  element =
      arith::MaximumFOp::create(builder, loc, element, bound(-*clipValue));
  return arith::MinimumFOp::create(builder, loc, element, bound(*clipValue));
}

/// The factor (in the compute type) by which clip_norm scales the prepared
/// gradient.
static Value emitNormFactor(OpBuilder &builder, EagerStepOp op,
                            const GradientPreparation &preparation, Value scale,
                            double clipNorm) {
  Location loc = op.getLoc();
  Value sum = emitSumOfSquares(
      builder, loc, op.getGrad(), scale ? ValueRange(scale) : ValueRange(),
      [&](OpBuilder &b, Location loc, Value element, ValueRange scalars) {
        return preparation.emit(b, loc, element,
                                scale ? scalars.front() : Value());
      });
  Value norm = math::SqrtOp::create(builder, loc, sum);
  return convertFloat(builder, loc,
                      emitClipFactor(builder, loc, norm, clipNorm),
                      preparation.computeType);
}

/// One elementwise kernel: `tensors` and `scalars` in, `inits` overwritten.
static ValueRange
emitElementwise(OpBuilder &builder, Location loc, ValueRange tensors,
                ValueRange scalars, ValueRange inits,
                function_ref<void(OpBuilder &, Location, ValueRange)> body) {
  int64_t rank = cast<RankedTensorType>(inits.front().getType()).getRank();
  SmallVector<Value> inputs(tensors);
  llvm::append_range(inputs, scalars);
  SmallVector<AffineMap> maps(tensors.size(),
                              builder.getMultiDimIdentityMap(rank));
  maps.append(scalars.size(), AffineMap::get(rank, /*symbolCount=*/0, {},
                                             builder.getContext()));
  maps.append(inits.size(), builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto kernel = linalg::GenericOp::create(builder, loc, TypeRange(inits),
                                          inputs, inits, maps, iterators);
  // The body is built in place: a custom rule is looked up from there.
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types;
  for (Value operand : kernel->getOperands())
    types.push_back(getElementTypeOrSelf(operand.getType()));
  Block *block = builder.createBlock(&kernel.getRegion(), {}, types,
                                     SmallVector<Location>(types.size(), loc));
  body(builder, loc, block->getArguments());
  return kernel.getResults();
}

/// Calls a rule that is a function on tensors.
static FailureOr<SmallVector<Value>>
emitCall(OpBuilder &builder, EagerStepOp op, opt::CustomAttr custom,
         func::FuncOp rule, Value gradient, ArrayRef<Value> scalars) {
  Location loc = op.getLoc();
  FunctionType type = rule.getFunctionType();
  SmallVector<Value> arguments = {op.getParam(), gradient};
  llvm::append_range(arguments, op.getStates());
  for (auto [argument, expected] : llvm::zip(arguments, type.getInputs())) {
    if (argument.getType() == expected)
      continue;
    if (!tensor::CastOp::areCastCompatible(argument.getType(), expected)) {
      InFlightDiagnostic diagnostic =
          op.emitOpError() << "cannot call " << custom.getRule() << " on "
                           << argument.getType() << ": it takes " << expected
                           << "; a rule on scalars, or on tensors with "
                              "dynamic sizes, fits parameters of any shape";
      diagnostic.attachNote(rule.getLoc()) << "the rule is defined here";
      return failure();
    }
    argument = tensor::CastOp::create(builder, loc, expected, argument);
  }
  arguments.push_back(scalars[1]);
  arguments.push_back(
      convertFloat(builder, loc, scalars[0], type.getInputs().back()));
  auto call = func::CallOp::create(builder, loc, rule, arguments);
  SmallVector<Value> olds = {op.getParam()}, news;
  llvm::append_range(olds, op.getStates());
  for (auto [result, old] : llvm::zip_equal(call.getResults(), olds)) {
    Value value = result;
    if (value.getType() != old.getType())
      value = tensor::CastOp::create(builder, loc, old.getType(), value);
    news.push_back(bufferization::MaterializeInDestinationOp::create(
                       builder, loc, old.getType(), value, old)
                       .getResult());
  }
  return news;
}

static LogicalResult lowerStep(EagerStepOp op, SharedScalars &shared) {
  auto optimizer = SymbolTable::lookupNearestSymbolFrom<opt::OptimizerOp>(
      op, op.getOptimizerAttr());
  opt::UpdateRuleAttrInterface rule = optimizer.getRuleFor(op.getParameter());
  auto paramType = cast<RankedTensorType>(op.getParam().getType());
  Type computeType = opt::getComputeType(paramType.getElementType());
  GradientPreparation preparation{computeType, std::nullopt};
  if (std::optional<APFloat> clip = optimizer.getClipValue())
    preparation.clipValue = clip->convertToDouble();

  PhaseListener phase(kUpdatePhase);
  OpBuilder builder(op, &phase);
  Location loc = op.getLoc();
  SmallVector<Value> scalars(
      shared.get(builder, rule, op.getStep(), computeType));
  // Scalars of the kernel: the rule's, then the factors on the gradient.
  unsigned numRuleScalars = scalars.size();
  Value scale, normFactor;
  if (op.getScale()) {
    scale = convertFloat(builder, loc, op.getScale(), computeType);
    scalars.push_back(scale);
  }
  if (std::optional<APFloat> clip = optimizer.getClipNorm()) {
    normFactor = emitNormFactor(builder, op, preparation, scale,
                                clip->convertToDouble());
    scalars.push_back(normFactor);
  }
  // `factors` are the body's arguments for the scalars behind the rule's.
  auto prepare = [&](OpBuilder &b, Location loc, Value element,
                     ValueRange factors) -> Value {
    element =
        preparation.emit(b, loc, element, scale ? factors.front() : Value());
    if (normFactor)
      element = arith::MulFOp::create(b, loc, element, factors.back());
    return element;
  };

  auto custom = dyn_cast<opt::CustomAttr>(rule);
  auto function = custom ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
                               op, custom.getRule())
                         : func::FuncOp();
  if (function && isa<RankedTensorType>(function.getArgumentTypes().front())) {
    Value gradient = op.getGrad();
    if (scalars.size() > numRuleScalars || preparation.clipValue)
      gradient =
          emitElementwise(
              builder, loc, {}, ArrayRef(scalars).drop_front(numRuleScalars),
              gradient,
              [&](OpBuilder &b, Location loc, ValueRange arguments) {
                Value old = arguments.back();
                Value element = prepare(b, loc, old, arguments);
                linalg::YieldOp::create(
                    b, loc, convertFloat(b, loc, element, old.getType()));
              })
              .front();
    FailureOr<SmallVector<Value>> results =
        emitCall(builder, op, custom, function, gradient, scalars);
    if (failed(results))
      return failure();
    op->replaceAllUsesWith(*results);
    op.erase();
    return success();
  }

  SmallVector<Value> inits = {op.getParam()};
  llvm::append_range(inits, op.getStates());
  ValueRange results = emitElementwise(
      builder, loc, op.getGrad(), scalars, inits,
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        ValueRange ruleScalars = arguments.slice(1, numRuleScalars);
        ValueRange factors = arguments.slice(1 + numRuleScalars,
                                             scalars.size() - numRuleScalars);
        ValueRange olds = arguments.drop_front(1 + scalars.size());
        Value gradient = prepare(b, loc, arguments.front(), factors);
        Value param = convertFloat(b, loc, olds.front(), computeType);
        SmallVector<Value> news = rule.emitUpdate(
            b, loc, param, gradient, olds.drop_front(), ruleScalars);
        news.front() =
            convertFloat(b, loc, news.front(), paramType.getElementType());
        linalg::YieldOp::create(b, loc, news);
      });
  op->replaceAllUsesWith(results);
  op.erase();
  return success();
}

namespace {
struct LowerStepsPass : public remat::impl::LowerStepsBase<LowerStepsPass> {
  void runOnOperation() override {
    SmallVector<EagerStepOp> steps;
    getOperation().walk([&](EagerStepOp op) { steps.push_back(op); });
    SharedScalars shared;
    for (EagerStepOp op : steps)
      if (failed(lowerStep(op, shared)))
        return signalPassFailure();
  }
};
} // namespace
