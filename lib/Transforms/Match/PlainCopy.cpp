//===- PlainCopy.cpp - A function without names and regions ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Transplant.h"

#include "remat/Analysis/EqualValues.h"
#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Borders.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Which values are the same
//===----------------------------------------------------------------------===//

void PlainCopy::Tracker::notifyOperationReplaced(Operation *op,
                                                 ValueRange values) {
  for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) {
    auto known = originals.find(result);
    if (known == originals.end() || !value || value == result)
      continue;
    SmallVector<Value, 1> moved = std::move(known->second);
    originals.erase(known);
    llvm::append_range(originals[value], moved);
  }
}

void PlainCopy::Tracker::notifyOperationErased(Operation *op) {
  for (Value result : op->getResults())
    originals.erase(result);
}

void PlainCopy::Tracker::notifyBlockErased(Block *block) {
  for (Value argument : block->getArguments())
    originals.erase(argument);
}

PlainCopy::PlainCopy(Operation *function) : function(function) {
  IRMapping mapping;
  copy = function->clone(mapping);
  auto add = [&](ValueRange values) {
    for (Value value : values) {
      positions.try_emplace(value, positions.size());
      tracker.originals[mapping.lookup(value)] = {value};
    }
  };
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa<NameOp, RegionOp>(op))
      add(op->getResults());
    // Scalars in kernels do not matter.
    if (isa<linalg::LinalgOp>(op))
      return WalkResult::skip();
    if (!isa<RegionOp>(op))
      for (Region &region : op->getRegions())
        for (Block &block : region)
          add(block.getArguments());
    return WalkResult::advance();
  });
  SmallVector<Operation *> borders;
  copy->walk([&](Operation *op) {
    if (isa<NameOp, RegionOp>(op))
      borders.push_back(op);
  });
  for (Operation *op : borders) {
    if (isa<RegionOp>(op)) {
      inlineBody(op);
      continue;
    }
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
  }
}

//===----------------------------------------------------------------------===//
// Single results
//===----------------------------------------------------------------------===//

/// Replaces `original` by the computation of a value of the copy, before
/// transpositions and reshapes that have no other users. The operation stays in
/// its region, and names of the value stay where they are.
void PlainCopy::transplant(Value plain, Value original) {
  Value place = original;
  SmallVector<Operation *> folded;
  auto isReadElsewhere = [](Value value, Operation *copy) {
    for (Value alias : collectPassedOn(value))
      for (OpOperand &use : alias.getUses())
        if (use.getOwner() != copy && !getPassedOn(use))
          return true;
    return false;
  };
  while (Value source = getReordered(place, /*withBroadcasts=*/false)) {
    Operation *copy = place.getDefiningOp();
    source = lookThroughBorders(source);
    if (isReadElsewhere(source, copy))
      break;
    folded.push_back(copy);
    place = source;
  }
  Operation *op = place.getDefiningOp();
  Value now = Transplant(*this, op).run(plain, op->getIterator()).front();
  SmallVector<Value> retyped = collectPassedOn(place);
  for (Operation *copy : llvm::reverse(folded))
    llvm::append_range(retyped, collectPassedOn(copy->getResult(0)));
  place.replaceAllUsesWith(now);
  for (Value value : retyped)
    if (value.getType() != now.getType() && value != place)
      value.setType(now.getType());
  for (Operation *copy : llvm::reverse(folded)) {
    Value source = getReordered(copy->getResult(0), /*withBroadcasts=*/false);
    copy->replaceAllUsesWith(ValueRange{source});
    copy->erase();
  }
  tracker.originals[plain] = {now};
  replaced.push_back(op->getResult(0));
}

/// Returns pairs of values of the copy, `values` or the first ones computed
/// from them, and the function's values that they are equal to.
SmallVector<std::pair<Value, Value>>
PlainCopy::findOriginals(llvm::SetVector<Value> values) {
  SmallVector<std::pair<Value, Value>> results;
  for (unsigned i = 0; i < values.size(); ++i) {
    auto known = tracker.originals.find(values[i]);
    if (known == tracker.originals.end()) {
      for (Operation *user : values[i].getUsers())
        values.insert(user->result_begin(), user->result_end());
      continue;
    }
    for (Value original : known->second)
      results.emplace_back(values[i], original);
  }
  llvm::sort(results, [&](const auto &a, const auto &b) {
    return positions.lookup(a.second) < positions.lookup(b.second);
  });
  // A value that only reshapes an earlier one follows from that.
  DenseSet<Value> earlier;
  llvm::erase_if(results, [&](const auto &pair) {
    bool follows = false;
    for (Value source = pair.second;
         !follows &&
         (source = getReordered(source, /*withBroadcasts=*/true));) {
      source = lookThroughBorders(source);
      follows = earlier.contains(source);
    }
    earlier.insert(pair.second);
    return follows;
  });
  return results;
}

