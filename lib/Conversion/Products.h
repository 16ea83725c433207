//===- Products.h - What goes to the library --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The questions that both conversions of linalg ask about products.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_PRODUCTS_H
#define REMAT_LIB_CONVERSION_PRODUCTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// Returns true if `op` is a matrix product on f32 or f64 whose body is c + a *
/// b, without casts; with `mixed`, also one whose factors are bf16 or f16, both
/// of one type, and are added up in f32, and whose result may be rounded to
/// that type.
bool isLibraryProduct(linalg::LinalgOp op, bool mixed = false);

/// The `linalg.fill` that gives `op` its output of this number, if nothing else
/// touches that memory in between; null if there is none.
linalg::FillOp findFill(DestinationStyleOpInterface op, unsigned output);

/// The same for the first output, if it is filled with zero.
linalg::FillOp findZeroFill(linalg::LinalgOp op);

/// Memory of the shape of `value`, a memref, without gaps; of its element type
/// unless there is another.
Value allocateDense(OpBuilder &builder, Location loc, Value value,
                    Type elementType = {});

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_PRODUCTS_H
