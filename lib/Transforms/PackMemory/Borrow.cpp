//===- Borrow.cpp - Memory that a called function gets --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The caller of a function keeps memory for its results and its operands during
// the whole call. Inlined, neither would be there for longer than needed.
//===----------------------------------------------------------------------===//

#include "Borrow.h"

#include "Buffers.h"
#include "CastMemory.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// What callers do
//===----------------------------------------------------------------------===//

/// The allocation of which `value` is all; null if it is something else.
static memref::AllocOp findWholeAllocation(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>()) {
    if (!isa<memref::CastOp, memref::CollapseShapeOp, memref::ExpandShapeOp>(
            view.getOperation()))
      return nullptr;
    value = view.getViewSource();
  }
  return value.getDefiningOp<memref::AllocOp>();
}

/// Returns true if `call` is the last use of `alloc` and its views, and only
/// one of its operands is.
static bool diesAt(memref::AllocOp alloc, func::CallOp call) {
  unsigned uses = 0;
  SmallVector<Value> pending{alloc};
  while (!pending.empty()) {
    for (OpOperand &use : pending.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      if (isa<memref::DeallocOp>(user))
        continue;
      if (isViewed(use)) {
        llvm::append_range(pending, user->getResults());
        continue;
      }
      Operation *ancestor = call->getBlock()->findAncestorOpInBlock(*user);
      // A buffer that a terminator or a loop takes has aliases from there on.
      if (!ancestor || user->hasTrait<OpTrait::IsTerminator>() ||
          isa<RegionBranchOpInterface>(user) || call->isBeforeInBlock(ancestor))
        return false;
      uses += ancestor == call;
    }
  }
  return uses == 1;
}

/// Returns true if each of the calls is the last use of its operand `index`,
/// the whole of a buffer of its caller.
static bool diesInEachCall(unsigned index, ArrayRef<func::CallOp> calls) {
  return llvm::all_of(calls, [&](func::CallOp call) {
    memref::AllocOp alloc = findWholeAllocation(call.getOperand(index));
    return alloc && alloc->getBlock() == call->getBlock() &&
           diesAt(alloc, call);
  });
}

/// Returns true if the call is the first to use the memory that it passes as
/// operand `index`.
static bool isFresh(func::CallOp call, unsigned index) {
  auto alloc = call.getOperand(index).getDefiningOp<memref::AllocOp>();
  return alloc && alloc->getBlock() == call->getBlock() &&
         llvm::all_of(alloc->getUsers(), [&](Operation *user) {
           Operation *ancestor = call->getBlock()->findAncestorOpInBlock(*user);
           return ancestor &&
                  (ancestor == call || call->isBeforeInBlock(ancestor));
         });
}

//===----------------------------------------------------------------------===//
// Accesses of the function
//===----------------------------------------------------------------------===//

/// Returns the memory that `value` is a view of, through all views.
static Value findMemory(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  return value;
}

static bool isMemory(Value value) {
  return isa<BaseMemRefType>(value.getType());
}

/// Returns true if `op` reads each element of `operand` before it writes that
/// of `result` at the same position, and accesses neither of them otherwise.
static bool canOverwrite(Operation *op, BlockArgument operand,
                         BlockArgument result) {
  auto linalgOp = dyn_cast_or_null<linalg::LinalgOp>(op);
  if (!linalgOp || operand.getType() != result.getType())
    return false;
  AffineMap map;
  for (OpOperand &init : linalgOp.getDpsInitsMutable())
    if (init.get() == result)
      map = linalgOp.getMatchingIndexingMap(&init);
  if (!map || !map.isPermutation())
    return false;
  for (OpOperand &use : op->getOpOperands()) {
    Value memory = findMemory(use.get());
    bool isKnown =
        isa<BlockArgument>(memory) || memory.getDefiningOp<memref::AllocOp>();
    if (isMemory(memory) && !isKnown)
      return false;
    if ((memory == operand || memory == result) &&
        (use.get() != memory || linalgOp.getMatchingIndexingMap(&use) != map))
      return false;
  }
  // A body may read at any position.
  return !op->walk([&](Operation *inner) {
              bool reads =
                  inner != op && llvm::any_of(inner->getOperands(), isMemory);
              return WalkResult(failure(reads));
            }).wasInterrupted();
}

bool Borrowing::isResult(BlockArgument argument) {
  return static_cast<bool>(function.getArgAttr(
      argument.getArgNumber(), RematDialect::getResultAttrName()));
}

