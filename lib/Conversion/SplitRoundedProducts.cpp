//===- SplitRoundedProducts.cpp - Rounded products in two operations ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without this pass a kernel of loops would round the sum after each term.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Passes.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/RoundedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SPLITROUNDEDPRODUCTS
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// `value`, element for element in another floating-point type.
template <typename Conversion>
static Value convert(OpBuilder &builder, Location loc, Value value,
                     Value destination) {
  auto type = cast<RankedTensorType>(destination.getType());
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  return linalg::GenericOp::create(
             builder, loc, type, value, destination,
             ArrayRef<AffineMap>{identity, identity},
             SmallVector<utils::IteratorType>(type.getRank(),
                                              utils::IteratorType::parallel),
             [&](OpBuilder &inside, Location loc, ValueRange arguments) {
               Value converted = Conversion::create(
                   inside, loc, type.getElementType(), arguments[0]);
               linalg::YieldOp::create(inside, loc, converted);
             })
      .getResult(0);
}

static void split(linalg::LinalgOp op) {
  PhaseListener listener(getPhase(op));
  OpBuilder builder(op, &listener);
  Location loc = op.getLoc();
  Value init = op.getDpsInits()[0];
  auto createEmpty = [&](Type type) -> Value {
    return tensor::EmptyOp::create(
        builder, loc, tensor::getMixedSizes(builder, loc, init), type);
  };
  Type wide = builder.getF32Type();
  Value sums = createEmpty(wide);
  if (getZeroFilled(init)) {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(wide));
    sums = linalg::FillOp::create(builder, loc, zero, sums).getResult(0);
  } else {
    sums = convert<arith::ExtFOp>(builder, loc, init, sums);
  }
  auto product = linalg::GenericOp::create(
      builder, loc, sums.getType(), op.getDpsInputs(), sums,
      op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      [&](OpBuilder &inside, Location loc, ValueRange arguments) {
        SmallVector<Value> factors;
        for (Value factor : arguments.drop_back())
          factors.push_back(arith::ExtFOp::create(inside, loc, wide, factor));
        Value term = arith::MulFOp::create(inside, loc, factors[0], factors[1]);
        Value sum = arith::AddFOp::create(inside, loc, arguments.back(), term);
        linalg::YieldOp::create(inside, loc, sum);
      });
  fixReductionOrder(product);
  Type narrow = getElementTypeOrSelf(init.getType());
  op->getResult(0).replaceAllUsesWith(convert<arith::TruncFOp>(
      builder, loc, product.getResult(0), createEmpty(narrow)));
  op.erase();
}

namespace {
struct SplitRoundedProducts
    : remat::impl::SplitRoundedProductsBase<SplitRoundedProducts> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> products;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (op.hasPureTensorSemantics() && isRoundedProduct(op) &&
          !(isProductOfExtended(op) &&
            isOneProduct(op.getIndexingMapsArray(), op.getStaticLoopRanges())))
        products.push_back(op);
    });
    if (products.empty())
      return markAllAnalysesPreserved();
    llvm::for_each(products, split);
  }
};
} // namespace
