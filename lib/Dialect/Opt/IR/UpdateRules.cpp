//===- UpdateRules.cpp - SGD, Adam, AdamW, Lion and custom rules ----------===//
//
// The formulas, term by term and in the order of their sources, so that our
// numbers differ from theirs by rounding only.
//
//===----------------------------------------------------------------------===//

#include "Hyperparameters.h"

#include "remat/Dialect/Opt/IR/Opt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::opt;
using Kind = Hyperparameter::Kind;

namespace {
/// Scalar arithmetic in the type of its operands.
struct Formula {
  OpBuilder &builder;
  Location loc;

  Value number(double value, Type type) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(type, value));
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value mul(double a, Value b) { return mul(number(a, b.getType()), b); }
  Value div(Value a, Value b) {
    return arith::DivFOp::create(builder, loc, a, b);
  }
  Value sqrt(Value a) { return math::SqrtOp::create(builder, loc, a); }
  /// 1, -1 or 0; NaN for NaN.
  Value sign(Value a) {
    Value zero = number(0, a.getType());
    auto select = [&](arith::CmpFPredicate predicate, double then, Value or_) {
      Value condition = arith::CmpFOp::create(builder, loc, predicate, a, zero);
      return arith::SelectOp::create(builder, loc, condition,
                                     number(then, a.getType()), or_);
    };
    return select(arith::CmpFPredicate::OGT, 1,
                  select(arith::CmpFPredicate::OLT, -1, a));
  }
  /// 1 - base^(step + 1), in f64.
  Value biasCorrection(double base, Value step) {
    Type f64 = builder.getF64Type();
    Value count =
        add(arith::SIToFPOp::create(builder, loc, f64, step), number(1, f64));
    Value power = math::PowFOp::create(builder, loc, number(base, f64), count);
    return sub(number(1, f64), power);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// SGD
//===----------------------------------------------------------------------===//

static constexpr Hyperparameter kSGD[] = {
    {"lr", Kind::LearningRate},
    {"momentum", Kind::Real, 0.0, 0.0, 1.0},
    {"dampening", Kind::Real, 0.0, 0.0, 1.0},
    {"nesterov", Kind::Flag, 0.0},
    {"weight_decay", Kind::Real, 0.0},
};

SmallVector<std::string> SGDAttr::getStateNames() const {
  if (getReal("momentum") == 0)
    return {};
  return {"momentum"};
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
  bool nesterov =
      cast<BoolAttr>(getHyperparameters().get("nesterov")).getValue();
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

static constexpr Hyperparameter kAdam[] = {
    {"lr", Kind::LearningRate},          {"b1", Kind::Real, 0.9, 0.0, 1.0},
    {"b2", Kind::Real, 0.999, 0.0, 1.0}, {"eps", Kind::Real, 1e-8},
    {"weight_decay", Kind::Real, 0.0},
};
/// torch.optim.AdamW's defaults.
static constexpr Hyperparameter kAdamW[] = {
    {"lr", Kind::LearningRate},          {"b1", Kind::Real, 0.9, 0.0, 1.0},
    {"b2", Kind::Real, 0.999, 0.0, 1.0}, {"eps", Kind::Real, 1e-8},
    {"weight_decay", Kind::Real, 0.01},
};

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
  Value m = f.add(states[0], f.mul(1 - b1, f.sub(grad, states[0])));
  Value v = f.add(f.mul(b2, states[1]), f.mul(f.mul(1 - b2, grad), grad));
  Value denominator =
      f.add(f.div(f.sqrt(v), correction), f.number(eps, v.getType()));
  return {f.sub(param, f.mul(stepSize, f.div(m, denominator))), m, v};
}

SmallVector<std::string> AdamAttr::getStateNames() const { return {"m", "v"}; }

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

SmallVector<std::string> AdamWAttr::getStateNames() const { return {"m", "v"}; }

SmallVector<Value> AdamWAttr::emitScalars(OpBuilder &builder, Location loc,
                                          Value step, Value lr) const {
  Formula f{builder, loc};
  SmallVector<Value> scalars =
      emitAdamScalars(f, getReal("b1"), getReal("b2"), step, lr);
  if (double decay = getReal("weight_decay"); decay != 0)
    scalars.push_back(f.sub(f.number(1, lr.getType()), f.mul(decay, lr)));
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

static constexpr Hyperparameter kLion[] = {
    {"lr", Kind::LearningRate},
    {"b1", Kind::Real, 0.9, 0.0, 1.0},
    {"b2", Kind::Real, 0.99, 0.0, 1.0},
    {"weight_decay", Kind::Real, 0.0},
};

SmallVector<std::string> LionAttr::getStateNames() const { return {"m"}; }

SmallVector<Value> LionAttr::emitScalars(OpBuilder &, Location, Value,
                                         Value lr) const {
  return {lr};
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

//===----------------------------------------------------------------------===//
// Custom
//===----------------------------------------------------------------------===//

static constexpr Hyperparameter kCustom[] = {
    {"states", Kind::Count, 0.0, 0.0, 16.0},
    {"lr", Kind::LearningRate, 0.0},
};

SmallVector<std::string> CustomAttr::getStateNames() const {
  SmallVector<std::string> names;
  for (int64_t i = 0; i < getNumStates(); ++i)
    names.push_back("s" + std::to_string(i));
  return names;
}

SmallVector<Value> CustomAttr::emitScalars(OpBuilder &, Location, Value step,
                                           Value lr) const {
  return {lr, step};
}

SmallVector<Value> CustomAttr::emitUpdate(OpBuilder &builder, Location loc,
                                          Value param, Value grad,
                                          ValueRange states,
                                          ValueRange scalars) const {
  // The optimizer's verifier has seen that the function exists and fits.
  auto rule = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      builder.getInsertionBlock()->getParentOp(), getRule());
  Block &body = rule.getBody().front();
  SmallVector<Value> arguments = {param, grad};
  llvm::append_range(arguments, states);
  arguments.push_back(scalars[1]);
  arguments.push_back(scalars[0]);
  IRMapping mapping;
  mapping.map(body.getArguments(), arguments);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value result : body.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(result));
  return results;
}

Attribute CustomAttr::getLearningRate() const {
  return getHyperparameters().get("lr");
}

Attribute
CustomAttr::withOverrides(function_ref<InFlightDiagnostic()> emitError,
                          DictionaryAttr overrides) const {
  FailureOr<DictionaryAttr> values = overrideHyperparameters(
      emitError, kCustom, getHyperparameters(), overrides, "#opt.custom");
  return failed(values) ? Attribute()
                        : CustomAttr::get(getContext(), getRule(), *values);
}

LogicalResult CustomAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 FlatSymbolRefAttr,
                                 DictionaryAttr hyperparameters) {
  return verifyHyperparameters(emitError, kCustom, hyperparameters,
                               "#opt.custom");
}

Attribute CustomAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr rule;
  if (parser.parseLess() || parser.parseAttribute(rule))
    return {};
  (void)parser.parseOptionalComma();
  FailureOr<DictionaryAttr> values =
      parseHyperparameters(parser, kCustom, "#opt.custom");
  if (failed(values))
    return {};
  return parser.getChecked<CustomAttr>(parser.getContext(), rule, *values);
}

