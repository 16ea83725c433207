//===- Hover.h - Documentation of attributes in an editor -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TOOLS_LSP_SERVER_HOVER_H
#define REMAT_TOOLS_LSP_SERVER_HOVER_H

#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::remat {
/// Runs `server`, a language server on the standard streams, in a process of
/// its own, and answers questions about attributes of this project in its
/// place. Ends as the server does.
int runWithAttributeHover(llvm::function_ref<int()> server);
} // namespace mlir::remat

#endif // REMAT_TOOLS_LSP_SERVER_HOVER_H
