//===- CallAdjoints.cpp - Derivatives of called functions -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The callee becomes a pair: a forward that returns residuals too, and a
// backward that takes them. Calls with the same activity share it. Sums that
// the caller has go on in the backward, as in that of a region, so that
// contributions are added in the same order.
//===----------------------------------------------------------------------===//

#include "CallAdjoints.h"

#include "Adjoint.h"
#include "WhileToFor.h"
#include "remat/Analysis/BackwardBorder.h"
#include "remat/Transforms/Decompose/Structured.h"
#include "remat/Transforms/Utils/Callees.h"

using namespace mlir;
using namespace mlir::remat;

FailureOr<CalleeAdjoint> CallAdjoints::build(func::FuncOp callee,
                                             const BitVector &wanted,
                                             const BitVector &seeded,
                                             const SumsSoFar &sums) {
  Location loc = callee.getLoc();
  SymbolTable &table =
      symbols.getSymbolTable(callee->getParentOfType<ModuleOp>());
  std::string suffix;
  for (unsigned number = 1;
       table.lookup((callee.getName() + "_fwd" + suffix).str()) ||
       table.lookup((callee.getName() + "_bwd" + suffix).str());
       ++number)
    suffix = "_" + std::to_string(number);
  CalleeAdjoint adjoint;
  adjoint.forward = callee.clone();
  adjoint.forward.setName((callee.getName() + "_fwd" + suffix).str());
  adjoint.forward.setPrivate();
  table.insert(adjoint.forward, std::next(callee->getIterator()));
  adjoint.backward =
      func::FuncOp::create(loc, (callee.getName() + "_bwd" + suffix).str(),
                           FunctionType::get(callee.getContext(), {}, {}));
  adjoint.backward.setPrivate();
  adjoint.backward->setAttr(kWholeBackwardAttrName,
                            UnitAttr::get(callee.getContext()));
  table.insert(adjoint.backward, std::next(adjoint.forward->getIterator()));
  replaceByStructured(adjoint.forward);

  Block &forward = adjoint.forward.getBody().front();
  auto forwardReturn = cast<func::ReturnOp>(forward.getTerminator());
  SmallVector<Value> inputs;
  for (unsigned index : wanted.set_bits())
    inputs.push_back(forward.getArgument(index));
  FailureOr<Activity> analyzed = analyzeActivity(
      forward, inputs, llvm::to_vector_of<unsigned>(seeded.set_bits()),
      summaries);
  if (failed(analyzed))
    return failure();
  Activity &activity = *analyzed;

  Block *backward = adjoint.backward.addEntryBlock();
  CotangentKeys keys(forward, activity);
  AdjointScope scope(*backward, keys);
  Adjoint reverse(activity, *this);
  SmallVector<Value> sumsSoFar;
  for (const auto &[index, sum] : sums) {
    Value argument = forward.getArgument(index);
    adjoint.summed.push_back(index);
    sumsSoFar.push_back(backward->addArgument(argument.getType(), loc));
    scope.cotangents[keys.get(argument)] = {sumsSoFar.back(), sum.slices};
  }
  unsigned numSeeds = 0;
  for (unsigned index : seeded.set_bits()) {
    Value result = forwardReturn.getOperand(index);
    if (!activity.isActive(result))
      continue;
    adjoint.seeded.push_back(index);
    Value cotangent =
        backward->insertArgument(numSeeds++, result.getType(), loc);
    if (failed(reverse.accumulate(scope, loc, result, cotangent)))
      return failure();
  }
  if (failed(reverse.reverseBlock(forward, scope)))
    return failure();
  SmallVector<Value> cotangents;
  for (unsigned index : wanted.set_bits()) {
    Sum sum = scope.cotangents.lookup(keys.get(forward.getArgument(index)));
    if (!sum.value || llvm::is_contained(sumsSoFar, sum.value))
      continue;
    adjoint.returned.push_back(index);
    adjoint.slices.push_back(sum.slices);
    cotangents.push_back(sum.value);
  }
  func::ReturnOp::create(scope.builder, loc, cotangents);
  eraseDead(*backward);

  if (failed(passResiduals(adjoint)))
    return failure();
  for (Operation &op : *backward)
    markBackward(&op);
  OpBuilder builder = OpBuilder::atBlockBegin(backward);
  BeginBackwardOp::create(builder, loc);
  return adjoint;
}

