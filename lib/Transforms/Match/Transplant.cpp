//===- Transplant.cpp - From a plain copy to its function -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Transplant.h"

#include "remat/Transforms/Match/Copies.h"

#include "remat/Analysis/EqualValues.h"
#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Borders.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <deque>

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions about the function
//===----------------------------------------------------------------------===//

Operation *mlir::remat::getOwner(Value value) {
  Operation *op = value.getDefiningOp();
  return op ? op : value.getParentBlock()->getParentOp();
}

SmallVector<Value> mlir::remat::collectPassedOn(Value original) {
  SmallVector<Value> aliases{original};
  for (unsigned i = 0; i < aliases.size(); ++i)
    for (OpOperand &use : aliases[i].getUses())
      if (Value alias = getPassedOn(use))
        aliases.push_back(alias);
  return aliases;
}

Value mlir::remat::getReordered(Value value, bool withBroadcasts) {
  Operation *op = value.getDefiningOp();
  if (isTensorReshape(op))
    return op->getOperand(0);
  std::optional<Read> copied =
      getCopied(dyn_cast_or_null<linalg::LinalgOp>(op));
  if (copied && (withBroadcasts || copied->map.isPermutation()))
    return copied->source;
  return {};
}

//===----------------------------------------------------------------------===//
// One place
//===----------------------------------------------------------------------===//

static bool isMadeAnew(Operation *op) {
  return op &&
         (isa<tensor::EmptyOp>(op) || op->hasTrait<OpTrait::ConstantLike>());
}

/// Returns true if `op` comes after `other`, as if there were no regions.
static bool isAfter(Operation *op, Operation *other) {
  for (Block *block = other->getBlock(); block;
       block = block->getParentOp()->getBlock())
    if (Operation *ancestor = block->findAncestorOpInBlock(*op))
      return block->findAncestorOpInBlock(*other)->isBeforeInBlock(ancestor);
  return false;
}

/// Returns true if `user` may read `value`, perhaps as an output of a
/// `remat.region`. A value in a loop that the copy no longer has may not be
/// read outside of it.
static bool isReadable(Value value, Operation *user) {
  for (Region *region = value.getParentRegion();
       !region->isAncestor(user->getParentRegion());
       region = region->getParentRegion())
    if (!isa<RegionOp>(region->getParentOp()))
      return false;
  Operation *op = value.getDefiningOp();
  return !op || op == user || isAfter(user, op);
}

/// Returns a value of the function that is `plain` of the copy, or null.
Value Transplant::findOriginal(Value plain) {
  const SmallVector<Value, 1> *known = owner.getOriginals(plain);
  if (!known)
    return {};
  auto *readable = llvm::find_if(
      *known, [&](Value original) { return isReadable(original, user); });
  return readable == known->end() ? Value() : *readable;
}

/// Collects the values of the function that `root` is computed from.
void Transplant::collectLeaves(Value root) {
  auto isLeaf = [&](Value value) {
    return !roots.contains(value) && !isMadeAnew(value.getDefiningOp()) &&
           findOriginal(value);
  };
  walkSources(
      root,
      [&](Value value, SmallVectorImpl<Value> &sources) {
        if (!isLeaf(value))
          llvm::append_range(sources, getInputs(value.getDefiningOp()));
      },
      [&](Value value) {
        if (isLeaf(value))
          leaves.insert(value);
      });
}

/// Chooses a name for each leaf: the one that the function uses nearest to the
/// insertion point.
SmallVector<Value> Transplant::chooseAliases() {
  SmallVector<Value> chosen(leaves.size());
  DenseMap<Value, unsigned> leafOf;
  unsigned missing = leaves.size();
  for (auto [index, leaf] : llvm::enumerate(leaves))
    for (Value value : *owner.getOriginals(leaf))
      for (Value alias : collectPassedOn(value))
        leafOf.try_emplace(alias, index);
  std::deque<Value> queue;
  DenseSet<Value> seen;
  auto push = [&](ValueRange values) {
    for (Value value : values)
      if (seen.insert(value).second)
        queue.push_back(value);
  };
  push(getInputs(user));
  while (missing && !queue.empty()) {
    Value value = queue.front();
    queue.pop_front();
    if (auto leaf = leafOf.find(value); leaf != leafOf.end()) {
      if (!chosen[leaf->second]) {
        chosen[leaf->second] = value;
        --missing;
      }
      continue;
    }
    auto region = dyn_cast_or_null<RegionOp>(getOwner(value));
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (region)
        push(region.getInputs()[argument.getArgNumber()]);
    } else if (region) {
      push(region.getYield()->getOperand(
          cast<OpResult>(value).getResultNumber()));
    } else {
      push(getInputs(value.getDefiningOp()));
    }
  }
  for (auto [index, leaf] : llvm::enumerate(leaves))
    if (!chosen[index])
      chosen[index] = findOriginal(leaf);
  return chosen;
}

Value Transplant::route(Value value, Operation *user) {
  while (!value.getParentRegion()->isAncestor(user->getParentRegion()))
    value = addOutput(cast<RegionOp>(value.getParentRegion()->getParentOp()),
                      value);
  SmallVector<RegionOp> around;
  for (Region *inside = user->getParentRegion();
       inside != value.getParentRegion();
       inside = inside->getParentOp()->getParentRegion())
    if (auto region = dyn_cast<RegionOp>(inside->getParentOp()))
      around.push_back(region);
  for (RegionOp region : llvm::reverse(around))
    value = addInput(region, value);
  return value;
}

