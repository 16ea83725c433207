//===- LowerTapes.cpp - Tapes become slices of tensors --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bufferization knows slices, not tapes. This is the last point at which a
// loop's residual can still be told from any other tensor.
//===----------------------------------------------------------------------===//

#include "LowerSnapshots.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Materialize/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::remat {
#define GEN_PASS_DEF_LOWERTAPES
#include "remat/Transforms/Materialize/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Position `index` of a tape's leading dimension as an offset, sizes and
/// strides of the tape.
struct Slice {
  Slice(OpBuilder &builder, Location loc, Value tape, Value index) {
    auto type = cast<RankedTensorType>(tape.getType());
    offsets.assign(type.getRank(), builder.getIndexAttr(0));
    strides.assign(type.getRank(), builder.getIndexAttr(1));
    sizes = tensor::getMixedSizes(builder, loc, tape);
    offsets.front() = index;
    sizes.front() = builder.getIndexAttr(1);
  }
  SmallVector<OpFoldResult> offsets, sizes, strides;
};
} // namespace

/// Returns true if a tensor of this type has no elements: a slice of it may not
/// even begin at 0. Tapes of loops without iterations are such tensors.
static bool isEmpty(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && llvm::is_contained(tensor.getShape(), 0);
}

static Value lowerWrite(OpBuilder &builder, TapeWriteOp write) {
  Location loc = write.getLoc();
  if (isEmpty(write.getValue().getType()))
    return write.getTape();
  if (!isa<RankedTensorType>(write.getValue().getType()))
    return tensor::InsertOp::create(builder, loc, write.getValue(),
                                    write.getTape(), write.getIndex());
  Slice slice(builder, loc, write.getTape(), write.getIndex());
  return tensor::InsertSliceOp::create(builder, loc, write.getValue(),
                                       write.getTape(), slice.offsets,
                                       slice.sizes, slice.strides);
}

static Value lowerRead(OpBuilder &builder, TapeReadOp read) {
  Location loc = read.getLoc();
  auto type = dyn_cast<RankedTensorType>(read.getValue().getType());
  if (!type)
    return tensor::ExtractOp::create(builder, loc, read.getTape(),
                                     read.getIndex());
  Slice slice(builder, loc, read.getTape(), read.getIndex());
  if (isEmpty(type))
    return tensor::EmptyOp::create(builder, loc,
                                   ArrayRef(slice.sizes).drop_front(),
                                   type.getElementType());
  return tensor::ExtractSliceOp::create(builder, loc, type, read.getTape(),
                                        slice.offsets, slice.sizes,
                                        slice.strides);
}

/// Creates what computes the results of `op`, and returns these.
static SmallVector<Value> lower(OpBuilder &builder, Operation *op) {
  using Values = SmallVector<Value>;
  auto keepAttributes = [&](Value lowered) -> Values {
    if (!llvm::is_contained(op->getOperands(), lowered))
      lowered.getDefiningOp()->setDiscardableAttrs(
          op->getDiscardableAttrDictionary());
    return {lowered};
  };
  return TypeSwitch<Operation *, Values>(op)
      .Case([&](TapeWriteOp write) {
        return keepAttributes(lowerWrite(builder, write));
      })
      .Case([&](TapeReadOp read) {
        return keepAttributes(lowerRead(builder, read));
      })
      .Case([&](NextSnapshotOp next) -> Values {
        return {lowerNextSnapshot(builder, next)};
      })
      .Case(
          [&](LastSnapshotOp last) { return lowerLastSnapshot(builder, last); })
      .Case([](BeginBackwardOp) { return Values(); });
}

namespace {
struct LowerTapesPass : remat::impl::LowerTapesBase<LowerTapesPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<TapeWriteOp, TapeReadOp, NextSnapshotOp, LastSnapshotOp,
              BeginBackwardOp>(op))
        ops.push_back(op);
    });
    if (ops.empty())
      return markAllAnalysesPreserved();
    for (Operation *op : ops) {
      PhaseListener listener(getPhase(op));
      OpBuilder builder(op, &listener);
      op->replaceAllUsesWith(lower(builder, op));
      op->erase();
    }
  }
};
} // namespace
