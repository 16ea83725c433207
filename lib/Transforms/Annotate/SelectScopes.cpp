//===- SelectScopes.cpp - Operations by where they come from --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything under one scope is one selection: `layers.*` selects each layer
// of its own.
//===----------------------------------------------------------------------===//

#include "SelectScopes.h"

#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::remat;

bool mlir::remat::isSelectable(Operation *op, const Origins &origins) {
  return !op->hasTrait<OpTrait::IsTerminator>() && !origins.isMadeAgain(op) &&
         !isBoundToItsPlace(op);
}

/// Calls `visit` with the operations of `region` that can be selected, in
/// program order; where it returns false, also with those inside.
static void visitOps(Region &region, const Origins &origins,
                     function_ref<bool(Operation *)> visit) {
  for (Block &block : region)
    for (Operation &op : block) {
      if (!isSelectable(&op, origins) || visit(&op) ||
          isa<linalg::LinalgOp>(op))
        continue;
      for (Region &inner : op.getRegions())
        visitOps(inner, origins, visit);
    }
}

void mlir::remat::addUnscoped(Selection &selection, Scopes &scopes) {
  DenseSet<Operation *> inside(selection.ops.begin(), selection.ops.end());
  DenseSet<Operation *> behind(inside), before(inside);
  Operation *first = selection.ops.front(), *last = selection.ops.back();
  SmallVector<Operation *> window;
  for (Operation *op = first; op != last->getNextNode();
       op = op->getNextNode()) {
    window.push_back(op);
    for (Value value : getInputs(op))
      if (behind.contains(value.getDefiningOp()))
        behind.insert(op);
  }
  for (Operation *op : llvm::reverse(window))
    if (before.contains(op))
      for (Value value : getInputs(op))
        if (Operation *source = value.getDefiningOp())
          before.insert(source);
  selection.ops.clear();
  for (Operation *op : window)
    if (inside.contains(op) || (behind.contains(op) && before.contains(op) &&
                                scopes.get(op->getLoc()).empty() &&
                                !isBoundToItsPlace(op) && !isa<RegionOp>(op)))
      selection.ops.push_back(op);
}

std::string
mlir::remat::getKeyOf(Operation *op, const Origins &origins,
                      function_ref<std::string(Operation *)> getKey) {
  auto region = dyn_cast<RegionOp>(op);
  if (!region)
    return getKey(op);
  std::optional<std::string> common;
  for (Operation &inner : region.getBodyBlock()->without_terminator()) {
    if (origins.isMadeAgain(&inner))
      continue;
    std::string key = getKeyOf(&inner, origins, getKey);
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
    std::string key = getKeyOf(op, origins, getKey);
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
