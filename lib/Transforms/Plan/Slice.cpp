//===- Slice.cpp - What to save and what to recompute ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place where a policy meets the program.
//===----------------------------------------------------------------------===//

#include "Slice.h"

#include "remat/Analysis/Cost.h"
#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Plan/BackwardInputs.h"
#include "remat/Transforms/Utils/Recompute.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::remat;

int64_t mlir::remat::getNumBytes(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped && !shaped.hasStaticShape() ? 0 : estimateBytes(type);
}

/// Returns true if recomputing `value` costs nothing and does not keep more
/// bytes live than saving it. A view of a value that may not be saved is not
/// free: its source would be recomputed. `known` holds the answers so far.
static bool isNotWorthSaving(Value value, PolicyAttrInterface policy,
                             DenseMap<Value, bool> &known) {
  // Values that stay live for a recompute.
  auto getKept = [](Value value) {
    SmallVector<Value> kept;
    for (Value operand : value.getDefiningOp()->getOperands()) {
      operand = lookThroughNames(operand);
      Operation *producer = operand.getDefiningOp();
      if (producer && !isGenerator(producer))
        kept.push_back(operand);
    }
    return kept;
  };
  return evaluateOnce<bool>(
      value, known,
      [&](Value value, SmallVectorImpl<Value> &sources) {
        Operation *op = value.getDefiningOp();
        if (!isGenerator(op) && isFree(op))
          llvm::copy_if(getKept(value), std::back_inserter(sources),
                        [&](Value kept) { return !policy.isSaveable(kept); });
      },
      [&](Value value) {
        Operation *op = value.getDefiningOp();
        if (isGenerator(op) || !isFree(op))
          return isGenerator(op);
        int64_t bytes = 0;
        for (Value kept : getKept(value)) {
          if (!policy.isSaveable(kept) && !known.at(kept))
            return false;
          bytes += getNumBytes(kept.getType());
        }
        return bytes <= getNumBytes(value.getType());
      });
}

Slice mlir::remat::computeSlice(RegionOp region, ArrayRef<Value> needed,
                                const SetVector<Value> &kept) {
  Slice slice;
  PolicyAttrInterface policy = region.getPolicyOrDefault();
  DenseMap<Value, bool> known;
  SetVector<Operation *> ops = *collectSlice(
      needed,
      [&](Value value) -> FailureOr<bool> {
        if (!value.getDefiningOp())
          return false;
        bool isSaved =
            kept.contains(value) || (!isNotWorthSaving(value, policy, known) &&
                                     policy.isSaveable(value));
        if (isSaved)
          slice.saved.insert(value);
        return !isSaved;
      },
      lookThroughNames);
  // The recomputation of one result of an operation provides the others.
  slice.saved.remove_if(
      [&](Value value) { return ops.contains(value.getDefiningOp()); });
  slice.ops = ops.takeVector();
  for (Operation *op : slice.ops)
    for (Value read : getInputs(op)) {
      Value value = lookThroughNames(read);
      if (isa<BlockArgument>(value) || slice.saved.contains(value))
        slice.inputs.insert(value);
    }
  return slice;
}
