//===- OptOps.cpp - Operations of the opt dialect -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Nearest.h"
#include "remat/Dialect/Opt/IR/Opt.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::opt;

#define GET_OP_CLASSES
#include "remat/Dialect/Opt/IR/OptOps.cpp.inc"

/// Returns all update rules of this dialect, for diagnostics.
static std::string listRules() {
  return remat::listAttributes<UpdateRuleAttrInterface::Trait,
#define GET_ATTRDEF_LIST
#include "remat/Dialect/Opt/IR/OptAttributes.cpp.inc"
                               >("#opt.");
}

Type mlir::opt::getComputeType(Type paramElementType) {
  if (!isa<FloatType>(paramElementType))
    return {};
  if (paramElementType.isF64())
    return paramElementType;
  return Float32Type::get(paramElementType.getContext());
}

//===----------------------------------------------------------------------===//
// OptimizerOp
//===----------------------------------------------------------------------===//

/// The rule for the parameters of `group`; null after a diagnostic.
static UpdateRuleAttrInterface getRuleOf(OptimizerOp op, GroupAttr group) {
  auto rule = cast<UpdateRuleAttrInterface>(op.getRule());
  NamedAttrList overrides(group.getOverrides());
  if (Attribute other = overrides.erase("rule")) {
    rule = dyn_cast<UpdateRuleAttrInterface>(other);
    if (!rule) {
      op.emitOpError() << "expects an update rule as the 'rule' of group "
                       << group.getPattern() << ", but got " << other
                       << "; rules are " << listRules();
      return {};
    }
  }
  return cast_or_null<UpdateRuleAttrInterface>(
      rule.withOverrides([&]() { return op.emitOpError(); },
                         overrides.getDictionary(op.getContext())));
}

LogicalResult OptimizerOp::verify() {
  auto rule = dyn_cast<UpdateRuleAttrInterface>(getRule());
  if (!rule)
    return emitOpError() << "expects an update rule, but got " << getRule()
                         << "; rules are " << listRules();
  std::optional<ArrayAttr> groups = getGroups();
  for (Attribute attribute :
       groups ? groups->getValue() : ArrayRef<Attribute>()) {
    auto group = dyn_cast<GroupAttr>(attribute);
    if (!group)
      return emitOpError()
             << "'groups' takes #opt.group<\"pattern\", ...>, got "
             << attribute;
    if (!getRuleOf(*this, group))
      return failure();
  }
  for (auto [name, value] : {std::pair<StringRef, std::optional<APFloat>>{
                                 "clip_value", getClipValue()},
                             {"clip_norm", getClipNorm()}})
    if (value && !(value->convertToDouble() >= 0))
      return emitOpError() << "'" << name << "' must be at least 0, but got "
                           << value->convertToDouble();
  if (std::optional<APFloat> ema = getEma();
      ema && !(ema->convertToDouble() >= 0 && ema->convertToDouble() < 1))
    return emitOpError() << "'ema', the part of an average that a step keeps, "
                            "must be at least 0 and below 1, but got "
                         << ema->convertToDouble();
  return success();
}

/// Verifies that a custom rule takes and returns what an update does.
static LogicalResult verifyCustomRule(OptimizerOp op, CustomAttr custom,
                                      func::FuncOp function) {
  FunctionType type = function.getFunctionType();
  unsigned states = custom.getNumStates();
  auto fail =
      [&]() {
        InFlightDiagnostic diagnostic =
            op.emitOpError()
            << "a rule with " << states
            << " states is a function of parameter, "
            << "gradient, " << states
            << " states, step (i64) and learning rate "
            << "(the type of the numbers) that returns the new parameter and "
            << states << " states, but " << custom.getRule() << " has type "
            << type;
        diagnostic.attachNote(function.getLoc()) << "the rule is defined here";
        return diagnostic;
      };
  if (type.getNumInputs() != states + 4 || type.getNumResults() != states + 1 ||
      !type.getInput(states + 2).isSignlessInteger(64) ||
      !isa<FloatType>(type.getInput(states + 3)))
    return fail();
  for (unsigned i = 0; i < states + 2; ++i) {
    Type argument = type.getInput(i);
    bool isTensor = isa<RankedTensorType>(argument);
    Type element = getElementTypeOrSelf(argument);
    // States of rules on tensors may count something.
    bool isNumber = isa<FloatType>(element) ||
                    (isTensor && i > 1 && element.isSignlessInteger());
    if (!isNumber || isTensor != isa<RankedTensorType>(type.getInput(0)))
      return fail();
    // Returned in their types: 0, the parameter, and from 2 on the states.
    if (i != 1 && type.getResult(i == 0 ? 0 : i - 1) != argument)
      return fail();
  }
  if (isa<RankedTensorType>(type.getInput(0))) {
    for (unsigned i = 2; i < states + 2; ++i)
      if (function.getArgAttr(i, OptDialect::getStoredAttrName()))
        return op.emitOpError()
               << "argument " << i << " of " << custom.getRule()
               << " has 'opt.stored', which is for rules on scalars; a state "
                  "of "
                  "a rule on tensors is stored as its type says";
    return success();
  }
  if (!llvm::all_equal(ArrayRef(type.getInputs()).take_front(states + 2)) ||
      type.getInput(states + 3) != type.getInput(0))
    return fail();
  if (function.isExternal() || !function.getBody().hasOneBlock())
    return op.emitOpError()
           << "a rule on scalars becomes the body of a kernel, "
              "so "
           << custom.getRule() << " needs a body of one block";
  for (Operation &nested : function.getBody().front().without_terminator())
    if (!isPure(&nested)) {
      InFlightDiagnostic diagnostic =
          op.emitOpError() << "a rule on scalars has no effects, but "
                           << custom.getRule() << " has";
      diagnostic.attachNote(nested.getLoc()) << "this operation has one";
      return diagnostic;
    }
  return success();
}

