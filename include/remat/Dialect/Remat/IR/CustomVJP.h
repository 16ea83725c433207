//===- CustomVJP.h - Looking up rules of users ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_CUSTOMVJP_H
#define REMAT_DIALECT_REMAT_IR_CUSTOMVJP_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

class CustomVJPOp;

/// The function that is the rule of `custom`.
func::FuncOp getRule(CustomVJPOp custom);

/// The rule for calls of the function that `call` calls; null if it has none.
func::FuncOp findCustomRule(func::CallOp call);

} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_CUSTOMVJP_H
