//===- SinkIntoLoops.cpp - What a loop reads slice by slice ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cotangent of what a recurrence returns exists for all positions at once,
// only to be read one position at a time.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/BackwardBorder.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Fuse/Passes.h"
#include "remat/Transforms/Utils/Positions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SINKINTOLOOPS
#include "remat/Transforms/Fuse/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// The one loop that reads an elementwise operation, at one index of its first
/// loop in each iteration.
struct SliceReader {
  scf::ForOp loop;
  Value index;
  SmallVector<tensor::ExtractSliceOp> slices;
};
} // namespace

/// Returns true if `slice` is one position of the leading dimension, with that
/// or without.
static bool isPosition(tensor::ExtractSliceOp slice) {
  RankedTensorType source = slice.getSourceType(), type = slice.getResultType();
  return isOnePosition(slice, source) && source.getDimSize(0) != 1 &&
         (source.getRank() == type.getRank() ||
          source.getShape().drop_front() == type.getShape());
}

/// Returns true if `op` is computed element by element, and its first loop, the
/// leading dimension of its results, needs nothing of other positions.
static bool isCutByPositions(linalg::GenericOp op) {
  if (!isElementwiseKernel(op) || op.getNumLoops() == 0)
    return false;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!op.getMatchingIndexingMap(&init).isIdentity())
      return false;
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    return op.getMatchingIndexingMap(input).isProjectedPermutation() &&
           (!isa<ShapedType>(input->get().getType()) ||
            cast<ShapedType>(input->get().getType()).hasStaticShape());
  });
}

static std::optional<SliceReader> getSliceReader(linalg::GenericOp op,
                                                 const BackwardBorder &border) {
  SliceReader reader;
  for (Operation *user : op->getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || !isPosition(slice))
      return std::nullopt;
    auto loop = dyn_cast<scf::ForOp>(slice->getParentOp());
    if (!loop || loop->getBlock() != op->getBlock() ||
        (reader.loop &&
         (loop != reader.loop || slice.getDynamicOffset(0) != reader.index)))
      return std::nullopt;
    reader.loop = loop;
    reader.index = slice.getDynamicOffset(0);
    reader.slices.push_back(slice);
  }
  if (!reader.loop || border.separates(op, reader.loop) ||
      reader.loop.isDefinedOutsideOfLoop(reader.index))
    return std::nullopt;
  return reader;
}

/// Returns true if `op` passes on parts of its operands, in which only the
/// shape may be another.
static bool isView(Operation *op) {
  return isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp, BarrierOp>(op);
}

/// Returns the tensor that `value` is a part or a view of.
static Value getWhole(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    // The source of a view is its first operand.
    value = op->getOperand(cast<OpResult>(value).getResultNumber());
  }
  return value;
}

/// Returns true if `value` or a view of it is read by `loop` or later.
static bool isReadFrom(Value value, scf::ForOp loop) {
  llvm::SetVector<Value> views;
  views.insert(value);
  for (unsigned next = 0; next < views.size(); ++next)
    for (Operation *user : views[next].getUsers()) {
      Operation *ancestor = loop->getBlock()->findAncestorOpInBlock(*user);
      if (!ancestor || !ancestor->isBeforeInBlock(loop))
        return true;
      if (isView(user))
        views.insert(user->result_begin(), user->result_end());
    }
  return false;
}

/// Bytes that live up to `loop` only because it computes `op` itself. What is
/// computed for `op` alone can move into the loop as well.
static int64_t getLongerBytes(linalg::GenericOp op, scf::ForOp loop,
                              const BackwardBorder &border,
                              DenseSet<Value> &counted) {
  int64_t bytes = 0;
  for (Value input : op.getDpsInputs()) {
    Value whole = getWhole(input);
    // Arguments live as long as the function.
    if (isa<BlockArgument>(whole) || isReadFrom(whole, loop) ||
        !counted.insert(whole).second)
      continue;
    auto producer = input.getDefiningOp<linalg::GenericOp>();
    bool movesAsWell = producer && producer->hasOneUse() &&
                       producer->getBlock() == op->getBlock() &&
                       isCutByPositions(producer) &&
                       !border.separates(producer, op);
    int64_t all = estimateBytes(whole.getType());
    bytes +=
        movesAsWell
            ? std::min(all, getLongerBytes(producer, loop, border, counted))
            : all;
  }
  return bytes;
}

/// Returns true if computing `op` in `loop` leaves fewer bytes live before it.
static bool savesBytes(linalg::GenericOp op, scf::ForOp loop,
                       const BackwardBorder &border) {
  int64_t bytes = 0;
  for (Value result : op->getResults())
    bytes += estimateBytes(result.getType());
  DenseSet<Value> counted;
  return getLongerBytes(op, loop, border, counted) < bytes;
}

