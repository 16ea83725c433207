//===- ParallelLoops.cpp - Parallel loops as sequential ones --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derivatives, tapes and memory planning support scf.for alone. Tiling passes
// leave scf.forall and scf.parallel; front ends write a scatter.
//===----------------------------------------------------------------------===//

#include "ParallelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::remat;

/// Clones the operations of `body` except for its terminator.
static void cloneBody(OpBuilder &builder, Block &body, IRMapping &mapping) {
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
}

LogicalResult mlir::remat::replaceByParts(RewriterBase &rewriter,
                                          scf::ForallOp forall) {
  Location loc = forall.getLoc();
  Block &body = *forall.getBody();
  SmallVector<tensor::ParallelInsertSliceOp> inserts;
  for (Operation &op : *forall.getTerminator().getBody()) {
    auto insert = dyn_cast<tensor::ParallelInsertSliceOp>(op);
    if (!insert)
      return failure();
    inserts.push_back(insert);
  }
  scf::LoopNest nest = scf::buildLoopNest(
      rewriter, loc, forall.getLowerBound(rewriter),
      forall.getUpperBound(rewriter), forall.getStep(rewriter),
      forall.getOutputs(),
      [&](OpBuilder &inner, Location, ValueRange ivs, ValueRange carried) {
        // An iteration does not see the writes of the others.
        IRMapping mapping;
        mapping.map(forall.getInductionVars(), ivs);
        mapping.map(forall.getRegionOutArgs(), forall.getOutputs());
        cloneBody(inner, body, mapping);
        SmallVector<Value> next(carried);
        for (tensor::ParallelInsertSliceOp insert : inserts) {
          auto map = [&](OperandRange range) {
            return llvm::map_to_vector(
                range, [&](Value v) { return mapping.lookupOrDefault(v); });
          };
          unsigned output =
              cast<BlockArgument>(insert.getDest()).getArgNumber() -
              forall.getRank();
          next[output] = tensor::InsertSliceOp::create(
              inner, insert.getLoc(), next[output].getType(),
              mapping.lookupOrDefault(insert.getSource()), next[output],
              map(insert.getOffsets()), map(insert.getSizes()),
              map(insert.getStrides()), insert.getStaticOffsets(),
              insert.getStaticSizes(), insert.getStaticStrides());
        }
        return scf::ValueVector(next);
      });
  rewriter.replaceOp(forall, nest.results);
  return success();
}

LogicalResult mlir::remat::replaceByParts(RewriterBase &rewriter,
                                          scf::ParallelOp parallel) {
  // Without results it has effects only, and nothing to differentiate.
  if (parallel.getNumResults() == 0)
    return failure();
  Block &body = *parallel.getBody();
  auto reduce = cast<scf::ReduceOp>(body.getTerminator());
  scf::LoopNest nest = scf::buildLoopNest(
      rewriter, parallel.getLoc(), parallel.getLowerBound(),
      parallel.getUpperBound(), parallel.getStep(), parallel.getInitVals(),
      [&](OpBuilder &inner, Location, ValueRange ivs, ValueRange carried) {
        IRMapping mapping;
        mapping.map(parallel.getInductionVars(), ivs);
        cloneBody(inner, body, mapping);
        scf::ValueVector next;
        for (auto [region, operand, soFar] : llvm::zip_equal(
                 reduce.getReductions(), reduce.getOperands(), carried)) {
          Block &combiner = region.front();
          mapping.map(combiner.getArgument(0), soFar);
          mapping.map(combiner.getArgument(1),
                      mapping.lookupOrDefault(operand));
          cloneBody(inner, combiner, mapping);
          next.push_back(
              mapping.lookupOrDefault(combiner.getTerminator()->getOperand(0)));
        }
        return next;
      });
  rewriter.replaceOp(parallel, nest.results);
  return success();
}

SmallVector<Value> mlir::remat::readCoordinates(OpBuilder &builder,
                                                Location loc, Value indices,
                                                ValueRange position,
                                                unsigned count) {
  SmallVector<Value> coordinates, at(position);
  at.emplace_back();
  for (unsigned number : llvm::seq(count)) {
    at.back() = arith::ConstantIndexOp::create(builder, loc, number);
    Value coordinate = tensor::ExtractOp::create(builder, loc, indices, at);
    coordinates.push_back(getValueOrCreateCastToIndexLike(
        builder, loc, builder.getIndexType(), coordinate));
  }
  return coordinates;
}

LogicalResult mlir::remat::replaceByParts(RewriterBase &rewriter,
                                          tensor::ScatterOp scatter) {
  Location loc = scatter.getLoc();
  Value source = scatter.getSource(), indices = scatter.getIndices();
  RankedTensorType type = scatter.getDestType();
  int64_t batchRank = scatter.getIndicesType().getRank() - 1;
  ArrayRef<int64_t> scattered = scatter.getScatterDims();
  bool keepsScattered =
      scatter.getSourceType().getRank() == batchRank + type.getRank();

  OpFoldResult zero = rewriter.getIndexAttr(0), one = rewriter.getIndexAttr(1);
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(rewriter, loc, scatter.getDest());
  SmallVector<OpFoldResult> sourceSizes(batchRank, one);
  SmallVector<int64_t> rowShape;
  for (int64_t dim : llvm::seq(type.getRank()))
    if (llvm::is_contained(scattered, dim)) {
      sizes[dim] = one;
      if (keepsScattered)
        sourceSizes.push_back(one);
    } else {
      sourceSizes.push_back(sizes[dim]);
      rowShape.push_back(type.getDimSize(dim));
    }
  auto rowType = RankedTensorType::get(rowShape, type.getElementType());
  SmallVector<OpFoldResult> strides(sizes.size(), one);
  SmallVector<OpFoldResult> sourceStrides(sourceSizes.size(), one);

  SmallVector<Value> lower, upper, step;
  for (int64_t dim : llvm::seq(batchRank)) {
    lower.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, zero));
    step.push_back(getValueOrCreateConstantIndexOp(rewriter, loc, one));
    upper.push_back(getValueOrCreateConstantIndexOp(
        rewriter, loc, tensor::getMixedSize(rewriter, loc, indices, dim)));
  }
  scf::LoopNest nest = scf::buildLoopNest(
      rewriter, loc, lower, upper, step, scatter.getDest(),
      [&](OpBuilder &b, Location, ValueRange ivs, ValueRange carried) {
        SmallVector<OpFoldResult> offsets(sizes.size(), zero);
        for (auto [dim, offset] :
             llvm::zip_equal(scattered, readCoordinates(b, loc, indices, ivs,
                                                        scattered.size())))
          offsets[dim] = offset;
        SmallVector<OpFoldResult> sourceOffsets(sourceSizes.size(), zero);
        for (auto [dim, iv] : llvm::enumerate(ivs))
          sourceOffsets[dim] = iv;
        Value next;
        if (rowShape.empty()) {
          Value element = tensor::ExtractOp::create(
              b, loc, source,
              getValueOrCreateConstantIndexOp(b, loc, sourceOffsets));
          next = tensor::InsertOp::create(
              b, loc, element, carried[0],
              getValueOrCreateConstantIndexOp(b, loc, offsets));
        } else {
          Value row = tensor::ExtractSliceOp::create(b, loc, rowType, source,
                                                     sourceOffsets, sourceSizes,
                                                     sourceStrides);
          next = tensor::InsertSliceOp::create(b, loc, row, carried[0], offsets,
                                               sizes, strides);
        }
        return scf::ValueVector{next};
      });
  rewriter.replaceOp(scatter, nest.results);
  return success();
}
