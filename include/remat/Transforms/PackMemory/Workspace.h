//===- Workspace.h - Buffers that operations work in ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_WORKSPACE_H
#define REMAT_TRANSFORMS_PACKMEMORY_WORKSPACE_H

#include "llvm/ADT/StringRef.h"

namespace mlir::remat {

/// Of a `memref.alloc`: its bytes are nobody's result, an operation or library
/// call works in them. The memory report has a class for such.
inline constexpr llvm::StringLiteral kWorkspaceAttrName = "remat.workspace";

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_WORKSPACE_H