/// Makes `input`, which is read at `index` of dimension `dim`, what it is a
/// part of.
static void lookThroughPart(OpBuilder &builder, Value &input, Value &index,
                            unsigned dim) {
  auto part = input.getDefiningOp<tensor::ExtractSliceOp>();
  if (!part || !part.hasUnitStride() || part.isDynamicOffset(dim) ||
      part.getSourceType().getRank() != part.getResultType().getRank())
    return;
  RankedTensorType whole = part.getSourceType();
  for (int64_t d : llvm::seq(whole.getRank()))
    if (d != dim && part.getStaticSizes()[d] != whole.getDimSize(d))
      return;
  if (int64_t offset = part.getStaticOffsets()[dim]) {
    Location loc = part.getLoc();
    Value by = arith::ConstantIndexOp::create(builder, loc, offset);
    index = arith::AddIOp::create(builder, loc, index, by);
  }
  input = part.getSource();
}

/// The part of `input` that the position `index` of the first loop reads, and
/// how the other loops index it.
static std::pair<Value, AffineMap> getPart(OpBuilder &builder, Value input,
                                           AffineMap map, Value index) {
  MLIRContext *context = map.getContext();
  // The other loops move up.
  SmallVector<AffineExpr> loops{builder.getAffineConstantExpr(0)};
  for (unsigned loop : llvm::seq(map.getNumDims() - 1))
    loops.push_back(builder.getAffineDimExpr(loop));
  std::optional<unsigned> at =
      map.getResultPosition(builder.getAffineDimExpr(0));
  if (at)
    map = map.dropResult(*at);
  map = map.replaceDimsAndSymbols(loops, {}, map.getNumDims() - 1, 0);
  if (!at)
    return {input, map};
  lookThroughPart(builder, input, index, *at);
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(context, type.getShape());
  offsets[*at] = index;
  sizes[*at] = builder.getIndexAttr(1);
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + *at);
  return {tensor::ExtractSliceOp::create(
              builder, input.getLoc(),
              RankedTensorType::get(shape, type.getElementType()), input,
              offsets, sizes, strides),
          map};
}

static void sink(RewriterBase &rewriter, linalg::GenericOp op,
                 const SliceReader &reader) {
  Location loc = op.getLoc();
  tensor::ExtractSliceOp first = reader.slices.front();
  for (tensor::ExtractSliceOp slice : reader.slices)
    if (slice->isBeforeInBlock(first))
      first = slice;
  rewriter.setInsertionPoint(first);
  SmallVector<Value> inputs, outputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto [value, map] = getPart(rewriter, input->get(),
                                op.getMatchingIndexingMap(input), reader.index);
    inputs.push_back(value);
    maps.push_back(map);
  }
  for (Value result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    outputs.push_back(tensor::EmptyOp::create(
        rewriter, loc, type.getShape().drop_front(), type.getElementType()));
    maps.push_back(rewriter.getMultiDimIdentityMap(op.getNumLoops() - 1));
  }
  SmallVector<utils::IteratorType> kinds(op.getNumLoops() - 1,
                                         utils::IteratorType::parallel);
  auto part =
      linalg::GenericOp::create(rewriter, loc, ValueRange(outputs).getTypes(),
                                inputs, outputs, maps, kinds);
  part->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.cloneRegionBefore(op.getRegion(), part.getRegion(),
                             part.getRegion().end());
  for (auto index :
       llvm::make_early_inc_range(part.getBody()->getOps<linalg::IndexOp>())) {
    if (index.getDim() == 0) {
      rewriter.replaceOp(index, reader.index);
    } else {
      rewriter.modifyOpInPlace(index,
                               [&] { index.setDim(index.getDim() - 1); });
    }
  }
  for (tensor::ExtractSliceOp slice : reader.slices) {
    Value value =
        part->getResult(cast<OpResult>(slice.getSource()).getResultNumber());
    RankedTensorType type = slice.getResultType();
    if (type.getRank() == op.getNumLoops()) {
      SmallVector<ReassociationIndices> groups;
      for (int64_t dim : llvm::seq<int64_t>(1, type.getRank()))
        groups.push_back({dim});
      if (!groups.empty())
        groups.front().insert(groups.front().begin(), 0);
      rewriter.setInsertionPoint(slice);
      value = tensor::ExpandShapeOp::create(rewriter, slice.getLoc(), type,
                                            value, groups);
    }
    rewriter.replaceOp(slice, value);
  }
  rewriter.eraseOp(op);
}

namespace {
struct SinkIntoLoops : mlir::remat::impl::SinkIntoLoopsBase<SinkIntoLoops> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation()->walk([&](linalg::GenericOp op) { ops.push_back(op); });
    BackwardBorder border(getOperation());
    IRRewriter rewriter(&getContext());
    bool changed = false;
    // Operands of the last one may then have no other user than the loop.
    for (linalg::GenericOp op : llvm::reverse(ops)) {
      if (!isCutByPositions(op))
        continue;
      std::optional<SliceReader> reader = getSliceReader(op, border);
      if (!reader || !savesBytes(op, reader->loop, border))
        continue;
      PhaseListener listener(getPhase(op));
      rewriter.setListener(&listener);
      sink(rewriter, op, *reader);
      changed = true;
    }
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
