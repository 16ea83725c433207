//===- Products.h - What goes to the library --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The questions that both conversions of linalg ask about products.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_PRODUCTS_H
#define REMAT_LIB_CONVERSION_PRODUCTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// Returns true if `op` is a matrix product that the runtime has: c + a * b on
/// f32 or f64, or with factors of bf16, f16 or f32 that are added up in f32,
/// and a result that may be rounded to the type of a narrow factor. With
/// `alike`, both factors have one type.
bool isLibraryProduct(linalg::LinalgOp op, bool alike = false);

/// The `linalg.fill` that gives `op` its output of this number, if nothing else
/// touches that memory in between; null if there is none.
linalg::FillOp findFill(DestinationStyleOpInterface op, unsigned output);

/// The same for the first output, if it is filled with zero.
linalg::FillOp findZeroFill(linalg::LinalgOp op);

/// Returns true if the elements lie one after the other, in the order of their
/// indices.
bool isContiguous(MemRefType type);

/// Memory of the shape of `value`, a memref, without gaps; of its element type
/// unless there is another.
Value allocateDense(OpBuilder &builder, Location loc, Value value,
                    Type elementType = {});

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_PRODUCTS_H
