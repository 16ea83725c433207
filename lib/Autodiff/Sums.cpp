//===- Sums.cpp - Contributions to one cotangent --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three ways to add, the cheapest one that fits: start the contribution's own
// summation from what there is, add to a slice, or add tensors.
//===----------------------------------------------------------------------===//

#include "Sums.h"

#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

/// Returns true if a result of `op` is its destination `init` plus something,
/// so that it can start from another sum than zero.
static bool addsToInit(Operation *op, OpOperand &init) {
  if (isa<AttentionBackwardOp, ScatterAddOp>(op))
    return true;
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!structured)
    return false;
  Value yielded = structured.getMatchingYieldValue(&init)->get();
  auto add = yielded.getDefiningOp<arith::AddFOp>();
  BlockArgument sum = structured.getMatchingBlockArgument(&init);
  return add && yielded.hasOneUse() && sum.hasOneUse() &&
         (add.getLhs() == sum || add.getRhs() == sum);
}

/// Adds `contribution` to `sum` by starting `contribution`'s own summation from
/// it. Fails where that is not possible or not free.
static LogicalResult
startFrom(Value sum, Value contribution,
          const DenseMap<Operation *, unsigned> &madeByRule) {
  auto op = contribution.getDefiningOp<DestinationStyleOpInterface>();
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
  OpOperand *init = op.getTiedOpOperand(cast<OpResult>(contribution));
  if (!init || !getZeroFilled(init->get()) || !addsToInit(op, *init))
    return failure();
  init->set(sum);
  return success();
}

/// `sum` + `contribution` as an operation of its own; `inPlace` in the memory
/// of `sum`, which is that of an accumulator.
static Value createAdd(OpBuilder &builder, Location loc, Value sum,
                       Value contribution, bool inPlace) {
  auto type = dyn_cast<RankedTensorType>(sum.getType());
  if (!type)
    return arith::AddFOp::create(builder, loc, sum, contribution);
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

/// More slices than models have would make sums quadratic in their number.
static constexpr unsigned kMaxSlices = 64;

/// Returns true if `sum` is zero in `slice`: the parts of a fused weight or of
/// a split tensor come one by one into a buffer of zeros.
static bool isZeroIn(const Sum &sum, const std::optional<TensorPart> &slice) {
  return slice && sum.slices &&
         llvm::all_of(*sum.slices, [&](const TensorPart &other) {
           return areDisjoint(other, *slice);
         });
}

/// The insertion of a slice into zeros that `contribution` is; null if it is
/// none.
static tensor::InsertSliceOp getInsertion(Value contribution) {
  auto insert = contribution.getDefiningOp<tensor::InsertSliceOp>();
  return insert && getZeroFilled(insert.getDest()) ? insert
                                                   : tensor::InsertSliceOp();
}

/// Returns the matrix product that `insert` puts into zeros, perhaps with
/// dimensions of size 1, if the bits are the same whether it is added to what
/// is there or starts from that: its terms are one chain (docs/bits.md).
static linalg::LinalgOp getProductOfOneChain(tensor::InsertSliceOp insert) {
  constexpr int64_t kTermsOfChain = 512;
  Value source = insert.getSource();
  if (auto expand = source.getDefiningOp<tensor::ExpandShapeOp>())
    source = expand.getSrc();
  auto product = source.getDefiningOp<linalg::LinalgOp>();
  if (!product || product->getBlock() != insert->getBlock() ||
      !isProduct(product) || !linalg::isaContractionOpInterface(product) ||
      !llvm::hasNItems(*product.getBlock(), 3) ||
      !getZeroFilled(product.getDpsInits()[0]))
    return {};
  auto type = cast<RankedTensorType>(source.getType());
  int64_t terms = 1;
  for (auto [size, kind] : llvm::zip_equal(product.getStaticLoopRanges(),
                                           product.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      terms =
          ShapedType::isDynamic(size) ? kSizeLimit : multiplySizes(size, terms);
  bool isPlain = type.getElementType().isF32() || type.getElementType().isF64();
  bool isSlice = isRankReducedType(insert.getSourceType(), type) ==
                 SliceVerificationResult::Success;
  return isPlain && isSlice && terms <= kTermsOfChain ? product
                                                      : linalg::LinalgOp();
}

/// The first contribution as a sum.
static Sum startSum(Value contribution) {
  Sum sum{contribution, std::nullopt};
  if (tensor::InsertSliceOp insert = getInsertion(contribution))
    if (std::optional<TensorPart> slice = getInsertedPart(insert))
      sum.slices = {*slice};
  return sum;
}

/// Adds a contribution that is zero outside a slice, or but for one element.
/// The result has no value if it is no such thing.
static Sum addToSlice(OpBuilder &builder, Location loc, const Sum &sum,
                      Value contribution,
                      const DenseMap<Operation *, unsigned> &madeByRule) {
  Operation *op = contribution.getDefiningOp();
  if (!madeByRule.contains(op) || !contribution.use_empty())
    return {};
  if (tensor::InsertSliceOp insert = getInsertion(contribution)) {
    Value added = insert.getSource();
    std::optional<TensorPart> slice = getInsertedPart(insert);
    if (!isZeroIn(sum, slice)) {
      linalg::LinalgOp product = getProductOfOneChain(insert);
      Value part = tensor::ExtractSliceOp::create(
          builder, loc,
          product ? cast<RankedTensorType>(product->getResult(0).getType())
                  : insert.getSourceType(),
          sum.value, insert.getMixedOffsets(), insert.getMixedSizes(),
          insert.getMixedStrides());
      // In place: the slice goes back to where it came from.
      if (product) {
        Operation *starting = builder.clone(*product);
        starting->setOperand(product.getNumDpsInputs(), part);
        added = starting->getResult(0);
      } else {
        added = createAdd(builder, loc, part, added, /*inPlace=*/true);
      }
    }
    Sum result;
    result.value = tensor::InsertSliceOp::create(
        builder, loc, added, sum.value, insert.getMixedOffsets(),
        insert.getMixedSizes(), insert.getMixedStrides());
    if (slice && sum.slices && sum.slices->size() < kMaxSlices) {
      result.slices = sum.slices;
      result.slices->push_back(*slice);
    }
    return result;
  }
  if (auto insert = dyn_cast<tensor::InsertOp>(op);
      insert && getZeroFilled(insert.getDest())) {
    Value element =
        tensor::ExtractOp::create(builder, loc, sum.value, insert.getIndices());
    element = arith::AddFOp::create(builder, loc, element, insert.getScalar());
    return {tensor::InsertOp::create(builder, loc, element, sum.value,
                                     insert.getIndices()),
            std::nullopt};
  }
  return {};
}

Sum mlir::remat::addContribution(
    OpBuilder &builder, Location loc, const Sum &sum, Value contribution,
    bool inPlace, const DenseMap<Operation *, unsigned> &madeByRule) {
  if (!sum.value)
    return startSum(contribution);
  if (succeeded(startFrom(sum.value, contribution, madeByRule)))
    return {contribution, std::nullopt};
  if (Sum added = addToSlice(builder, loc, sum, contribution, madeByRule);
      added.value)
    return added;
  return {createAdd(builder, loc, sum.value, contribution, inPlace),
          std::nullopt};
}
