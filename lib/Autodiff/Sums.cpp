//===- Sums.cpp - Contributions to one cotangent --------------------------===//
//
// Three ways to add, the cheapest one that fits: start the contribution's own
// summation from what there is, add to a slice, or add tensors.
//
//===----------------------------------------------------------------------===//

#include "Sums.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

/// Whether result `index` of `op` is its `outs` plus something, so that it can
/// start from another sum than zero.
static bool addsToInit(linalg::LinalgOp op, unsigned index) {
  Block *body = op.getBlock();
  Value yielded = body->getTerminator()->getOperand(index);
  auto add = yielded.getDefiningOp<arith::AddFOp>();
  BlockArgument sum = op.getMatchingBlockArgument(op.getDpsInitOperand(index));
  return add && yielded.hasOneUse() && sum.hasOneUse() &&
         (add.getLhs() == sum || add.getRhs() == sum);
}

/// Adds `contribution` to `sum` by starting `contribution`'s own summation from
/// it. Fails where that is not possible or not free.
static LogicalResult
startFrom(Value sum, Value contribution,
          const DenseMap<Operation *, unsigned> &madeByRule) {
  auto op = contribution.getDefiningOp<linalg::LinalgOp>();
  if (!op || !contribution.use_empty() ||
      contribution.getType() != sum.getType())
    return failure();
  // `sum` must exist before `op`: it does if only `op` is that new.
  auto opOrder = madeByRule.find(op);
  if (opOrder == madeByRule.end())
    return failure();
  if (Operation *sumOp = sum.getDefiningOp())
    if (auto sumOrder = madeByRule.find(sumOp);
        sumOrder != madeByRule.end() &&
        (sumOp->getBlock() != op->getBlock() ||
         sumOrder->second >= opOrder->second || !sumOp->isBeforeInBlock(op)))
      return failure();
  unsigned index = cast<OpResult>(contribution).getResultNumber();
  OpOperand *init = op.getDpsInitOperand(index);
  if (!getZeroFilled(init->get()) || !addsToInit(op, index))
    return failure();
  init->set(sum);
  return success();
}

/// `sum` + `contribution` as an operation of its own.
static Value createAdd(OpBuilder &builder, Location loc, Value sum,
                       Value contribution, bool inPlace) {
  auto type = dyn_cast<RankedTensorType>(sum.getType());
  if (!type)
    return arith::AddFOp::create(builder, loc, sum, contribution);
  // An accumulator that the scope was given is updated where it is.
  if (inPlace) {
    AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    return linalg::GenericOp::create(
               builder, loc, type, contribution, sum,
               ArrayRef<AffineMap>{identity, identity}, iterators,
               [](OpBuilder &nested, Location loc, ValueRange args) {
                 Value added =
                     arith::AddFOp::create(nested, loc, args[1], args[0]);
                 linalg::YieldOp::create(nested, loc, added);
               })
        .getResult(0);
  }
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, contribution),
      type.getElementType(), type.getEncoding());
  return linalg::AddOp::create(builder, loc, ValueRange{sum, contribution},
                               ValueRange{empty})
      .getResult(0);
}

/// Whether the two slices have no element in common, as far as constants tell.
static bool areDisjoint(tensor::InsertSliceOp a, tensor::InsertSliceOp b) {
  if (a.getDest().getType() != b.getDest().getType() || !a.hasUnitStride() ||
      !b.hasUnitStride())
    return false;
  for (auto [offsetA, sizeA, offsetB, sizeB] :
       llvm::zip_equal(a.getStaticOffsets(), a.getStaticSizes(),
                       b.getStaticOffsets(), b.getStaticSizes())) {
    if (ShapedType::isDynamic(offsetA) || ShapedType::isDynamic(sizeA) ||
        ShapedType::isDynamic(offsetB) || ShapedType::isDynamic(sizeB))
      continue;
    if (offsetA + sizeA <= offsetB || offsetB + sizeB <= offsetA)
      return true;
  }
  return false;
}

/// Whether `sum` is zero where `slice` writes: the parts of a fused weight or
/// of a split tensor come one by one into a buffer of zeros.
static bool isZeroAt(Value sum, tensor::InsertSliceOp slice) {
  // Far longer chains than models have would make this quadratic.
  for (unsigned step = 0; step < 64; ++step) {
    if (getZeroFilled(sum))
      return true;
    auto earlier = sum.getDefiningOp<tensor::InsertSliceOp>();
    if (!earlier || !areDisjoint(earlier, slice))
      return false;
    sum = earlier.getDest();
  }
  return false;
}

/// Adds a contribution that is zero outside a slice, or but for one element.
/// Null if it is no such thing.
static Value addToSlice(OpBuilder &builder, Location loc, Value sum,
                        Value contribution,
                        const DenseMap<Operation *, unsigned> &madeByRule) {
  Operation *op = contribution.getDefiningOp();
  if (!madeByRule.contains(op) || !contribution.use_empty())
    return nullptr;
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op);
      insert && getZeroFilled(insert.getDest())) {
    Value added = insert.getSource();
    if (!isZeroAt(sum, insert)) {
      Value part = tensor::ExtractSliceOp::create(
          builder, loc, insert.getSourceType(), sum, insert.getMixedOffsets(),
          insert.getMixedSizes(), insert.getMixedStrides());
      added = createAdd(builder, loc, part, added, /*inPlace=*/false);
    }
    return tensor::InsertSliceOp::create(
        builder, loc, added, sum, insert.getMixedOffsets(),
        insert.getMixedSizes(), insert.getMixedStrides());
  }
  if (auto insert = dyn_cast<tensor::InsertOp>(op);
      insert && getZeroFilled(insert.getDest())) {
    Value element =
        tensor::ExtractOp::create(builder, loc, sum, insert.getIndices());
    element = arith::AddFOp::create(builder, loc, element, insert.getScalar());
    return tensor::InsertOp::create(builder, loc, element, sum,
                                    insert.getIndices());
  }
  return nullptr;
}

Value mlir::remat::addContribution(
    OpBuilder &builder, Location loc, Value sum, Value contribution,
    bool inPlace, const DenseMap<Operation *, unsigned> &madeByRule) {
  if (succeeded(startFrom(sum, contribution, madeByRule)))
    return contribution;
  if (Value added = addToSlice(builder, loc, sum, contribution, madeByRule))
    return added;
  return createAdd(builder, loc, sum, contribution, inPlace);
}
