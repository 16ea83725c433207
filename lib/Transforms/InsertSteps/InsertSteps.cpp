//===- InsertSteps.cpp - Gradients to updates -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A gradient that is used where it becomes final dies there: in eager mode only
// about one layer's gradients are live at once.
//===----------------------------------------------------------------------===//

#include "Clipping.h"
#include "MicroBatches.h"
#include "StepFunction.h"
#include "StepPoint.h"
#include "Sweeps.h"
#include "WriteStates.h"

#include "remat/Analysis/OldValueReads.h"
#include "remat/Dialect/Nearest.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Opt/IR/UpdateKernels.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/InsertSteps/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::remat {
#define GEN_PASS_DEF_INSERTSTEPS
#include "remat/Transforms/InsertSteps/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Where a step may stand
//===----------------------------------------------------------------------===//

void mlir::remat::setInsertionPointToStep(OpBuilder &builder, Block &body,
                                          Value param, Value gradient) {
  Operation *point = gradient.getDefiningOp();
  Operation *read = findLastRead(body, param);
  // The terminator returns an old value: as late as possible, with a copy.
  if (read == body.getTerminator())
    read = read->getPrevNode();
  if (!point || (read && point->isBeforeInBlock(read)))
    point = read;
  if (point)
    builder.setInsertionPointAfter(point);
  else
    builder.setInsertionPointToStart(&body);
}

/// Returns true if a result of the function may be the parameter's old value.
static bool isReturned(Block &body, Value param) {
  return findLastRead(body, param) == body.getTerminator();
}