FailureOr<CalleeAdjoint> CallAdjoints::get(func::CallOp call,
                                           const BitVector &wanted,
                                           const BitVector &seeded,
                                           const SumsSoFar &sums) {
  auto callee =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  if (!callee || callee.isExternal())
    return call.emitOpError()
           << "calls @" << call.getCallee()
           << ", which has no body to differentiate; give it one, or put an "
              "operation that implements DifferentiableOpInterface "
              "(docs/add-a-rule.md) in place of the call";
  if (!llvm::hasSingleElement(callee.getBody()))
    return call.emitOpError()
           << "calls @" << call.getCallee()
           << ", which has several blocks; run -lift-cf-to-scf first";
  if (!isa<func::ReturnOp>(callee.front().getTerminator()))
    return call.emitOpError() << "calls @" << call.getCallee()
                              << ", which does not end in a func.return";
  if (llvm::is_contained(running, callee.getOperation()))
    return call.emitOpError()
           << "is recursive, and recursion is not differentiated; write @"
           << call.getCallee() << " as an scf.for";

  std::vector<int64_t> question;
  for (unsigned index : llvm::seq(wanted.size()))
    question.push_back(wanted[index]);
  for (unsigned index : llvm::seq(seeded.size()))
    question.push_back(seeded[index]);
  for (const auto &[index, sum] : sums) {
    question.push_back(index);
    question.push_back(sum.slices ? sum.slices->size() : -1);
    for (const TensorPart &slice :
         sum.slices.value_or(SmallVector<TensorPart>())) {
      llvm::append_range(question, slice.offsets);
      llvm::append_range(question, slice.sizes);
    }
  }
  std::pair<Operation *, std::vector<int64_t>> key(callee, question);
  if (auto it = known.find(key); it != known.end())
    return it->second;

  running.push_back(callee);
  FailureOr<CalleeAdjoint> adjoint = build(callee, wanted, seeded, sums);
  running.pop_back();
  if (failed(adjoint)) {
    // Not at the operation: it would be printed, and its function is
    // unfinished.
    emitRemark(call.getLoc())
        << "while differentiating the function that is called here";
    return failure();
  }
  known.emplace(key, *adjoint);
  return adjoint;
}

LogicalResult Adjoint::reverseCall(func::CallOp call, AdjointScope &outer) {
  Location loc = call.getLoc();
  BitVector wanted(call.getNumOperands()), seeded(call.getNumResults());
  for (auto [index, operand] : llvm::enumerate(call.getOperands()))
    wanted[index] = activity.isActive(operand);
  for (auto [index, result] : llvm::enumerate(call.getResults()))
    seeded[index] = static_cast<bool>(outer.getCotangent(result));
  // Two operands that are one value have one cotangent, of which the callee
  // would have to know.
  CallAdjoints::SumsSoFar sums;
  llvm::SmallDenseMap<Value, unsigned> count;
  for (Value operand : call.getOperands())
    ++count[outer.keys.get(operand)];
  for (unsigned index : wanted.set_bits()) {
    Value key = outer.keys.get(call.getOperand(index));
    if (Sum sum = outer.cotangents.lookup(key); sum.value && count[key] == 1)
      sums.push_back({index, std::move(sum)});
  }
  FailureOr<CalleeAdjoint> adjoint = calls.get(call, wanted, seeded, sums);
  if (failed(adjoint))
    return failure();

  SmallVector<Value> arguments(call.getOperands());
  SmallVector<Value> cotangents;
  for (unsigned index : adjoint->seeded)
    cotangents.push_back(outer.getCotangent(call.getResult(index)));

  func::CallOp saving = createCallLike(call, adjoint->forward, arguments);
  call->replaceAllUsesWith(
      saving.getResults().take_front(call.getNumResults()));
  call->erase();

  SmallVector<Value> operands;
  for (unsigned read : adjoint->reads)
    operands.push_back(read < arguments.size()
                           ? arguments[read]
                           : saving.getResult(read - arguments.size()));
  operands.append(cotangents);
  for (const auto &[index, sum] : sums)
    operands.push_back(sum.value);
  if (adjoint->returned.empty())
    return success();
  auto backward =
      func::CallOp::create(outer.builder, loc, adjoint->backward, operands);
  for (auto [index, slices, cotangent] : llvm::zip_equal(
           adjoint->returned, adjoint->slices, backward.getResults())) {
    Value argument = arguments[index];
    if (llvm::is_contained(adjoint->summed, index) ||
        !outer.getCotangent(argument))
      outer.setCotangent(argument, Sum{cotangent, slices});
    else if (failed(accumulate(outer, loc, argument, cotangent)))
      return failure();
  }
  return success();
}
