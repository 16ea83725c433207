//===- CustomVJP.h - Derivatives by hand ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A `remat.custom_vjp` for a kind of operation becomes one for a function that
// holds the operation, so that everything else knows calls only.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_CUSTOMVJP_H
#define REMAT_LIB_AUTODIFF_CUSTOMVJP_H

#include "remat/Dialect/Remat/IR/CustomVJP.h"

namespace mlir::remat {

/// Puts the operations that rules of `module` are for into functions, and keeps
/// those and other functions with rules from being inlined. Fails with a
/// diagnostic at an operation that no rule for its kind fits.
LogicalResult bindCustomVJPs(ModuleOp module);

/// Builds the body of `rule` for `call`. `primal` gives operands and results,
/// and is asked for those that the rule reads; `cotangents` has one for each
/// result that can have one. Returns a cotangent for each operand that can have
/// one, null for the others.
SmallVector<Value> buildCustomRule(OpBuilder &builder, func::FuncOp rule,
                                   func::CallOp call,
                                   function_ref<Value(Value)> primal,
                                   ValueRange cotangents);

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_CUSTOMVJP_H
