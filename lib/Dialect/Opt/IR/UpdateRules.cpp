//===- UpdateRules.cpp - SGD, Adam, AdamW and Lion ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formulas, term by term and in the order of their sources, so that our
// numbers differ from theirs by rounding only.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Opt/IR/UpdateKernels.h"

using namespace mlir;
using namespace mlir::opt;
using Kind = Hyperparameter::Kind;

//===----------------------------------------------------------------------===//
// SGD
//===----------------------------------------------------------------------===//

HyperparameterTable SGDAttr::getTable() {
  static constexpr Hyperparameter table[] = {
      {"lr", Kind::LearningRate},
      {"momentum", Kind::Real, 0.0},
      {"dampening", Kind::Real, 0.0, -Hyperparameter::kInfinity},
      {"nesterov", Kind::Flag, 0.0},
      {"weight_decay", Kind::Real, 0.0},
      kStates,
      kRounding,
  };
  return table;
}

LogicalResult SGDAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                              DictionaryAttr values) {
  if (failed(verifyHyperparameters(emitError, getTable(), values, "#opt.sgd")))
    return failure();
  auto isZero = [&](StringRef name) {
    return cast<FloatAttr>(values.get(name)).getValueAsDouble() == 0;
  };
  if (cast<BoolAttr>(values.get("nesterov")).getValue() &&
      (isZero("momentum") || !isZero("dampening")))
    return emitError() << "'nesterov' of #opt.sgd needs a 'momentum' that is "
                          "not 0, and no 'dampening'";
  auto states = cast<StringAttr>(values.get("states"));
  if (isZero("momentum") && states != "f32")
    return emitError() << "'states' of #opt.sgd is how its momentum is stored, "
                          "but got "
                       << states << " without a 'momentum'";
  return success();
}

SmallVector<RuleState> SGDAttr::getStates(RankedTensorType param,
                                          Operation *) const {
  if (getReal("momentum") == 0)
    return {};
  return getMoments(param, {{"momentum"}}, getChoice("states"));
}

SmallVector<Value> SGDAttr::emitScalars(OpBuilder &builder, Location loc,
                                        Value step, Value lr) const {
  if (getReal("momentum") == 0)
    return {lr};
  Formula f{builder, loc};
  Value zero = arith::ConstantIntOp::create(builder, loc, 0, 64);
  Value isFirst =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, step, zero);
  // The buffer starts as the first gradient, undampened.
  Value weight =
      arith::SelectOp::create(builder, loc, isFirst, f.number(1, lr.getType()),
                              f.number(1 - getReal("dampening"), lr.getType()));
  return {lr, weight};
}

SmallVector<Value> SGDAttr::emitUpdate(OpBuilder &builder, Location loc,
                                       Value param, Value grad,
                                       ValueRange states,
                                       ValueRange scalars) const {
  Formula f{builder, loc};
  double momentum = getReal("momentum");
  bool nesterov = getFlag("nesterov");
  if (getReal("weight_decay") != 0)
    grad = f.add(grad, f.mul(getReal("weight_decay"), param));
  if (momentum == 0)
    return {f.sub(param, f.mul(scalars[0], grad))};
  Value buffer = f.add(f.mul(momentum, states[0]), f.mul(scalars[1], grad));
  Value direction = nesterov ? f.add(grad, f.mul(momentum, buffer)) : buffer;
  return {f.sub(param, f.mul(scalars[0], direction)), buffer};
}

//===----------------------------------------------------------------------===//
// Adam and AdamW
//===----------------------------------------------------------------------===//

HyperparameterTable AdamAttr::getTable() {
  static constexpr Hyperparameter table[] = {
      {"lr", Kind::LearningRate},
      {"b1", Kind::Real, 0.9, 0.0, 1.0},
      {"b2", Kind::Real, 0.999, 0.0, 1.0},
      {"eps", Kind::Real, 1e-8},
      {"weight_decay", Kind::Real, 0.0},
      kStates,
      kRounding,
  };
  return table;
}
/// torch.optim.AdamW's defaults.
HyperparameterTable AdamWAttr::getTable() {
  static constexpr Hyperparameter table[] = {
      {"lr", Kind::LearningRate},
      {"b1", Kind::Real, 0.9, 0.0, 1.0},
      {"b2", Kind::Real, 0.999, 0.0, 1.0},
      {"eps", Kind::Real, 1e-8},
      {"weight_decay", Kind::Real, 0.01},
      kStates,
      kRounding,
  };
  return table;
}

