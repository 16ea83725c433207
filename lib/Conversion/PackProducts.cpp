//===- PackProducts.cpp - Matrices that lie as their shapes say -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a library sees a matrix or its transpose, and which rows it sees at
// once, may change the order in which it adds up. That must follow from the
// operation, and not from what the operand is a slice of, which depends on what
// is saved.
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "remat/Conversion/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PACKPRODUCTS
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// A memref of a product, and which loops index it.
struct Factor {
  OpOperand *operand;
  AffineMap map;
  bool isRead, isWritten;
};
} // namespace

/// Loops by the factors that they index: those of one role (batch, rows,
/// columns, sum) index the same ones.
static SmallVector<unsigned> getRoles(ArrayRef<Factor> factors) {
  SmallVector<unsigned> roles(factors.front().map.getNumDims(), 0);
  for (auto [number, factor] : llvm::enumerate(factors))
    for (auto [loop, role] : llvm::enumerate(roles))
      if (factor.map.isFunctionOfDim(loop))
        role |= 1 << number;
  return roles;
}

/// Returns true if BLAS sees of `factor` what it would see if it had no gaps:
/// the last dimension is contiguous, and neighbours that are one dimension of
/// the matrix are one in memory. Dimensions of size 1 do not matter.
static bool isSeenAsDense(const Factor &factor, ArrayRef<unsigned> roles) {
  auto type = cast<MemRefType>(factor.operand->get().getType());
  SmallVector<int64_t> strides;
  int64_t offset;
  if (type.getLayout().isIdentity())
    return true;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return false;
  std::optional<unsigned> inner;
  for (unsigned dim = type.getRank(); dim-- > 0;) {
    if (type.getDimSize(dim) == 1)
      continue;
    if (!inner) {
      if (strides[dim] != 1)
        return false;
    } else if (roles[factor.map.getDimPosition(dim)] ==
               roles[factor.map.getDimPosition(*inner)]) {
      if (ShapedType::isDynamic(strides[dim]) ||
          ShapedType::isDynamic(strides[*inner]) || type.isDynamicDim(*inner) ||
          strides[dim] != strides[*inner] * type.getDimSize(*inner))
        return false;
    }
    inner = dim;
  }
  return true;
}

/// Returns whether a factor of `op` is packed now. `fill`, if there is one,
/// fills what is written.
static bool packFactors(Operation *op, ArrayRef<Factor> factors,
                        ArrayRef<unsigned> roles, linalg::FillOp fill = {}) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  bool isPacked = false;
  for (const Factor &factor : factors) {
    if (isSeenAsDense(factor, roles))
      continue;
    Value original = factor.operand->get();
    Value copy = allocateDense(builder, loc, original);
    factor.operand->set(copy);
    isPacked = true;
    if (factor.isWritten && fill) {
      linalg::FillOp::create(builder, loc, fill.getInputs(), copy);
      fill.erase();
    } else if (factor.isRead) {
      memref::CopyOp::create(builder, loc, original, copy);
    }
    if (!factor.isWritten)
      continue;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfter(op);
    memref::CopyOp::create(builder, loc, copy, original);
  }
  return isPacked;
}

static bool packProduct(linalg::LinalgOp op) {
  SmallVector<Factor> factors;
  for (OpOperand &operand : op->getOpOperands())
    factors.push_back({&operand, op.getMatchingIndexingMap(&operand), true,
                       op.isDpsInit(&operand)});
  return packFactors(op, factors, getRoles(factors), findZeroFill(op));
}

/// Query, key, value and result, or its cotangent.
template <typename Op> static SmallVector<Factor> getFactors(Op op) {
  constexpr bool isForward = std::is_same_v<Op, AttentionOp>;
  unsigned last = 3 + op.getScoreOperands().size();
  SmallVector<Factor> factors;
  for (unsigned number : {0u, 1u, 2u, last})
    factors.push_back({&op->getOpOperand(number), op.getMap(number),
                       !isForward || number != last,
                       isForward && number == last});
  return factors;
}

/// Its products are those of a tile: of one row loop and the keys, whose other
/// rows are not contiguous with them.
template <typename Op>
static SmallVector<unsigned> getRolesInTile(Op op, ArrayRef<Factor> factors) {
  SmallVector<unsigned> roles = getRoles(factors);
  unsigned number = 1 << factors.size();
  for (unsigned loop : op.getDims().getScoreDims())
    roles[loop] = number++;
  return roles;
}

static bool packAttention(AttentionOp op) {
  SmallVector<Factor> factors = getFactors(op);
  return packFactors(op, factors, getRolesInTile(op, factors));
}

static bool packAttention(AttentionBackwardOp op) {
  SmallVector<Factor> factors = getFactors(op), sums = factors;
  // They lie as query, key and value do.
  for (unsigned number : {0u, 1u, 2u}) {
    OpOperand &init = op.getInitsMutable()[number];
    sums[number] = {&init, op.getMap(number), true, true};
  }
  SmallVector<unsigned> roles = getRolesInTile(op, factors);
  bool isPacked = packFactors(op, factors, roles);
  return packFactors(op, ArrayRef(sums).drop_back(), roles) || isPacked;
}

/// The runtime exchanges contiguous memory.
static bool packCollective(DestinationStyleOpInterface op) {
  OpBuilder builder(op);
  Location loc = op->getLoc();
  bool isPacked = false;
  for (OpOperand &operand : op->getOpOperands()) {
    Value original = operand.get();
    if (isContiguous(cast<MemRefType>(original.getType())))
      continue;
    Value copy = allocateDense(builder, loc, original);
    operand.set(copy);
    isPacked = true;
    if (!op.isDpsInit(&operand)) {
      memref::CopyOp::create(builder, loc, original, copy);
      continue;
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
    getOperation()->walk([&](Operation *op) {
      auto onBuffers = dyn_cast<DestinationStyleOpInterface>(op);
      if (!onBuffers || !onBuffers.hasPureBufferSemantics())
        return;
      if (auto attention = dyn_cast<AttentionOp>(op))
        changed |= packAttention(attention);
      else if (auto backward = dyn_cast<AttentionBackwardOp>(op))
        changed |= packAttention(backward);
      else if (isa<AllReduceOp, AllGatherOp>(op))
        changed |= packCollective(onBuffers);
      else if (auto product = dyn_cast<linalg::LinalgOp>(op);
               product && isLibraryProduct(product, alike))
        changed |= packProduct(product);
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
