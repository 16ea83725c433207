//===- SelectScopes.cpp - Operations by where they come from --------------===//
//
// Everything under one scope is one selection: `layers.*` selects each layer
// of its own. A `jax.checkpoint` has no name of its own; its instances are told
// apart by the module in it, by what stands between them, or by repetition.
//
//===----------------------------------------------------------------------===//

#include "Layers.h"
#include "Origins.h"
#include "Scopes.h"

#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::remat;

/// Calls `visit` with the operations of `region` that can be selected, in
/// program order; where it returns false, also with those inside.
static void visitOps(Region &region, const Origins &origins,
                     function_ref<bool(Operation *)> visit) {
  for (Block &block : region)
    for (Operation &op : block) {
      if (op.hasTrait<OpTrait::IsTerminator>() || origins.isMadeAgain(&op) ||
          isBoundToItsPlace(&op) || visit(&op) || isa<linalg::LinalgOp>(op))
        continue;
      for (Region &inner : op.getRegions())
        visitOps(inner, origins, visit);
    }
}

/// Adds what has no scope of its own and lies between operations of
/// `selection`: it depends on one, and another one depends on it.
static void addUnscoped(Selection &selection, Scopes &scopes) {
  DenseSet<Operation *> inside(selection.ops.begin(), selection.ops.end());
  DenseSet<Operation *> behind(inside), before(inside);
  Operation *first = selection.ops.front(), *last = selection.ops.back();
  SmallVector<Operation *> window;
  for (Operation *op = first; op != last->getNextNode();
       op = op->getNextNode()) {
    window.push_back(op);
    forEachUsedValue(op, [&](Value value) {
      if (behind.contains(value.getDefiningOp()))
        behind.insert(op);
    });
  }
  for (Operation *op : llvm::reverse(window))
    if (before.contains(op))
      forEachUsedValue(op, [&](Value value) {
        if (Operation *source = value.getDefiningOp())
          before.insert(source);
      });
  selection.ops.clear();
  for (Operation *op : window)
    if (inside.contains(op) || (behind.contains(op) && before.contains(op) &&
                                scopes.get(op->getLoc()).empty() &&
                                !isBoundToItsPlace(op) && !isa<RegionOp>(op)))
      selection.ops.push_back(op);
}

/// The key of everything in `region`; none if keys differ.
static std::string getCommonKey(RegionOp region, const Origins &origins,
                                function_ref<std::string(Operation *)> getKey) {
  std::optional<std::string> common;
  for (Operation &op : region.getBodyBlock()->without_terminator()) {
    if (origins.isMadeAgain(&op))
      continue;
    auto inner = dyn_cast<RegionOp>(op);
    std::string key =
        inner ? getCommonKey(inner, origins, getKey) : getKey(&op);
    if (common.value_or(key) != key)
      return "";
    common = key;
  }
  return common.value_or("");
}

/// A selection for each key (and block), in the order of their first operation.
static SmallVector<Selection>
group(func::FuncOp function, Scopes &scopes,
      function_ref<std::string(Operation *)> getKey) {
  Origins origins(function);
  llvm::MapVector<Block *, llvm::StringMap<size_t>> indices;
  SmallVector<Selection> selections;
  visitOps(function.getBody(), origins, [&](Operation *op) {
    auto region = dyn_cast<RegionOp>(op);
    std::string key =
        region ? getCommonKey(region, origins, getKey) : getKey(op);
    if (key.empty())
      return false;
    auto [it, isFirst] =
        indices[op->getBlock()].try_emplace(key, selections.size());
    if (isFirst)
      selections.push_back({key, {}});
    selections[it->second].ops.push_back(op);
    return true;
  });
  for (Selection &selection : selections)
    addUnscoped(selection, scopes);
  return selections;
}

FailureOr<SmallVector<Selection>>
mlir::remat::selectScopes(func::FuncOp function, ArrayRef<std::string> patterns,
                          SmallVectorImpl<bool> &matched) {
  SmallVector<ScopePattern> parsed;
  for (StringRef text : patterns) {
    FailureOr<ScopePattern> pattern =
        ScopePattern::parse(function.getLoc(), text);
    if (failed(pattern))
      return failure();
    parsed.push_back(std::move(*pattern));
  }
  matched.resize(patterns.size());
  Scopes scopes;
  return group(function, scopes, [&](Operation *op) -> std::string {
    for (const ScopePath &path : scopes.get(op->getLoc()))
      for (auto [index, pattern] : llvm::enumerate(parsed))
        if (size_t count = pattern.match(path)) {
          matched[index] = true;
          return path.getPrefix(count).str();
        }
    return "";
  });
}

