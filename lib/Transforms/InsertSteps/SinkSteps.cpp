//===- SinkSteps.cpp - Updates in the backward of a layer -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function that returns gradients returns all of them at once. Where it
// updates what they are gradients of, each is gone before the next one exists.
//===----------------------------------------------------------------------===//

#include "StepPoint.h"

#include "remat/Analysis/OldValueReads.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/InsertSteps/Passes.h"
#include "remat/Transforms/Utils/Callees.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SINKSTEPS
#include "remat/Transforms/InsertSteps/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using opt::EagerStepOp;

namespace {
/// A gradient that a function returns, and the updates by it after the calls.
struct Sinkable {
  unsigned result;
  /// Which argument is the parameter, if the function reads it.
  std::optional<unsigned> argument;
  /// One for each call.
  SmallVector<EagerStepOp> steps;
};

struct Callee : CalledFunction {
  SmallVector<Sinkable> sinkable;
};
} // namespace

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Returns the step that `gradient` is for, if it is right after the call, so
/// that nothing reads the old value later.
static EagerStepOp getStepAfter(OpResult gradient) {
  if (!gradient.hasOneUse())
    return nullptr;
  auto step = dyn_cast<EagerStepOp>(*gradient.getUsers().begin());
  Operation *call = gradient.getOwner();
  if (!step || step.getGrad() != gradient ||
      step->getBlock() != call->getBlock())
    return nullptr;
  for (Operation *op = step; op != call; op = op->getPrevNode())
    if (!isa<EagerStepOp>(op))
      return nullptr;
  return step;
}

/// Returns true if `value` is there before `call`.
static bool isBefore(Value value, func::CallOp call) {
  Operation *op = value.getDefiningOp();
  return !op ||
         (op->getBlock() == call->getBlock() && op->isBeforeInBlock(call));
}

static opt::UpdateRuleAttrInterface getRule(EagerStepOp step) {
  return SymbolTable::lookupNearestSymbolFrom<opt::OptimizerOp>(
             step, step.getOptimizerAttr())
      .getRuleFor(step.getParameter());
}

/// Returns true if one operation in the callee can take the place of both.
static bool areAlike(EagerStepOp a, EagerStepOp b) {
  return a.getOptimizerAttr() == b.getOptimizerAttr() &&
         getRule(a) == getRule(b) &&
         a->getOperandTypes() == b->getOperandTypes() &&
         static_cast<bool>(a.getScale()) == static_cast<bool>(b.getScale()) &&
         static_cast<bool>(a.getKey()) == static_cast<bool>(b.getKey());
}