/// lr / (1 - b1^t) and sqrt(1 - b2^t).
static SmallVector<Value> emitAdamScalars(Formula f, double b1, double b2,
                                          Value step, Value lr) {
  return {f.div(lr, f.biasCorrection(b1, step)),
          f.sqrt(f.biasCorrection(b2, step))};
}

static SmallVector<Value> emitAdamUpdate(Formula f, double b1, double b2,
                                         double eps, Value param, Value grad,
                                         ValueRange states, Value stepSize,
                                         Value correction) {
  Value m = f.firstMoment(b1, states[0], grad);
  Value v = f.secondMoment(b2, states[1], grad);
  Value denominator =
      f.add(f.div(f.sqrt(v), correction), f.number(eps, v.getType()));
  return {f.sub(param, f.mul(stepSize, f.div(m, denominator))), m, v};
}

SmallVector<RuleState> AdamAttr::getStates(RankedTensorType param,
                                           Operation *) const {
  return getMoments(param, {{"m"}, {"v", /*isSigned=*/false}},
                    getChoice("states"));
}

SmallVector<Value> AdamAttr::emitScalars(OpBuilder &builder, Location loc,
                                         Value step, Value lr) const {
  return emitAdamScalars({builder, loc}, getReal("b1"), getReal("b2"), step,
                         lr);
}

SmallVector<Value> AdamAttr::emitUpdate(OpBuilder &builder, Location loc,
                                        Value param, Value grad,
                                        ValueRange states,
                                        ValueRange scalars) const {
  Formula f{builder, loc};
  if (getReal("weight_decay") != 0)
    grad = f.add(grad, f.mul(getReal("weight_decay"), param));
  return emitAdamUpdate(f, getReal("b1"), getReal("b2"), getReal("eps"), param,
                        grad, states, scalars[0], scalars[1]);
}

SmallVector<RuleState> AdamWAttr::getStates(RankedTensorType param,
                                            Operation *) const {
  return getMoments(param, {{"m"}, {"v", /*isSigned=*/false}},
                    getChoice("states"));
}

SmallVector<Value> AdamWAttr::emitScalars(OpBuilder &builder, Location loc,
                                          Value step, Value lr) const {
  Formula f{builder, loc};
  SmallVector<Value> scalars =
      emitAdamScalars(f, getReal("b1"), getReal("b2"), step, lr);
  if (double decay = getReal("weight_decay"); decay != 0)
    scalars.push_back(f.kept(decay, lr));
  return scalars;
}

SmallVector<Value> AdamWAttr::emitUpdate(OpBuilder &builder, Location loc,
                                         Value param, Value grad,
                                         ValueRange states,
                                         ValueRange scalars) const {
  Formula f{builder, loc};
  if (getReal("weight_decay") != 0)
    param = f.mul(param, scalars[2]);
  return emitAdamUpdate(f, getReal("b1"), getReal("b2"), getReal("eps"), param,
                        grad, states, scalars[0], scalars[1]);
}

//===----------------------------------------------------------------------===//
// Lion
//===----------------------------------------------------------------------===//

HyperparameterTable LionAttr::getTable() {
  static constexpr Hyperparameter table[] = {
      {"lr", Kind::LearningRate},
      {"b1", Kind::Real, 0.9, 0.0, 1.0},
      {"b2", Kind::Real, 0.99, 0.0, 1.0},
      {"weight_decay", Kind::Real, 0.0},
      kStates,
      kRounding,
  };
  return table;
}

SmallVector<RuleState> LionAttr::getStates(RankedTensorType param,
                                           Operation *) const {
  return getMoments(param, {{"m"}}, getChoice("states"));
}

SmallVector<Value> LionAttr::emitUpdate(OpBuilder &builder, Location loc,
                                        Value param, Value grad,
                                        ValueRange states,
                                        ValueRange scalars) const {
  Formula f{builder, loc};
  auto interpolate = [&](double b) {
    return f.add(f.mul(b, states[0]), f.mul(1 - b, grad));
  };
  Value update = f.sign(interpolate(getReal("b1")));
  if (getReal("weight_decay") != 0)
    update = f.add(update, f.mul(getReal("weight_decay"), param));
  return {f.sub(param, f.mul(scalars[0], update)), interpolate(getReal("b2"))};
}
