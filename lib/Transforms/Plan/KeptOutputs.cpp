//===- KeptOutputs.cpp - Outputs that others keep anyway ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The output of a region is an operand of the next one, whose backward reads
// it, whatever the policies say. Where this region's backward needs it as well
// (for the sign of a ReLU), recomputing it would take time and free nothing.
//===----------------------------------------------------------------------===//

#include "KeptOutputs.h"

#include "Slice.h"
#include "remat/Analysis/Cost.h"
#include "remat/Transforms/Fuse/ElementwiseFusion.h"

using namespace mlir;
using namespace mlir::remat;

/// Returns true if `use` is in the backward, and keeps the value live until
/// then.
static bool keeps(OpOperand &use, BackwardOp except,
                  const BackwardBorder &border) {
  Operation *user = use.getOwner();
  auto backward = dyn_cast<BackwardOp>(user);
  if (!backward)
    return border.isInBackward(user);
  if (backward == except)
    return false;
  unsigned number = use.getOperandNumber();
  return backward.getOperandGroup(number) == 0 &&
         !backward.getBodyBlock()->getArgument(number).use_empty();
}

/// Returns true if something but `backward` keeps `value`, also under a name.
static bool isKeptElsewhere(Value value, BackwardOp backward,
                            const BackwardBorder &border) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    auto name = dyn_cast<NameOp>(use.getOwner());
    return name ? isKeptElsewhere(name.getResult(), backward, border)
                : keeps(use, backward, border);
  });
}

bool mlir::remat::isExpensive(Operation *op) {
  if (isGenerator(op) || isFree(op) || isa<NameOp>(op))
    return false;
  auto kernel = dyn_cast<linalg::LinalgOp>(op);
  return kernel ? !isFusableProducer(kernel)
                : !op->hasTrait<OpTrait::Elementwise>();
}

/// Returns the bytes that are saved for this region alone.
static int64_t countSavedBytes(const Slice &slice,
                               const SetVector<Value> &kept) {
  int64_t bytes = 0;
  for (Value value : slice.saved)
    if (!kept.contains(value))
      bytes += getNumBytes(value.getType());
  return bytes;
}

/// Returns true if an expensive operation of `slice` is not in `shorter`.
static bool runsLess(const Slice &shorter, const Slice &slice) {
  llvm::SmallDenseSet<Operation *> rest(shorter.ops.begin(), shorter.ops.end());
  return llvm::any_of(slice.ops, [&](Operation *op) {
    return !rest.contains(op) && isExpensive(op);
  });
}

SetVector<Value> mlir::remat::findKeptOutputs(RegionOp region,
                                              const BackwardInputs &backward,
                                              const BackwardBorder &border) {
  SetVector<Value> kept;
  // Elsewhere each way of a value is a tape or a result of its own.
  if (backward.op->getBlock() != region->getBlock())
    return kept;
  DenseMap<Value, SmallVector<Value>> outputsOf;
  for (auto [output, yielded] :
       llvm::zip(region.getOutputs(), region.getYield()->getOperands()))
    outputsOf[lookThroughNames(yielded)].push_back(output);
  Slice slice = computeSlice(region, backward.needed, kept);
  for (Value value : backward.needed) {
    auto isKept = [&](Value output) {
      return isKeptElsewhere(output, backward.op, border);
    };
    if (slice.saved.contains(value) ||
        llvm::none_of(outputsOf.lookup(value), isKept))
      continue;
    SetVector<Value> more = kept;
    more.insert(value);
    Slice shorter = computeSlice(region, backward.needed, more);
    if (!runsLess(shorter, slice) &&
        countSavedBytes(shorter, more) >= countSavedBytes(slice, kept))
      continue;
    kept = std::move(more);
    slice = std::move(shorter);
  }
  return kept;
}
