//===- PackProducts.cpp - Matrices that lie as their shapes say -----------===//
//
// Whether BLAS sees a matrix or its transpose, and which rows it sees at once,
// changes the order in which it adds up. That must follow from the operation,
// and not from what the operand is a slice of, which depends on what is saved.
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "remat/Conversion/Passes.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PACKPRODUCTS
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// The operands of which a loop indexes a dimension: those of one role (batch,
/// rows, columns, sum) have the same ones.
static unsigned getRole(linalg::LinalgOp op, unsigned loop) {
  unsigned role = 0;
  for (OpOperand &operand : op->getOpOperands())
    if (op.getMatchingIndexingMap(&operand).isFunctionOfDim(loop))
      role |= 1 << operand.getOperandNumber();
  return role;
}

/// Whether BLAS sees of `operand` what it would see if it had no gaps: the last
/// dimension is contiguous, and neighbours that are one dimension of the matrix
/// are one in memory. Dimensions of size 1 are in nobody's way.
static bool isSeenAsDense(linalg::LinalgOp op, OpOperand &operand) {
  auto type = cast<MemRefType>(operand.get().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getLayout().isIdentity())
    return true;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  std::optional<unsigned> inner;
  for (unsigned dim = type.getRank(); dim-- > 0;) {
    if (type.getDimSize(dim) == 1)
      continue;
    if (!inner) {
      if (strides[dim] != 1)
        return false;
    } else if (getRole(op, map.getDimPosition(dim)) ==
               getRole(op, map.getDimPosition(*inner))) {
      if (ShapedType::isDynamic(strides[dim]) ||
          ShapedType::isDynamic(strides[*inner]) || type.isDynamicDim(*inner) ||
          strides[dim] != strides[*inner] * type.getDimSize(*inner))
        return false;
    }
    inner = dim;
  }
  return true;
}

/// Returns whether an operand is packed now.
static bool packOperands(linalg::LinalgOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  bool isPacked = false;
  linalg::FillOp fill = findZeroFill(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (isSeenAsDense(op, operand))
      continue;
    Value original = operand.get();
    Value copy = allocateDense(builder, loc, original);
    operand.set(copy);
    isPacked = true;
    if (op.isDpsInput(&operand)) {
      memref::CopyOp::create(builder, loc, original, copy);
      continue;
    }
    if (fill) {
      linalg::FillOp::create(builder, loc, fill.getInputs(), copy);
      fill.erase();
    } else {
      memref::CopyOp::create(builder, loc, original, copy);
    }
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(op);
    memref::CopyOp::create(builder, loc, copy, original);
  }
  return isPacked;
}

namespace {
class PackProducts : public remat::impl::PackProductsBase<PackProducts> {
public:
  using PackProductsBase::PackProductsBase;

protected:
  void runOnOperation() override {
    bool changed = false;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (op.hasPureBufferSemantics() && isLibraryProduct(op, mixed))
        changed |= packOperands(op);
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
