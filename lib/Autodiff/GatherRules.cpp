//===- GatherRules.cpp - The adjoint of a gather --------------------------===//
//
// A tensor.extract inside a body reads a captured table at computed positions.
// Its adjoint adds to the table's cotangent at the same positions, in iteration
// order: positions may repeat, and the sum must have the same bits every time.
//
//===----------------------------------------------------------------------===//

#include "AdjointKernel.h"

#include "remat/Analysis/Activity.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// The scatter of one gather's cotangents.
class Scatter {
public:
  Scatter(AdjointKernel &kernel, tensor::ExtractOp extract, OpBuilder &b)
      : op(kernel.op), kernel(kernel), extract(extract), b(b),
        loc(extract.getLoc()), rowLoopOf(extract.getIndices().size(), -1) {
    findRows();
  }

  /// The cotangent of the table, from that of every extracted element.
  Value build(Value elements);

private:
  void findRows();
  DenseSet<Value> findVaryingAlong(const llvm::SmallBitVector &rows);
  Value indexAt(Value value, IRMapping &mapping, ValueRange position);
  Value elementAt(OpOperand *operand, ValueRange position);
  Value addRow(OpBuilder &inner, Value table, Value elements,
               ValueRange position);

  linalg::LinalgOp op;
  AdjointKernel &kernel;
  tensor::ExtractOp extract;
  OpBuilder &b;
  Location loc;
  /// For each dimension of the table, the loop that runs along it, or -1.
  SmallVector<int> rowLoopOf;
  SmallVector<unsigned> outerLoops;
};
} // namespace

/// The dimensions of the table that a loop simply runs along are added a row at
/// a time, so that they vectorize; only the other loops are walked one by one.
void Scatter::findRows() {
  unsigned numLoops = op.getNumLoops();
  llvm::SmallBitVector rows(numLoops);
  for (auto [dim, index] : llvm::enumerate(extract.getIndices()))
    if (auto loop = index.getDefiningOp<linalg::IndexOp>();
        loop && !rows.test(loop.getDim())) {
      rowLoopOf[dim] = loop.getDim();
      rows.set(loop.getDim());
    }
  DenseSet<Value> varying = findVaryingAlong(rows);
  bool independent = true;
  for (auto [dim, index] : llvm::enumerate(extract.getIndices()))
    independent &= rowLoopOf[dim] >= 0 || !varying.contains(index);
  if (!independent) {
    rowLoopOf.assign(rowLoopOf.size(), -1);
    rows.reset();
  }
  for (unsigned loop = 0; loop < numLoops; ++loop)
    if (!rows.test(loop))
      outerLoops.push_back(loop);
}

/// The values of the body that change along one of the loops `rows`.
DenseSet<Value> Scatter::findVaryingAlong(const llvm::SmallBitVector &rows) {
  SmallVector<Value> sources;
  for (OpOperand &operand : op->getOpOperands())
    if (llvm::any_of(rows.set_bits(), [&](unsigned loop) {
          return op.getMatchingIndexingMap(&operand).isFunctionOfDim(loop);
        }))
      sources.push_back(op.getMatchingBlockArgument(&operand));
  for (auto index : op.getBlock()->getOps<linalg::IndexOp>())
    if (rows.test(index.getDim()))
      sources.push_back(index);
  return findDependents(*op.getBlock(), sources);
}

/// Recomputes an index of the body outside of it, at `position` in the loops.
Value Scatter::indexAt(Value value, IRMapping &mapping, ValueRange position) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *producer = value.getDefiningOp();
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == op.getBlock()) {
    Value element = elementAt(op.getMatchingOpOperand(argument), position);
    mapping.map(value, element);
    return element;
  }
  if (!producer || producer->getBlock() != op.getBlock())
    return value;
  if (auto loop = dyn_cast<linalg::IndexOp>(producer)) {
    mapping.map(value, position[loop.getDim()]);
    return position[loop.getDim()];
  }
  for (Value input : getInputs(producer))
    indexAt(input, mapping, position);
  b.clone(*producer, mapping);
  return mapping.lookup(value);
}

/// What the body reads of `operand` at `position` in the loops.
Value Scatter::elementAt(OpOperand *operand, ValueRange position) {
  if (!isa<RankedTensorType>(operand->get().getType()))
    return operand->get();
  SmallVector<Value> indices;
  for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults()) {
    AffineMap map = AffineMap::get(op.getNumLoops(), 0, expr);
    indices.push_back(affine::AffineApplyOp::create(b, loc, map, position));
  }
  return tensor::ExtractOp::create(b, loc, operand->get(), indices);
}

