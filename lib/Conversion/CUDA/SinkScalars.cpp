//===- SinkScalars.cpp - Scalars that depend on tensors, in kernels -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The factor of a clipped gradient is a scalar between two kernels. On the host
// it would make every step wait for the device, and end the graph.
//===----------------------------------------------------------------------===//

#include "DeviceScalars.h"

#include "remat/Analysis/Sources.h"
#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SINKSCALARS
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// Copies what `root` is computed from to the insertion point, back to scalars
/// that do not depend on tensors.
static Value sink(OpBuilder &builder, Value root, DeviceScalars &scalars,
                  IRMapping &copies) {
  auto isToCopy = [&](Value value) {
    return scalars.contains(value) && !copies.contains(value);
  };
  walkSources(
      root,
      [&](Value value, SmallVectorImpl<Value> &sources) {
        if (isToCopy(value))
          llvm::append_range(sources, value.getDefiningOp()->getOperands());
      },
      [&](Value value) {
        if (isToCopy(value))
          builder.clone(*value.getDefiningOp(), copies);
      });
  return copies.lookupOrDefault(root);
}

/// Scalars that the body no longer uses would be computed for it all the same.
static void dropUnusedScalars(linalg::GenericOp op, DeviceScalars &scalars) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (unsigned i = op.getNumDpsInputs(); i-- > 0;) {
    if (!scalars.contains(op.getInputs()[i]) ||
        !op.getBody()->getArgument(i).use_empty())
      continue;
    op.getBody()->eraseArgument(i);
    op.getInputsMutable().erase(i);
    maps.erase(maps.begin() + i);
  }
  op.setIndexingMapsAttr(Builder(op.getContext()).getAffineMapArrayAttr(maps));
}

/// Makes the body of `op` compute such scalars by itself.
static bool sinkInto(linalg::GenericOp op, DeviceScalars &scalars) {
  Block *body = op.getBody();
  auto builder = OpBuilder::atBlockBegin(body);
  IRMapping copies;
  bool changed = false;
  for (OpOperand *input : op.getDpsInputOperands())
    if (scalars.contains(input->get())) {
      BlockArgument argument = op.getMatchingBlockArgument(input);
      if (argument.use_empty())
        continue;
      argument.replaceAllUsesWith(sink(builder, input->get(), scalars, copies));
      changed = true;
    }
  llvm::SetVector<Value> used;
  getUsedValuesDefinedAbove(op.getRegion(), used);
  for (Value value : used) {
    if (!scalars.contains(value))
      continue;
    Value copy = sink(builder, value, scalars, copies);
    value.replaceUsesWithIf(copy, [&](OpOperand &use) {
      return op->isProperAncestor(use.getOwner()) && use.get() != copy;
    });
    changed = true;
  }
  return changed;
}

/// A kernel of one thread that makes a tensor of scalars.
static void makeKernel(tensor::FromElementsOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = op.getType();
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  auto generic = linalg::GenericOp::create(
      builder, loc, type, ValueRange{}, empty,
      AffineMap::getMultiDimIdentityMap(type.getRank(), op.getContext()),
      SmallVector<utils::IteratorType>(type.getRank(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &inside, Location loc, ValueRange) {
        linalg::YieldOp::create(inside, loc, op.getElements());
      });
  copyPhase(op, generic);
  op.replaceAllUsesWith(generic.getResult(0));
  op.erase();
}

namespace {
struct SinkScalars : remat::impl::SinkScalarsBase<SinkScalars> {
  void runOnOperation() override {
    DeviceScalars scalars;
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::FillOp> fills;
    SmallVector<tensor::FromElementsOp> tensors;
    getOperation()->walk([&](Operation *op) {
      if (auto fill = dyn_cast<linalg::FillOp>(op);
          fill && scalars.contains(fill.getInputs()[0]))
        fills.push_back(fill);
      if (auto made = dyn_cast<tensor::FromElementsOp>(op);
          made && made.getElements().size() == 1 &&
          scalars.contains(made.getElements()[0]))
        tensors.push_back(made);
    });
    for (linalg::FillOp fill : fills) {
      rewriter.setInsertionPoint(fill);
      (void)linalg::generalizeNamedOp(rewriter, fill);
    }
    llvm::for_each(tensors, makeKernel);
    bool changed = !fills.empty() || !tensors.empty();
    getOperation()->walk([&](linalg::GenericOp op) {
      if (!sinkInto(op, scalars))
        return;
      dropUnusedScalars(op, scalars);
      changed = true;
    });
    if (!changed)
      return markAllAnalysesPreserved();
    // The host would still read what kernels now read by themselves.
    getOperation()->walk<WalkOrder::PostOrder, ReverseIterator>(
        [](Operation *op) {
          if (isScalarOp(op) && isOpTriviallyDead(op))
            op->erase();
        });
  }
};
} // namespace
