//===- DropDead.cpp - Remove the remains of deleted residuals -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A deleted residual saves memory only once its tape, its way out of outer
// regions and the operands that were kept alive for it are gone as well.
//===----------------------------------------------------------------------===//

#include "DropDead.h"

#include "remat/Dialect/Remat/IR/Branches.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/Callees.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::remat;

static bool isDead(Operation *op, Effects &effects) {
  if (auto saved = dyn_cast<SavedOp>(op))
    return saved.getValue().hasOneUse();
  return op->use_empty() && !op->hasTrait<OpTrait::IsTerminator>() &&
         !isa<SymbolOpInterface>(op) && op->getNumResults() != 0 &&
         effects.isPure(op);
}

/// Returns true if carried value `index` of `loop` only serves itself: its last
/// value has no users, and in the body it only flows into its next value.
static bool isDeadCarried(scf::ForOp loop, unsigned index) {
  if (!loop.getResult(index).use_empty())
    return false;
  BlockArgument carried = loop.getRegionIterArg(index);
  OpOperand &yielded = loop.getYieldedValuesMutable()->slice(index, 1)[0];
  auto onlyYields = [&](Value value) {
    return llvm::all_of(value.getUses(),
                        [&](OpOperand &use) { return &use == &yielded; });
  };
  if (carried.use_empty() || onlyYields(carried))
    return true;
  auto write = yielded.get().getDefiningOp<TapeWriteOp>();
  return write && write.getTape() == carried && carried.hasOneUse() &&
         onlyYields(write.getResult());
}

/// Removes dead carried values. The body stays the same block.
static scf::ForOp dropDeadCarried(RewriterBase &rewriter, scf::ForOp loop) {
  llvm::BitVector dead(loop.getNumResults());
  for (unsigned index = 0; index < dead.size(); ++index)
    dead[index] = isDeadCarried(loop, index);
  if (dead.none())
    return loop;
  SmallVector<Value> inits, kept;
  for (auto [index, init] : llvm::enumerate(loop.getInitArgs()))
    if (!dead.test(index)) {
      inits.push_back(init);
      kept.push_back(loop.getResult(index));
    }
  Operation *yield = loop.getBody()->getTerminator();
  for (int index = dead.find_last(); index >= 0;
       index = dead.find_prev(index)) {
    auto write = yield->getOperand(index).getDefiningOp<TapeWriteOp>();
    BlockArgument carried = loop.getRegionIterArg(index);
    yield->eraseOperand(index);
    if (write && write.getTape() == carried)
      write->erase();
    loop.getBody()->eraseArgument(carried.getArgNumber());
  }
  rewriter.setInsertionPoint(loop);
  scf::ForOp slim = takeLoop(rewriter, loop, inits);
  for (auto [from, to] : llvm::zip_equal(kept, slim.getResults()))
    from.replaceAllUsesWith(to);
  loop->erase();
  return slim;
}

static void dropDeadIn(RewriterBase &rewriter, Block &block, Effects &effects) {
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::reverse(block))
    ops.push_back(&op);
  for (Operation *op : ops) {
    if (isDead(op, effects)) {
      op->erase();
      continue;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op))
      op = dropDeadCarried(rewriter, loop);
    if (isa<RegionOp, BackwardOp>(op)) {
      llvm::BitVector unused = getUnusedResults(op);
      if (unused.any())
        op = eraseResults(rewriter, op, unused);
    }
    if (isBranch(op)) {
      llvm::BitVector unused = getUnusedResults(op);
      if (unused.any())
        op = eraseBranchResults(op, unused);
    }
    for (Region &region : op->getRegions())
      for (Block &inner : llvm::reverse(region))
        dropDeadIn(rewriter, inner, effects);
    if (isa<RegionOp, BackwardOp>(op))
      eraseInputs(op, getUnusedInputs(op));
  }
}

/// Removes results that no call reads and arguments that the body does not
/// read.
static bool dropDeadSignature(func::FuncOp function,
                              ArrayRef<func::CallOp> calls) {
  llvm::BitVector results(function.getNumResults(), true);
  for (func::CallOp call : calls)
    for (OpResult result : call.getResults())
      if (!result.use_empty())
        results.reset(result.getResultNumber());
  llvm::BitVector arguments(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty())
      arguments.set(argument.getArgNumber());
  if (results.none() && arguments.none())
    return false;
  if (failed(function.eraseArguments(arguments)))
    return false;
  for (func::CallOp call : calls)
    call->eraseOperands(arguments);
  eraseCalledResults(function, calls, results);
  return true;
}

static bool dropDeadSignatures(ModuleOp module,
                               ArrayRef<func::FuncOp> functions) {
  if (functions.empty())
    return false;
  llvm::StringMap<SmallVector<func::CallOp>> calls;
  for (func::FuncOp function : functions)
    calls[function.getSymName()];
  module.walk([&](func::CallOp call) {
    if (auto it = calls.find(call.getCallee()); it != calls.end())
      it->second.push_back(call);
  });
  bool changed = false;
  for (func::FuncOp function : functions) {
    SmallVector<func::CallOp> &itsCalls = calls[function.getSymName()];
    if (!itsCalls.empty())
      changed |= dropDeadSignature(function, itsCalls);
  }
  return changed;
}

void mlir::remat::dropDead(ModuleOp module, ArrayRef<func::FuncOp> functions,
                           Effects &effects) {
  IRRewriter rewriter(module.getContext());
  do {
    for (Block &block : llvm::reverse(module.getRegion()))
      dropDeadIn(rewriter, block, effects);
  } while (dropDeadSignatures(module, functions));
}
