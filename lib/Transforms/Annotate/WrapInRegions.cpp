//===- WrapInRegions.cpp - Selected operations become regions -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region keeps its operands live until its backward, and no operation may be
// both before and after it: the operations in it decide what it saves.
//===----------------------------------------------------------------------===//

#include "Origins.h"

#include "remat/Analysis/EqualValues.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

#include <queue>

using namespace mlir;
using namespace mlir::remat;

namespace {
/// A selection on its way into a region.
class Wrapper {
public:
  Wrapper(RewriterBase &rewriter, const Origins &origins,
          const DenseSet<Operation *> &selected, DenseSet<Operation *> &copied,
          Block *block, ArrayRef<Operation *> ops)
      : rewriter(rewriter), origins(origins), selected(selected),
        copied(copied), block(block), ops(ops), inside(ops.begin(), ops.end()) {
  }

  RegionOp wrap(StringRef label, Attribute policy) {
    pullIn();
    sink();
    return build(label, policy);
  }

private:
  void pullIn();
  void keepIfSmaller(ArrayRef<Operation *> candidates);
  void sink();
  RegionOp build(StringRef label, Attribute policy);
  bool isReadInsideOnly(ValueRange values, const DenseSet<Operation *> &others);
  bool isDrawForInside(Operation *op, const DenseSet<Operation *> &others);
  bool wouldOvertake(Operation *op);
  bool isOfConstants(Operation *op) const;
  bool isCopied(Operation *op) const;
  void copy(Operation *op);
  Value makeAgain(Operation *op, IRMapping &made);

  RewriterBase &rewriter;
  const Origins &origins;
  const DenseSet<Operation *> &selected;
  /// Operations copied into any region; the originals may be dead now.
  DenseSet<Operation *> &copied;
  Block *block;
  SmallVector<Operation *> ops;
  DenseSet<Operation *> inside;
  /// Needed by others too, and copied into this region: what is made of
  /// constants, draws.
  DenseSet<Operation *> remade;
};
} // namespace

/// Returns true if the user contributes to the operand's cotangent element for
/// element: it does not start a summation of its own from what there is.
static bool contributesElementwise(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto op = dyn_cast<linalg::LinalgOp>(user))
    return isParallel(op) && op.getMatchingIndexingMap(&use).isPermutation();
  return user->hasTrait<OpTrait::Elementwise>();
}

/// Returns true if the order of the users of `value` counts: they contribute to
/// its cotangent in that order, and an annotation must not change bits. a + b
/// is b + a.
static bool isOrdered(Value value, const Origins &origins) {
  return isa<FloatType>(getElementTypeOrSelf(value)) &&
         (origins.get(value) & Origins::kParameter) &&
         (value.hasNUsesOrMore(3) || origins.isPassedTwice(value) ||
          !llvm::all_of(value.getUses(), contributesElementwise));
}

/// Calls `visit` for what `op` reads of which the order of the users counts.
/// A value, its views and what is named or taken by regions are one.
static void forEachOrderedValue(Operation *op, const Origins &origins,
                                function_ref<void(Value)> visit) {
  for (Value value : getInputs(op)) {
    Value source = origins.getSource(value);
    if (isOrdered(source, origins))
      visit(source);
  }
}

bool Wrapper::isReadInsideOnly(ValueRange values,
                               const DenseSet<Operation *> &others) {
  return llvm::all_of(values, [&](Value value) {
    return llvm::all_of(value.getUsers(), [&](Operation *user) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      return inside.contains(ancestor) || others.contains(ancestor);
    });
  });
}

/// Returns true if `op` is a random draw of which others read the state alone.
bool Wrapper::isDrawForInside(Operation *op,
                              const DenseSet<Operation *> &others) {
  SmallVector<Value> drawn;
  for (Value result : op->getResults())
    if (!isa<RngType>(result.getType()))
      drawn.push_back(result);
  return llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RngType>) &&
         isReadInsideOnly(drawn, others);
}

