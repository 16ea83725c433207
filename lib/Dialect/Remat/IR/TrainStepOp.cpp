//===- TrainStepOp.cpp - How a loss is trained ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Plan/Budget.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

static LogicalResult verifyMode(TrainStepOp op) {
  if (op.getEager() && op.getDeferred())
    return op.emitOpError() << "is either eager or deferred, not both";
  if (op.getEager() || op.getDeferred())
    return success();
  if (op.getClipGlobalNorm())
    return op.emitOpError()
           << "clip_global_norm needs the norm of all gradients before the "
              "first update; write {deferred, clip_global_norm = ...}, which "
              "keeps all of them, or {eager, clip_global_norm = ...}, which "
              "computes them twice and keeps about one layer's, or clip each "
              "gradient by itself with 'clip_value' or 'clip_norm' of the "
              "opt.optimizer";
  if (op.getAccumulate() > 1)
    return op.emitOpError()
           << "accumulate needs the gradients of all micro-batches before an "
              "update; write {deferred, accumulate = "
           << op.getAccumulate()
           << "}, which keeps a sum of every gradient, or {eager, accumulate = "
           << op.getAccumulate()
           << "}, which keeps what the layers of every micro-batch pass on";
  return success();
}

static LogicalResult verifyNumbers(TrainStepOp op) {
  auto check = [&](StringRef name, int64_t value,
                   int64_t low) -> LogicalResult {
    if (value >= low)
      return success();
    return op.emitOpError() << "'" << name << "' must be at least " << low
                            << ", but got " << value;
  };
  for (auto [name, value] :
       {std::pair("clip_global_norm", op.getClipGlobalNorm()),
        std::pair("clip_eps", std::optional<APFloat>(op.getClipEps()))})
    if (value && !(value->convertToDouble() >= 0))
      return op.emitOpError() << "'" << name << "' must be at least 0, but got "
                              << value->convertToDouble();
  return failure(
      failed(check("accumulate", op.getAccumulate(), 1)) ||
      failed(check("steps", op.getSteps(), 0)) ||
      failed(check("log_every", op.getLogEvery(), 0)) ||
      failed(check("checkpoint_every", op.getCheckpointEvery(), 1)) ||
      failed(check("eval_every", op.getEvalEvery(), 0)));
}

static LogicalResult verifyBudget(TrainStepOp op) {
  std::string error;
  if (op.getBudget() &&
      !::remat::plan::parseBudget(op.getBudget()->str(), error))
    return op.emitOpError() << error;
  if (std::optional<StringRef> of = op.getBudgetOf()) {
    if (*of != "step" && *of != "arena")
      return op.emitOpError() << "has an unknown budget_of \"" << *of
                              << "\"; choose \"step\" or \"arena\"";
    if (!op.getBudget())
      return op.emitOpError() << "says what its budget bounds, but has none; "
                                 "write budget = \"500MiB\"";
  }
  if (!op.getSlowdown())
    return success();
  if (op.getBudget())
    return op.emitOpError() << "has a budget and a slowdown, each of which "
                               "decides about the other; give one of them";
  double slowdown = op.getSlowdown()->convertToDouble();
  if (!(slowdown >= 0 && slowdown <= 100))
    return op.emitOpError()
           << "'slowdown' must be from 0 to 100, but got " << slowdown;
  return success();
}

bool mlir::remat::hasBudget(ModuleOp module) {
  return llvm::any_of(module.getOps<TrainStepOp>(), [](TrainStepOp step) {
    return step.getBudget() || step.getSlowdown();
  });
}

LogicalResult TrainStepOp::verify() {
  // A misspelt option would otherwise be a silent discardable attribute.
  for (NamedAttribute attribute : (*this)->getDiscardableAttrs())
    if (!attribute.getName().getValue().contains('.'))
      return emitOpError()
             << "has no option '" << attribute.getName().getValue()
             << "'; options are eager, deferred, budget, budget_of, slowdown, "
                "clip_global_norm, clip_eps, grad_norm, accumulate, steps, "
                "seed, log_every, shuffle, data, init, "
                "checkpoint, "
                "checkpoint_every, eval_every, eval_data";
  for (const std::string &other : {getLoss().str(), getJointName()})
    if (getStep() == other)
      return emitOpError() << "must ask for a function other than @" << other
                           << ", from which it is made; choose another name";
  return failure(failed(verifyMode(*this)) || failed(verifyBudget(*this)) ||
                 failed(verifyNumbers(*this)));
}

bool TrainStepOp::hasStepFunction() {
  return SymbolTable::lookupNearestSymbolFrom(*this, getStepAttr());
}

/// Verifies that the function, which exists, may be what the operation asks
/// for.
static LogicalResult verifyStepFunction(TrainStepOp op, Operation *symbol) {
  auto function = dyn_cast<FunctionOpInterface>(symbol);
  bool hasStep =
      function &&
      llvm::any_of(llvm::seq(function.getNumArguments()), [&](unsigned i) {
        return static_cast<bool>(
            function.getArgAttr(i, RematDialect::getStepAttrName()));
      });
  if (hasStep)
    return success();
  InFlightDiagnostic diagnostic =
      op.emitOpError() << "asks for a function " << op.getStepAttr()
                       << ", but the module has one already that is no step "
                          "(no argument has 'remat.step'); choose another name";
  diagnostic.attachNote(symbol->getLoc()) << "it is defined here";
  return diagnostic;
}

LogicalResult
TrainStepOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto isFunction = [&](StringAttr name) {
    return symbolTable.lookupNearestSymbolFrom<FunctionOpInterface>(*this,
                                                                    name);
  };
  Operation *step = symbolTable.lookupNearestSymbolFrom(*this, getStepAttr());
  if (step && failed(verifyStepFunction(*this, step)))
    return failure();
  if (!step && !isFunction(getLossAttr().getAttr()) &&
      !isFunction(StringAttr::get(getContext(), getJointName())))
    return emitOpError() << "trains " << getLossAttr()
                         << ", but there is no such function";
  if (getEvalAttr() && !isFunction(getEvalAttr().getAttr()))
    return emitOpError() << "evaluates by " << getEvalAttr()
                         << ", but there is no such function";
  if (!step && !symbolTable.lookupNearestSymbolFrom<opt::OptimizerOp>(
                   *this, getOptimizerAttr()))
    return emitOpError() << "names " << getOptimizerAttr()
                         << ", but there is no such opt.optimizer";
  return success();
}
