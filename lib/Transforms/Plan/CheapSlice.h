//===- CheapSlice.h - Values that are cheaper to recompute ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_PLAN_CHEAPSLICE_H
#define REMAT_LIB_TRANSFORMS_PLAN_CHEAPSLICE_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// Returns the tensors from which a few cheap operations compute `value`;
/// std::nullopt if there are no such operations, or nothing is gained by them.
/// All of these tensors are kept until the backward anyway (`isKept`), or
/// smaller than `value`. Values that are `isFused` are computed in the kernels
/// that read them, and cost nothing by themselves.
std::optional<llvm::SetVector<Value>>
getCheapSlice(Value value, llvm::function_ref<bool(Value)> isKept,
              llvm::function_ref<bool(Value)> isFused);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PLAN_CHEAPSLICE_H
