//===- SelectScopes.h - Operations by where they come from ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_ANNOTATE_SELECTSCOPES_H
#define REMAT_LIB_TRANSFORMS_ANNOTATE_SELECTSCOPES_H

#include "Origins.h"
#include "Scopes.h"

#include "remat/Transforms/Annotate/Annotate.h"

namespace mlir::remat {

/// Returns true if a scope selects `op`: constants and what is bound to its
/// place are left out.
bool isSelectable(Operation *op, const Origins &origins);

/// Returns the key of `op`; of a region, that of all operations in it, empty if
/// they differ.
std::string getKeyOf(Operation *op, const Origins &origins,
                     function_ref<std::string(Operation *)> getKey);

/// Adds what has no scope of its own and lies between operations of
/// `selection`: it depends on one, and another one depends on it.
void addUnscoped(Selection &selection, Scopes &scopes);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_ANNOTATE_SELECTSCOPES_H
