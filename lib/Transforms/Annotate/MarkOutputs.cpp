//===- MarkOutputs.cpp - Names and stopped gradients ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `checkpoint_name`, `stop_gradient` and `detach` leave no operation in an
// export: a scope around what they were applied to is all that an export keeps.
//===----------------------------------------------------------------------===//

#include "Origins.h"

#include "remat/Transforms/Annotate/Annotate.h"
#include "remat/Transforms/Utils/Callees.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;

/// Calls `mark` for each value of `selection` that something else reads, with
/// the rewriter after its operation, and puts what it returns in its place,
/// unless that is null. Returns whether there was any.
static bool markOutputs(RewriterBase &rewriter, const Selection &selection,
                        function_ref<Value(Value)> mark) {
  DenseSet<Operation *> inside(selection.ops.begin(), selection.ops.end());
  OpBuilder::InsertionGuard guard(rewriter);
  bool isAnyMarked = false;
  for (Operation *op : selection.ops)
    for (Value result : op->getResults()) {
      auto isOutside = [&](Operation *user) {
        return !inside.contains(op->getBlock()->findAncestorOpInBlock(*user));
      };
      if (llvm::none_of(result.getUsers(), isOutside))
        continue;
      rewriter.setInsertionPointAfter(op);
      Value marked = mark(result);
      if (!marked)
        continue;
      isAnyMarked = true;
      rewriter.replaceUsesWithIf(result, marked, [&](OpOperand &use) {
        return use.getOwner() != marked.getDefiningOp() &&
               isOutside(use.getOwner());
      });
    }
  return isAnyMarked;
}

/// `things` are what `mark` marks.
static LogicalResult markAll(RewriterBase &rewriter,
                             ArrayRef<Selection> selections, StringRef things,
                             function_ref<Value(Value)> mark) {
  bool isAnyMarked = selections.empty();
  for (const Selection &selection : selections)
    isAnyMarked |= markOutputs(rewriter, selection, mark);
  if (isAnyMarked)
    return success();
  const Selection &first = selections.front();
  return emitError(first.ops.front()->getLoc(), "nothing outside of \"")
         << first.label << "\" reads " << things << " from it";
}

LogicalResult mlir::remat::nameOutputs(RewriterBase &rewriter,
                                       ArrayRef<Selection> selections,
                                       StringRef name) {
  return markAll(rewriter, selections, "a value", [&](Value value) -> Value {
    return NameOp::create(rewriter, value.getLoc(), name, value);
  });
}

LogicalResult mlir::remat::stopGradients(RewriterBase &rewriter,
                                         ArrayRef<Selection> selections) {
  return markAll(rewriter, selections, "a floating-point value",
                 [&](Value value) -> Value {
                   if (!isa<FloatType>(getElementTypeOrSelf(value.getType())))
                     return {};
                   return StopGradientOp::create(rewriter, value.getLoc(),
                                                 value);
                 });
}

FailureOr<DenseSet<Operation *>>
mlir::remat::nameKinds(RewriterBase &rewriter, ModuleOp module,
                       ArrayRef<RegionOp> regions, ArrayRef<std::string> kinds,
                       StringRef name, bool toSave,
                       SmallVectorImpl<bool> &matched) {
  SymbolTableCollection symbols;
  DenseMap<Operation *, SmallVector<RegionOp>> callers;
  for (RegionOp region : regions) {
    llvm::SetVector<Operation *> called;
    collectCalled(region, symbols, called);
    for (Operation *callee : called)
      callers[callee].push_back(region);
  }
  DenseSet<Operation *> isNew(regions.begin(), regions.end()), hasName;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    FailureOr<SmallVector<Selection>> selections =
        toSave ? selectResultsOfKinds(function, kinds, matched)
               : selectKinds(function, kinds, matched);
    if (failed(selections))
      return failure();
    for (const Selection &selection : *selections) {
      Operation *first = selection.ops.front();
      SmallVector<RegionOp> around = callers.lookup(function);
      for (auto region = first->getParentOfType<RegionOp>(); region;
           region = region->getParentOfType<RegionOp>())
        if (isNew.contains(region))
          around.push_back(region);
      if (!around.empty() && !first->use_empty() &&
          succeeded(nameOutputs(rewriter, selection, name)))
        hasName.insert_range(around);
    }
  }
  return hasName;
}
