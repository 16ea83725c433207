//===- Workspace.h - Buffers that operations work in ------------*- C++ -*-===//

#ifndef REMAT_TRANSFORMS_PACKMEMORY_WORKSPACE_H
#define REMAT_TRANSFORMS_PACKMEMORY_WORKSPACE_H

#include "llvm/ADT/StringRef.h"

namespace mlir::remat {

/// Of a `memref.alloc`: its bytes are nobody's result, an operation or library
/// call works in them. The memory report has a class for such.
inline constexpr llvm::StringLiteral kWorkspaceAttrName = "remat.workspace";

/// Of a `memref.alloc` of bytes that is used through casts to a dynamic size:
/// how many bytes help its users. Its type says how many they need.
inline constexpr llvm::StringLiteral kUsefulBytesAttrName =
    "remat.useful_bytes";

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_PACKMEMORY_WORKSPACE_H
