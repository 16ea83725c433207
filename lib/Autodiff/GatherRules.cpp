//===- GatherRules.cpp - The adjoint of a gather --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor.extract inside a body reads a captured table at computed positions.
// Its adjoint adds to the table's cotangent at the same positions, in iteration
// order: positions may coincide, and the sum must have the same bits each time.
//===----------------------------------------------------------------------===//

#include "AdjointKernel.h"

#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/ConvertElements.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::remat;

/// The element that the body of `op` reads of `operand` at this `position`.
static Value elementAt(linalg::LinalgOp op, OpBuilder &b, Location loc,
                       OpOperand *operand, ValueRange position) {
  if (!isa<RankedTensorType>(operand->get().getType()))
    return operand->get();
  SmallVector<Value> indices;
  for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults()) {
    AffineMap map = AffineMap::get(op.getNumLoops(), 0, expr);
    indices.push_back(getValueOrCreateConstantIndexOp(
        b, loc,
        affine::makeComposedFoldedAffineApply(b, loc, map,
                                              getAsOpFoldResult(position))));
  }
  return tensor::ExtractOp::create(b, loc, operand->get(), indices);
}

/// Computes `root`, an index of the body of `op`, outside of it, at `position`
/// in the loops.
static Value indexAt(linalg::LinalgOp op, OpBuilder &b, Value root,
                     IRMapping &mapping, ValueRange position) {
  auto isToCompute = [&](Value value) {
    return value.getParentBlock() == op.getBlock() && !mapping.contains(value);
  };
  walkSources(
      root,
      [&](Value value, SmallVectorImpl<Value> &sources) {
        if (Operation *producer = value.getDefiningOp();
            producer && isToCompute(value))
          llvm::append_range(sources, getInputs(producer));
      },
      [&](Value value) {
        if (!isToCompute(value))
          return;
        if (auto argument = dyn_cast<BlockArgument>(value))
          mapping.map(value,
                      elementAt(op, b, op.getLoc(),
                                op.getMatchingOpOperand(argument), position));
        else if (auto loop = value.getDefiningOp<linalg::IndexOp>())
          mapping.map(value, position[loop.getDim()]);
        else
          b.clone(*value.getDefiningOp(), mapping);
      });
  return mapping.lookupOrDefault(root);
}

/// The cotangent of the table that `extract` reads, from that of every
/// extracted element.
static Value scatter(AdjointKernel &kernel, tensor::ExtractOp extract,
                     OpBuilder &b, Value elements) {
  Location loc = extract.getLoc();
  auto type = cast<RankedTensorType>(extract.getTensor().getType());
  Value zeros =
      fillZeros(b, loc,
                tensor::EmptyOp::create(
                    b, loc, tensor::getMixedSizes(b, loc, extract.getTensor()),
                    accumulationType(type.getElementType())));
  auto scatter = ScatterAddOp::create(b, loc, zeros.getType(), elements, zeros);
  {
    OpBuilder::InsertionGuard guard(b);
    unsigned numLoops = kernel.op.getNumLoops();
    Block *body = b.createBlock(&scatter.getBody(), {},
                                SmallVector<Type>(numLoops, b.getIndexType()),
                                SmallVector<Location>(numLoops, loc));
    IRMapping mapping;
    SmallVector<Value> indices =
        llvm::map_to_vector(extract.getIndices(), [&](Value index) {
          return indexAt(kernel.op, b, index, mapping, body->getArguments());
        });
    YieldOp::create(b, loc, indices);
  }
  return convertElements(b, loc, scatter.getResult(), type.getElementType());
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
    vjp.accumulateCaptured(extract.getTensor(),
                           scatter(kernel, extract, b, elements));
  }
  return success();
}
