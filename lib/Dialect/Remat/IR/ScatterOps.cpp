//===- ScatterOps.cpp - Additions at computed positions -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What remat.scatter_add checks and touches.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::remat;

OperandRange ScatterAddOp::getIndices() {
  return cast<YieldOp>(getBody().front().getTerminator()).getOutputs();
}

SmallVector<Value> ScatterAddOp::computeIndices(OpBuilder &builder,
                                                ValueRange position,
                                                IRMapping &mapping) {
  Block &body = getBody().front();
  mapping.map(body.getArguments(), position);
  for (Operation &op : body.without_terminator())
    if (llvm::none_of(op.getResults(),
                      [&](Value value) { return mapping.contains(value); }))
      builder.clone(op, mapping);
  return llvm::map_to_vector(getIndices(), [&](Value index) {
    return mapping.lookupOrDefault(index);
  });
}

void ScatterAddOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  if (isa<MemRefType>(getUpdates().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getUpdatesMutable());
  if (isa<MemRefType>(getInit().getType())) {
    effects.emplace_back(MemoryEffects::Read::get(), &getInitMutable());
    effects.emplace_back(MemoryEffects::Write::get(), &getInitMutable());
  }
}

Speculation::Speculatability ScatterAddOp::getSpeculatability() {
  return hasPureTensorSemantics() ? Speculation::RecursivelySpeculatable
                                  : Speculation::NotSpeculatable;
}

LogicalResult ScatterAddOp::verify() {
  if (!hasPureTensorSemantics() && !hasPureBufferSemantics())
    return emitOpError() << "adds " << getUpdates().getType() << " to "
                         << getInit().getType()
                         << "; both must be tensors, or both memrefs";
  auto from = dyn_cast<FloatType>(getElementTypeOrSelf(getUpdates()));
  auto to = dyn_cast<FloatType>(getElementTypeOrSelf(getInit()));
  if (!from || !to || (from != to && from.getWidth() >= to.getWidth()))
    return emitOpError() << "adds elements of type "
                         << getElementTypeOrSelf(getUpdates()) << " to "
                         << getElementTypeOrSelf(getInit())
                         << "; both must be the same floating-point type, or "
                            "the second a wider one";
  if (hasPureBufferSemantics()) {
    if (getResult())
      return emitOpError() << "adds to a memref, and must not return a result";
    return success();
  }
  if (!getResult())
    return emitOpError() << "returns nothing, but must return the type of its "
                            "outs, "
                         << getInit().getType();
  if (getResult().getType() != getInit().getType())
    return emitOpError() << "returns " << getResult().getType()
                         << ", but must return the type of its outs, "
                         << getInit().getType();
  return success();
}

/// Where the position in the updates is the one in the outs, the types tell
/// whether there is such a position. No updates have none.
static LogicalResult verifyBounds(ScatterAddOp op, YieldOp yield) {
  auto updates = cast<ShapedType>(op.getUpdates().getType());
  auto init = cast<ShapedType>(op.getInit().getType());
  if (!updates.hasStaticShape() || llvm::is_contained(updates.getShape(), 0))
    return success();
  for (auto [dim, index] : llvm::enumerate(yield.getOutputs())) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (!argument || argument.getOwner() != yield->getBlock() ||
        init.isDynamicDim(dim))
      continue;
    int64_t from = updates.getDimSize(argument.getArgNumber()),
            to = init.getDimSize(dim);
    if (from > to)
      return yield.emitOpError()
             << "adds all " << from << " positions in dimension "
             << argument.getArgNumber()
             << " of the updates to the same ones in dimension " << dim
             << " of the outs, which must be as large, but has size " << to;
  }
  return success();
}

LogicalResult ScatterAddOp::verifyRegions() {
  int64_t rank = cast<ShapedType>(getUpdates().getType()).getRank();
  auto isIndex = [](Type type) { return isa<IndexType>(type); };
  Block &block = getBody().front();
  if (block.getNumArguments() != rank ||
      !llvm::all_of(block.getArgumentTypes(), isIndex))
    return emitOpError() << "has a body with arguments ("
                         << block.getArgumentTypes() << "), but it needs "
                         << rank
                         << " of type index, the position in the updates";
  auto yield = cast<YieldOp>(block.getTerminator());
  int64_t initRank = cast<ShapedType>(getInit().getType()).getRank();
  if (static_cast<int64_t>(yield.getOutputs().size()) != initRank ||
      !llvm::all_of(yield.getOutputs().getTypes(), isIndex) ||
      !yield.getResiduals().empty())
    return yield.emitOpError()
           << "yields (" << yield.getOperandTypes() << "), but must yield "
           << initRank << " of type index, the position in the outs";
  return verifyBounds(*this, yield);
}
