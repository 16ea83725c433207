//===- ForwardResults.cpp - Results that are arguments --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ForwardResults.h"

#include "remat/Transforms/Utils/Callees.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::remat;

/// The argument of which `value` is all; the views that lead there, last one
/// first.
static BlockArgument findArgument(Value value,
                                  SmallVectorImpl<Operation *> &views) {
  while (Operation *op = value.getDefiningOp()) {
    // The sizes of others are operands.
    if (!isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp, tensor::CastOp>(
            op) ||
        op->getNumOperands() != 1)
      return nullptr;
    views.push_back(op);
    value = op->getOperand(0);
  }
  return isa<TensorType>(value.getType()) ? cast<BlockArgument>(value)
                                          : BlockArgument();
}

/// The results of `function` that callers need not take from it any more.
static BitVector forward(func::FuncOp function, ArrayRef<func::CallOp> calls) {
  BitVector gone(function.getNumResults());
  Operation *terminator = function.front().getTerminator();
  for (OpOperand &returned : terminator->getOpOperands()) {
    SmallVector<Operation *> views;
    BlockArgument argument = findArgument(returned.get(), views);
    if (!argument || argument.getOwner() != &function.front())
      continue;
    for (func::CallOp call : calls) {
      OpBuilder builder(call->getContext());
      builder.setInsertionPointAfter(call);
      Value value = call.getOperand(argument.getArgNumber());
      if (call.getResult(returned.getOperandNumber()).use_empty())
        continue;
      for (Operation *view : llvm::reverse(views)) {
        IRMapping mapping;
        mapping.map(view->getOperand(0), value);
        value = builder.clone(*view, mapping)->getResult(0);
      }
      call.getResult(returned.getOperandNumber()).replaceAllUsesWith(value);
    }
    gone.set(returned.getOperandNumber());
  }
  return gone;
}

void mlir::remat::forwardResults(ModuleOp module) {
  // A function may return a result of another one, which is replaced by an
  // operand of the call: that may be an argument of its own.
  for (bool changed = true; changed;) {
    changed = false;
    for (auto &[function, calls, isOnlyCalled] :
         collectCalledFunctions(module)) {
      BitVector gone = forward(function, calls);
      if (gone.none() || !isOnlyCalled)
        continue;
      eraseCalledResults(function, calls, gone);
      changed = true;
    }
  }
}
