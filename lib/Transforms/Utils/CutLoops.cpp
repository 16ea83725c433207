//===- CutLoops.cpp - Elementwise operations in more loops ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Utils/CutLoops.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using linalg::LinalgOp;

linalg::GenericOp
mlir::remat::cutLoops(OpBuilder &builder, LinalgOp op,
                      ArrayRef<ReassociationIndices> groups,
                      ArrayRef<int64_t> sizes,
                      function_ref<Value(OpOperand &, ArrayRef<int64_t>,
                                         ArrayRef<ReassociationIndices>)>
                          view) {
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    SmallVector<int64_t> shape;
    SmallVector<ReassociationIndices> dims;
    SmallVector<AffineExpr> results;
    for (AffineExpr result : op.getMatchingIndexingMap(&operand).getResults()) {
      dims.emplace_back();
      for (int64_t loop : groups[cast<AffineDimExpr>(result).getPosition()]) {
        dims.back().push_back(shape.size());
        shape.push_back(sizes[loop]);
        results.push_back(builder.getAffineDimExpr(loop));
      }
    }
    // Of a scalar, they stand for nothing: an element has a place in each.
    if (groups.empty() && op.isDpsInit(&operand)) {
      shape.assign(sizes.begin(), sizes.end());
      for (unsigned loop = 0; loop < sizes.size(); ++loop)
        results.push_back(builder.getAffineDimExpr(loop));
    }
    operands.push_back(shape.size() == dims.size()
                           ? operand.get()
                           : view(operand, shape, dims));
    maps.push_back(
        AffineMap::get(sizes.size(), 0, results, builder.getContext()));
  }
  auto [inputs, inits] =
      std::pair(ArrayRef(operands).take_front(op.getNumDpsInputs()),
                ArrayRef(operands).drop_front(op.getNumDpsInputs()));
  TypeRange results =
      op.hasPureTensorSemantics() ? TypeRange(ValueRange(inits)) : TypeRange();
  auto cut = linalg::GenericOp::create(
      builder, op.getLoc(), results, inputs, inits, maps,
      SmallVector<utils::IteratorType>(sizes.size(),
                                       utils::IteratorType::parallel));
  IRMapping mapping;
  op->getRegion(0).cloneInto(&cut.getRegion(), mapping);
  return cut;
}