static std::optional<Sinkable> findSinkable(const Callee &callee,
                                            unsigned result) {
  Sinkable sinkable{result, std::nullopt, {}};
  for (func::CallOp call : callee.calls) {
    EagerStepOp step = getStepAfter(call->getResult(result));
    if (!step)
      return std::nullopt;
    Value param = step.getParam();
    SmallVector<Value> others(step.getStates());
    others.append({param, step.getStep()});
    for (Value scalar : {Value(step.getScale()), Value(step.getKey())})
      if (scalar)
        others.push_back(scalar);
    if (!llvm::all_of(others,
                      [&](Value value) { return isBefore(value, call); }))
      return std::nullopt;
    // The function does not know which of its arguments are the same tensor.
    llvm::SetVector<Value> aliases = collectAliases(param);
    std::optional<unsigned> argument;
    for (OpOperand &operand : call->getOpOperands()) {
      if (!aliases.contains(operand.get()))
        continue;
      if (operand.get() != param || argument)
        return std::nullopt;
      argument = operand.getOperandNumber();
    }
    if (sinkable.steps.empty())
      sinkable.argument = argument;
    else if (argument != sinkable.argument ||
             !areAlike(step, sinkable.steps.front()))
      return std::nullopt;
    sinkable.steps.push_back(step);
  }
  return sinkable;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

namespace {
/// Moves the updates of one function into it.
class StepSinker {
public:
  explicit StepSinker(Callee &callee)
      : callee(callee), function(callee.function), body(function.front()),
        added(callee.calls.size()) {
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      arguments.emplace_back(
          mlir::function_interface_impl::getArgAttrs(function, index));
    for (unsigned index = 0; index < function.getNumResults(); ++index)
      results.emplace_back(
          mlir::function_interface_impl::getResultAttrs(function, index));
    returned.append(body.getTerminator()->operand_begin(),
                    body.getTerminator()->operand_end());
  }

  void run() {
    for (const Sinkable &sinkable : callee.sinkable)
      sink(sinkable);
    body.getTerminator()->setOperands(returned);
    Builder builder(function.getContext());
    function.setType(builder.getFunctionType(
        body.getArgumentTypes(),
        llvm::to_vector(TypeRange(ValueRange(returned)))));
    auto getDictionary = [&](const NamedAttrList &attributes) {
      return attributes.getDictionary(builder.getContext());
    };
    function.setAllArgAttrs(llvm::map_to_vector(arguments, getDictionary));
    function.setAllResultAttrs(llvm::map_to_vector(results, getDictionary));
    for (auto [index, call] : llvm::enumerate(callee.calls))
      rewriteCall(index, call);
  }

private:
  /// The argument that is `values` in the calls. Scalars are the same for many
  /// parameters.
  unsigned addArgument(ArrayRef<Value> values) {
    unsigned first = body.getNumArguments() - added.front().size();
    for (unsigned index = 0; index < added.front().size(); ++index)
      if (llvm::all_of_zip(added, values,
                           [&](ArrayRef<Value> operands, Value value) {
                             return operands[index] == value;
                           }))
        return first + index;
    for (auto [operands, value] : llvm::zip_equal(added, values))
      operands.push_back(value);
    arguments.emplace_back();
    return body.addArgument(values.front().getType(), values.front().getLoc())
        .getArgNumber();
  }
  unsigned addArgument(const Sinkable &sinkable,
                       function_ref<Value(EagerStepOp)> get) {
    return addArgument(llvm::map_to_vector(sinkable.steps, get));
  }

  void sink(const Sinkable &sinkable) {
    MLIRContext *context = function.getContext();
    Builder attributes(context);
    EagerStepOp model = sinkable.steps.front();
    unsigned param = sinkable.argument
                         ? *sinkable.argument
                         : addArgument(sinkable, [](EagerStepOp op) {
                             return op.getParam();
                           });
    arguments[param].set(opt::OptDialect::getParamAttrName(),
                         attributes.getUnitAttr());
    SmallVector<unsigned> stateArguments;
    for (unsigned index = 0; index < model.getStates().size(); ++index) {
      unsigned state = addArgument(
          sinkable, [&](EagerStepOp op) { return op.getStates()[index]; });
      arguments[state].set(opt::OptDialect::getStateOfAttrName(),
                           attributes.getI64IntegerAttr(param));
      arguments[state].set(opt::OptDialect::getStateAttrName(),
                           attributes.getStringAttr(std::to_string(index)));
      stateArguments.push_back(state);
    }
    unsigned step =
        addArgument(sinkable, [](EagerStepOp op) { return op.getStep(); });
    Value scale, key;
    if (model.getScale())
      scale = body.getArgument(
          addArgument(sinkable, [](EagerStepOp op) { return op.getScale(); }));
    if (model.getKey())
      key = body.getArgument(
          addArgument(sinkable, [](EagerStepOp op) { return op.getKey(); }));

    PhaseListener phase(kUpdatePhase);
    OpBuilder builder(context, &phase);
    setInsertionPointToStep(builder, body, body.getArgument(param),
                            returned[sinkable.result]);
    SmallVector<Value> states;
    for (unsigned state : stateArguments)
      states.push_back(body.getArgument(state));
    auto sunk = EagerStepOp::create(
        builder, model.getLoc(), model.getOptimizerAttr(),
        body.getArgument(param), returned[sinkable.result], states,
        body.getArgument(step), scale, key, model.getParameterAttr());
    auto setUpdates = [&](unsigned result, unsigned argument) {
      results[result].set(RematDialect::getUpdatesAttrName(),
                          attributes.getI64IntegerAttr(argument));
    };
    returned[sinkable.result] = sunk.getNewParam();
    setUpdates(sinkable.result, param);
    for (auto [state, argument] :
         llvm::zip_equal(sunk.getNewStates(), stateArguments)) {
      results.emplace_back();
      setUpdates(returned.size(), argument);
      returned.push_back(state);
    }
  }

  void rewriteCall(unsigned index, func::CallOp call) {
    SmallVector<Value> operands(call.getOperands());
    llvm::append_range(operands, added[index]);
    func::CallOp rewritten = createCallLike(call, function, operands);
    unsigned next = call.getNumResults();
    for (const Sinkable &sinkable : callee.sinkable) {
      EagerStepOp step = sinkable.steps[index];
      step.getNewParam().replaceAllUsesWith(
          rewritten.getResult(sinkable.result));
      for (Value state : step.getNewStates())
        state.replaceAllUsesWith(rewritten.getResult(next++));
      step.erase();
    }
    call->replaceAllUsesWith(
        rewritten->getResults().take_front(call.getNumResults()));
    call.erase();
  }

  Callee &callee;
  func::FuncOp function;
  Block &body;
  /// The operands that each call gets besides.
  SmallVector<SmallVector<Value>> added;
  SmallVector<NamedAttrList> arguments, results;
  SmallVector<Value> returned;
};

struct SinkStepsPass : public remat::impl::SinkStepsBase<SinkStepsPass> {
  void runOnOperation() override {
    SmallVector<Callee> callees;
    for (CalledFunction &called : collectCalledFunctions(getOperation())) {
      if (!called.isOnlyCalled)
        continue;
      Callee &callee = callees.emplace_back(Callee{called, {}});
      for (unsigned result : llvm::seq(called.function.getNumResults()))
        if (std::optional<Sinkable> sinkable = findSinkable(callee, result))
          callee.sinkable.push_back(*sinkable);
    }
    for (Callee &callee : callees)
      if (!callee.sinkable.empty())
        StepSinker(callee).run();
  }
};
} // namespace
