//===- LowerSteps.cpp - opt.eager_step to in-place kernels ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An update that is one kernel with the parameter and its states as `outs`
// needs no memory of its own; a chain of kernels would need a copy of each.
// Rules on tensors are as many kernels as they need.
//===----------------------------------------------------------------------===//

#include "Clipping.h"

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Opt/IR/UpdateKernels.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Fuse/ElementwiseFusion.h"
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

/// The preparation of a gradient for the rule, in the type that the
/// rule computes in: the step's scale, then the limit on each element, then the
/// factor that limits the norm.
struct GradientPreparation {
  Type computeType;
  std::optional<double> clipValue;
  Value scale, normFactor;

  bool isNeeded() const { return clipValue || scale || normFactor; }
  /// The scalars that `emit` takes.
  SmallVector<Value> getFactors() const;
  Value emit(opt::Formula &f, Value element, ValueRange factors) const;
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
                          ? opt::convertFloat(builder, loc, scalar, computeType)
                          : scalar);
  return scalars;
}

SmallVector<Value> GradientPreparation::getFactors() const {
  SmallVector<Value> factors;
  for (Value factor : {scale, normFactor})
    if (factor)
      factors.push_back(factor);
  return factors;
}

Value GradientPreparation::emit(opt::Formula &f, Value element,
                                ValueRange factors) const {
  if (scale)
    element = f.mul(element, factors.front());
  if (clipValue) {
    element = f.max(element, -*clipValue);
    element = f.min(element, f.number(*clipValue, computeType));
  }
  if (normFactor)
    element = f.mul(element, factors.back());
  return element;
}

/// The preparation of the gradient of `op`.
static GradientPreparation emitPreparation(OpBuilder &builder, EagerStepOp op,
                                           opt::OptimizerOp optimizer,
                                           Type computeType) {
  Location loc = op.getLoc();
  GradientPreparation preparation{computeType, std::nullopt, {}, {}};
  if (std::optional<APFloat> clip = optimizer.getClipValue())
    preparation.clipValue = clip->convertToDouble();
  if (op.getScale())
    preparation.scale =
        opt::convertFloat(builder, loc, op.getScale(), computeType);
  std::optional<APFloat> clipNorm = optimizer.getClipNorm();
  if (!clipNorm)
    return preparation;
  SmallVector<opt::KernelInput> inputs = {op.getGrad()};
  llvm::append_range(inputs, preparation.getFactors());
  Value sum = opt::UpdateKernels(builder, loc, computeType)
                  .sum(inputs, [&](opt::Formula &f, ValueRange in) -> Value {
                    Value element =
                        preparation.emit(f, in.front(), in.drop_front());
                    element = opt::convertFloat(f.builder, f.loc, element,
                                                f.builder.getF64Type());
                    return f.mul(element, element);
                  });
  Value norm = math::SqrtOp::create(builder, loc, sum);
  preparation.normFactor = opt::convertFloat(
      builder, loc,
      emitClipFactor(builder, loc, norm, clipNorm->convertToDouble(),
                     torchClipEps),
      computeType);
  return preparation;
}

/// The parameter and its states as the rule knows them, one value each.
static SmallVector<Value> joinOldValues(OpBuilder &builder, EagerStepOp op,
                                        opt::UpdateRuleAttrInterface rule) {
  Location loc = op.getLoc();
  MLIRContext *context = op.getContext();
  auto param = cast<RankedTensorType>(op.getParam().getType());
  ValueRange rest = op.getStates();
  SmallVector<Value> olds = {op.getParam()};
  for (const opt::RuleState &state : rule.getStates(param, op)) {
    unsigned count = opt::getStorage(state).size();
    olds.push_back(count == 1 ? rest.front()
                              : opt::joinStored(builder, loc, state.type,
                                                rest.take_front(count)));
    rest = rest.drop_front(count);
  }
  Type element = param.getElementType();
  switch (opt::getRoundingOf(rule, param)) {
  case opt::Rounding::Nearest:
    break;
  case opt::Rounding::Stochastic:
    olds.front() = opt::joinStored(
        builder, loc, param.clone(opt::StochasticType::get(context, element)),
        {op.getParam(), op.getKey(), op.getStep()});
    break;
  case opt::Rounding::Kahan:
    olds.front() = opt::joinStored(
        builder, loc, param.clone(opt::CompensatedType::get(context, element)),
        {op.getParam(), rest.front()});
    break;
  }
  return olds;
}