LogicalResult
OptimizerOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto lookUp = [&](FlatSymbolRefAttr symbol) -> FailureOr<func::FuncOp> {
    auto function =
        symbolTable.lookupNearestSymbolFrom<func::FuncOp>(*this, symbol);
    if (!function)
      return emitOpError() << "names " << symbol
                           << ", but there is no such function";
    return function;
  };
  auto verifySchedule = [&](Attribute lr) -> LogicalResult {
    auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(lr);
    if (!symbol)
      return success();
    FailureOr<func::FuncOp> schedule = lookUp(symbol);
    if (failed(schedule))
      return failure();
    Builder builder(getContext());
    auto returns = [&](Type type) {
      return builder.getFunctionType(builder.getI64Type(), type);
    };
    FunctionType single = returns(builder.getF32Type());
    FunctionType wide = returns(builder.getF64Type());
    if (schedule->getFunctionType() != single &&
        schedule->getFunctionType() != wide)
      return emitOpError() << "a learning rate is a function of type " << single
                           << " or " << wide << ", but " << symbol
                           << " has type " << schedule->getFunctionType();
    return success();
  };
  auto verifyRule = [&](UpdateRuleAttrInterface rule) -> LogicalResult {
    if (failed(verifySchedule(rule.getLearningRate())))
      return failure();
    auto custom = dyn_cast<CustomAttr>(rule);
    if (!custom)
      return success();
    FailureOr<func::FuncOp> function = lookUp(custom.getRule());
    return failure(failed(function) ||
                   failed(verifyCustomRule(*this, custom, *function)));
  };
  if (failed(verifyRule(cast<UpdateRuleAttrInterface>(getRule()))))
    return failure();
  if (std::optional<ArrayAttr> groups = getGroups())
    for (GroupAttr group : groups->getAsRange<GroupAttr>())
      if (failed(verifyRule(getRuleOf(*this, group))))
        return failure();
  return success();
}

UpdateRuleAttrInterface OptimizerOp::getRuleFor(StringRef name) {
  auto rule = cast<UpdateRuleAttrInterface>(getRule());
  std::optional<ArrayAttr> groups = getGroups();
  if (!groups)
    return rule;
  for (GroupAttr group : groups->getAsRange<GroupAttr>()) {
    if (!group.matches(name))
      continue;
    if (group.getFrozen())
      return {};
    return getRuleOf(*this, group);
  }
  return rule;
}

SmallVector<RuleState> OptimizerOp::getStatesFor(StringRef name,
                                                 RankedTensorType param,
                                                 Operation *user) {
  SmallVector<RuleState> states =
      getStoredStates(getRuleFor(name), param, user);
  if (getEma())
    states.push_back(
        {"average", param.clone(getComputeType(param.getElementType()))});
  return states;
}

//===----------------------------------------------------------------------===//
// EagerStepOp
//===----------------------------------------------------------------------===//

LogicalResult EagerStepOp::inferReturnTypes(
    MLIRContext *context, std::optional<Location> location, ValueRange operands,
    DictionaryAttr attributes, OpaqueProperties properties, RegionRange regions,
    SmallVectorImpl<Type> &types) {
  EagerStepOp::Adaptor adaptor(operands, attributes,
                               *properties.as<Properties *>(), regions);
  types.push_back(adaptor.getParam().getType());
  llvm::append_range(types, adaptor.getStates().getTypes());
  return success();
}

LogicalResult EagerStepOp::verify() {
  auto param = cast<RankedTensorType>(getParam().getType());
  auto grad = cast<RankedTensorType>(getGrad().getType());
  Type compute = getComputeType(param.getElementType());
  if (!compute)
    return emitOpError() << "updates floating-point parameters, not " << param;
  if (!isa<FloatType>(grad.getElementType()) ||
      grad.getShape() != param.getShape())
    return emitOpError() << "the gradient of a parameter of type " << param
                         << " has its shape, got " << grad;
  return success();
}

LogicalResult
EagerStepOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto optimizer = symbolTable.lookupNearestSymbolFrom<OptimizerOp>(
      *this, getOptimizerAttr());
  if (!optimizer)
    return emitOpError() << "names " << getOptimizerAttr()
                         << ", but there is no such opt.optimizer";
  if (!isa<UpdateRuleAttrInterface>(optimizer.getRule()))
    return success();
  UpdateRuleAttrInterface rule = optimizer.getRuleFor(getParameter());
  if (!rule)
    return emitOpError() << "a group of " << getOptimizerAttr()
                         << " freezes parameter '" << getParameter() << "'";
  auto param = cast<RankedTensorType>(getParam().getType());
  if (failed(
          verifyRuleFor(rule, [&]() { return emitOpError(); }, param, *this)))
    return failure();
  if (needsKey(rule, param) && !getKey())
    return emitOpError() << "draws random numbers for '" << getParameter()
                         << "', and needs a 'key'";
  SmallVector<RuleState> states =
      optimizer.getStatesFor(getParameter(), param, *this);
  if (states.size() != getStates().size())
    return emitOpError() << getOptimizerAttr() << " keeps " << states.size()
                         << " states for a parameter ("
                         << llvm::join(
                                llvm::map_range(states,
                                                [](const RuleState &state) {
                                                  return state.name;
                                                }),
                                ", ")
                         << "), but got " << getStates().size();
  for (auto [state, given] : llvm::zip_equal(states, getStates()))
    if (given.getType() != state.type)
      return emitOpError() << "state '" << state.name
                           << "' of a parameter of type " << param
                           << " must be a " << state.type << ", but got "
                           << given.getType();
  return success();
}
