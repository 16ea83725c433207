//===- StepFunction.cpp - A joint function on its way to @step ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StepFunction.h"

#include "remat/Analysis/StateFlow.h"
#include "remat/Runtime/Hash.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::remat;

using opt::OptDialect;

/// Returns true if the argument is a random state without a name.
static bool isUnnamedRandomState(func::FuncOp joint, unsigned argument) {
  return isRandomState(joint.getArgument(argument).getType()) &&
         !joint.getArgAttr(argument, RematDialect::getStateAttrName());
}

/// The random state of which result `result` is the next value; null if it is
/// computed from none (a state that is made anew).
static FailureOr<BlockArgument> findRandomState(func::FuncOp joint,
                                                unsigned result) {
  Value next = joint.getBody().front().getTerminator()->getOperand(result);
  SmallVector<BlockArgument> sources;
  for (BlockArgument source : findStateSources(next))
    if (source.getOwner() == &joint.getBody().front() &&
        isUnnamedRandomState(joint, source.getArgNumber()))
      sources.push_back(source);
  if (sources.size() <= 1)
    return sources.empty() ? BlockArgument() : sources.front();
  InFlightDiagnostic diagnostic =
      emitError(next.getLoc())
      << "result " << result << " of @" << joint.getSymName()
      << " is computed from several random states, so that it may be the next "
         "value of any of them; give it and its argument the same "
      << RematDialect::getStateAttrName() << " = \"name\"";
  for (BlockArgument source : sources)
    diagnostic.attachNote(source.getLoc())
        << "one of them is argument " << source.getArgNumber();
  return failure();
}

/// The model states among the arguments, by name.
static FailureOr<llvm::StringMap<unsigned>>
findNamedStates(func::FuncOp joint) {
  llvm::StringMap<unsigned> named;
  for (unsigned i = 0; i < joint.getNumArguments(); ++i) {
    auto name =
        joint.getArgAttrOfType<StringAttr>(i, RematDialect::getStateAttrName());
    if (name && !named.try_emplace(name.getValue(), i).second)
      return emitError(joint.getArgument(i).getLoc())
             << "two arguments hold the state " << name;
  }
  return named;
}

/// Pairs each state's argument with the result that is its next value: by name,
/// random states without one by the data flow.
static LogicalResult findStates(func::FuncOp joint, StepFunction &step) {
  FailureOr<llvm::StringMap<unsigned>> named = findNamedStates(joint);
  if (failed(named))
    return failure();
  llvm::SmallDenseMap<unsigned, unsigned> resultOf;
  for (unsigned i = 0; i < joint.getNumResults(); ++i) {
    Type type = joint.getResultTypes()[i];
    auto name = joint.getResultAttrOfType<StringAttr>(
        i, RematDialect::getStateAttrName());
    unsigned argument;
    if (name) {
      auto it = named->find(name.getValue());
      if (it == named->end())
        return joint.emitError()
               << "result " << i << " is the next value of the state " << name
               << ", but no argument holds it";
      argument = it->second;
    } else if (isRandomState(type)) {
      FailureOr<BlockArgument> state = findRandomState(joint, i);
      if (failed(state))
        return failure();
      if (!*state)
        continue;
      argument = state->getArgNumber();
    } else {
      continue;
    }
    if (joint.getArgument(argument).getType() != type)
      return joint.emitError()
             << "result " << i << " is the next value of argument " << argument
             << ", but their types " << type << " and "
             << joint.getArgument(argument).getType() << " differ";
    if (auto [it, isNew] = resultOf.try_emplace(argument, i); !isNew)
      return joint.emitError() << "results " << it->second << " and " << i
                               << " are both the next value of argument "
                               << argument << "; a state has one";
    step.states.emplace_back(i, argument);
  }
  for (unsigned i = 0; i < joint.getNumArguments(); ++i)
    if (auto name = joint.getArgAttrOfType<StringAttr>(
            i, RematDialect::getStateAttrName());
        name && !resultOf.contains(i))
      return emitError(joint.getArgument(i).getLoc())
             << "no result is the next value of the state " << name
             << "; return it, unchanged if it stays the same, with "
             << RematDialect::getStateAttrName() << " = " << name;
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

/// The key of the random bits of a parameter's updates: a function of its name,
/// so that those of the others stay the same when one is added.
static int64_t getKey(int64_t seed, StringRef name) {
  // Of the generator that starts from the name, number `seed`.
  return static_cast<int64_t>(
      ::remat::mix(::remat::hash(name) +
                   static_cast<uint64_t>(seed) * ::remat::kMixIncrement));
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
    std::string name = opt::getParameterName(joint, i);
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
                            << "' must be a ranked tensor of floating-point "
                               "numbers, but got "
                            << joint.getArgument(i).getType();
    opt::UpdateRuleAttrInterface rule = optimizer.getRuleFor(name);
    if (!rule) {
      emitRemark(loc) << "parameter '" << name << "' is frozen by a group of @"
                      << optimizer.getSymName() << ": left alone";
      continue;
    }
    if (gradient == gradients.end()) {
      emitWarning(loc) << "parameter '" << name
                       << "' has no gradient: left alone";
      continue;
    }
    if (failed(opt::verifyRuleFor(
            rule, [&]() { return emitError(loc); }, type, train)))
      return failure();
    TrainedParameter &trained = step.trained.emplace_back(TrainedParameter{
        name, i, {}, terminator->getOperand(gradient->second), {}});
    if (opt::needsKey(rule, type))
      trained.key = getKey(train.getSeed(), name);
  }
  return success();
}

/// Arguments that hold examples: neither parameter, state nor step.
static void findData(func::FuncOp joint, StepFunction &step) {
  for (unsigned i = 0; i < joint.getNumArguments(); ++i)
    if (!joint.getArgAttr(i, OptDialect::getParamAttrName()) &&
        !joint.getArgAttr(i, RematDialect::getStateAttrName()) &&
        !joint.getArgAttr(i, RematDialect::getStepAttrName()) &&
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
    for (const opt::RuleState &state :
         optimizer.getStatesFor(trained.name, type, train)) {
      NamedAttrList attributes;
      attributes.set(OptDialect::getStateAttrName(),
                     builder.getStringAttr(state.name));
      attributes.set(OptDialect::getStateOfAttrName(),
                     builder.getI64IntegerAttr(trained.argument));
      if (state.initial != "zeros")
        attributes.set(OptDialect::getInitAttrName(),
                       builder.getStringAttr(state.initial));
      if (state.stored)
        attributes.set(OptDialect::getStoredAttrName(),
                       TypeAttr::get(state.stored));
      trained.states.push_back(
          add(state.type, attributes.getDictionary(builder.getContext()),
              param.getLoc()));
    }
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