Operation *Borrowing::findOperation(int64_t at) const {
  for (Operation &op : func::FuncOp(function).front())
    if (lifetimes.getPositions(&op).first == at)
      return &op;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

Borrowing::Borrowing(func::FuncOp function, const Lifetimes &lifetimes,
                     const CallOrder &order)
    : function(function), lifetimes(lifetimes),
      calls(order.getCalls(function)) {
  if (!function.isPrivate() || calls.empty())
    return;
  SmallVector<BlockArgument> results;
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    const ArgumentUse &use = lifetimes.getArgumentUses()[index];
    int64_t size = getByteSize(argument.getType(), function);
    if (size <= 0 || use.escapes)
      continue;
    if (isResult(argument))
      results.push_back(argument);
    else if (diesInEachCall(index, calls))
      lenders.push_back({argument,
                         size,
                         cast<MemRefType>(argument.getType()).getElementType(),
                         {Lifetime{0, use.lifetime.last}}});
  }
  for (BlockArgument result : results)
    mergeIntoOperand(result);
  // Small memory first, so that the larger remains for larger buffers.
  llvm::stable_sort(lenders, [](const Lender &a, const Lender &b) {
    return a.size < b.size;
  });
}

/// Makes `result` take over an operand's memory, or lend its own.
void Borrowing::mergeIntoOperand(BlockArgument result) {
  const ArgumentUse &use = lifetimes.getArgumentUses()[result.getArgNumber()];
  // The caller reads it afterwards, whether it was written or not.
  Lifetime kept{std::min(use.lifetime.first, lifetimes.getEnd()),
                lifetimes.getEnd()};
  bool isFreshInAll = llvm::all_of(calls, [&](func::CallOp call) {
    return isFresh(call, result.getArgNumber());
  });
  if (!isFreshInAll)
    return;
  for (Lender &lender : lenders)
    if (canMerge(result, lender)) {
      lender.taken.push_back(kept);
      merged.push_back({result, lender.argument});
      return;
    }
  auto type = cast<MemRefType>(result.getType());
  lenders.push_back(
      {result, getByteSize(type, function), type.getElementType(), {kept}});
}

bool Borrowing::canMerge(BlockArgument result, const Lender &operand) const {
  auto type = cast<MemRefType>(result.getType());
  // Only an operand that the caller gave up, and without other uses by now.
  if (operand.taken.size() != 1 || operand.taken.front().first != 0 ||
      operand.type != type.getElementType() ||
      operand.size != getByteSize(type, function))
    return false;
  int64_t first =
              lifetimes.getArgumentUses()[result.getArgNumber()].lifetime.first,
          last = operand.taken.front().last;
  return last < first ||
         (last == first &&
          canOverwrite(findOperation(first), operand.argument, result));
}

BlockArgument Borrowing::take(Lifetime lifetime, int64_t size, Type type) {
  for (Lender &lender : lenders) {
    if (lender.type != type || lender.size < size ||
        llvm::any_of(
            lender.taken,
            [&](Lifetime taken) {
              return taken.first <= lifetime.last &&
                     lifetime.first <= taken.last;
            }))
      continue;
    lender.taken.push_back(lifetime);
    return lender.argument;
  }
  return nullptr;
}

void Borrowing::mergeArguments() {
  if (merged.empty())
    return;
  llvm::BitVector gone(function.getNumArguments());
  OpBuilder builder(function.getContext());
  for (auto [result, operand] : merged) {
    auto type = cast<MemRefType>(result.getType());
    builder.setInsertionPointToStart(&function.front());
    result.replaceAllUsesWith(
        castMemory(builder, result.getLoc(), operand, type));
    gone.set(result.getArgNumber());
    for (func::CallOp call : calls) {
      auto alloc = call.getOperand(result.getArgNumber())
                       .getDefiningOp<memref::AllocOp>();
      for (Operation *user : llvm::make_early_inc_range(alloc->getUsers()))
        if (isa<memref::DeallocOp>(user))
          user->erase();
      builder.setInsertionPoint(call);
      alloc.replaceAllUsesWith(
          castMemory(builder, call.getLoc(),
                     call.getOperand(operand.getArgNumber()), type));
      alloc.erase();
    }
  }
  (void)function.eraseArguments(gone);
  for (func::CallOp call : calls)
    call->eraseOperands(gone);
}
