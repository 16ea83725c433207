//===- StepFunction.cpp - A joint function on its way to @step ------------===//

#include "StepFunction.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::remat;

using opt::OptDialect;

std::string mlir::remat::getParameterName(func::FuncOp function,
                                          unsigned argument) {
  Attribute attribute =
      function.getArgAttr(argument, OptDialect::getParamAttrName());
  if (!attribute)
    return {};
  if (auto name = dyn_cast<StringAttr>(attribute))
    return name.str();
  return ("arg" + Twine(argument)).str();
}

/// A random state, before or after remat-lower-random.
static bool isRandomState(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return isa<RngType>(type) ||
         (vector && vector.getShape() == ArrayRef<int64_t>{2} &&
          vector.getElementType().isSignlessInteger(64));
}

/// Pairs each state's argument with the result that is its next value: model
/// states by name, random states by their order.
static LogicalResult findStates(func::FuncOp joint, StepFunction &step) {
  StringRef key = RematDialect::getStateAttrName();
  SmallVector<unsigned> draws;
  llvm::StringMap<unsigned> models;
  for (unsigned i = 0; i < joint.getNumArguments(); ++i) {
    if (auto name = joint.getArgAttrOfType<StringAttr>(i, key)) {
      if (!models.try_emplace(name.getValue(), i).second)
        return emitError(joint.getArgument(i).getLoc())
               << "two arguments hold the model state " << name;
    } else if (isRandomState(joint.getArgument(i).getType())) {
      draws.push_back(i);
    }
  }
  unsigned nextDraw = 0;
  for (unsigned i = 0; i < joint.getNumResults(); ++i) {
    Type type = joint.getResultTypes()[i];
    auto name = joint.getResultAttrOfType<StringAttr>(i, key);
    unsigned argument;
    if (name) {
      auto it = models.find(name.getValue());
      if (it == models.end())
        return joint.emitError()
               << "result " << i << " is the next value of the model state "
               << name << ", but no argument holds it";
      argument = it->second;
      models.erase(it);
    } else if (isRandomState(type) && nextDraw < draws.size()) {
      argument = draws[nextDraw++];
    } else {
      continue;
    }
    if (joint.getArgument(argument).getType() != type)
      return joint.emitError()
             << "result " << i << " is the next value of argument " << argument
             << ", but their types " << type << " and "
             << joint.getArgument(argument).getType() << " differ";
    step.states.emplace_back(i, argument);
  }
  return success();
}

/// Argument -> result that is its gradient.
static FailureOr<llvm::MapVector<unsigned, unsigned>>
findGradients(func::FuncOp joint) {
  llvm::MapVector<unsigned, unsigned> gradients;
  for (unsigned i = 0; i < joint.getNumResults(); ++i) {
    auto of = joint.getResultAttrOfType<IntegerAttr>(
        i, RematDialect::getGradientOfAttrName());
    if (!of)
      continue;
    unsigned argument = of.getInt();
    Type type = joint.getArgument(argument).getType();
    if (joint.getResultTypes()[i] != type)
      return joint.emitError()
             << "the gradient of argument " << argument << " has type "
             << joint.getResultTypes()[i] << ", but the argument is a " << type;
    if (!gradients.try_emplace(argument, i).second)
      return joint.emitError()
             << "two results are marked as the gradient of argument "
             << argument << "; a tied parameter has one gradient, the sum";
  }
  return gradients;
}