/// Nothing reads what a step has overwritten.
static LogicalResult verifyNoLateReads(func::FuncOp step) {
  WalkResult result = step.walk([&](opt::EagerStepOp op) {
    Block &body = step.getBody().front();
    Operation *last = findLastRead(body, op.getParam());
    if (!last || last == op || last->isBeforeInBlock(op) ||
        last == body.getTerminator())
      return WalkResult::advance();
    InFlightDiagnostic diagnostic =
        op.emitError() << "updates '" << op.getParameter()
                       << "' before the last read of its old value";
    diagnostic.attachNote(last->getLoc()) << "it is read here";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static opt::EagerStepOp createStep(OpBuilder &builder, StepFunction &step,
                                   const TrainedParameter &trained,
                                   FlatSymbolRefAttr optimizer, Value scale) {
  SmallVector<Value> states;
  for (unsigned index : trained.states)
    states.push_back(step.function.getArgument(index));
  Value param = step.function.getArgument(trained.argument), key;
  if (trained.key) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&step.function.getBody().front());
    key =
        arith::ConstantIntOp::create(builder, param.getLoc(), *trained.key, 64);
  }
  return opt::EagerStepOp::create(builder, param.getLoc(), optimizer, param,
                                  trained.gradient, states,
                                  step.function.getArguments().back(), scale,
                                  key, builder.getStringAttr(trained.name));
}

/// Returns the part that a micro-batch has in the mean over all.
static double getShare(TrainStepOp train) {
  return 1.0 / static_cast<double>(train.getAccumulate());
}

static Value multiply(OpBuilder &builder, Location loc, Value a, double b) {
  return arith::MulFOp::create(builder, loc, a, emitF64(builder, loc, b));
}

/// Returns the sum of the squares of a gradient's elements.
static Value emitSquares(OpBuilder &builder, Location loc, Value gradient) {
  return opt::UpdateKernels(builder, loc, builder.getF64Type())
      .sum({gradient},
           [](opt::Formula &f, ValueRange in) { return f.mul(in[0], in[0]); });
}

/// Returns the norm of the gradients together, of their means over
/// micro-batches. In eager mode a gradient is squared where it is final, as it
/// may be gone later; the squares are added in one order in both modes.
static Value emitNorm(StepFunction &step, TrainStepOp train,
                      OpBuilder &builder) {
  Location loc = train.getLoc();
  Operation *terminator = step.function.getBody().front().getTerminator();
  SmallVector<Value> squares;
  for (const TrainedParameter &trained : step.trained) {
    if (train.isEager())
      builder.setInsertionPointAfterValue(trained.gradient);
    squares.push_back(emitSquares(builder, loc, trained.gradient));
  }
  builder.setInsertionPoint(terminator);
  Value total = emitF64(builder, loc, 0);
  for (Value square : squares)
    total = arith::AddFOp::create(builder, loc, total, square);
  Value norm = math::SqrtOp::create(builder, loc, total);
  return train.getAccumulate() > 1
             ? multiply(builder, loc, norm, getShare(train))
             : norm;
}

/// Returns the factor of all gradients: the mean over micro-batches, and the
/// limit on their `norm`. Null if it is 1.
static Value emitScale(TrainStepOp train, Value norm, OpBuilder &builder) {
  Location loc = train.getLoc();
  bool isMean = train.getAccumulate() > 1;
  if (!train.getClipGlobalNorm()) {
    OpBuilder::InsertionGuard guard(builder);
    if (train.isEager())
      builder.setInsertionPointToStart(builder.getBlock());
    return isMean ? emitF64(builder, loc, getShare(train)) : Value();
  }
  Value factor = emitClipFactor(builder, loc, norm,
                                train.getClipGlobalNorm()->convertToDouble(),
                                train.getClipEps().convertToDouble());
  return isMean ? multiply(builder, loc, factor, getShare(train)) : factor;
}

static void insertEagerSteps(StepFunction &step, TrainStepOp train, Value scale,
                             OpBuilder &builder,
                             SmallVectorImpl<opt::EagerStepOp> &steps) {
  Block &body = step.function.getBody().front();
  if (train.getClipGlobalNorm())
    recomputeGradients(step, scale);
  for (const TrainedParameter &trained : step.trained) {
    Value param = body.getArgument(trained.argument);
    if (isReturned(body, param))
      emitWarning(param.getLoc())
          << "the old value of parameter '" << trained.name
          << "' is a result of the step, so that its update needs a copy";
    setInsertionPointToStep(builder, body, param, trained.gradient);
    steps.push_back(
        createStep(builder, step, trained, train.getOptimizerAttr(), scale));
  }
}

/// Passes all gradients through one barrier. Deferred updates come after all of
/// them; without it the schedule would move each update to where
/// its gradient is ready. (A scale depends on all gradients anyway.)
static void awaitAllGradients(StepFunction &step, Location loc,
                              OpBuilder &builder) {
  if (step.trained.empty())
    return;
  SmallVector<Value> gradients;
  for (const TrainedParameter &trained : step.trained)
    gradients.push_back(trained.gradient);
  auto barrier = BarrierOp::create(builder, loc, gradients, ValueRange());
  for (auto [trained, gradient] :
       llvm::zip_equal(step.trained, barrier.getResults()))
    trained.gradient = gradient;
}

static void insertDeferredSteps(StepFunction &step, TrainStepOp train,
                                Value scale, OpBuilder &builder,
                                SmallVectorImpl<opt::EagerStepOp> &steps) {
  builder.setInsertionPoint(step.function.getBody().front().getTerminator());
  if (!scale)
    awaitAllGradients(step, train.getLoc(), builder);
  for (const TrainedParameter &trained : step.trained)
    steps.push_back(
        createStep(builder, step, trained, train.getOptimizerAttr(), scale));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Appends the norm of the gradients to the results.
static void returnNorm(StepFunction &step, Value norm, OpBuilder &builder) {
  func::FuncOp function = step.function;
  Operation *terminator = function.getBody().front().getTerminator();
  builder.setInsertionPoint(terminator);
  auto type = RankedTensorType::get({}, norm.getType());
  Value tensor =
      tensor::FromElementsOp::create(builder, norm.getLoc(), type, norm);
  (void)function.insertResult(function.getNumResults(), type,
                              builder.getDictionaryAttr(builder.getNamedAttr(
                                  RematDialect::getMetricAttrName(),
                                  builder.getStringAttr(kGradNormName))));
  terminator->insertOperands(terminator->getNumOperands(), tensor);
}

/// Appends the new parameters and states to the results, and says which
/// argument each of them replaces.
static void returnUpdates(StepFunction &step,
                          ArrayRef<opt::EagerStepOp> steps) {
  func::FuncOp function = step.function;
  Builder builder(function.getContext());
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<Value> returned(terminator->getOperands());
  SmallVector<std::pair<unsigned, unsigned>> updates = step.states;
  for (auto [trained, eagerStep] : llvm::zip_equal(step.trained, steps)) {
    opt::EagerStepOp op = eagerStep;
    updates.emplace_back(returned.size(), trained.argument);
    returned.push_back(op.getNewParam());
    for (auto [argument, state] :
         llvm::zip_equal(trained.states, op.getNewStates())) {
      updates.emplace_back(returned.size(), argument);
      returned.push_back(state);
    }
  }
  // All attributes at once: to set one is to make the array of all anew.
  SmallVector<NamedAttrList> results(returned.size()), arguments;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    results[i] = function.getResultAttrDict(i);
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments.push_back(function.getArgAttrDict(i));
  StringRef writable = bufferization::BufferizationDialect::kWritableAttrName;
  for (auto [argument, type] :
       llvm::zip_equal(arguments, function.getArgumentTypes()))
    if (isa<TensorType>(type))
      argument.set(writable, builder.getBoolAttr(false));
  for (auto [result, argument] : updates) {
    results[result].set(RematDialect::getUpdatesAttrName(),
                        builder.getI64IntegerAttr(argument));
    if (isa<TensorType>(function.getArgument(argument).getType()))
      arguments[argument].set(writable, builder.getBoolAttr(true));
  }

  terminator->setOperands(returned);
  function.setFunctionType(builder.getFunctionType(
      function.getArgumentTypes(),
      llvm::to_vector(ValueRange(returned).getTypes())));
  auto getDictionary = [&](const NamedAttrList &attributes) {
    return attributes.getDictionary(builder.getContext());
  };
  function.setAllResultAttrs(llvm::map_to_vector(results, getDictionary));
  function.setAllArgAttrs(llvm::map_to_vector(arguments, getDictionary));
}

/// Erases operations that only gradients of frozen parameters needed. The other
/// gradients have no user yet.
static void eraseDeadOperations(const StepFunction &step, Block &body) {
  llvm::SmallDenseSet<Operation *> definesGradient;
  for (const TrainedParameter &trained : step.trained)
    definesGradient.insert(trained.gradient.getDefiningOp());
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op) && !definesGradient.contains(&op))
      op.erase();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

static LogicalResult insertSteps(TrainStepOp train, bool isJointShared) {
  FailureOr<StepFunction> step = createStepFunction(train, isJointShared);
  if (failed(step))
    return failure();
  if (train.getAccumulate() > 1 &&
      failed(train.isEager()
                 ? distributeOverMicroBatches(*step, train.getAccumulate())
                 : accumulateOverMicroBatches(*step, train.getAccumulate())))
    return failure();
  // Operations for gradients without users must not read parameters.
  eraseDeadOperations(*step, step->function.getBody().front());

  PhaseListener phase(kUpdatePhase);
  OpBuilder builder(train.getContext(), &phase);
  SmallVector<opt::EagerStepOp> steps;
  builder.setInsertionPoint(step->function.getBody().front().getTerminator());
  Value norm;
  if (train.getClipGlobalNorm() || train.getGradNorm())
    norm = emitNorm(*step, train, builder);
  Value scale = emitScale(train, norm, builder);
  if (train.isEager())
    insertEagerSteps(*step, train, scale, builder, steps);
  else
    insertDeferredSteps(*step, train, scale, builder, steps);
  writeStatesInPlace(*step, builder);
  if (train.getGradNorm())
    returnNorm(*step, norm, builder);
  returnUpdates(*step, steps);
  return verifyNoLateReads(step->function);
}

/// Returns true if nothing but train_steps refers to the function.
static bool isUsedByTrainingOnly(func::FuncOp function, ModuleOp module) {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(function, module);
  return uses && llvm::all_of(*uses, [](SymbolTable::SymbolUse use) {
           return isa<TrainStepOp>(use.getUser());
         });
}

/// A group that matches no parameter of any loss is a misspelled name.
static LogicalResult checkGroups(ModuleOp module,
                                 ArrayRef<TrainStepOp> pending) {
  llvm::MapVector<opt::OptimizerOp, SmallVector<std::string>> parameters;
  for (TrainStepOp train : pending) {
    auto joint = module.lookupSymbol<func::FuncOp>(train.getJointName());
    auto optimizer = SymbolTable::lookupNearestSymbolFrom<opt::OptimizerOp>(
        train, train.getOptimizerAttr());
    for (unsigned i = 0; joint && i < joint.getNumArguments(); ++i)
      if (std::string name = opt::getParameterName(joint, i); !name.empty())
        parameters[optimizer].push_back(name);
  }
  for (auto &[optimizer, names] : parameters) {
    std::optional<ArrayAttr> groups = opt::OptimizerOp(optimizer).getGroups();
    if (!groups)
      continue;
    for (opt::GroupAttr group : groups->getAsRange<opt::GroupAttr>())
      if (llvm::none_of(names,
                        [&](StringRef name) { return group.matches(name); }))
        return opt::OptimizerOp(optimizer).emitOpError()
               << "has a group for " << group.getPattern()
               << ", but no parameter has such a name; parameters are "
               << listNearestFirst(group.getPattern().getValue(),
                                   llvm::to_vector_of<StringRef>(names));
  }
  return success();
}

namespace {
struct InsertStepsPass : public remat::impl::InsertStepsBase<InsertStepsPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<TrainStepOp> pending;
    for (auto train : module.getOps<TrainStepOp>())
      if (!train.hasStepFunction())
        pending.push_back(train);
    if (failed(checkGroups(module, pending)))
      return signalPassFailure();
    for (unsigned i = 0; i < pending.size(); ++i) {
      TrainStepOp train = pending[i];
      bool isJointShared = llvm::any_of(
          ArrayRef(pending).drop_front(i + 1), [&](TrainStepOp later) {
            return later.getLossAttr() == train.getLossAttr();
          });
      if (failed(insertSteps(train, isJointShared)))
        return signalPassFailure();
    }
    if (!dropLoss)
      return;
    for (TrainStepOp train : pending) {
      auto loss = module.lookupSymbol<func::FuncOp>(train.getLoss());
      if (loss && train.getEvalAttr() != train.getLossAttr() &&
          isUsedByTrainingOnly(loss, module))
        loss.erase();
    }
  }
};
} // namespace
