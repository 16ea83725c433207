//===- ScatterAddToLoops.cpp - Additions one after the other --------------===//
//
// On the CPU: a loop over the positions that are computed, which adds a row at
// a time, so that the innermost dimension vectorizes.
//
//===----------------------------------------------------------------------===//

#include "remat/Analysis/Activity.h"
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
      : op(op), b(b), loc(op.getLoc()), rowArgument(op.getIndices().size()),
        sizes(tensor::getMixedSizes(b, loc, op.getUpdates())) {
    findRows();
  }

  Value build();

private:
  void findRows();
  Value addElement(Value table, ValueRange at, ValueRange position);
  Value addRow(Value table, ValueRange position);
  SmallVector<Value> computeIndices(ValueRange position);
  Value widen(OpBuilder &builder, Value element);

  ScatterAddOp op;
  OpBuilder &b;
  Location loc;
  /// For each dimension of the result that is added to as a whole, the
  /// dimension of the updates along it.
  SmallVector<std::optional<unsigned>> rowArgument;
  SmallVector<OpFoldResult> sizes;
  /// The other dimensions of the updates.
  SmallVector<unsigned> outer;
  /// What the body computes from the arguments of rows.
  DenseSet<Value> varying;
};
} // namespace

static ArrayRef<int64_t> getShape(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Whether there is nothing to add, or nowhere: no slice is valid then.
static bool isEmpty(ScatterAddOp op) {
  return llvm::is_contained(getShape(op.getUpdates()), 0) ||
         llvm::is_contained(getShape(op.getInit()), 0);
}

/// Whether dimension `dim` of the result may have all of dimension `row` of the
/// updates. Where it has not, there are no updates at run time.
static bool mayHaveRow(ScatterAddOp op, unsigned dim, unsigned row) {
  int64_t size = getShape(op.getInit())[dim],
          rowSize = getShape(op.getUpdates())[row];
  return ShapedType::isDynamic(size) || ShapedType::isDynamic(rowSize) ||
         rowSize <= size;
}

void Lowering::findRows() {
  Block &body = op.getBody().front();
  SetVector<Value> rows;
  for (auto [dim, index] : llvm::enumerate(op.getIndices()))
    if (auto argument = dyn_cast<BlockArgument>(index);
        argument && argument.getOwner() == &body &&
        mayHaveRow(op, dim, argument.getArgNumber()) && rows.insert(argument))
      rowArgument[dim] = argument.getArgNumber();
  varying = findDependents(body, rows.getArrayRef());
  for (auto [dim, index] : llvm::enumerate(op.getIndices()))
    if (!rowArgument[dim] && varying.contains(index)) {
      rowArgument.assign(rowArgument.size(), std::nullopt);
      rows.clear();
      varying.clear();
      break;
    }
  for (BlockArgument argument : body.getArguments())
    if (!rows.contains(argument))
      outer.push_back(argument.getArgNumber());
}

/// The position in the result that belongs to `position` in the updates. Of
/// dimensions that are added to as a whole it is not asked for.
SmallVector<Value> Lowering::computeIndices(ValueRange position) {
  Block &body = op.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), position);
  for (Operation &inner : body.without_terminator())
    if (llvm::none_of(inner.getResults(),
                      [&](Value value) { return varying.contains(value); }))
      b.clone(inner, mapping);
  return llvm::map_to_vector(op.getIndices(), [&](Value index) {
    return mapping.lookupOrDefault(index);
  });
}

Value Lowering::widen(OpBuilder &builder, Value element) {
  Type type = getElementTypeOrSelf(op.getInit());
  return element.getType() == type
             ? element
             : arith::ExtFOp::create(builder, loc, type, element).getResult();
}

Value Lowering::addElement(Value table, ValueRange at, ValueRange position) {
  Value old = tensor::ExtractOp::create(b, loc, table, at);
  Value element = tensor::ExtractOp::create(b, loc, op.getUpdates(), position);
  Value sum = arith::AddFOp::create(b, loc, old, widen(b, element));
  return tensor::InsertOp::create(b, loc, sum, table, at);
}

/// Adds the updates at one position of the outer dimensions.
Value Lowering::addRow(Value table, ValueRange position) {
  SmallVector<Value> at = computeIndices(position);
  if (outer.size() == position.size())
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
    std::optional<unsigned> argument = rowArgument[dim];
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
        Value next = arith::AddFOp::create(body, loc, v[1], widen(body, v[0]));
        linalg::YieldOp::create(body, loc, next);
      });
  return tensor::InsertSliceOp::create(b, loc, sum.getResult(0), table,
                                       tableOffsets, tableSizes, tableStrides);
}

Value Lowering::build() {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  SmallVector<Value> upper = llvm::map_to_vector(outer, [&](unsigned dim) {
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
        for (auto [dim, iv] : llvm::zip_equal(outer, ivs))
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
      changed = true;
      if (isEmpty(op)) {
        op.replaceAllUsesWith(op.getInit());
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
