//===- DropZeros.cpp - Zeros that are never read --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cotangent of a tensor that is assembled from slices starts from zeros,
// and that of a tensor whose slice is overwritten gets zeros there. Often the
// slices cover the tensor, or the zeros are never read: a pass over memory for
// nothing, and in a loop over a sequence two launches for each step.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/AffineValues.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Fold/Passes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::remat {
#define GEN_PASS_DEF_DROPZEROSPASS
#include "remat/Transforms/Fold/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Slices that cover a tensor
//===----------------------------------------------------------------------===//

static bool isStatic(const TensorPart &part) {
  return !ShapedType::isDynamicShape(part.offsets) &&
         !ShapedType::isDynamicShape(part.sizes);
}

/// More slices than models have would take quadratic time.
static constexpr size_t kMaxSlices = 64;

/// Returns true if `first` inserts a slice into a tensor all of which is
/// overwritten by it and other slices that do not overlap, before the result
/// has other uses. The tensor itself may have other users.
static bool isCoveredBySlices(OpOperand &first) {
  auto type = dyn_cast<RankedTensorType>(first.get().getType());
  if (!type || !type.hasStaticShape())
    return false;
  int64_t missing = type.getNumElements();
  SmallVector<TensorPart> parts;
  OpOperand *next = &first;
  while (true) {
    auto insert = dyn_cast<tensor::InsertSliceOp>(next->getOwner());
    if (!insert || next != &insert.getDestMutable())
      return false;
    std::optional<TensorPart> part = getInsertedPart(insert);
    if (!part || !isStatic(*part) ||
        !llvm::all_of(parts, [&](const TensorPart &other) {
          return areDisjoint(*part, other);
        }))
      return false;
    missing -= ShapedType::getNumElements(part->sizes);
    parts.push_back(std::move(*part));
    if (missing <= 0)
      return true;
    if (!insert->hasOneUse() || parts.size() == kMaxSlices)
      return false;
    next = &*insert->use_begin();
  }
}

//===----------------------------------------------------------------------===//
// Slices that an iteration reads and the next ones do not
//===----------------------------------------------------------------------===//

/// Returns true if the slices of two iterations never overlap.
static bool isOfOneIteration(tensor::InsertSliceOp insert, scf::ForOp loop) {
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!step || !insert.hasUnitStride())
    return false;
  AffineValues values(loop.getInductionVar(), /*scope=*/loop);
  for (auto [offset, size] :
       llvm::zip_equal(insert.getMixedOffsets(), insert.getStaticSizes())) {
    auto value = dyn_cast<Value>(offset);
    if (!value || ShapedType::isDynamic(size))
      continue;
    // Wrapping around keeps the distance.
    std::optional<AffineValue> position = values.get(value);
    if (position && std::abs(position->coefficients[0]) == 1 && *step >= size)
      return true;
  }
  return false;
}

/// Returns true if `insert` only puts zeros into the part of the value carried
/// by `loop` which this iteration reads, and which has no later uses.
static bool putsUnreadZeros(tensor::InsertSliceOp insert, scf::ForOp loop,
                            unsigned index) {
  BlockArgument carried = loop.getRegionIterArg(index);
  if (!loop.getResult(index).use_empty() || insert.getDest() != carried ||
      !insert->hasOneUse() || !getZeroFilled(insert.getSource()) ||
      !isOfOneIteration(insert, loop))
    return false;
  return llvm::all_of(carried.getUsers(), [&](Operation *user) {
    auto extract = dyn_cast<tensor::ExtractSliceOp>(user);
    return user == insert ||
           (extract && extract.getMixedOffsets() == insert.getMixedOffsets() &&
            extract.getMixedSizes() == insert.getMixedSizes() &&
            extract.getMixedStrides() == insert.getMixedStrides());
  });
}

/// The value is then the same in all iterations.
static bool dropUnreadZeros(scf::ForOp loop) {
  bool changed = false;
  for (auto [index, yielded] :
       llvm::enumerate(loop.getYieldedValuesMutable().value())) {
    auto insert = yielded.get().getDefiningOp<tensor::InsertSliceOp>();
    if (!insert || insert->getParentOp() != loop ||
        !putsUnreadZeros(insert, loop, index))
      continue;
    yielded.set(loop.getRegionIterArg(index));
    insert.erase();
    changed = true;
  }
  return changed;
}

namespace {
struct DropZerosPass : mlir::remat::impl::DropZerosPassBase<DropZerosPass> {
  void runOnOperation() override {
    bool changed = false;
    getOperation()->walk(
        [&](scf::ForOp loop) { changed |= dropUnreadZeros(loop); });
    getOperation()->walk([&](linalg::FillOp fill) {
      if (!fill.hasPureTensorSemantics() || fill->getNumResults() != 1)
        return;
      for (OpOperand &use : llvm::make_early_inc_range(fill->getUses()))
        if (isCoveredBySlices(use)) {
          use.set(fill.output());
          changed = true;
        }
      if (fill->use_empty()) {
        fill.erase();
        changed = true;
      }
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
