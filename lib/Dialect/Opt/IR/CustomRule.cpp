//===- CustomRule.cpp - A rule that is a function of the module -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Opt/IR/UpdateKernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::opt;
using Kind = Hyperparameter::Kind;

static HyperparameterTable getTable() {
  static constexpr Hyperparameter table[] = {
      {"states", Kind::Count, 0.0, 0.0, 16.0},
      {"lr", Kind::LearningRate, 0.0},
      kRounding,
  };
  return table;
}

static func::FuncOp lookUpRule(CustomAttr custom, Operation *user) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(user,
                                                            custom.getRule());
}

//===----------------------------------------------------------------------===//
// Parameters and states
//===----------------------------------------------------------------------===//

/// The type of a value of a rule on tensors for a parameter of type `param`:
/// sizes that the function leaves open are the parameter's.
static RankedTensorType getTypeFor(RankedTensorType type,
                                   RankedTensorType param) {
  if (type.hasStaticShape() || type.getRank() != param.getRank())
    return type;
  SmallVector<int64_t> shape(type.getShape());
  for (auto [size, given] : llvm::zip_equal(shape, param.getShape()))
    if (ShapedType::isDynamic(size))
      size = given;
  return type.clone(shape);
}

SmallVector<RuleState> CustomAttr::getStates(RankedTensorType param,
                                             Operation *user) const {
  func::FuncOp rule = lookUpRule(*this, user);
  SmallVector<RuleState> states;
  for (int64_t i = 0; i < getNumStates(); ++i) {
    unsigned argument = i + 2;
    RuleState state =
        getElementwiseStates(param, {"s" + std::to_string(i)}).front();
    if (!rule || argument >= rule.getNumArguments()) {
      states.push_back(state);
      continue;
    }
    if (auto name = rule.getArgAttrOfType<StringAttr>(
            argument, OptDialect::getStateAttrName()))
      state.name = name.str();
    if (auto initial = rule.getArgAttrOfType<StringAttr>(
            argument, OptDialect::getInitAttrName()))
      state.initial = initial.str();
    if (auto type =
            dyn_cast<RankedTensorType>(rule.getArgumentTypes()[argument]))
      state.type = getTypeFor(type, param);
    else if (auto stored = rule.getArgAttrOfType<TypeAttr>(
                 argument, OptDialect::getStoredAttrName()))
      state.type = param.clone(stored.getValue());
    states.push_back(state);
  }
  return states;
}

bool CustomAttr::isElementwise(Operation *user) const {
  func::FuncOp rule = lookUpRule(*this, user);
  return !rule || !isa<RankedTensorType>(rule.getArgumentTypes().front());
}

LogicalResult
CustomAttr::verifyParameter(function_ref<InFlightDiagnostic()> emitError,
                            RankedTensorType param, Operation *user) const {
  if (isElementwise(user))
    return success();
  func::FuncOp rule = lookUpRule(*this, user);
  auto fail = [&](const Twine &what) {
    InFlightDiagnostic diagnostic = emitError();
    diagnostic << "cannot call " << getRule() << " on " << param << ": "
               << what;
    diagnostic.attachNote(rule.getLoc()) << "the rule is defined here";
    return diagnostic;
  };
  Type expected = rule.getArgumentTypes().front();
  if (!tensor::CastOp::areCastCompatible(param, expected))
    return fail("it takes ") << expected
                             << "; a rule on scalars, or on tensors with "
                                "dynamic sizes, fits parameters of any shape";
  if (getRounding() != Rounding::Nearest)
    return fail("its function is one on tensors, which rounds its results "
                "itself; leave out 'rounding'");
  for (const RuleState &state : getStates(param, user))
    if (!state.type.hasStaticShape() && param.hasStaticShape())
      return fail("the sizes of its state '")
             << state.name << "' of type " << state.type
             << " must be known, or those of the parameter";
  return success();
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

SmallVector<Value> CustomAttr::emitScalars(OpBuilder &, Location, Value step,
                                           Value lr) const {
  return {lr, step};
}

/// Clones the body of `rule`, which is one block, with `arguments` for its own.
static SmallVector<Value> inlineRule(OpBuilder &builder, func::FuncOp rule,
                                     ValueRange arguments) {
  Block &body = rule.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value result) { return mapping.lookupOrDefault(result); });
}

