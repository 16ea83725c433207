//===- Workspace.h - Buffers that operations work in ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_PACKMEMORY_WORKSPACE_H
#define REMAT_TRANSFORMS_PACKMEMORY_WORKSPACE_H

#include "llvm/ADT/StringRef.h"

namespace mlir::remat {

/// Marks a `memref.alloc` as the workspace of an operation or library call: it
/// holds no result. The memory report has a class for such buffers.
inline constexpr llvm::StringLiteral kWorkspaceAttrName = "remat.workspace";

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_WORKSPACE_H
