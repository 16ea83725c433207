//===- InitialValues.h - Bytes of values in the IR -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CAPI_INITIALVALUES_H
#define REMAT_LIB_CAPI_INITIALVALUES_H

#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::remat {

/// Writes the elements of `value` as they lie in memory at run time (an i1 in a
/// byte) to the `numBytes` at `into`. False if their bytes are not there, or
/// are not as many.
bool copyElements(ElementsAttr value, void *into, size_t numBytes);

} // namespace mlir::remat

#endif // REMAT_LIB_CAPI_INITIALVALUES_H
