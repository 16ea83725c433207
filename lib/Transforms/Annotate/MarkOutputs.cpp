//===- MarkOutputs.cpp - Names and stopped gradients ----------------------===//
//
// `checkpoint_name`, `stop_gradient` and `detach` leave no operation behind: a
// scope around what they were applied to is all that an export keeps.
//
//===----------------------------------------------------------------------===//

#include "Origins.h"

#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::remat;

/// Calls `mark` for each value of `selection` that something else reads, with
/// the rewriter behind its operation, and puts what it returns in its place.
static void markOutputs(RewriterBase &rewriter, const Selection &selection,
                        function_ref<Value(Value)> mark) {
  DenseSet<Operation *> inside(selection.ops.begin(), selection.ops.end());
  OpBuilder::InsertionGuard guard(rewriter);
  for (Operation *op : selection.ops)
    for (Value result : op->getResults()) {
      auto isOutside = [&](Operation *user) {
        return !inside.contains(op->getBlock()->findAncestorOpInBlock(*user));
      };
      if (llvm::none_of(result.getUsers(), isOutside))
        continue;
      rewriter.setInsertionPointAfter(op);
      Value marked = mark(result);
      if (marked == result)
        continue;
      rewriter.replaceUsesWithIf(result, marked, [&](OpOperand &use) {
        return use.getOwner() != marked.getDefiningOp() &&
               isOutside(use.getOwner());
      });
    }
}

void mlir::remat::nameOutputs(RewriterBase &rewriter,
                              ArrayRef<Selection> selections, StringRef name) {
  for (const Selection &selection : selections)
    markOutputs(rewriter, selection, [&](Value value) -> Value {
      return NameOp::create(rewriter, value.getLoc(), name, value);
    });
}

void mlir::remat::stopGradients(RewriterBase &rewriter,
                                ArrayRef<Selection> selections) {
  for (const Selection &selection : selections)
    markOutputs(rewriter, selection, [&](Value value) -> Value {
      if (!isa<FloatType>(getElementTypeOrSelf(value.getType())))
        return value;
      return StopGradientOp::create(rewriter, value.getLoc(), value);
    });
}

LogicalResult mlir::remat::nameRecomputed(RewriterBase &rewriter,
                                          ArrayRef<RegionOp> regions,
                                          ArrayRef<std::string> kinds,
                                          StringRef name) {
  llvm::SetVector<func::FuncOp> functions;
  for (RegionOp region : regions)
    functions.insert(region->getParentOfType<func::FuncOp>());
  DenseSet<Operation *> isNew(regions.begin(), regions.end()), hasName;
  for (func::FuncOp function : functions) {
    SmallVector<bool> matched;
    FailureOr<SmallVector<Selection>> selections =
        selectKinds(function, kinds, matched);
    if (failed(selections))
      return failure();
    for (const Selection &selection : *selections)
      if (auto region = selection.ops.front()->getParentOfType<RegionOp>();
          region && isNew.contains(region)) {
        nameOutputs(rewriter, selection, name);
        hasName.insert(region);
      }
  }
  for (RegionOp region : regions)
    if (!hasName.contains(region))
      return emitError(region.getLoc(), "no operation in the region \"")
             << region.getLabel().value_or("")
             << "\" is one of recompute=" << llvm::join(kinds, ",");
  return success();
}