SmallVector<Value> CustomAttr::emitUpdate(OpBuilder &builder, Location,
                                          Value param, Value grad,
                                          ValueRange states,
                                          ValueRange scalars) const {
  // The optimizer's verifier has seen that the function exists and fits.
  func::FuncOp rule =
      lookUpRule(*this, builder.getInsertionBlock()->getParentOp());
  SmallVector<Value> arguments = {param, grad};
  llvm::append_range(arguments, states);
  arguments.push_back(scalars[1]);
  arguments.push_back(scalars[0]);
  return inlineRule(builder, rule, arguments);
}

/// `tensor` as a value of type `expected`, whose element type may differ.
static Value convertTensor(OpBuilder &builder, Location loc, Value tensor,
                           Type expected) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Type element = getElementTypeOrSelf(expected);
  if (type.getElementType() != element) {
    Value empty = tensor::EmptyOp::create(
        builder, loc, tensor::getMixedSizes(builder, loc, tensor), element);
    tensor = UpdateKernels(builder, loc, element)
                 .map({tensor}, empty,
                      [](Formula &, ValueRange in) {
                        return SmallVector<Value>{in[0]};
                      })
                 .front();
  }
  if (tensor.getType() != expected)
    tensor = tensor::CastOp::create(builder, loc, expected, tensor);
  return tensor;
}

SmallVector<Value> CustomAttr::emitTensorUpdate(OpBuilder &builder,
                                                Location loc, Value param,
                                                Value grad, ValueRange states,
                                                ValueRange scalars,
                                                Operation *user) const {
  func::FuncOp rule = lookUpRule(*this, user);
  SmallVector<Value> arguments = {param, grad};
  llvm::append_range(arguments, states);
  for (auto [argument, expected] :
       llvm::zip(arguments, rule.getArgumentTypes()))
    argument = convertTensor(builder, loc, argument, expected);
  arguments.push_back(scalars[1]);
  arguments.push_back(
      convertFloat(builder, loc, scalars[0], rule.getArgumentTypes().back()));
  SmallVector<Value> results;
  if (!rule.isExternal() && rule.getBody().hasOneBlock())
    results = inlineRule(builder, rule, arguments);
  else
    results = llvm::to_vector_of<Value>(
        func::CallOp::create(builder, loc, rule, arguments).getResults());
  SmallVector<Value> olds = {param};
  llvm::append_range(olds, states);
  for (auto [result, old] : llvm::zip_equal(results, olds))
    result = convertTensor(builder, loc, result, old.getType());
  return results;
}

//===----------------------------------------------------------------------===//
// Hyperparameters
//===----------------------------------------------------------------------===//

Attribute CustomAttr::getLearningRate() const {
  return getHyperparameters().get("lr");
}

Rounding CustomAttr::getRounding() const {
  return opt::getRounding(getHyperparameters());
}

Attribute
CustomAttr::withOverrides(function_ref<InFlightDiagnostic()> emitError,
                          DictionaryAttr overrides) const {
  if (overrides.get("states")) {
    emitError() << "a group cannot override 'states' of #opt.custom, which is "
                   "the number of states that "
                << getRule() << " takes";
    return {};
  }
  FailureOr<DictionaryAttr> values = overrideHyperparameters(
      emitError, getTable(), getHyperparameters(), overrides, "#opt.custom");
  return failed(values) ? Attribute()
                        : CustomAttr::get(getContext(), getRule(), *values);
}

LogicalResult CustomAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 FlatSymbolRefAttr,
                                 DictionaryAttr hyperparameters) {
  return verifyHyperparameters(emitError, getTable(), hyperparameters,
                               "#opt.custom");
}

Attribute CustomAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr rule;
  if (parser.parseLess() || parser.parseAttribute(rule))
    return {};
  (void)parser.parseOptionalComma();
  FailureOr<DictionaryAttr> values =
      parseHyperparameters(parser, getTable(), "#opt.custom");
  if (failed(values))
    return {};
  return parser.getChecked<CustomAttr>(parser.getContext(), rule, *values);
}

void CustomAttr::print(AsmPrinter &printer) const {
  printer << "<" << getRule();
  printHyperparameters(printer, getTable(), getHyperparameters(),
                       /*isFirst=*/false);
  printer << ">";
}