/// Decides which parameters are trained, and reports the others.
static LogicalResult
findTrained(TrainStepOp train, func::FuncOp joint,
            const llvm::MapVector<unsigned, unsigned> &gradients,
            StepFunction &step) {
  auto optimizer = SymbolTable::lookupNearestSymbolFrom<opt::OptimizerOp>(
      train, train.getOptimizerAttr());
  Operation *terminator = joint.getBody().front().getTerminator();
  llvm::StringSet<> names;
  for (unsigned i = 0; i < joint.getNumArguments(); ++i) {
    Location loc = joint.getArgument(i).getLoc();
    std::string name = getParameterName(joint, i);
    auto gradient = gradients.find(i);
    if (name.empty()) {
      if (gradient != gradients.end())
        emitRemark(loc) << "argument " << i
                        << " has a gradient, but no 'opt.param': left alone";
      continue;
    }
    if (!names.insert(name).second)
      return emitError(loc) << "two parameters are called '" << name << "'";
    auto type = dyn_cast<RankedTensorType>(joint.getArgument(i).getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      return emitError(loc) << "parameter '" << name
                            << "' is a ranked tensor of floating-point "
                               "numbers, got "
                            << joint.getArgument(i).getType();
    if (!optimizer.getRuleFor(name)) {
      emitRemark(loc) << "parameter '" << name << "' is frozen by a group of @"
                      << optimizer.getSymName() << ": left alone";
      continue;
    }
    if (gradient == gradients.end()) {
      emitWarning(loc) << "parameter '" << name
                       << "' has no gradient: left alone";
      continue;
    }
    step.trained.push_back(
        {name, i, {}, terminator->getOperand(gradient->second)});
  }
  return success();
}

/// Arguments that hold examples: neither parameter nor state.
static void findData(func::FuncOp joint, StepFunction &step) {
  for (unsigned i = 0; i < joint.getNumArguments(); ++i)
    if (!joint.getArgAttr(i, OptDialect::getParamAttrName()) &&
        !joint.getArgAttr(i, RematDialect::getStateAttrName()) &&
        !isRandomState(joint.getArgument(i).getType()))
      step.data.push_back(i);
}

/// Drops the gradients from the results; they are in `trained`. Positions of
/// the other results change.
static void dropGradients(func::FuncOp function, StepFunction &step) {
  BitVector isGradient(function.getNumResults());
  SmallVector<unsigned> positions;
  unsigned next = 0;
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    positions.push_back(next);
    if (function.getResultAttr(i, RematDialect::getGradientOfAttrName()))
      isGradient.set(i);
    else
      ++next;
  }
  function.getBody().front().getTerminator()->eraseOperands(isGradient);
  (void)function.eraseResults(isGradient);
  for (auto &state : step.states)
    state.first = positions[state.first];
}

/// Appends the optimizer's states and the step to the arguments.
static void addArguments(TrainStepOp train, StepFunction &step) {
  func::FuncOp function = step.function;
  Builder builder(function.getContext());
  auto optimizer = SymbolTable::lookupNearestSymbolFrom<opt::OptimizerOp>(
      train, train.getOptimizerAttr());
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  SmallVector<Location> locs;
  auto add = [&](Type type, DictionaryAttr attribute, Location loc) {
    types.push_back(type);
    attributes.push_back(attribute);
    locs.push_back(loc);
    return function.getNumArguments() + types.size() - 1;
  };
  for (TrainedParameter &trained : step.trained) {
    Value param = function.getArgument(trained.argument);
    auto type = cast<RankedTensorType>(param.getType());
    Type stateType = type.clone(opt::getComputeType(type.getElementType()));
    for (const std::string &state :
         optimizer.getRuleFor(trained.name).getStateNames())
      trained.states.push_back(
          add(stateType,
              builder.getDictionaryAttr(
                  {builder.getNamedAttr(OptDialect::getStateAttrName(),
                                        builder.getStringAttr(state)),
                   builder.getNamedAttr(
                       OptDialect::getStateOfAttrName(),
                       builder.getI64IntegerAttr(trained.argument))}),
              param.getLoc()));
  }
  add(builder.getI64Type(),
      builder.getDictionaryAttr(builder.getNamedAttr(
          RematDialect::getStepAttrName(), builder.getUnitAttr())),
      train.getLoc());
  SmallVector<unsigned> positions(types.size(), function.getNumArguments());
  (void)function.insertArguments(positions, types, attributes, locs);
}

FailureOr<StepFunction> mlir::remat::createStepFunction(TrainStepOp train,
                                                        bool isJointShared) {
  auto module = train->getParentOfType<ModuleOp>();
  auto joint = module.lookupSymbol<func::FuncOp>(train.getJointName());
  if (!joint || joint.isExternal())
    return train.emitOpError()
           << "needs the joint function @" << train.getJointName()
           << "; run -remat-differentiate first, or write it: arguments and "
              "results of "
           << train.getLossAttr()
           << ", then gradients with 'remat.gradient_of = <argument>'";
  if (!joint.getBody().hasOneBlock())
    return joint.emitError()
           << "the joint function needs a body of one block; use scf instead "
              "of branches";

  StepFunction step;
  FailureOr<llvm::MapVector<unsigned, unsigned>> gradients =
      findGradients(joint);
  if (failed(gradients))
    return failure();
  if (isJointShared) {
    joint = joint.clone();
    module.insert(train, joint);
  }
  if (failed(findStates(joint, step)) ||
      failed(findTrained(train, joint, *gradients, step)))
    return failure();
  findData(joint, step);

  step.function = joint;
  joint.setSymName(train.getStep());
  joint.setPublic();
  joint->setAttr("llvm.emit_c_interface", UnitAttr::get(train.getContext()));
  dropGradients(joint, step);
  addArguments(train, step);
  return step;
}
