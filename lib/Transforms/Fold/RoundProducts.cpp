//===- RoundProducts.cpp - Products with a rounded result -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exporters emit a product of bf16 as one of f32 followed by a rounding. As two
// operations, the result is stored, saved and differentiated in f32, at twice
// the bytes, and the adjoints are products of f32.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "remat/Dialect/Remat/IR/Borders.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/RoundedProduct.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

namespace {
/// The only user of a product, and the aliases of its result on the way. Names
/// and borders of regions must not decide what a product is.
struct Rounding {
  Operation *op = nullptr;
  SmallVector<Value> aliases;
};
} // namespace

static Rounding findRounding(LinalgOp product) {
  Rounding rounding;
  Value value = product->getResult(0);
  while (value && value.hasOneUse()) {
    rounding.aliases.push_back(value);
    OpOperand &use = *value.use_begin();
    if (isRounding(use.getOwner())) {
      rounding.op = use.getOwner();
      return rounding;
    }
    value = getPassedOn(use);
  }
  return {};
}

/// Returns true if `product` multiplies numbers of the 16-bit `type` and starts
/// from zero.
static bool isProductOf(LinalgOp product, Type type) {
  return product.hasPureTensorSemantics() && isProductOfExtended(product) &&
         (type.isBF16() || type.isF16()) &&
         llvm::all_of(product.getDpsInputs(), [&](Value factor) {
           return getElementTypeOrSelf(factor) == type;
         });
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

static void join(LinalgOp product) {
  if (product->getNumResults() != 1 || product.getNumDpsInputs() != 2 ||
      !getElementTypeOrSelf(product->getResult(0)).isF32() ||
      !getZeroFilled(product.getDpsInits()[0]))
    return;
  Rounding rounding = findRounding(product);
  if (!rounding.op)
    return;
  auto type = cast<RankedTensorType>(rounding.op->getResult(0).getType());
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  if (!isProductOf(product, type.getElementType()) ||
      !isOneProduct(maps, product.getStaticLoopRanges()))
    return;
  OpBuilder builder(product);
  Location loc = product.getLoc();
  Value empty = tensor::EmptyOp::create(
      builder, loc,
      tensor::getMixedSizes(builder, loc, product.getDpsInits()[0]),
      type.getElementType());
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  auto fill = linalg::FillOp::create(builder, loc, zero, empty);
  linalg::GenericOp rounded = createRoundedProduct(
      builder, loc, product.getDpsInputs()[0], product.getDpsInputs()[1],
      fill.getResult(0), maps, product.getIteratorTypesArray());
  copyAttributes(product, rounded);
  for (Value alias : ArrayRef(rounding.aliases).drop_front())
    alias.setType(rounded.getResult(0).getType());
  rounding.op->getResult(0).replaceAllUsesWith(rounding.aliases.back());
  rounding.op->erase();
  product->getResult(0).replaceAllUsesWith(rounded.getResult(0));
  product.erase();
}

LogicalResult mlir::remat::roundProducts(Operation *root) {
  SmallVector<LinalgOp> products;
  root->walk([&](LinalgOp op) {
    if (linalg::isaContractionOpInterface(op))
      products.push_back(op);
  });
  for (LinalgOp product : products)
    join(product);
  return success();
}