/// Returns true if `op`, moved into the region, would come after another user
/// of its operands.
bool Wrapper::wouldOvertake(Operation *op) {
  bool overtakes = false;
  forEachOrderedValue(op, origins, [&](Value value) {
    origins.forEachUser(value, [&](Operation *user) {
      Operation *ancestor = block->findAncestorOpInBlock(*user);
      overtakes |= ancestor && !inside.contains(ancestor) &&
                   op->isBeforeInBlock(ancestor) &&
                   ancestor->isBeforeInBlock(ops.back());
    });
  });
  return overtakes;
}

/// Finds what only the selection reads and what is no activation: weights that
/// are transposed for it, masks and draws of its own.
void Wrapper::pullIn() {
  auto isEarlier = [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  };
  // The latest first: when an operation is looked at, its users were.
  std::priority_queue<Operation *, std::vector<Operation *>,
                      decltype(isEarlier)>
      queue(isEarlier);
  DenseSet<Operation *> seen, found;
  auto visitSources = [&](Operation *op) {
    for (Value value : getInputs(op)) {
      Operation *source = value.getDefiningOp();
      if (source && source->getBlock() == block && !inside.contains(source) &&
          seen.insert(source).second)
        queue.push(source);
    }
  };
  for (Operation *op : ops)
    visitSources(op);
  SmallVector<Operation *> candidates;
  while (!queue.empty()) {
    Operation *op = queue.top();
    queue.pop();
    if (origins.isMadeAgain(op) || origins.isActivation(op) ||
        selected.contains(op) || isa<RegionOp>(op) || !isMemoryEffectFree(op))
      continue;
    if (wouldOvertake(op))
      continue;
    if (!isReadInsideOnly(op->getResults(), found)) {
      // A draw hands on its state; its numbers may be redrawn.
      if (isDrawForInside(op, found))
        remade.insert(op);
      continue;
    }
    found.insert(op);
    candidates.push_back(op);
    visitSources(op);
  }
  std::reverse(candidates.begin(), candidates.end());
  keepIfSmaller(candidates);
}

bool Wrapper::isOfConstants(Operation *op) const {
  return origins.get(op) == 0 && isMemoryEffectFree(op) && !isa<RegionOp>(op) &&
         !selected.contains(op);
}

bool Wrapper::isCopied(Operation *op) const {
  return remade.contains(op) ||
         (!inside.contains(op) && origins.isMadeAgain(op));
}

void Wrapper::copy(Operation *op) {
  if (origins.isMadeAgain(op) || !remade.insert(op).second)
    return;
  for (Value value : getInputs(op))
    if (Operation *source = value.getDefiningOp())
      copy(source);
}

/// Takes each connected part of `candidates` in that reads no more bytes than
/// it hands on. Arguments stay alive anyway. What is made of constants alone
/// (the counters of a draw, shared by all layers) costs no bytes if it is
/// cloned inside; that is done where nothing else makes the part worth while.
void Wrapper::keepIfSmaller(ArrayRef<Operation *> candidates) {
  llvm::EquivalenceClasses<Operation *> parts;
  for (Operation *op : candidates)
    parts.insert(op);
  DenseSet<Operation *> isCandidate(candidates.begin(), candidates.end());
  for (Operation *op : candidates)
    for (Value value : getInputs(op))
      if (isCandidate.contains(value.getDefiningOp()))
        parts.unionSets(value.getDefiningOp(), op);
  struct Balance {
    int64_t gain = 0, ofConstants = 0;
    SmallVector<Operation *> constants;
  };
  DenseMap<Operation *, Balance> balances;
  DenseSet<std::pair<Operation *, Value>> counted;
  for (Operation *op : candidates) {
    Operation *part = parts.getLeaderValue(op);
    Balance &balance = balances[part];
    for (Value value : getInputs(op)) {
      Operation *source = value.getDefiningOp();
      if (!source || isCandidate.contains(source) ||
          origins.isMadeAgain(source) || !counted.insert({part, value}).second)
        continue;
      balance.gain -= estimateBytes(value.getType());
      if (!isOfConstants(source))
        continue;
      balance.ofConstants += estimateBytes(value.getType());
      balance.constants.push_back(source);
    }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return inside.contains(block->findAncestorOpInBlock(*user));
          }))
        balance.gain += estimateBytes(result.getType());
  }
  SmallVector<Operation *> kept;
  for (Operation *op : candidates) {
    Balance &balance = balances[parts.getLeaderValue(op)];
    if (balance.gain + balance.ofConstants < 0)
      continue;
    kept.push_back(op);
    if (balance.gain < 0)
      for (Operation *source : balance.constants)
        copy(source);
  }
  for (Operation *op : kept)
    inside.insert(op);
  llvm::append_range(ops, kept);
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
}

