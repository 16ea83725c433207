//===- WidenProducts.cpp - Products of two types for the library ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The adjoint of a product of bf16 has a factor in bf16 and a cotangent in f32.
// cuBLASLt has no such product; as a kernel, it would read its operands as
// often as the result has rows.
//===----------------------------------------------------------------------===//

#include "../Products.h"
#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/RoundedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::remat {
#define GEN_PASS_DEF_WIDENPRODUCTS
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat
#include "remat/Transforms/Utils/ConvertElements.h"

using namespace mlir;
using namespace mlir::remat;

/// A dense copy of `value` with elements of type `element`.
static Value widen(OpBuilder &builder, linalg::LinalgOp product, Value value,
                   Type element) {
  Location loc = product.getLoc();
  Value wide = allocateDense(builder, loc, value, element);
  copyPhase(product, convertElementsInto(builder, loc, value, wide));
  return wide;
}

/// Every extension of a factor is exact: the same products are added up.
static void widenFactors(linalg::LinalgOp op) {
  OpBuilder builder(op);
  Type element =
      cast<MemRefType>(op.getDpsInits()[0].getType()).getElementType();
  SmallVector<Value> factors;
  for (Value factor : op.getDpsInputs()) {
    Type own = cast<MemRefType>(factor.getType()).getElementType();
    factors.push_back(own == element ? factor
                                     : widen(builder, op, factor, element));
  }
  auto product = linalg::GenericOp::create(
      builder, op.getLoc(), TypeRange(), factors, op.getDpsInits(),
      op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      [&](OpBuilder &inside, Location loc, ValueRange arguments) {
        Value term =
            arith::MulFOp::create(inside, loc, arguments[0], arguments[1]);
        Value sum = arith::AddFOp::create(inside, loc, arguments[2], term);
        linalg::YieldOp::create(inside, loc, sum);
      });
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (!isa<linalg::LinalgDialect>(attribute.getNameDialect()))
      product->setDiscardableAttr(attribute.getName(), attribute.getValue());
  op->erase();
}

namespace {
struct WidenProducts : remat::impl::WidenProductsBase<WidenProducts> {
  void runOnOperation() override {
    SmallVector<linalg::LinalgOp> products;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (op.hasPureBufferSemantics() && isProductOfExtended(op) &&
          !isLibraryProduct(op, /*alike=*/true) &&
          op.getRegionOutputArgs()[0].getType().isF32())
        products.push_back(op);
    });
    if (products.empty())
      return markAllAnalysesPreserved();
    llvm::for_each(products, widenFactors);
  }
};
} // namespace