void PlainCopy::transplant(Operation *op) {
  llvm::SetVector<Value> results(op->result_begin(), op->result_end());
  for (auto [plain, original] : findOriginals(std::move(results)))
    if (!original.use_empty())
      transplant(plain, original);
}

//===----------------------------------------------------------------------===//
// Cleanup
//===----------------------------------------------------------------------===//

/// Gives the operands of transplanted operations, instead of the value of
/// `name`, that name. Fails if no operand is a value that this is computed
/// from.
bool PlainCopy::moveName(Operation *name) {
  Value value = lookThroughBorders(name->getOperand(0));
  bool moved = false;
  while (value && !moved) {
    for (Transplanted &there : transplanted)
      for (Leaf &leaf : there.leaves) {
        if (leaf.original != value || leaf.uses.empty())
          continue;
        moved = true;
        Value read = leaf.uses.front()->get();
        auto known = read.getDefiningOp<NameOp>();
        if (known && known.getNameAttr() == cast<NameOp>(name).getNameAttr())
          continue;
        OpBuilder builder(there.first);
        Value named = NameOp::create(builder, name->getLoc(),
                                     cast<NameOp>(name).getNameAttr(), read);
        for (OpOperand *use : leaf.uses)
          use->set(named);
      }
    value = getReordered(value, /*withBroadcasts=*/true);
    if (value)
      value = lookThroughBorders(value);
  }
  return moved;
}

/// Removes the uses by an erased operation from the operands of transplanted
/// ones.
void PlainCopy::forget(Operation *erased) {
  for (Transplanted &there : transplanted) {
    for (Leaf &leaf : there.leaves)
      llvm::erase_if(leaf.uses,
                     [&](OpOperand *use) { return use->getOwner() == erased; });
    if (there.first == erased)
      there.first = erased->getNextNode();
  }
}

void PlainCopy::eraseDead(StringRef reason) {
  IRRewriter rewriter(function->getContext());
  DenseSet<Operation *> isTransplanted;
  for (const Transplanted &there : transplanted) {
    isTransplanted.insert(there.first);
    for (const Leaf &leaf : there.leaves)
      for (OpOperand *use : leaf.uses)
        isTransplanted.insert(use->getOwner());
  }
  llvm::SetVector<Operation *> worklist;
  for (Value value : replaced)
    for (Value alias : collectPassedOn(value))
      worklist.insert(getOwner(alias));
  auto push = [&](ValueRange values) {
    for (Value value : values) {
      for (Operation *user : value.getUsers())
        if (isOpTriviallyDead(user))
          worklist.insert(user);
      if (Operation *op = getOwner(value); op != function)
        worklist.insert(op);
    }
  };
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (isa<RegionOp>(op)) {
      llvm::BitVector results = getUnusedResults(op);
      SmallVector<Value> yielded;
      for (unsigned index : results.set_bits())
        yielded.push_back(cast<RegionOp>(op).getYield()->getOperand(index));
      if (results.any())
        op = eraseResults(rewriter, op, results);
      // The region itself, in its current form, if it yields one of its inputs.
      push(yielded);
      llvm::BitVector inputs = getUnusedInputs(op);
      SmallVector<Value> gone;
      for (unsigned index : inputs.set_bits())
        gone.push_back(op->getOperand(index));
      eraseInputs(op, inputs);
      push(gone);
      if (op->getNumResults() != 0 ||
          !llvm::hasSingleElement(op->getRegion(0).front()))
        continue;
    } else if (!isOpTriviallyDead(op)) {
      continue;
    } else if (auto name = dyn_cast<NameOp>(op)) {
      if (!movedNames.contains(op) && !moveName(op))
        emitRemark(op->getLoc())
            << "the name \"" << name.getName() << "\" is gone: " << reason;
    }
    SmallVector<Value> read = getInputs(op);
    Operation *parent = op->getParentOp();
    op->walk([&](Operation *gone) {
      worklist.remove(gone);
      if (isTransplanted.contains(gone))
        forget(gone);
    });
    op->erase();
    push(read);
    if (isa<RegionOp>(parent))
      worklist.insert(parent);
  }
}