/// Moves operations that depend on the selection, between its own, after them.
/// Operations with effects stay in their order, and so do the users of a
/// value that may have a cotangent.
void Wrapper::sink() {
  DenseSet<Operation *> dependent(ops.begin(), ops.end());
  DenseSet<Value> readByDependent;
  bool isEffectDependent = false;
  Operation *last = ops.back(), *end = last;
  for (Operation *op = ops.front(); op != last;) {
    Operation *next = op->getNextNode();
    bool hasEffect = !isMemoryEffectFree(op);
    bool depends = dependent.contains(op) || (hasEffect && isEffectDependent);
    for (Value value : getInputs(op))
      depends |= dependent.contains(value.getDefiningOp());
    forEachOrderedValue(op, origins, [&](Value value) {
      depends |= readByDependent.contains(value);
    });
    if (depends) {
      dependent.insert(op);
      forEachOrderedValue(op, origins,
                          [&](Value value) { readByDependent.insert(value); });
      isEffectDependent |= hasEffect;
      if (!inside.contains(op)) {
        rewriter.moveOpAfter(op, end);
        end = op;
      }
    }
    op = next;
  }
}

/// A copy of `op` at the rewriter's place, and of what it is made of.
Value Wrapper::makeAgain(Operation *op, IRMapping &made) {
  if (Value value = made.lookupOrNull(op->getResult(0)))
    return value;
  for (Value value : getInputs(op)) {
    if (Operation *source = value.getDefiningOp(); source && isCopied(source))
      makeAgain(source, made);
  }
  copied.insert(op);
  return rewriter.clone(*op, made)->getResult(0);
}

RegionOp Wrapper::build(StringRef label, Attribute policy) {
  SetVector<Value> inputs, again, outputs;
  std::function<void(Value)> visit = [&](Value value) {
    Operation *source = value.getDefiningOp();
    if (source && inside.contains(source))
      return;
    if (!source || !isCopied(source)) {
      inputs.insert(value);
      return;
    }
    if (again.insert(value))
      llvm::for_each(getInputs(source), visit);
  };
  // Operations that moved in were where the exporter had them; equal layers get
  // equal operands if these are looked at last.
  for (bool isSelected : {true, false})
    for (Operation *op : ops)
      if (selected.contains(op) == isSelected)
        llvm::for_each(getInputs(op), visit);
  for (Operation *op : ops)
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) {
            return !inside.contains(block->findAncestorOpInBlock(*user));
          }))
        outputs.insert(result);

  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfter(ops.back());
  Operation *first =
      *llvm::find_if(ops, [&](Operation *op) { return selected.contains(op); });
  auto region = RegionOp::create(rewriter, first->getLoc(),
                                 ValueRange(outputs.getArrayRef()).getTypes(),
                                 TypeRange(), inputs.getArrayRef(), policy);
  if (!label.empty())
    region.setLabel(label);
  Block *body = region.getBodyBlock();
  rewriter.setInsertionPointToEnd(body);
  IRMapping replaced;
  replaced.map(inputs.getArrayRef(), body->getArguments());
  for (Value value : again)
    makeAgain(value.getDefiningOp(), replaced);
  YieldOp yield =
      YieldOp::create(rewriter, region.getLoc(), outputs.getArrayRef());
  for (auto [value, output] :
       llvm::zip_equal(outputs.getArrayRef(), region.getOutputs()))
    rewriter.replaceUsesWithIf(value, output, [&](OpOperand &use) {
      Operation *owner = use.getOwner();
      return owner != yield &&
             !inside.contains(block->findAncestorOpInBlock(*owner));
    });
  for (Operation *op : ops) {
    rewriter.moveOpBefore(op, yield);
    op->walk([&](Operation *inner) {
      rewriter.modifyOpInPlace(inner, [&] {
        for (OpOperand &operand : inner->getOpOperands())
          operand.set(replaced.lookupOrDefault(operand.get()));
      });
    });
  }
  return region;
}

