//===- RoundedProduct.cpp - Products that are rounded once ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One definition for the passes that make them, differentiate them and lower
// them.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/RoundedProduct.h"

#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::remat;

/// The value that a conversion of it stands for.
template <typename Conversion> static Value lookThrough(Value value) {
  auto conversion = value.getDefiningOp<Conversion>();
  return conversion ? conversion.getIn() : value;
}

bool mlir::remat::isRounding(Operation *op) {
  if (isa<arith::TruncFOp>(op))
    return isa<RankedTensorType>(op->getResult(0).getType());
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() != 1 ||
      generic.getNumDpsInits() != 1 || !isPointwise(generic) ||
      !generic.getIndexingMapsArray().front().isIdentity())
    return false;
  Block *body = generic.getBlock();
  auto rounded = body->getTerminator()->getOperand(0);
  auto truncation = rounded.getDefiningOp<arith::TruncFOp>();
  return truncation && llvm::hasNItems(*body, 2) &&
         truncation.getIn() == body->getArgument(0) &&
         !truncation.getRoundingmodeAttr();
}

bool mlir::remat::isRoundedProduct(linalg::LinalgOp op) {
  return getReductionOrder(op) == ReductionOrder::RoundedProduct;
}

bool mlir::remat::isProductOfExtended(linalg::LinalgOp op) {
  if (!isProduct(op) || !linalg::isaContractionOpInterface(op))
    return false;
  Block *body = op.getBlock();
  if (body->getNumArguments() != 3)
    return false;
  Value yielded = body->getTerminator()->getOperand(0);
  bool isRounded = isRoundedProduct(op);
  if (isRounded)
    yielded = lookThrough<arith::TruncFOp>(yielded);
  auto sum = yielded.getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  Value start = sum.getLhs();
  if (isRounded)
    start = lookThrough<arith::ExtFOp>(start);
  auto product = sum.getRhs().getDefiningOp<arith::MulFOp>();
  if (start != body->getArgument(2) || !product)
    return false;
  Value first = lookThrough<arith::ExtFOp>(product.getLhs()),
        second = lookThrough<arith::ExtFOp>(product.getRhs());
  if (first != body->getArgument(0))
    std::swap(first, second);
  return first == body->getArgument(0) && second == body->getArgument(1) &&
         llvm::all_of(body->without_terminator(), [&](Operation &inner) {
           return isa<arith::ExtFOp, arith::MulFOp, arith::AddFOp>(inner) ||
                  (isRounded && isa<arith::TruncFOp>(inner));
         });
}

/// The positions among the results of `map` of the loops that are in `roles`,
/// outermost first.
static SmallVector<unsigned> findPositions(AffineMap map,
                                           const llvm::SmallBitVector &role) {
  SmallVector<unsigned> positions;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    if (role.test(map.getDimPosition(i)))
      positions.push_back(i);
  return positions;
}

bool mlir::remat::isOneProduct(ArrayRef<AffineMap> maps,
                               ArrayRef<int64_t> loopSizes) {
  if (!llvm::all_of(maps,
                    [](AffineMap map) { return map.isProjectedPermutation(); }))
    return false;
  unsigned numLoops = maps[0].getNumDims();
  auto countReads = [&](unsigned loop) {
    return llvm::count_if(
        maps, [&](AffineMap map) { return map.isFunctionOfDim(loop); });
  };
  for (unsigned loop = 0; loop < numLoops; ++loop)
    if (countReads(loop) < 2)
      return false;
  for (AffineMap map : maps)
    if (unsigned rank = map.getNumResults();
        rank && countReads(map.getDimPosition(rank - 1)) == 3)
      return false;
  for (unsigned absent = 0; absent < 3; ++absent) {
    llvm::SmallBitVector role(numLoops);
    for (unsigned loop = 0; loop < numLoops; ++loop)
      role[loop] = !maps[absent].isFunctionOfDim(loop);
    AffineMap one = maps[(absent + 1) % 3], other = maps[(absent + 2) % 3];
    SmallVector<unsigned> inOne = findPositions(one, role),
                          inOther = findPositions(other, role);
    for (unsigned i = 0; i + 1 < inOne.size(); ++i)
      if (inOne[i + 1] != inOne[i] + 1 || inOther[i + 1] != inOther[i] + 1)
        return false;
    for (auto [i, j] : llvm::zip_equal(inOne, inOther))
      if (one.getResult(i) != other.getResult(j) ||
          (inOne.size() > 1 &&
           ShapedType::isDynamic(loopSizes[one.getDimPosition(i)])))
        return false;
  }
  return true;
}

linalg::GenericOp
mlir::remat::createRoundedProduct(OpBuilder &builder, Location loc, Value a,
                                  Value b, Value init, ArrayRef<AffineMap> maps,
                                  ArrayRef<utils::IteratorType> iterators) {
  auto product = linalg::GenericOp::create(
      builder, loc, init.getType(), ValueRange{a, b}, init, maps, iterators,
      [](OpBuilder &inside, Location loc, ValueRange arguments) {
        SmallVector<Value> wide;
        for (Value argument : arguments)
          wide.push_back(arith::ExtFOp::create(inside, loc, inside.getF32Type(),
                                               argument));
        Value term = arith::MulFOp::create(inside, loc, wide[0], wide[1]);
        Value sum = arith::AddFOp::create(inside, loc, wide[2], term);
        Value rounded =
            arith::TruncFOp::create(inside, loc, arguments[2].getType(), sum);
        linalg::YieldOp::create(inside, loc, rounded);
      });
  fixAsRounded(product);
  return product;
}
