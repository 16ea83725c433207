//===- Recompute.cpp - Slices and their recomputed copies -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Utils/Recompute.h"

#include "remat/Analysis/Sources.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace mlir::remat;

FailureOr<SetVector<Operation *>>
mlir::remat::collectSlice(ValueRange values,
                          function_ref<FailureOr<bool>(Value)> follows,
                          Value (*getSource)(Value)) {
  SetVector<Value> seen;
  auto visit = [&](Value value) {
    seen.insert(getSource ? getSource(value) : value);
  };
  llvm::for_each(values, visit);
  SetVector<Operation *> ops;
  for (unsigned next = 0; next < seen.size(); ++next) {
    Value value = seen[next];
    FailureOr<bool> isFollowed = follows(value);
    if (failed(isFollowed))
      return failure();
    if (*isFollowed && ops.insert(value.getDefiningOp()))
      llvm::for_each(getInputs(value.getDefiningOp()), visit);
  }
  return topologicalSort(ops);
}

BarrierOp mlir::remat::createGuard(OpBuilder &builder, Location loc,
                                   ArrayRef<Value> values, ValueRange after,
                                   IRMapping &mapping, bool repeated) {
  auto current = llvm::map_to_vector(
      values, [&](Value value) { return mapping.lookupOrDefault(value); });
  SetVector<Value> guarded(current.begin(), current.end());
  auto barrier =
      BarrierOp::create(builder, loc, guarded.getArrayRef(), after, repeated);
  for (auto [value, now] : llvm::zip_equal(values, current))
    mapping.map(value,
                barrier.getResult(llvm::find(guarded, now) - guarded.begin()));
  return barrier;
}

void mlir::remat::setPhases(Operation *root, StringRef phase) {
  // Phases belong to whole operations of the step, not to a kernel's scalars.
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!op->hasTrait<OpTrait::IsTerminator>() &&
        !op->hasTrait<OpTrait::ConstantLike>())
      setPhase(op, phase);
    return isa<DestinationStyleOpInterface>(op) ? WalkResult::skip()
                                                : WalkResult::advance();
  });
}

Operation *mlir::remat::cloneRecompute(OpBuilder &builder, Operation *op,
                                       IRMapping &mapping, StringRef phase) {
  Operation *clone = builder.clone(*op, mapping);
  setPhases(clone, phase);
  return clone;
}
