//===- RowTiler.cpp - Some rows at a time ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RowTiler.h"

#include "remat/Dialect/Remat/IR/RegionAttributes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Tiles of rows
//===----------------------------------------------------------------------===//

namespace {
/// Parts of the rows: `size` indices of one dimension of them, each with all of
/// the faster dimensions.
struct Tile {
  int64_t size, inner;

  /// The rows of it in a dimension.
  int64_t getSize(RowDim dim) const {
    return std::max<int64_t>(1, std::min(dim.outer, size * inner) / dim.inner);
  }
};

/// Tiles of one size: those of number i begin at the row
/// first + (i / count) * outer + (i % count) * step.
struct TileLoop {
  Tile tile;
  int64_t numTiles, first, outer, count, step;
};
} // namespace

/// In how many tiles of at most `limit` to cut `size`: equal ones, if they are
/// at least half as large as they may be. Otherwise their sizes differ by one,
/// and with a single outer index there are several of each, as a loop of one
/// tile would be no loop.
static std::optional<int64_t> chooseNumTiles(int64_t size, int64_t limit,
                                             bool isSingle) {
  int64_t fewest = llvm::divideCeil(size, limit);
  for (int64_t count = fewest; 2 * size >= limit * count; ++count)
    if (size % count == 0)
      return count;
  for (int64_t count = fewest; 4 * size >= limit * count; ++count)
    if (!isSingle || (size % count > 1 && size % count + 1 < count))
      return count;
  return std::nullopt;
}

/// Cuts rows into tiles of at most `limit`, for each slower dimension alike.
static SmallVector<TileLoop> cutRows(ArrayRef<int64_t> sizes, int64_t limit) {
  int64_t numRows = llvm::product_of(sizes), inner = numRows, size = 1;
  for (int64_t dim : sizes) {
    size = dim;
    inner /= dim;
    if (inner <= limit)
      break;
  }
  limit = std::max<int64_t>(1, std::min(size, limit / inner));
  int64_t outer = size * inner, numOuter = numRows / outer;
  SmallVector<TileLoop> loops;
  auto add = [&](int64_t part, int64_t count, int64_t first) {
    if (part != 0 && count != 0)
      loops.push_back({{part, inner},
                       numOuter * count,
                       first * inner,
                       outer,
                       count,
                       part * inner});
  };
  if (std::optional<int64_t> count =
          chooseNumTiles(size, limit, numOuter == 1)) {
    int64_t part = size / *count, larger = size % *count;
    add(part + 1, larger, 0);
    add(part, *count - larger, larger * (part + 1));
  } else {
    add(limit, size / limit, 0);
    add(size % limit, 1, size - size % limit);
  }
  return loops;
}

namespace {
/// Computes a loss head for some rows in a loop.
class Tiler {
public:
  Tiler(RewriterBase &rewriter, const LossHead &head)
      : rewriter(rewriter), head(head), shapes(head.getShapes()) {}

  SmallVector<Operation *> replace(ArrayRef<TileLoop> loops);

private:
  scf::ForOp createLoop(const TileLoop &tiles, ValueRange wholes);
  Value createFirstRow(const TileLoop &tiles, Value number);
  RankedTensorType getType(Value whole, ArrayRef<RowDim> shape);
  SmallVector<OpFoldResult> createOffsets(ArrayRef<RowDim> shape);
  SmallVector<OpFoldResult> getSizes(RankedTensorType type);
  Value getOperand(OpOperand &operand);
  void clone(Operation *op);
  void isolate(RegionOp region);
  void cloneKernel(LinalgOp op);

  Value createIndex(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }

  RewriterBase &rewriter;
  const LossHead &head;
  const RowShapes &shapes;
  Location loc = rewriter.getUnknownLoc();
  // Of the loop that is being built.
  Tile tile;
  Value firstRow;
  IRMapping parts;
};
} // namespace

Value Tiler::createFirstRow(const TileLoop &tiles, Value number) {
  auto multiply = [&](Value value, int64_t factor) -> Value {
    return factor == 1 ? value
                       : arith::MulIOp::create(rewriter, loc, value,
                                               createIndex(factor));
  };
  Value row;
  if (tiles.count * tiles.step == tiles.outer) {
    row = multiply(number, tiles.step);
  } else if (tiles.count == 1) {
    row = multiply(number, tiles.outer);
  } else if (tiles.numTiles == tiles.count) {
    row = multiply(number, tiles.step);
  } else {
    Value count = createIndex(tiles.count);
    row = arith::AddIOp::create(
        rewriter, loc,
        multiply(arith::DivUIOp::create(rewriter, loc, number, count),
                 tiles.outer),
        multiply(arith::RemUIOp::create(rewriter, loc, number, count),
                 tiles.step));
  }
  return tiles.first == 0 ? row
                          : arith::AddIOp::create(rewriter, loc, row,
                                                  createIndex(tiles.first));
}