/// Divides `selection` so that nothing outside stands between two operations of
/// a part, and none overtakes another user of what it reads: how often the
/// way to an operation leaves the selection and comes back is the number of its
/// part.
static SmallVector<SmallVector<Operation *>>
splitConvex(const Selection &selection, const Origins &origins) {
  DenseSet<Operation *> inside(selection.ops.begin(), selection.ops.end());
  SmallVector<SmallVector<Operation *>> parts;
  DenseMap<Operation *, size_t> part; // Also of what depends on one.
  DenseMap<Value, Operation *> lastUser;
  Operation *lastEffect = nullptr;
  for (Operation *op = selection.ops.front();; op = op->getNextNode()) {
    std::optional<size_t> number;
    auto follow = [&](Operation *source) {
      auto it = part.find(source);
      if (it == part.end())
        return;
      size_t least =
          it->second + (inside.contains(op) && !inside.contains(source));
      number = std::max(number.value_or(0), least);
    };
    for (Value value : getInputs(op))
      follow(value.getDefiningOp());
    forEachOrderedValue(op, origins, [&](Value value) {
      Operation *&user = lastUser[value];
      follow(user);
      user = op;
    });
    if (!isMemoryEffectFree(op)) {
      follow(lastEffect);
      lastEffect = op;
    }
    if (inside.contains(op)) {
      size_t index = number.value_or(0);
      part[op] = index;
      parts.resize(std::max(parts.size(), index + 1));
      parts[index].push_back(op);
    } else if (number) {
      part[op] = *number;
    }
    if (op == selection.ops.back())
      return parts;
  }
}

/// Takes out of `selection` what is no activation and is read by other
/// operations: the first layer's scope may hold the mask of all layers.
static void leaveShared(Selection &selection, const Origins &origins) {
  DenseSet<Operation *> inside(selection.ops.begin(), selection.ops.end());
  Block *block = selection.ops.front()->getBlock();
  for (Operation *op : llvm::reverse(selection.ops))
    if (!origins.isActivation(op) && !isa<RegionOp>(op) &&
        isMemoryEffectFree(op) &&
        llvm::any_of(op->getUsers(), [&](Operation *user) {
          Operation *ancestor = block->findAncestorOpInBlock(*user);
          return !ancestor || (!inside.contains(ancestor) &&
                               !ancestor->hasTrait<OpTrait::IsTerminator>());
        }))
      inside.erase(op);
  if (!inside.empty())
    llvm::erase_if(selection.ops,
                   [&](Operation *op) { return !inside.contains(op); });
}

static std::string describe(RegionOp region) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "the region";
  if (std::optional<StringRef> label = region.getLabel())
    os << " \"" << *label << "\"";
  os << " with policy " << region.getPolicyOrDefault();
  return text;
}