/// The results of a step: the tensors that hold `news`, in the order in which
/// the step has them.
static SmallVector<Value> splitNewValues(ArrayRef<Value> news) {
  SmallVector<Value> param = opt::splitStored(news.front());
  SmallVector<Value> results = {param.front()};
  for (Value state : news.drop_front())
    llvm::append_range(results, opt::splitStored(state));
  llvm::append_range(results, ArrayRef(param).drop_front());
  return results;
}

/// One kernel that overwrites the parameter and its states.
static SmallVector<Value>
emitElementwiseStep(OpBuilder &builder, EagerStepOp op,
                    opt::UpdateRuleAttrInterface rule,
                    const GradientPreparation &preparation,
                    ArrayRef<Value> scalars, ValueRange inits) {
  SmallVector<Value> factors = preparation.getFactors();
  SmallVector<opt::KernelInput> inputs = {op.getGrad()};
  llvm::append_range(inputs, scalars);
  llvm::append_range(inputs, factors);
  return opt::UpdateKernels(builder, op.getLoc(), preparation.computeType)
      .map(inputs, inits, [&](opt::Formula &f, ValueRange in) {
        ValueRange olds = in.drop_front(inputs.size());
        Value gradient = preparation.emit(
            f, in.front(), in.slice(1 + scalars.size(), factors.size()));
        return rule.emitUpdate(f.builder, f.loc, olds.front(), gradient,
                               olds.drop_front(), in.slice(1, scalars.size()));
      });
}

/// Returns true if `value` is computed in the buffer of `old`.
static bool isInPlace(Value value, Value old) {
  while (value != old) {
    Operation *op = value.getDefiningOp();
    if (auto destination = dyn_cast_or_null<DestinationStyleOpInterface>(op))
      value = destination.getTiedOpOperand(cast<OpResult>(value))->get();
    else if (isa_and_nonnull<tensor::CastOp, tensor::ExpandShapeOp,
                             tensor::CollapseShapeOp, tensor::ExtractSliceOp>(
                 op))
      value = op->getOperand(0);
    else
      return false;
  }
  return true;
}

/// The kernels of a rule on tensors.
static SmallVector<Value> emitTensorStep(OpBuilder &builder, EagerStepOp op,
                                         opt::UpdateRuleAttrInterface rule,
                                         const GradientPreparation &preparation,
                                         ArrayRef<Value> scalars,
                                         ValueRange olds) {
  Location loc = op.getLoc();
  Value gradient = op.getGrad();
  if (preparation.isNeeded()) {
    SmallVector<Value> factors = preparation.getFactors();
    gradient = opt::UpdateKernels(builder, loc, preparation.computeType)
                   .map(llvm::to_vector_of<opt::KernelInput>(factors), gradient,
                        [&](opt::Formula &f, ValueRange in) {
                          return SmallVector<Value>{
                              preparation.emit(f, in.back(), in.drop_back())};
                        })
                   .front();
  }
  return rule.emitTensorUpdate(builder, loc, olds.front(), gradient,
                               olds.drop_front(), scalars, op);
}

/// Moves the average of a parameter, the last state of `op`, towards `param`,
/// its new value. After the first step it is that value, so that what it
/// started from does not matter.
static Value emitAverage(OpBuilder &builder, EagerStepOp op, double ema,
                         Value param, Type computeType) {
  Location loc = op.getLoc();
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 64);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        op.getStep(), zero);
  opt::Formula scalars{builder, loc};
  Value weight = arith::SelectOp::create(builder, loc, isFirst,
                                         scalars.number(1, computeType),
                                         scalars.number(1 - ema, computeType));
  return opt::UpdateKernels(builder, loc, computeType)
      .map({weight, param}, op.getStates().back(),
           [&](opt::Formula &f, ValueRange in) {
             Value average = in[2];
             return SmallVector<Value>{
                 f.add(average, f.mul(in[0], f.sub(in[1], average)))};
           })
      .front();
}

/// Copies what is not computed in place to where the old values are.
static void writeInPlace(OpBuilder &builder, EagerStepOp op,
                         MutableArrayRef<Value> results) {
  SmallVector<Value> olds = {op.getParam()};
  llvm::append_range(olds, op.getStates());
  // The average has no result yet.
  for (auto [result, old] : llvm::zip(results, olds))
    if (!isInPlace(result, old))
      result = bufferization::MaterializeInDestinationOp::create(
                   builder, op.getLoc(), old.getType(), result, old)
                   .getResult();
}

