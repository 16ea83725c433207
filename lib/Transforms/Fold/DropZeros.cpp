//===- DropZeros.cpp - Zeros that nothing reads ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cotangent of a tensor that is put together of slices starts from zeros,
// and that of a tensor whose slice is overwritten gets zeros there. Often the
// slices are all there is, or the zeros are never read: a pass over memory for
// nothing, and in a loop over a sequence two launches for each step.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Fold/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace mlir::remat {
#define GEN_PASS_DEF_DROPZEROSPASS
#include "remat/Transforms/Fold/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Slices that are all of a tensor
//===----------------------------------------------------------------------===//

static bool isStatic(tensor::InsertSliceOp insert) {
  return insert.hasUnitStride() &&
         !ShapedType::isDynamicShape(insert.getStaticOffsets()) &&
         !ShapedType::isDynamicShape(insert.getStaticSizes());
}

static bool areDisjoint(tensor::InsertSliceOp a, tensor::InsertSliceOp b) {
  for (auto [offsetA, sizeA, offsetB, sizeB] :
       llvm::zip_equal(a.getStaticOffsets(), a.getStaticSizes(),
                       b.getStaticOffsets(), b.getStaticSizes()))
    if (offsetA + sizeA <= offsetB || offsetB + sizeB <= offsetA)
      return true;
  return false;
}

/// More slices than models have would take quadratic time.
static constexpr size_t kMaxSlices = 64;

/// Whether `first` inserts a slice into a tensor all of which is overwritten by
/// it and others that do not overlap, before anything reads the result. Others
/// may read the tensor.
static bool isCoveredBySlices(OpOperand &first) {
  auto type = dyn_cast<RankedTensorType>(first.get().getType());
  if (!type || !type.hasStaticShape())
    return false;
  int64_t missing = type.getNumElements();
  SmallVector<tensor::InsertSliceOp> inserts;
  OpOperand *next = &first;
  while (true) {
    auto insert = dyn_cast<tensor::InsertSliceOp>(next->getOwner());
    if (!insert || next != &insert.getDestMutable() || !isStatic(insert) ||
        !llvm::all_of(inserts, [&](tensor::InsertSliceOp other) {
          return areDisjoint(insert, other);
        }))
      return false;
    missing -= ShapedType::getNumElements(insert.getStaticSizes());
    inserts.push_back(insert);
    if (missing <= 0)
      return true;
    if (!insert->hasOneUse() || inserts.size() == kMaxSlices)
      return false;
    next = &*insert->use_begin();
  }
}

//===----------------------------------------------------------------------===//
// Slices that an iteration reads and the next ones do not
//===----------------------------------------------------------------------===//

/// By how much `value` changes from one value of the induction variable to the
/// next, if that is known.
static std::optional<int64_t> getSlope(Value value, scf::ForOp loop) {
  if (value == loop.getInductionVar())
    return 1;
  if (loop.isDefinedOutsideOfLoop(value) || matchPattern(value, m_Constant()))
    return 0;
  Operation *op = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  std::optional<int64_t> left = getSlope(op->getOperand(0), loop),
                         right = getSlope(op->getOperand(1), loop);
  if (!left || !right)
    return std::nullopt;
  return isa<arith::AddIOp>(op) ? *left + *right : *left - *right;
}

/// Whether the slices of two iterations never overlap.
static bool isOfOneIteration(tensor::InsertSliceOp insert, scf::ForOp loop) {
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!step || !insert.hasUnitStride())
    return false;
  for (auto [offset, size] :
       llvm::zip_equal(insert.getMixedOffsets(), insert.getStaticSizes())) {
    auto value = dyn_cast<Value>(offset);
    if (!value || ShapedType::isDynamic(size))
      continue;
    // What wraps around is as far away.
    std::optional<int64_t> slope = getSlope(value, loop);
    if (slope && std::abs(*slope) == 1 && *step >= size)
      return true;
  }
  return false;
}

/// Whether `insert` only puts zeros into the part of the value that `loop`
/// carries which this iteration reads, and which nothing reads after it.
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

/// The value then is the same in all iterations.
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
