//===- SelectCheckpoints.cpp - Functions under jax.checkpoint -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A `jax.checkpoint` is a component of the scope. Exports by python/remat
// number its applications; in others they are told apart by the module in it,
// by what stands between them, or by repetition.
//===----------------------------------------------------------------------===//

#include "Layers.h"
#include "SelectScopes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// The component that a checkpoint adds, as the end of `prefix`, and the module
/// under it, if any: the last component is an operation.
struct CheckpointScope {
  std::string prefix, child;
  bool isNumbered = false;
};

/// Selects the checkpoints of a function, inner ones first.
class CheckpointSelector {
public:
  explicit CheckpointSelector(func::FuncOp function) : origins(function) {}

  /// Selects those in the `depth` enclosing checkpoints of `ops`, which stand
  /// in one block, and what is in them.
  void selectIn(ArrayRef<Operation *> ops, unsigned depth);

  SmallVector<Selection> selections;

private:
  CheckpointScope find(Operation *op, unsigned depth);
  SmallVector<Selection> divide(Selection selection, unsigned depth);
  SmallVector<Selection> divideByModule(const Selection &selection,
                                        unsigned depth);
  SmallVector<Selection> divideByRepetition(const Selection &selection);

  Scopes scopes;
  Origins origins;
};
} // namespace

static SmallVector<Operation *> getOps(Block &block) {
  return llvm::to_vector(llvm::make_pointer_range(block));
}

/// The scope of the checkpoint around `op` that is in `depth` other ones; an
/// empty prefix if there is none.
CheckpointScope CheckpointSelector::find(Operation *op, unsigned depth) {
  for (const ScopePath &path : scopes.get(op->getLoc())) {
    unsigned found = 0;
    for (size_t index = 0; index < path.size(); ++index) {
      StringRef name = path.getName(index);
      // `jax.checkpoint` is also called `jax.remat`.
      if (name != "checkpoint" && name != "remat" && name != "remat2")
        continue;
      if (found++ != depth)
        continue;
      CheckpointScope scope;
      scope.prefix = path.getPrefix(index + 1);
      scope.isNumbered = path.isNumbered(index);
      if (index + 2 < path.size())
        scope.child = path.getComponent(index + 1);
      return scope;
    }
    if (found > 0)
      break;
  }
  return {};
}

void CheckpointSelector::selectIn(ArrayRef<Operation *> ops, unsigned depth) {
  SmallVector<Selection> found;
  llvm::StringMap<size_t> indices;
  for (Operation *op : ops) {
    if (!isSelectable(op, origins))
      continue;
    std::string prefix = getKeyOf(op, origins, [&](Operation *inner) {
      return find(inner, depth).prefix;
    });
    if (!prefix.empty()) {
      auto [it, isFirst] = indices.try_emplace(prefix, found.size());
      if (isFirst)
        found.push_back({prefix, {}});
      found[it->second].ops.push_back(op);
    } else if (!isa<linalg::LinalgOp>(op)) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          selectIn(getOps(block), depth);
    }
  }
  for (Selection &selection : found) {
    addUnscoped(selection, scopes);
    for (Selection &instance : divide(std::move(selection), depth)) {
      selectIn(instance.ops, depth + 1);
      selections.push_back(std::move(instance));
    }
  }
}

//===----------------------------------------------------------------------===//
// Applications without numbers
//===----------------------------------------------------------------------===//

/// "layer_" for "layer_12"; empty without a number.
static StringRef getStem(StringRef name) {
  StringRef stem = name.rtrim("0123456789");
  return stem.size() == name.size() ? StringRef() : stem;
}

/// Returns true if the modules directly under one checkpoint are its instances
/// rather than parts of one: numbered, of one class, and each as often as it
/// takes to be equal to the others.
static bool areInstances(const Origins &origins, ArrayRef<Selection> children) {
  if (children.size() < 2)
    return false;
  return llvm::all_of(children, [&](const Selection &child) {
    return !getStem(child.label).empty() &&
           getStem(child.label) == getStem(children.front().label) &&
           areAlike(origins, children.front().ops, child.ops);
  });
}

/// Operations of the checkpointed function itself go with the module before
/// them (the first ones: with the module after them).
SmallVector<Selection>
CheckpointSelector::divideByModule(const Selection &selection, unsigned depth) {
  SmallVector<Selection> children;
  llvm::StringMap<size_t> indices;
  std::string last;
  for (Operation *op : selection.ops)
    if (last = find(op, depth).child; !last.empty())
      break;
  for (Operation *op : selection.ops) {
    if (std::string child = find(op, depth).child; !child.empty())
      last = child;
    auto [it, isFirst] = indices.try_emplace(last, children.size());
    if (isFirst)
      children.push_back({last, {}});
    children[it->second].ops.push_back(op);
  }
  return children;
}

/// Divides where an activation of another scope stands between, then where the
/// operations repeat.
SmallVector<Selection>
CheckpointSelector::divideByRepetition(const Selection &selection) {
  DenseSet<Operation *> inside(selection.ops.begin(), selection.ops.end());
  SmallVector<SmallVector<Operation *>> runs(1);
  for (Operation *op = selection.ops.front();; op = op->getNextNode()) {
    if (inside.contains(op))
      runs.back().push_back(op);
    else if (origins.isActivation(op) && !runs.back().empty() &&
             !scopes.get(op->getLoc()).empty())
      runs.emplace_back();
    if (op == selection.ops.back())
      break;
  }
  SmallVector<Selection> instances;
  for (ArrayRef<Operation *> run : runs)
    for (SmallVector<Operation *> &part : cutIntoLayers(origins, run))
      instances.push_back({selection.label, std::move(part)});
  return instances;
}

/// The applications of a function among what stands under one checkpoint.
SmallVector<Selection> CheckpointSelector::divide(Selection selection,
                                                  unsigned depth) {
  if (find(selection.ops.front(), depth).isNumbered)
    return {std::move(selection)};
  SmallVector<Selection> children = divideByModule(selection, depth);
  if (!areInstances(origins, children))
    return divideByRepetition(selection);
  for (Selection &child : children)
    child.label = selection.label + "/" + child.label;
  return children;
}

/// Numbers what has the label of another one.
static void makeLabelsUnique(MutableArrayRef<Selection> selections) {
  llvm::StringMap<unsigned> counts, next;
  for (const Selection &selection : selections)
    ++counts[selection.label];
  for (Selection &selection : selections)
    if (counts[selection.label] > 1)
      selection.label += "#" + std::to_string(next[selection.label]++);
}

SmallVector<Selection> mlir::remat::selectCheckpoints(func::FuncOp function) {
  CheckpointSelector selector(function);
  for (Block &block : function.getBody())
    selector.selectIn(getOps(block), 0);
  makeLabelsUnique(selector.selections);
  return std::move(selector.selections);
}
