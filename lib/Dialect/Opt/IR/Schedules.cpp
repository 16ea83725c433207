//===- Schedules.cpp - Learning rates by the step -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Opt/IR/UpdateKernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace mlir::opt;
using Kind = Hyperparameter::Kind;

HyperparameterTable ConstantAttr::getTable() {
  static constexpr Hyperparameter table[] = {{"value"}};
  return table;
}
HyperparameterTable LinearWarmupCosineAttr::getTable() {
  static constexpr Hyperparameter table[] = {
      {"peak"},
      {"warmup", Kind::Count},
      {"total", Kind::Count, Hyperparameter::kRequired, 1.0},
      {"floor", Kind::Real, 0.0},
  };
  return table;
}
HyperparameterTable StepDecayAttr::getTable() {
  static constexpr Hyperparameter table[] = {
      {"initial"},
      {"factor"},
      {"every", Kind::Count, Hyperparameter::kRequired, 1.0},
  };
  return table;
}

LogicalResult
LinearWarmupCosineAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               DictionaryAttr values) {
  if (failed(verifyHyperparameters(emitError, getTable(), values,
                                   "#opt.linear_warmup_cosine")))
    return failure();
  auto warmup = cast<IntegerAttr>(values.get("warmup"));
  auto total = cast<IntegerAttr>(values.get("total"));
  if (warmup.getInt() > total.getInt())
    return emitError() << "'warmup' of #opt.linear_warmup_cosine must be at "
                          "most 'total' ("
                       << total.getInt() << "), but got " << warmup.getInt();
  return success();
}

Value ConstantAttr::emitSchedule(OpBuilder &builder, Location loc,
                                 Value) const {
  return Formula{builder, loc}.number(getReal("value"), builder.getF64Type());
}

Value LinearWarmupCosineAttr::emitSchedule(OpBuilder &builder, Location loc,
                                           Value step) const {
  Formula f{builder, loc};
  Type f64 = builder.getF64Type();
  double warmup = getCount("warmup"), peak = getReal("peak");
  double floor = getReal("floor");
  // Without a decay, straight to the floor.
  double decay = std::max(getCount("total") - warmup, 1.0);
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
  Value period =
      arith::ConstantIntOp::create(builder, loc, getCount("every"), 64);
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
    auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        builder.getInsertionBlock()->getParentOp(), symbol);
    Value rate =
        func::CallOp::create(builder, loc, function, step).getResult(0);
    return rate.getType() == f64
               ? rate
               : arith::ExtFOp::create(builder, loc, f64, rate).getResult();
  }
  return Formula{builder, loc}.number(cast<FloatAttr>(lr).getValueAsDouble(),
                                      f64);
}
