//===- Activity.cpp - Which values carry a derivative ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forward: what depends on a wanted argument. Backward: what the loss depends
// on. Loops are iterated until nothing changes.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/Activity.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Branches.h"
#include "remat/Dialect/Remat/IR/CustomVJP.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::remat;

bool mlir::remat::carriesDerivative(Type type) {
  return !isa<IntegerType, IndexType, NoneType, RngType>(
      getElementTypeOrSelf(type));
}

DenseSet<Value> mlir::remat::findDependents(Block &body,
                                            ArrayRef<Value> sources) {
  DenseSet<Value> found(sources.begin(), sources.end());
  // Values in branches first, then what the branches yield.
  body.walk([&](Operation *op) {
    if (llvm::any_of(getInputs(op), [&](Value v) { return found.contains(v); }))
      found.insert_range(op->getResults());
  });
  return found;
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Returns true if `input` only gives a result its shape: an `outs` that the
/// body does not read.
static bool isShapeOnly(Operation *op, unsigned operand) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || operand >= op->getNumOperands())
    return false;
  OpOperand &use = op->getOpOperand(operand);
  return linalgOp.isDpsInit(&use) &&
         !linalgOp.payloadUsesValueFromOperand(&use);
}

/// Returns true if a value that `op` reads may come back through memory rather
/// than as a result. Input and output (prints) is no such effect.
static bool mayStoreInMemory(Operation *op) {
  if (auto effects = dyn_cast<MemoryEffectOpInterface>(op)) {
    SmallVector<MemoryEffects::EffectInstance> instances;
    effects.getEffects(instances);
    return llvm::any_of(instances, [&](const auto &instance) {
      return isa<MemoryEffects::Write>(instance.getEffect()) &&
             (instance.getValue() || instance.getSymbolRef() ||
              op->getNumResults() == 0) &&
             op->getName().getStringRef() != "gpu.printf";
    });
  }
  return !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() &&
         llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

LogicalResult Activity::propagateForward(Block &block) {
  for (Operation &op : block)
    if (failed(visitForward(&op)))
      return failure();
  return success();
}

LogicalResult Activity::visitForward(Operation *op) {
  if (isa<StopGradientOp>(op))
    return success();
  if (auto region = dyn_cast<RegionOp>(op)) {
    Block *body = region.getBodyBlock();
    for (auto [operand, argument] :
         llvm::zip_equal(op->getOperands(), body->getArguments()))
      if (isVaried(operand))
        markVaried(argument);
    if (failed(propagateForward(*body)))
      return failure();
    for (auto [yielded, result] : llvm::zip_equal(
             body->getTerminator()->getOperands(), op->getResults()))
      if (isVaried(yielded))
        markVaried(result);
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [init, argument] :
         llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs()))
      if (isVaried(init))
        markVaried(argument);
    for (bool changed = true; changed;) {
      changed = false;
      if (failed(propagateForward(*loop.getBody())))
        return failure();
      for (auto [yielded, argument] :
           llvm::zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs()))
        if (isVaried(yielded) && !isVaried(argument)) {
          markVaried(argument);
          changed = true;
        }
    }
    for (auto [argument, result] :
         llvm::zip_equal(loop.getRegionIterArgs(), loop.getResults()))
      if (isVaried(argument))
        markVaried(result);
    return success();
  }
  if (isBranch(op)) {
    for (Region &region : op->getRegions()) {
      if (region.empty())
        continue;
      if (failed(propagateForward(region.front())))
        return failure();
      for (auto [yielded, result] : llvm::zip_equal(
               region.front().getTerminator()->getOperands(), op->getResults()))
        if (isVaried(yielded))
          markVaried(result);
    }
    return success();
  }
  if (auto call = dyn_cast<func::CallOp>(op)) {
    BitVector arguments(op->getNumOperands());
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      arguments[index] = isVaried(operand);
    if (arguments.none())
      return success();
    if (!mayStoreInMemory(op)) {
      BitVector dependent = calls.getVariedResults(call, arguments);
      for (unsigned index : dependent.set_bits())
        markVaried(op->getResult(index));
      return success();
    }
  }

  bool anyVaried = false;
  for (auto [index, input] : llvm::enumerate(getInputs(op)))
    anyVaried |= isVaried(input) && !isShapeOnly(op, index);
  if (!anyVaried)
    return success();
  if (mayStoreInMemory(op))
    return op->emitOpError()
           << "may store a value that depends on a parameter in memory, where "
              "its derivative is lost; return the value instead, or store it "
              "outside the differentiated function";
  for (Value result : op->getResults())
    markVaried(result);
  return success();
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

void Activity::propagateBackward(Block &block) {
  for (Operation &op : llvm::reverse(block))
    visitBackward(&op);
}

