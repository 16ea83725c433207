//===- RoundedProduct.h - Products that are rounded once --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a model in bf16 or f16 means by a product: terms are added up in f32,
// and the result is rounded. Exporters print a product of f32 and a rounding;
// as one operation, the f32 result is nothing that could be stored, saved,
// named, or cross a border, and its adjoints are products of the same kind.
//
// It is a linalg.generic whose body extends the running value, adds a product
// to it and rounds the sum, and whose `remat.order` is "rounded product": the
// running value is not rounded in between.
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_ROUNDEDPRODUCT_H
#define REMAT_DIALECT_REMAT_IR_ROUNDEDPRODUCT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

bool isRoundedProduct(linalg::LinalgOp op);

/// Returns true if `op` rounds each element of its input and does nothing else.
bool isRounding(Operation *op);

/// Returns true if `op` is a matrix product whose body is c + a * b, to whose
/// type factors of a narrower type are extended; it is rounded after that if
/// `op` is a rounded product.
bool isProductOfExtended(linalg::LinalgOp op);

/// Returns true if a library computes a product with these maps (of a, b and c)
/// in one call for each matrix of the result, so that nothing but the result is
/// rounded: the loops of each role lie next to each other, in one order.
bool isOneProduct(ArrayRef<AffineMap> maps, ArrayRef<int64_t> loopSizes);

/// `a` times `b`, rounded to the type of `init`, from which the sums start.
linalg::GenericOp createRoundedProduct(OpBuilder &builder, Location loc,
                                       Value a, Value b, Value init,
                                       ArrayRef<AffineMap> maps,
                                       ArrayRef<utils::IteratorType> iterators);

} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_ROUNDEDPRODUCT_H
