//===- Shards.h - Arguments that ranks have parts of ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_SHARDS_H
#define REMAT_DIALECT_REMAT_IR_SHARDS_H

#include "llvm/ADT/StringRef.h"

namespace mlir::remat {

/// For each dimension of an argument, the axes of the grid along which it is to
/// be split, see `remat-split`.
inline constexpr llvm::StringLiteral kShardAttrName = "remat.shard";

/// The same once it is: the argument is what this rank has.
inline constexpr llvm::StringLiteral kLocalAttrName = "remat.local";

} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_SHARDS_H
