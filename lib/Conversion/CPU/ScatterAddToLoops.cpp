//===- ScatterAddToLoops.cpp - Additions one after the other --------------===//
//
// On the CPU: a loop over the positions that are computed, which adds a row at
// a time, so that the innermost dimension vectorizes.
//
//===----------------------------------------------------------------------===//

#include "../ScatterRows.h"
#include "remat/Conversion/CPU/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTSCATTERADDTOLOOPS
#include "remat/Conversion/CPU/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// The loops of one operation.
class Lowering {
public:
  Lowering(ScatterAddOp op, OpBuilder &b)
      : op(op), b(b), loc(op.getLoc()), rows(findScatterRows(op)),
        sizes(tensor::getMixedSizes(b, loc, op.getUpdates())) {}

  Value build();

private:
  Value addElement(Value table, ValueRange at, ValueRange position);
  Value addRow(Value table, ValueRange position);

  ScatterAddOp op;
  OpBuilder &b;
  Location loc;
  ScatterRows rows;
  SmallVector<OpFoldResult> sizes;
};
} // namespace

Value Lowering::addElement(Value table, ValueRange at, ValueRange position) {
  Value old = tensor::ExtractOp::create(b, loc, table, at);
  Value element = tensor::ExtractOp::create(b, loc, op.getUpdates(), position);
  Value sum = arith::AddFOp::create(b, loc, old, widenUpdate(b, op, element));
  return tensor::InsertOp::create(b, loc, sum, table, at);
}

/// Adds the updates at one position of the outer dimensions.
Value Lowering::addRow(Value table, ValueRange position) {
  SmallVector<Value> at = computeScatterIndices(b, op, rows, position);
  if (rows.outer.size() == position.size())
    return addElement(table, at, position);
  OpFoldResult zero = b.getIndexAttr(0), one = b.getIndexAttr(1);
  auto staticSize = [](OpFoldResult size) {
    return getConstantIntValue(size).value_or(ShapedType::kDynamic);
  };
  SmallVector<OpFoldResult> tableOffsets, tableSizes;
  SmallVector<int64_t> tableShape, rowShape;
  // The row's dimensions are in the order of the updates, the table's in its
  // own.
  SmallVector<unsigned> dims;
  for (auto [dim, index] : llvm::enumerate(at)) {
    std::optional<unsigned> argument = rows.rowArgument[dim];
    tableOffsets.push_back(argument ? zero : OpFoldResult(index));
    tableSizes.push_back(argument ? sizes[*argument] : one);
    if (argument) {
      tableShape.push_back(staticSize(sizes[*argument]));
      dims.push_back(*argument);
    }
  }
  SmallVector<OpFoldResult> offsets, rowSizes;
  SmallVector<AffineExpr> order;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    const unsigned *row = llvm::find(dims, dim);
    bool isRow = row != dims.end();
    offsets.push_back(isRow ? zero : OpFoldResult(position[dim]));
    rowSizes.push_back(isRow ? size : one);
    if (isRow) {
      rowShape.push_back(staticSize(size));
      order.push_back(b.getAffineDimExpr(row - dims.begin()));
    }
  }
  Type type = getElementTypeOrSelf(table);
  SmallVector<OpFoldResult> tableStrides(tableSizes.size(), one),
      strides(rowSizes.size(), one);
  Value old = tensor::ExtractSliceOp::create(
      b, loc, RankedTensorType::get(tableShape, type), table, tableOffsets,
      tableSizes, tableStrides);
  Value row = tensor::ExtractSliceOp::create(
      b, loc,
      RankedTensorType::get(rowShape, getElementTypeOrSelf(op.getUpdates())),
      op.getUpdates(), offsets, rowSizes, strides);
  unsigned rank = dims.size();
  auto sum = linalg::GenericOp::create(
      b, loc, old.getType(), row, old,
      ArrayRef<AffineMap>{AffineMap::get(rank, 0, order, b.getContext()),
                          b.getMultiDimIdentityMap(rank)},
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &body, Location, ValueRange v) {
        Value next =
            arith::AddFOp::create(body, loc, v[1], widenUpdate(body, op, v[0]));
        linalg::YieldOp::create(body, loc, next);
      });
  return tensor::InsertSliceOp::create(b, loc, sum.getResult(0), table,
                                       tableOffsets, tableSizes, tableStrides);
}

Value Lowering::build() {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  SmallVector<Value> upper = llvm::map_to_vector(rows.outer, [&](unsigned dim) {
    return getValueOrCreateConstantIndexOp(b, loc, sizes[dim]);
  });
  scf::LoopNest nest = scf::buildLoopNest(
      b, loc, SmallVector<Value>(upper.size(), zero), upper,
      SmallVector<Value>(upper.size(), one), op.getInit(),
      [&](OpBuilder &inner, Location, ValueRange ivs, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(inner.getInsertionBlock(),
                            inner.getInsertionPoint());
        SmallVector<Value> position(sizes.size(), zero);
        for (auto [dim, iv] : llvm::zip_equal(rows.outer, ivs))
          position[dim] = iv;
        return scf::ValueVector{addRow(carried[0], position)};
      });
  return nest.results[0];
}

namespace {
class ConvertScatterAddToLoops
    : public remat::impl::ConvertScatterAddToLoopsBase<
          ConvertScatterAddToLoops> {
protected:
  void runOnOperation() override {
    bool changed = false;
    getOperation()->walk([&](ScatterAddOp op) {
      if (!op.hasPureTensorSemantics())
        return;
      changed = true;
      if (isEmptyScatter(op)) {
        op.getResult().replaceAllUsesWith(op.getInit());
        op.erase();
        return;
      }
      PhaseListener listener(getPhase(op));
      IRRewriter rewriter(op.getContext(), &listener);
      rewriter.setInsertionPoint(op);
      rewriter.replaceOp(op, Lowering(op, rewriter).build());
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