/// Returns `root` of the copy in the function: the known value, or a clone of
/// its operation.
Value Transplant::make(Value root) {
  walkSources(
      root,
      [&](Value value, SmallVectorImpl<Value> &sources) {
        if (!made.contains(value))
          llvm::append_range(sources, getInputs(value.getDefiningOp()));
      },
      [&](Value value) {
        if (!made.contains(value))
          makeOne(value.getDefiningOp());
      });
  return made.lookup(root);
}

void Transplant::makeOne(Operation *op) {
  Operation *clone = builder.clone(*op, made);
  if (!result.first)
    result.first = clone;
  clone->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      for (auto [index, leaf] : llvm::enumerate(leaves))
        if (operand.get() == made.lookup(leaf))
          result.leaves[index].uses.push_back(&operand);
  });
}

SmallVector<Value> Transplant::run(ArrayRef<Value> plain,
                                   Block::iterator point) {
  roots.insert_range(plain);
  for (Value value : plain)
    collectLeaves(value);
  // Adding an output to a region replaces its results. Holding the values as
  // operands of a detached operation updates them.
  OperationState state(user->getLoc(),
                       UnrealizedConversionCastOp::getOperationName());
  state.addOperands(chooseAliases());
  OwningOpRef<Operation *> routed = Operation::create(state);
  for (OpOperand &value : routed->getOpOperands()) {
    Value inPlace = route(value.get(), user);
    value.set(inPlace);
  }
  for (auto [leaf, value] : llvm::zip_equal(leaves, routed->getOperands())) {
    made.map(leaf, value);
    result.leaves.push_back({lookThroughBorders(value), {}});
  }
  builder.setInsertionPoint(user->getBlock(), point);
  SmallVector<Value> values;
  for (Value value : plain)
    values.push_back(make(value));
  owner.transplanted.push_back(std::move(result));
  return values;
}

//===----------------------------------------------------------------------===//
// Several results
//===----------------------------------------------------------------------===//

/// Returns how many loops and branches of `function` an operation is in.
static unsigned countBodies(Operation *op, Operation *function) {
  unsigned count = 0;
  while ((op = op->getParentOp()) != function)
    count += !isa<RegionOp>(op);
  return count;
}

Operation *PlainCopy::findPlace(Operation *op) {
  unsigned numBodies = op ? countBodies(op, copy.get()) : 0;
  for (; op; op = op->getPrevNode()) {
    // Constants may stand anywhere.
    if (isMadeAnew(op) || isa<linalg::FillOp>(op))
      continue;
    for (Value result : op->getResults())
      if (const auto *known = getOriginals(result))
        for (Value value : *known)
          // One in a branch that the copy's is not in is not read after it.
          if (Operation *original = value.getDefiningOp();
              original && countBodies(original, function) == numBodies)
            return original;
  }
  return nullptr;
}

namespace {
/// An operand that is to become `value`.
struct NewUse {
  OpOperand *use;
  Value value;
};
} // namespace

/// Replaces all uses of `original` after `place`, where `now` has its value.
/// Earlier users are part of the replaced computation.
void PlainCopy::replaceUsesAfter(Operation *place, Value original, Value now) {
  SmallVector<NewUse> uses;
  SmallVector<std::pair<Value, Value>> worklist{{original, now}};
  while (!worklist.empty()) {
    auto [alias, value] = worklist.pop_back_val();
    for (OpOperand &use : alias.getUses()) {
      Operation *user = use.getOwner();
      bool isBehind = isAfter(user, place);
      Value passedOn = getPassedOn(use);
      auto name = dyn_cast<NameOp>(user);
      if (name && !isBehind) {
        OpBuilder builder(value.getContext());
        builder.setInsertionPointAfterValue(value);
        Value named =
            NameOp::create(builder, name.getLoc(), name.getNameAttr(), value);
        value.replaceAllUsesExcept(named, named.getDefiningOp());
        movedNames.insert(name);
        worklist.emplace_back(passedOn, named);
      } else if (passedOn && !name) {
        worklist.emplace_back(passedOn, value);
      } else if (isBehind) {
        uses.push_back({&use, value});
      }
    }
  }
  for (NewUse &use : uses)
    use.use->set(Transplant::route(use.value, use.use->getOwner()));
  replaced.push_back(original);
}

void PlainCopy::transplant(ArrayRef<Operation *> ops, Operation *place) {
  SmallVector<Value> roots;
  for (Operation *op : ops)
    llvm::append_range(roots, op->getResults());
  SmallVector<Value> values =
      Transplant(*this, place).run(roots, std::next(place->getIterator()));
  SmallVector<Operation *> readers;
  for (auto [root, value] : llvm::zip_equal(roots, values)) {
    auto known = tracker.originals.find(root);
    if (known == tracker.originals.end()) {
      llvm::append_range(readers, root.getUsers());
    } else {
      for (Value original : known->second)
        replaceUsesAfter(place, original, value);
    }
    tracker.originals[root] = {value};
  }
  // Values computed in a new way that have no counterpart in the function.
  llvm::SetVector<Value> rewritten;
  for (Operation *reader : readers)
    if (!llvm::is_contained(ops, reader))
      rewritten.insert_range(reader->getResults());
  for (auto [plain, original] : findOriginals(rewritten))
    transplant(plain, original);
}
