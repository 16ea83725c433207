//===- Select.h - Values chosen together ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_PLAN_SELECT_H
#define REMAT_LIB_TRANSFORMS_PLAN_SELECT_H

#include "remat/Analysis/Effects.h"

#include "mlir/IR/Value.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {
class RegionOp;

/// Returns the values of `region` that its policy, which `selectsTogether`,
/// saves, if backwards read `needed` of it (values of its body, without names).
/// Those in `kept` are there anyway and take no bytes.
SetVector<Value> selectValues(RegionOp region, ArrayRef<Value> needed,
                              const SetVector<Value> &kept, Effects &effects);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PLAN_SELECT_H
