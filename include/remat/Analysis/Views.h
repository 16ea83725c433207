//===- Views.h - The same elements in another order or shape ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_ANALYSIS_VIEWS_H
#define REMAT_ANALYSIS_VIEWS_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::remat {

/// The operand that `op` shows in another order or shape: a transposition or a
/// broadcast, named or generic, a reshape or a cast of a whole tensor. Null if
/// it computes something.
OpOperand *getViewedOperand(Operation *op);

/// Returns the dynamic sizes of the result of `op`, a view: operands of its own
/// (of a `tensor.reshape`, the tensor of all sizes) or of the `tensor.empty`
/// that it is written to; nullopt if it has neither.
std::optional<SmallVector<Value>> getViewSizes(Operation *op);

/// Returns true if both are one value, or equal views of one, were names and
/// borders of regions not there.
bool areSameViews(Value a, Value b);

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_VIEWS_H