void Activity::visitBackward(Operation *op) {
  if (isa<StopGradientOp>(op) ||
      llvm::none_of(op->getResults(), [&](Value v) { return isUseful(v); }))
    return;
  if (auto region = dyn_cast<RegionOp>(op)) {
    Block *body = region.getBodyBlock();
    for (auto [yielded, result] : llvm::zip_equal(
             body->getTerminator()->getOperands(), op->getResults()))
      if (isUseful(result))
        markUseful(yielded);
    propagateBackward(*body);
    for (auto [operand, argument] :
         llvm::zip_equal(op->getOperands(), body->getArguments()))
      if (isUseful(argument))
        markUseful(operand);
    return;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [yielded, result] :
         llvm::zip_equal(loop.getYieldedValues(), loop.getResults()))
      if (isUseful(result))
        markUseful(yielded);
    for (bool changed = true; changed;) {
      changed = false;
      propagateBackward(*loop.getBody());
      for (auto [yielded, argument] :
           llvm::zip_equal(loop.getYieldedValues(), loop.getRegionIterArgs()))
        if (isUseful(argument) && !isUseful(yielded) &&
            carriesDerivative(yielded.getType())) {
          markUseful(yielded);
          changed = true;
        }
    }
    for (auto [init, argument, result] : llvm::zip_equal(
             loop.getInitArgs(), loop.getRegionIterArgs(), loop.getResults()))
      if (isUseful(argument) || isUseful(result))
        markUseful(init);
    return;
  }
  if (isBranch(op)) {
    for (Region &region : op->getRegions()) {
      for (auto [yielded, result] : llvm::zip_equal(
               region.front().getTerminator()->getOperands(), op->getResults()))
        if (isUseful(result))
          markUseful(yielded);
      propagateBackward(region.front());
    }
    return;
  }
  if (auto call = dyn_cast<func::CallOp>(op)) {
    BitVector results(op->getNumResults());
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      results[index] = isUseful(result);
    BitVector needed = calls.getUsefulArguments(call, results);
    for (unsigned index : needed.set_bits())
      markUseful(op->getOperand(index));
    return;
  }
  for (auto [index, input] : llvm::enumerate(getInputs(op)))
    if (!isShapeOnly(op, index))
      markUseful(input);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static std::vector<bool> toKey(const BitVector &bits) {
  std::vector<bool> key(bits.size());
  for (unsigned index : bits.set_bits())
    key[index] = true;
  return key;
}

/// Null where nothing can be said about the callee: everything may depend on
/// everything. The driver refuses such a call if it turns out to be active,
/// unless the callee has a rule of its own.
func::FuncOp CallSummaries::resolve(func::CallOp call) {
  auto callee =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  if (!callee || findCustomRule(call) || callee.isExternal() ||
      !llvm::hasSingleElement(callee.getBody()) ||
      !isa<func::ReturnOp>(callee.front().getTerminator()) ||
      llvm::is_contained(running, callee.getOperation()))
    return nullptr;
  return callee;
}

BitVector CallSummaries::getVariedResults(func::CallOp call,
                                          const BitVector &arguments) {
  BitVector all(call->getNumResults(), true);
  func::FuncOp callee = resolve(call);
  if (!callee)
    return all;
  Key key(callee, toKey(arguments));
  if (auto it = varied.find(key); it != varied.end())
    return it->second;

  running.push_back(callee);
  Activity activity(*this);
  for (unsigned index : arguments.set_bits())
    activity.markVaried(callee.getArgument(index));
  Block &body = callee.getBody().front();
  {
    // The same diagnostic comes, if it matters, when the callee is
    // differentiated.
    ScopedDiagnosticHandler quiet(call.getContext(),
                                  [](Diagnostic &) { return success(); });
    if (failed(activity.propagateForward(body))) {
      running.pop_back();
      return varied[key] = all;
    }
  }
  running.pop_back();
  BitVector results(call->getNumResults());
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    results[index] = activity.isVaried(value);
  return varied[key] = results;
}

BitVector CallSummaries::getUsefulArguments(func::CallOp call,
                                            const BitVector &results) {
  func::FuncOp callee = resolve(call);
  if (!callee)
    return BitVector(call->getNumOperands(), true);
  Key key(callee, toKey(results));
  if (auto it = useful.find(key); it != useful.end())
    return it->second;

  running.push_back(callee);
  Activity activity(*this);
  Block &body = callee.getBody().front();
  for (unsigned index : results.set_bits())
    activity.markUseful(body.getTerminator()->getOperand(index));
  activity.propagateBackward(body);
  running.pop_back();
  BitVector arguments(call->getNumOperands());
  for (BlockArgument argument : body.getArguments())
    arguments[argument.getArgNumber()] = activity.isUseful(argument);
  return useful[key] = arguments;
}
