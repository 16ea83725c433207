//===- ArgumentIndex.h - Attributes that name an argument -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_ARGUMENTINDEX_H
#define REMAT_DIALECT_ARGUMENTINDEX_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {
/// Fails unless `value` is the index of an argument of `function`;
/// `emitError` begins the sentence that says so.
inline LogicalResult
expectArgumentIndex(func::FuncOp function, Attribute value,
                    function_ref<InFlightDiagnostic()> emitError) {
  auto index = dyn_cast<IntegerAttr>(value);
  if (index && index.getType().isSignlessInteger(64) && index.getInt() >= 0 &&
      index.getInt() < function.getNumArguments())
    return success();
  return emitError() << "is the index (i64) of one of "
                     << function.getNumArguments() << " arguments, got "
                     << value;
}
} // namespace mlir::remat

#endif // REMAT_DIALECT_ARGUMENTINDEX_H
