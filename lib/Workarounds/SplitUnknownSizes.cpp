//===- SplitUnknownSizes.cpp - Reshapes to several unknown sizes ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's `expand-strided-metadata` computes the one size of a group that a
// reshape does not know from all others, and ends where there are two of them.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SPLITUNKNOWNSIZES
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

/// Returns true if a dimension becomes several of which more than one has a
/// size that is not known.
static bool splitsUnknownSizes(memref::ExpandShapeOp op) {
  return llvm::any_of(op.getReassociationIndices(),
                      [&](const ReassociationIndices &group) {
                        return llvm::count_if(group, [&](int64_t dim) {
                                 return op.getResultType().isDynamicDim(dim);
                               }) > 1;
                      });
}

/// Sizes are operands, and strides products of them.
static void lower(memref::ExpandShapeOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  MemRefType type = op.getResultType();
  auto source = memref::ExtractStridedMetadataOp::create(b, loc, op.getSrc());
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape(),
                            outer = source.getConstifiedMixedStrides(),
                            strides(sizes.size());
  AffineExpr product = b.getAffineSymbolExpr(0) * b.getAffineSymbolExpr(1);
  for (auto [group, stride] :
       llvm::zip_equal(op.getReassociationIndices(), outer)) {
    OpFoldResult next = stride;
    for (int64_t dim : llvm::reverse(group)) {
      strides[dim] = next;
      next = affine::makeComposedFoldedAffineApply(b, loc, product,
                                                   {next, sizes[dim]});
    }
  }
  // Sizes that the type leaves open are values, constant or not.
  auto [known, offset] = type.getStridesAndOffset();
  for (auto [stride, inType] : llvm::zip_equal(strides, known))
    if (ShapedType::isDynamic(inType))
      stride = getValueOrCreateConstantIndexOp(b, loc, stride);
  OpFoldResult start = source.getConstifiedMixedOffset();
  if (ShapedType::isDynamic(offset))
    start = getValueOrCreateConstantIndexOp(b, loc, start);
  Value result = memref::ReinterpretCastOp::create(
      b, loc, type, source.getBaseBuffer(), start, sizes, strides);
  op.replaceAllUsesWith(result);
  op.erase();
}

namespace {
struct SplitUnknownSizes
    : mlir::remat::impl::SplitUnknownSizesBase<SplitUnknownSizes> {
  void runOnOperation() override {
    SmallVector<memref::ExpandShapeOp> found;
    getOperation()->walk([&](memref::ExpandShapeOp op) {
      if (splitsUnknownSizes(op))
        found.push_back(op);
    });
    if (found.empty())
      return markAllAnalysesPreserved();
    for (memref::ExpandShapeOp op : found)
      lower(op);
  }
};
} // namespace