/// Adds the elements of one position of the outer loops to the table.
Value Scatter::addRow(OpBuilder &inner, Value table, Value elements,
                      ValueRange position) {
  IRMapping mapping;
  SmallVector<OpFoldResult> tableOffsets, tableSizes, loopOffsets, loopSizes;
  SmallVector<int64_t> tableShape, loopShape;
  SmallVector<unsigned> tableLoops;
  Type sumType = getElementTypeOrSelf(table);
  auto widened = [&](OpBuilder &at, Value element) -> Value {
    if (element.getType() == sumType)
      return element;
    return arith::ExtFOp::create(at, loc, sumType, element);
  };
  auto staticSize = [](OpFoldResult size) {
    return getConstantIntValue(size).value_or(ShapedType::kDynamic);
  };
  for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
    bool isRow = rowLoopOf[dim] >= 0;
    tableOffsets.push_back(isRow ? OpFoldResult(b.getIndexAttr(0))
                                 : indexAt(index, mapping, position));
    tableSizes.push_back(isRow ? kernel.loopSize(b, rowLoopOf[dim])
                               : b.getIndexAttr(1));
    if (isRow) {
      tableShape.push_back(staticSize(tableSizes.back()));
      tableLoops.push_back(rowLoopOf[dim]);
    }
  }
  for (unsigned loop = 0, end = op.getNumLoops(); loop < end; ++loop) {
    bool isRow = llvm::is_contained(tableLoops, loop);
    loopOffsets.push_back(isRow ? OpFoldResult(b.getIndexAttr(0))
                                : OpFoldResult(position[loop]));
    loopSizes.push_back(isRow ? kernel.loopSize(b, loop) : b.getIndexAttr(1));
    if (isRow)
      loopShape.push_back(staticSize(loopSizes.back()));
  }
  if (tableLoops.empty()) {
    SmallVector<Value> at =
        getValueOrCreateConstantIndexOp(inner, loc, tableOffsets);
    Value old = tensor::ExtractOp::create(inner, loc, table, at);
    Value element = tensor::ExtractOp::create(inner, loc, elements, position);
    Value sum = arith::AddFOp::create(inner, loc, old, widened(inner, element));
    return tensor::InsertOp::create(inner, loc, sum, table, at);
  }
  SmallVector<OpFoldResult> tableStrides(tableSizes.size(), b.getIndexAttr(1));
  SmallVector<OpFoldResult> loopStrides(loopSizes.size(), b.getIndexAttr(1));
  Value old = tensor::ExtractSliceOp::create(
      inner, loc, RankedTensorType::get(tableShape, sumType), table,
      tableOffsets, tableSizes, tableStrides);
  Value row = tensor::ExtractSliceOp::create(
      inner, loc,
      RankedTensorType::get(loopShape, getElementTypeOrSelf(elements)),
      elements, loopOffsets, loopSizes, loopStrides);
  // The row's dimensions are in loop order, the table's in its own.
  SmallVector<unsigned> loopOrder(tableLoops);
  llvm::sort(loopOrder);
  SmallVector<AffineExpr> order;
  for (unsigned loop : loopOrder)
    order.push_back(
        b.getAffineDimExpr(llvm::find(tableLoops, loop) - tableLoops.begin()));
  unsigned rank = tableLoops.size();
  AffineMap identity = b.getMultiDimIdentityMap(rank);
  auto sum = linalg::GenericOp::create(
      inner, loc, old.getType(), row, old,
      ArrayRef<AffineMap>{AffineMap::get(rank, 0, order, b.getContext()),
                          identity},
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &body, Location, ValueRange v) {
        Value next =
            arith::AddFOp::create(body, loc, v[1], widened(body, v[0]));
        linalg::YieldOp::create(body, loc, next);
      });
  return tensor::InsertSliceOp::create(inner, loc, sum.getResult(0), table,
                                       tableOffsets, tableSizes, tableStrides);
}

Value Scatter::build(Value elements) {
  auto type = cast<RankedTensorType>(extract.getTensor().getType());
  Value table =
      fillZeros(b, loc,
                tensor::EmptyOp::create(
                    b, loc, tensor::getMixedSizes(b, loc, extract.getTensor()),
                    accumulationType(type.getElementType())));
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  SmallVector<Value> upper;
  for (unsigned loop : outerLoops)
    upper.push_back(
        getValueOrCreateConstantIndexOp(b, loc, kernel.loopSize(b, loop)));
  scf::LoopNest nest = scf::buildLoopNest(
      b, loc, SmallVector<Value>(upper.size(), zero), upper,
      SmallVector<Value>(upper.size(), one), table,
      [&](OpBuilder &inner, Location, ValueRange ivs, ValueRange carried) {
        OpBuilder::InsertionGuard guard(b);
        b.setInsertionPoint(inner.getInsertionBlock(),
                            inner.getInsertionPoint());
        SmallVector<Value> position(op.getNumLoops(), zero);
        for (auto [loop, iv] : llvm::zip(outerLoops, ivs))
          position[loop] = iv;
        return scf::ValueVector{addRow(b, carried[0], elements, position)};
      });
  return narrow(b, loc, nest.results[0], type.getElementType());
}

LogicalResult mlir::remat::emitGatherCotangents(AdjointKernel &kernel,
                                                const ScalarAdjoint &adjoint,
                                                VJPContext &vjp) {
  OpBuilder &b = vjp.builder;
  for (auto [extract, cotangent] : adjoint.gathers()) {
    // Where the cotangent is the output's, it stands in memory already.
    Value elements = kernel.tensorOf(cotangent);
    if (!elements || kernel.mapOf(cotangent) != kernel.identity())
      elements = kernel.cut(b, {{kernel.emptyOverLoops(b, cotangent.getType()),
                                 kernel.identity(), cotangent}})[0];
    Value table = Scatter(kernel, extract, b).build(elements);
    vjp.accumulateCaptured(extract.getTensor(), table);
  }
  return success();
}