/// Lets `kernel`, an update, make `gradient` from what the last kernel before
/// it makes it of, if nothing else reads it and that takes no more memory: a
/// gradient that was summed in bf16 need not exist in f32.
static void fuseGradient(linalg::LinalgOp kernel, Value gradient) {
  auto producer = gradient.getDefiningOp<linalg::LinalgOp>();
  if (!producer || producer->getNumResults() != 1 || !gradient.hasOneUse() ||
      !isFusableProducer(producer) || !readsOneFullTensor(producer) ||
      !canFuseCheaply(producer, kernel))
    return;
  PhaseListener phase(kUpdatePhase);
  IRRewriter rewriter(kernel->getContext(), &phase);
  fuse(rewriter, producer, kernel, /*keepResults=*/false,
       /*mergesInputs=*/true);
}

static void lowerStep(EagerStepOp op, SharedScalars &shared) {
  auto optimizer = SymbolTable::lookupNearestSymbolFrom<opt::OptimizerOp>(
      op, op.getOptimizerAttr());
  opt::UpdateRuleAttrInterface rule = optimizer.getRuleFor(op.getParameter());
  Type computeType = opt::getComputeType(
      cast<RankedTensorType>(op.getParam().getType()).getElementType());
  PhaseListener phase(kUpdatePhase);
  OpBuilder builder(op, &phase);
  // A copy: the map of them may grow.
  SmallVector<Value> scalars(
      shared.get(builder, rule, op.getStep(), computeType));
  GradientPreparation preparation =
      emitPreparation(builder, op, optimizer, computeType);
  bool isElementwise = rule.isElementwise(op);
  SmallVector<Value> olds = joinOldValues(builder, op, rule);
  SmallVector<Value> news =
      isElementwise
          ? emitElementwiseStep(builder, op, rule, preparation, scalars, olds)
          : emitTensorStep(builder, op, rule, preparation, scalars, olds);
  SmallVector<Value> results = splitNewValues(news);
  writeInPlace(builder, op, results);
  if (std::optional<APFloat> ema = optimizer.getEma())
    results.push_back(emitAverage(builder, op, ema->convertToDouble(),
                                  results.front(), computeType));
  // From the last to the first: new values may be made of old ones.
  news.append(olds);
  Value gradient = op.getGrad();
  op->replaceAllUsesWith(results);
  op.erase();
  for (Value joined : news)
    if (auto cast = joined.getDefiningOp<UnrealizedConversionCastOp>();
        cast && cast->use_empty())
      cast.erase();
  if (isElementwise)
    if (auto kernel = results.front().getDefiningOp<linalg::LinalgOp>())
      fuseGradient(kernel, gradient);
}

/// How checkpoints call an update rule, whatever its hyperparameters are: they
/// may change when a run is resumed.
static std::string getRuleName(Attribute rule) {
  std::string name = rule.getAbstractAttribute().getName().str();
  if (auto custom = dyn_cast<opt::CustomAttr>(rule))
    name += " @" + custom.getRule().getValue().str();
  return name;
}

/// Erases `optimizer` unless something still needs it: a step that is lowered
/// keeps nothing of its rule, and a train_step's function is complete.
static void eraseIfUsedUp(opt::OptimizerOp optimizer, Operation *symbolTable) {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(optimizer, symbolTable);
  bool isUsedUp = uses && llvm::all_of(*uses, [](SymbolTable::SymbolUse use) {
                    auto train = dyn_cast<TrainStepOp>(use.getUser());
                    return train && train.hasStepFunction();
                  });
  if (isUsedUp)
    optimizer.erase();
}

namespace {
struct LowerStepsPass : public remat::impl::LowerStepsBase<LowerStepsPass> {
  void runOnOperation() override {
    SmallVector<EagerStepOp> steps;
    getOperation().walk([&](EagerStepOp op) { steps.push_back(op); });
    SharedScalars shared;
    llvm::SetVector<opt::OptimizerOp> optimizers;
    getOperation().walk([&](TrainStepOp train) {
      if (auto optimizer =
              SymbolTable::lookupNearestSymbolFrom<opt::OptimizerOp>(
                  train, train.getOptimizerAttr()))
        train->setDiscardableAttr(
            opt::kRuleNameAttrName,
            StringAttr::get(&getContext(), getRuleName(optimizer.getRule())));
    });
    for (EagerStepOp op : steps) {
      optimizers.insert(SymbolTable::lookupNearestSymbolFrom<opt::OptimizerOp>(
          op, op.getOptimizerAttr()));
      lowerStep(op, shared);
    }
    for (opt::OptimizerOp optimizer : optimizers)
      eraseIfUsedUp(optimizer, optimizer->getParentOp());
  }
};
} // namespace
