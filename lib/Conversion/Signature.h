//===- Signature.h - What equal operations have in common -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model of 48 equal layers has the same operation 48 times. The lowering of
// one is known to be that of all of them before it is built.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_SIGNATURE_H
#define REMAT_LIB_CONVERSION_SIGNATURE_H

#include "mlir/IR/Operation.h"
#include <vector>

namespace mlir::remat {

using Signature = std::vector<uintptr_t>;

/// Everything about `op` and what it holds, but for locations, discardable
/// attributes other than orders of reductions, and what the values from around
/// it are: of those, the types, which of them are one, and what constants are.
/// Operations of one signature become the same code.
Signature getSignature(Operation *op);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_SIGNATURE_H