SmallVector<std::string> mlir::remat::collectScopes(func::FuncOp function) {
  Scopes scopes;
  SmallVector<std::string> names;
  llvm::StringSet<> seen;
  function.walk([&](Operation *op) {
    for (const ScopePath &path : scopes.get(op->getLoc()))
      for (size_t count = 1; count <= path.size(); ++count)
        if (seen.insert(path.getPrefix(count)).second)
          names.push_back(path.getPrefix(count).str());
  });
  return names;
}

//===----------------------------------------------------------------------===//
// jax.checkpoint
//===----------------------------------------------------------------------===//

namespace {
/// The component that `jax.checkpoint` (also called `jax.remat`) adds, and the
/// module under it, if any: the last component is an operation.
struct CheckpointScope {
  std::string prefix, child;
};
} // namespace

static std::optional<CheckpointScope> findCheckpoint(Scopes &scopes,
                                                     Operation *op) {
  for (const ScopePath &path : scopes.get(op->getLoc()))
    for (size_t index = 0; index < path.size(); ++index)
      if (StringRef name = path.getComponent(index);
          name == "checkpoint" || name == "remat" || name == "remat2") {
        CheckpointScope scope{path.getPrefix(index + 1).str(), ""};
        if (index + 2 < path.size())
          scope.child = path.getComponent(index + 1);
        return scope;
      }
  return std::nullopt;
}

/// "layer_" for "layer_12"; empty without a number.
static StringRef getStem(StringRef name) {
  StringRef stem = name.rtrim("0123456789");
  return stem.size() == name.size() ? StringRef() : stem;
}

/// Whether the modules directly under one checkpoint are its instances rather
/// than parts of one: numbered, of one class, and each as often as it takes to
/// be equal to the others.
static bool areInstances(const Origins &origins, ArrayRef<Selection> children) {
  if (children.size() < 2)
    return false;
  return llvm::all_of(children, [&](const Selection &child) {
    return !getStem(child.label).empty() &&
           getStem(child.label) == getStem(children.front().label) &&
           areAlike(origins, children.front().ops, child.ops);
  });
}

/// Appends the instances of one checkpoint scope with no modules to tell them
/// apart: divided where an activation of another scope stands between, then
/// where the operations repeat.
static void divide(const Selection &selection, const Origins &origins,
                   Scopes &scopes, SmallVectorImpl<Selection> &instances) {
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
  for (ArrayRef<Operation *> run : runs)
    for (SmallVector<Operation *> &part : cutIntoLayers(origins, run))
      instances.push_back({selection.label, std::move(part)});
}

SmallVector<Selection> mlir::remat::selectCheckpoints(func::FuncOp function) {
  Scopes scopes;
  Origins origins(function);
  SmallVector<Selection> whole =
      group(function, scopes, [&](Operation *op) -> std::string {
        std::optional<CheckpointScope> scope = findCheckpoint(scopes, op);
        return scope ? scope->prefix : "";
      });
  SmallVector<Selection> instances;
  for (Selection &selection : whole) {
    // What stands in the checkpointed function itself goes with the module
    // before it (the first one: behind it).
    SmallVector<Selection> children;
    llvm::StringMap<size_t> indices;
    auto getChild = [&](Operation *op) {
      std::optional<CheckpointScope> scope = findCheckpoint(scopes, op);
      return scope ? scope->child : std::string();
    };
    std::string last;
    for (Operation *op : selection.ops)
      if (last = getChild(op); !last.empty())
        break;
    for (Operation *op : selection.ops) {
      std::string child = getChild(op);
      if (child.empty())
        child = last;
      auto [it, isFirst] = indices.try_emplace(child, children.size());
      if (isFirst)
        children.push_back({child, {}});
      children[it->second].ops.push_back(op);
      last = child;
    }
    if (!areInstances(origins, children)) {
      divide(selection, origins, scopes, instances);
      continue;
    }
    for (Selection &child : children) {
      child.label = selection.label + "/" + child.label;
      instances.push_back(std::move(child));
    }
  }
  return instances;
}