void CustomAttr::print(AsmPrinter &printer) const {
  printer << "<" << getRule();
  printHyperparameters(printer, kCustom, getHyperparameters(),
                       /*isFirst=*/false);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// What the built-in rules share
//===----------------------------------------------------------------------===//

template <typename AttrT>
static Attribute parseTable(AsmParser &parser, HyperparameterTable table,
                            StringRef what) {
  if (parser.parseLess())
    return {};
  FailureOr<DictionaryAttr> values = parseHyperparameters(parser, table, what);
  if (failed(values))
    return {};
  return parser.getChecked<AttrT>(parser.getContext(), *values);
}

#define DEFINE_TABLE(ATTR, TABLE, NAME)                                        \
  Attribute ATTR::parse(AsmParser &parser, Type) {                             \
    return parseTable<ATTR>(parser, TABLE, NAME);                              \
  }                                                                            \
  void ATTR::print(AsmPrinter &printer) const {                                \
    printer << "<";                                                            \
    printHyperparameters(printer, TABLE, getHyperparameters());                \
    printer << ">";                                                            \
  }                                                                            \
  LogicalResult ATTR::verify(function_ref<InFlightDiagnostic()> emitError,     \
                             DictionaryAttr values) {                          \
    return verifyHyperparameters(emitError, TABLE, values, NAME);              \
  }

#define DEFINE_RULE(ATTR, TABLE, NAME)                                         \
  DEFINE_TABLE(ATTR, TABLE, NAME)                                              \
  Attribute ATTR::getLearningRate() const {                                    \
    return getHyperparameters().get("lr");                                     \
  }                                                                            \
  Attribute ATTR::withOverrides(function_ref<InFlightDiagnostic()> emitError,  \
                                DictionaryAttr overrides) const {              \
    FailureOr<DictionaryAttr> values = overrideHyperparameters(                \
        emitError, TABLE, getHyperparameters(), overrides, NAME);              \
    return failed(values) ? Attribute() : ATTR::get(getContext(), *values);    \
  }

DEFINE_RULE(SGDAttr, kSGD, "#opt.sgd")
DEFINE_RULE(AdamAttr, kAdam, "#opt.adam")
DEFINE_RULE(AdamWAttr, kAdamW, "#opt.adamw")
DEFINE_RULE(LionAttr, kLion, "#opt.lion")

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

static constexpr Hyperparameter kConstant[] = {{"value"}};
static constexpr Hyperparameter kLinearWarmupCosine[] = {
    {"peak"},
    {"warmup", Kind::Count},
    {"total", Kind::Count, Hyperparameter::kRequired, 1.0},
    {"floor", Kind::Real, 0.0},
};
static constexpr Hyperparameter kStepDecay[] = {
    {"initial"},
    {"factor"},
    {"every", Kind::Count, Hyperparameter::kRequired, 1.0},
};

DEFINE_TABLE(ConstantAttr, kConstant, "#opt.constant")
DEFINE_TABLE(StepDecayAttr, kStepDecay, "#opt.step_decay")
DEFINE_TABLE(LinearWarmupCosineAttr, kLinearWarmupCosine,
             "#opt.linear_warmup_cosine")

Value ConstantAttr::emitSchedule(OpBuilder &builder, Location loc,
                                 Value) const {
  return Formula{builder, loc}.number(getReal("value"), builder.getF64Type());
}

Value LinearWarmupCosineAttr::emitSchedule(OpBuilder &builder, Location loc,
                                           Value step) const {
  Formula f{builder, loc};
  Type f64 = builder.getF64Type();
  auto count = [&](StringRef name) {
    return static_cast<double>(
        cast<IntegerAttr>(getHyperparameters().get(name)).getInt());
  };
  double warmup = count("warmup"), peak = getReal("peak");
  double floor = getReal("floor");
  // A total that is not beyond the warmup: straight to the floor after it.
  double decay = std::max(count("total") - warmup, 1.0);
  Value t = arith::SIToFPOp::create(builder, loc, f64, step);
  Value past = f.div(f.sub(t, f.number(warmup, f64)), f.number(decay, f64));
  past = arith::MinimumFOp::create(builder, loc, past, f.number(1, f64));
  Value wave = math::CosOp::create(builder, loc, f.mul(M_PI, past));
  Value cosine =
      f.add(f.number(floor, f64),
            f.mul((peak - floor) * 0.5, f.add(f.number(1, f64), wave)));
  if (warmup == 0)
    return cosine;
  Value rise = f.mul(peak / warmup, t);
  Value isWarmup = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::OLT, t, f.number(warmup, f64));
  return arith::SelectOp::create(builder, loc, isWarmup, rise, cosine);
}