/// Each selected operation is in no region, a selection is more than a region,
/// and one that has an operation in common with an earlier one contains it.
static LogicalResult checkOverlaps(ArrayRef<Selection> selections) {
  DenseMap<Operation *, unsigned> latest;
  for (auto [index, selection] : llvm::enumerate(selections)) {
    DenseMap<unsigned, size_t> common;
    for (Operation *op : selection.ops)
      if (auto it = latest.find(op); it != latest.end())
        ++common[it->second];
    for (Operation *op : selection.ops) {
      auto it = latest.find(op);
      if (it != latest.end() &&
          common[it->second] != selections[it->second].ops.size())
        return emitError(op->getLoc(), "'")
               << op->getName() << "' is selected twice, for \""
               << selections[it->second].label << "\" and for \""
               << selection.label
               << "\"; select it once, or the inner one in an earlier pass";
      auto region = op->getParentOfType<RegionOp>();
      if (selection.ops.size() == 1 && isa<RegionOp>(op))
        region = cast<RegionOp>(op);
      if (!region)
        continue;
      InFlightDiagnostic diagnostic =
          emitError(op->getLoc(), "'")
          << op->getName() << "' is selected for \"" << selection.label
          << "\", but it is in a region already; select what is inside "
             "before what is around it";
      diagnostic.attachNote(region.getLoc()) << describe(region);
      return diagnostic;
    }
    for (Operation *op : selection.ops)
      latest[op] = index;
  }
  return success();
}

/// Replaces operations of `selection` that moved from `block` into regions of
/// an earlier one by these regions.
static void replaceByRegions(Selection &selection, Block *block) {
  SetVector<Operation *> ops;
  for (Operation *op : selection.ops)
    ops.insert(block->findAncestorOpInBlock(*op));
  selection.ops = ops.takeVector();
  llvm::sort(selection.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
}

/// Removes the originals of operations that every user has cloned.
static void eraseUnread(RewriterBase &rewriter, Block &block,
                        const DenseSet<Operation *> &copied) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() && copied.contains(&op))
      rewriter.eraseOp(&op);
}

LogicalResult mlir::remat::wrapInRegions(RewriterBase &rewriter,
                                         ArrayRef<Selection> selections,
                                         Attribute policy,
                                         SmallVectorImpl<RegionOp> &regions) {
  llvm::MapVector<Operation *, std::unique_ptr<Origins>> origins;
  SmallVector<Selection> reduced(selections);
  for (Selection &selection : reduced) {
    auto function = selection.ops.front()->getParentOfType<func::FuncOp>();
    std::unique_ptr<Origins> &ofFunction = origins[function];
    if (!ofFunction)
      ofFunction = std::make_unique<Origins>(function);
    leaveShared(selection, *ofFunction);
  }
  if (failed(checkOverlaps(reduced)))
    return failure();
  DenseSet<Operation *> selected, copied;
  SmallVector<Block *> blocks;
  for (const Selection &selection : reduced) {
    selected.insert_range(selection.ops);
    blocks.push_back(selection.ops.front()->getBlock());
  }
  for (auto [selection, block] : llvm::zip_equal(reduced, blocks)) {
    replaceByRegions(selection, block);
    // A selection that is all of another one adds nothing to it.
    if (selection.ops.size() == 1 && isa<RegionOp>(selection.ops.front()))
      continue;
    selected.insert_range(selection.ops);
    auto function = selection.ops.front()->getParentOfType<func::FuncOp>();
    SmallVector<SmallVector<Operation *>> parts =
        splitConvex(selection, *origins[function]);
    if (parts.size() > 1)
      emitRemark(selection.ops.front()->getLoc(), "\"")
          << selection.label << "\" becomes " << parts.size()
          << " regions: what is outside of it reads from it and is read by it, "
             "or reads a value before one part and behind another";
    for (ArrayRef<Operation *> part : parts)
      regions.push_back(
          Wrapper(rewriter, *origins[function], selected, copied, block, part)
              .wrap(selection.label, policy));
  }
  for (Block *block : blocks)
    eraseUnread(rewriter, *block, copied);
  return success();
}