/// The type of the tile's part of `whole`.
RankedTensorType Tiler::getType(Value whole, ArrayRef<RowDim> shape) {
  auto type = cast<RankedTensorType>(whole.getType());
  SmallVector<int64_t> sizes(type.getShape());
  for (auto [size, dim] : llvm::zip_equal(sizes, shape))
    if (dim.isRow())
      size = tile.getSize(dim);
  return type.clone(sizes);
}

SmallVector<OpFoldResult> Tiler::createOffsets(ArrayRef<RowDim> shape) {
  return llvm::map_to_vector(shape, [&](RowDim dim) -> OpFoldResult {
    if (!dim.isRow() || tile.getSize(dim) == dim.getSize())
      return rewriter.getIndexAttr(0);
    Value offset = firstRow;
    if (dim.outer != head.getNumRows())
      offset =
          arith::RemUIOp::create(rewriter, loc, offset, createIndex(dim.outer));
    if (dim.inner != 1)
      offset =
          arith::DivUIOp::create(rewriter, loc, offset, createIndex(dim.inner));
    return offset;
  });
}

SmallVector<OpFoldResult> Tiler::getSizes(RankedTensorType type) {
  return getAsIndexOpFoldResult(rewriter.getContext(), type.getShape());
}

/// The tile's part of what `operand` reads.
Value Tiler::getOperand(OpOperand &operand) {
  Value whole = operand.get();
  if (Value part = parts.lookupOrNull(whole))
    return part;
  RowShape shape = *shapes.getRead(operand);
  if (!hasRows(shape))
    return whole;
  RankedTensorType type = getType(whole, shape);
  DenseElementsAttr constant;
  if (matchPattern(whole, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(rewriter, loc, constant.resizeSplat(type));
  if (whole.getDefiningOp<tensor::EmptyOp>())
    return tensor::EmptyOp::create(rewriter, loc, getSizes(type),
                                   type.getElementType());
  SmallVector<OpFoldResult> ones(shape.size(), rewriter.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(
      rewriter, loc, type, whole, createOffsets(shape), getSizes(type), ones);
}

/// Numbers of rows are those of the whole, except where the body picks
/// something out of the part.
void Tiler::cloneKernel(LinalgOp op) {
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(getOperand(operand));
  SmallVector<Type> types = llvm::map_to_vector(
      ValueRange(operands).take_back(op.getNumDpsInits()).getTypes(),
      [](Type type) { return type; });
  SmallVector<OpFoldResult> offsets = createOffsets(*shapes.getLoops(op));
  auto part = mlir::clone(rewriter, op, types, operands);
  parts.map(op->getResults(), part->getResults());
  SmallPtrSet<OpOperand *, 4> local;
  part->walk([&](tensor::ExtractOp extract) {
    const RowShape *shape = shapes.get(extract.getTensor());
    if (!shape)
      return;
    for (auto [index, dim] :
         llvm::zip_equal(extract.getIndicesMutable(), *shape))
      if (dim.isRow())
        local.insert(&index);
    rewriter.modifyOpInPlace(extract, [&] {
      extract.getTensorMutable().assign(parts.lookup(extract.getTensor()));
    });
  });
  OpBuilder::InsertionGuard guard(rewriter);
  SmallVector<linalg::IndexOp> indices;
  part->walk([&](linalg::IndexOp index) { indices.push_back(index); });
  for (linalg::IndexOp index : indices) {
    auto offset = dyn_cast<Value>(offsets[index.getDim()]);
    if (!offset)
      continue;
    rewriter.setInsertionPointAfter(index);
    auto global = arith::AddIOp::create(rewriter, loc, index, offset);
    rewriter.replaceUsesWithIf(index, global, [&](OpOperand &use) {
      return use.getOwner() != global && !local.contains(&use);
    });
    if (global->use_empty())
      rewriter.eraseOp(global);
  }
}

/// Computes the part of what `op` computes.
void Tiler::clone(Operation *op) {
  if (auto kernel = dyn_cast<LinalgOp>(op))
    return cloneKernel(kernel);
  SmallVector<Value> operands;
  for (OpOperand &operand : op->getOpOperands())
    operands.push_back(getOperand(operand));
  SmallVector<Type> types =
      llvm::map_to_vector(op->getResults(), [&](Value result) -> Type {
        return getType(result, *shapes.get(result));
      });
  auto type = cast<RankedTensorType>(types.front());
  Value result;
  if (isa<tensor::EmptyOp>(op))
    result = tensor::EmptyOp::create(rewriter, loc, getSizes(type),
                                     type.getElementType());
  else if (auto reshape = dyn_cast<tensor::ExpandShapeOp>(op))
    result = tensor::ExpandShapeOp::create(rewriter, loc, type, operands[0],
                                           reshape.getReassociationIndices());
  else if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
    auto source = cast<RankedTensorType>(operands[0].getType());
    for (auto [size, dim, part] : llvm::zip_equal(
             sizes, *shapes.get(slice.getSource()), source.getShape()))
      if (dim.isRow())
        size = rewriter.getIndexAttr(part);
    result = tensor::ExtractSliceOp::create(rewriter, loc, type, operands[0],
                                            slice.getMixedOffsets(), sizes,
                                            slice.getMixedStrides());
  } else {
    parts.map(op->getResults(),
              mlir::clone(rewriter, op, types, operands)->getResults());
    return;
  }
  parts.map(op->getResult(0), result);
}

/// Makes what `region` reads from around it constants of its own and operands.
void Tiler::isolate(RegionOp region) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(region.getBody(), captured);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(region.getBodyBlock());
  for (Value value : captured) {
    Operation *op = value.getDefiningOp();
    Value inside;
    if (op && op->hasTrait<OpTrait::ConstantLike>()) {
      inside = rewriter.clone(*op)->getResult(0);
    } else {
      region.getInputsMutable().append(value);
      inside = region.getBody().addArgument(value.getType(), value.getLoc());
    }
    replaceAllUsesInRegionWith(value, inside, region.getBody());
  }
}

/// Creates a loop that inserts the results of each tile into `wholes`. Tiles
/// are recomputed in the backward, whatever the policy of the rest.
scf::ForOp Tiler::createLoop(const TileLoop &tiles, ValueRange wholes) {
  tile = tiles.tile;
  SmallVector<OpResult> results = head.getResults();
  SmallVector<Type> types = llvm::map_to_vector(results, [&](Value result) {
    return Type(getType(result, *shapes.get(result)));
  });
  auto loop = scf::ForOp::create(
      rewriter, loc, createIndex(0), createIndex(tiles.numTiles),
      createIndex(1), wholes, [](OpBuilder &, Location, Value, ValueRange) {});
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(loop.getBody());
  firstRow = createFirstRow(tiles, loop.getInductionVar());
  auto region =
      RegionOp::create(rewriter, loc, types, TypeRange(), ValueRange());
  region->setAttr(kAlwaysAttrName, rewriter.getUnitAttr());
  rewriter.setInsertionPointToStart(region.getBodyBlock());
  parts.clear();
  for (Operation *op : head.getOps()) {
    loc = op->getLoc();
    clone(op);
  }
  YieldOp::create(rewriter, loc, llvm::map_to_vector(results, [&](Value value) {
                    return parts.lookup(value);
                  }));
  isolate(region);
  rewriter.setInsertionPointAfter(region);
  SmallVector<Value> filled;
  for (auto [result, part, whole] : llvm::zip_equal(
           results, region.getOutputs(), loop.getRegionIterArgs())) {
    const RowShape &shape = *shapes.get(result);
    SmallVector<OpFoldResult> ones(shape.size(), rewriter.getIndexAttr(1));
    filled.push_back(tensor::InsertSliceOp::create(
        rewriter, loc, part, whole, createOffsets(shape),
        getSizes(cast<RankedTensorType>(part.getType())), ones));
  }
  scf::YieldOp::create(rewriter, loc, filled);
  return loop;
}

SmallVector<Operation *> Tiler::replace(ArrayRef<TileLoop> loops) {
  Operation *last = head.getOps().back();
  Operation *behind = last->getNextNode();
  SmallVector<Operation *> readers = head.getOpsBehind();
  for (Operation *op : readers)
    rewriter.moveOpBefore(op, behind);
  rewriter.setInsertionPointAfter(last);
  loc = head.getOps().front()->getLoc();
  SmallVector<OpResult> results = head.getResults();
  SmallVector<Value> wholes =
      llvm::map_to_vector(results, [&](Value result) -> Value {
        auto type = cast<RankedTensorType>(result.getType());
        return tensor::EmptyOp::create(rewriter, result.getLoc(),
                                       type.getShape(), type.getElementType());
      });
  for (const TileLoop &tiles : loops) {
    loc = head.getOps().front()->getLoc();
    wholes = SmallVector<Value>(createLoop(tiles, wholes).getResults());
  }
  SmallVector<Operation *> made{wholes.front().getDefiningOp()};
  llvm::append_range(made, readers);
  DenseMap<Value, Value> wholeOf;
  for (auto [result, whole] : llvm::zip_equal(results, wholes)) {
    wholeOf[result] = whole;
    rewriter.replaceUsesWithIf(result, whole, [&](OpOperand &use) {
      return !head.contains(
          behind->getBlock()->findAncestorOpInBlock(*use.getOwner()));
    });
  }
  for (Operation *op : llvm::reverse(head.getOps()))
    if (op->use_empty())
      rewriter.replaceOp(
          op, llvm::map_to_vector(op->getResults(), [&](Value result) {
            Value whole = wholeOf.lookup(result);
            return whole ? whole : result;
          }));
  return made;
}

SmallVector<Operation *> mlir::remat::tileRows(RewriterBase &rewriter,
                                               const LossHead &head,
                                               ArrayRef<int64_t> sizes,
                                               int64_t maxRows) {
  return Tiler(rewriter, head).replace(cutRows(sizes, maxRows));
}