Value StepDecayAttr::emitSchedule(OpBuilder &builder, Location loc,
                                  Value step) const {
  Formula f{builder, loc};
  Type f64 = builder.getF64Type();
  int64_t every = cast<IntegerAttr>(getHyperparameters().get("every")).getInt();
  Value period = arith::ConstantIntOp::create(builder, loc, every, 64);
  Value decays = arith::DivSIOp::create(builder, loc, step, period);
  Value power =
      math::PowFOp::create(builder, loc, f.number(getReal("factor"), f64),
                           arith::SIToFPOp::create(builder, loc, f64, decays));
  return f.mul(getReal("initial"), power);
}

Value mlir::opt::emitLearningRate(OpBuilder &builder, Location loc,
                                  Attribute lr, Value step) {
  Type f64 = builder.getF64Type();
  if (auto schedule = dyn_cast<ScheduleAttrInterface>(lr))
    return schedule.emitSchedule(builder, loc, step);
  if (auto symbol = dyn_cast<FlatSymbolRefAttr>(lr)) {
    Value rate =
        func::CallOp::create(builder, loc, symbol,
                             TypeRange{builder.getF32Type()}, ValueRange{step})
            .getResult(0);
    return arith::ExtFOp::create(builder, loc, f64, rate);
  }
  return Formula{builder, loc}.number(cast<FloatAttr>(lr).getValueAsDouble(),
                                      f64);
}
