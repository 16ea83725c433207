//===- CheapSlice.h - What is cheaper to make than to keep ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_PLAN_CHEAPSLICE_H
#define REMAT_LIB_TRANSFORMS_PLAN_CHEAPSLICE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// The tensors that `value` is made of by a few cheap operations; none if there
/// are no such operations, or keeping `value` costs no more than they do. All
/// of these tensors are kept until the backward anyway (`isKept`), or smaller
/// than `value`. What `isFused` is part of the kernels that read it, and costs
/// nothing by itself.
std::optional<llvm::SetVector<Value>>
getCheapSlice(Value value, llvm::function_ref<bool(Value)> isKept,
              llvm::function_ref<bool(Value)> isFused);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PLAN_CHEAPSLICE_H
