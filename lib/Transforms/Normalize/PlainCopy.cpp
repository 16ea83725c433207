//===- PlainCopy.cpp - A function without names and regions ---------------===//

#include "PlainCopy.h"

#include "Copies.h"

#include "remat/Analysis/Activity.h"
#include "remat/Analysis/EqualValues.h"
#include "remat/Dialect/Remat/IR/Borders.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

#include <deque>

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
    // Scalars of kernels are in nobody's way.
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
// Questions about the function
//===----------------------------------------------------------------------===//

/// The operation that has `value` as its result or as an argument of its body.
static Operation *getOwner(Value value) {
  Operation *op = value.getDefiningOp();
  return op ? op : value.getParentBlock()->getParentOp();
}

/// `original`, its names, and both on other sides of borders.
static SmallVector<Value> collectAliases(Value original) {
  SmallVector<Value> aliases{original};
  for (unsigned i = 0; i < aliases.size(); ++i)
    for (OpOperand &use : aliases[i].getUses())
      if (Value alias = getPassedOn(use))
        aliases.push_back(alias);
  return aliases;
}

/// What `value` holds in another order or shape; null if it is computed.
static Value getReordered(Value value, bool withBroadcasts) {
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
// Transplants
//===----------------------------------------------------------------------===//

/// Puts what a value of the copy is computed from in the place of `original`.
class PlainCopy::Transplant {
public:
  Transplant(PlainCopy &owner, Value plain, Value original)
      : owner(owner), plain(plain), original(original),
        builder(original.getContext()) {}

  void run();

private:
  const SmallVector<Value, 1> *getOriginals(Value value) {
    auto known = owner.tracker.originals.find(value);
    return known == owner.tracker.originals.end() ? nullptr : &known->second;
  }
  static bool isMadeAnew(Operation *op) {
    return op &&
           (isa<tensor::EmptyOp>(op) || op->hasTrait<OpTrait::ConstantLike>());
  }
  void findPlace();
  void collectLeaves(Value value);
  SmallVector<Value> chooseAliases();
  Value route(Value value);
  Value make(Value value);

  PlainCopy &owner;
  Value plain, original;
  OpBuilder builder;
  /// What is replaced in the end, instead of `original`: before copies that
  /// need not be any more.
  Value place;
  SmallVector<Operation *> folded;
  llvm::SetVector<Value> leaves;
  DenseSet<Value> visited;
  IRMapping made;
  Transplanted result{nullptr, {}};
};

/// Before transpositions and reshapes of what nothing else reads: the operation
/// stays in its region, and names of the value stay where they are.
void PlainCopy::Transplant::findPlace() {
  place = original;
  while (Value source = getReordered(place, /*withBroadcasts=*/false)) {
    Operation *copy = place.getDefiningOp();
    source = lookThroughBorders(source);
    for (Value alias : collectAliases(source))
      for (OpOperand &use : alias.getUses())
        if (use.getOwner() != copy && !getPassedOn(use))
          return;
    folded.push_back(copy);
    place = source;
  }
}

/// Values of the function from which `value` is made.
void PlainCopy::Transplant::collectLeaves(Value value) {
  if (!visited.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (value != plain && !isMadeAnew(op) && getOriginals(value)) {
    leaves.insert(value);
    return;
  }
  for (Value operand : getInputs(op))
    collectLeaves(operand);
}

/// For each leaf, which of its names to read: the one that the function reads
/// nearest to the place.
SmallVector<Value> PlainCopy::Transplant::chooseAliases() {
  SmallVector<Value> chosen(leaves.size());
  DenseMap<Value, unsigned> leafOf;
  unsigned missing = leaves.size();
  for (auto [index, leaf] : llvm::enumerate(leaves))
    for (Value value : *getOriginals(leaf))
      for (Value alias : collectAliases(value))
        leafOf.try_emplace(alias, index);
  std::deque<Value> queue;
  DenseSet<Value> seen;
  auto push = [&](ValueRange values) {
    for (Value value : values)
      if (seen.insert(value).second)
        queue.push_back(value);
  };
  push(getInputs(place.getDefiningOp()));
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
      chosen[index] = getOriginals(leaf)->front();
  return chosen;
}

/// `value` in the block of the place, over the borders in between.
Value PlainCopy::Transplant::route(Value value) {
  Operation *user = place.getDefiningOp();
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

/// `value` of the copy in the function: what is known by now, or its operation.
Value PlainCopy::Transplant::make(Value value) {
  if (Value known = made.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : getInputs(op))
    make(operand);
  Operation *clone = builder.clone(*op, made);
  if (!result.first)
    result.first = clone;
  clone->walk([&](Operation *inner) {
    for (OpOperand &operand : inner->getOpOperands())
      for (auto [index, leaf] : llvm::enumerate(leaves))
        if (operand.get() == made.lookup(leaf))
          result.leaves[index].uses.push_back(&operand);
  });
  return made.lookup(value);
}

void PlainCopy::Transplant::run() {
  findPlace();
  collectLeaves(plain);
  // Where a region gets another output, what is held here is replaced along
  // with it: the operands of an operation that stands nowhere.
  OperationState state(original.getLoc(),
                       UnrealizedConversionCastOp::getOperationName());
  state.addOperands(chooseAliases());
  OwningOpRef<Operation *> routed = Operation::create(state);
  for (OpOperand &value : routed->getOpOperands()) {
    Value inPlace = route(value.get());
    value.set(inPlace);
  }
  for (auto [leaf, value] : llvm::zip_equal(leaves, routed->getOperands())) {
    made.map(leaf, value);
    result.leaves.push_back({lookThroughBorders(value), {}});
  }
  Operation *op = place.getDefiningOp();
  builder.setInsertionPoint(op);
  Value now = make(plain);
  SmallVector<Value> retyped = collectAliases(place);
  for (Operation *copy : llvm::reverse(folded))
    llvm::append_range(retyped, collectAliases(copy->getResult(0)));
  place.replaceAllUsesWith(now);
  for (Value value : retyped)
    if (value.getType() != now.getType() && value != place)
      value.setType(now.getType());
  for (Operation *copy : llvm::reverse(folded)) {
    Value source = getReordered(copy->getResult(0), /*withBroadcasts=*/false);
    copy->replaceAllUsesWith(ValueRange{source});
    copy->erase();
  }
  owner.tracker.originals[plain] = {now};
  owner.replaced.push_back(op);
  owner.transplanted.push_back(std::move(result));
}

/// Pairs of values that depend on `op` in the copy and of the function's values
/// that they are.
SmallVector<std::pair<Value, Value>> PlainCopy::findResults(Operation *op) {
  SmallVector<std::pair<Value, Value>> results;
  llvm::SetVector<Value> values(op->result_begin(), op->result_end());
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
  // What is only another shape of an earlier one follows from that.
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
  for (auto [plain, original] : findResults(op))
    Transplant(*this, plain, original).run();
}

//===----------------------------------------------------------------------===//
// What is left
//===----------------------------------------------------------------------===//

/// Gives what transplanted operations read instead of the value of `name` that
/// name. Fails if that is computed from it.
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

void PlainCopy::eraseDead(StringRef reason) {
  IRRewriter rewriter(function->getContext());
  llvm::SetVector<Operation *> worklist(replaced.begin(), replaced.end());
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
      for (unsigned index : results.set_bits())
        push(cast<RegionOp>(op).getYield()->getOperand(index));
      if (results.any())
        op = eraseResults(rewriter, op, results);
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
      if (!moveName(op))
        emitRemark(op->getLoc())
            << "the name \"" << name.getName() << "\" is gone: " << reason;
    }
    SmallVector<Value> read = getInputs(op);
    Operation *parent = op->getParentOp();
    op->erase();
    push(read);
    if (isa<RegionOp>(parent))
      worklist.insert(parent);
  }
}
