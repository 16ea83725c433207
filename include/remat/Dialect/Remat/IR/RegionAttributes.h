//===- RegionAttributes.h - Attributes of regions ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_REMAT_IR_REGIONATTRIBUTES_H
#define REMAT_DIALECT_REMAT_IR_REGIONATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace mlir::remat {

/// On a `remat.region` that is part of how something is computed and not of
/// what a user wants to keep: `policy=none` leaves it.
inline constexpr llvm::StringLiteral kAlwaysAttrName = "remat.always";

} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_REGIONATTRIBUTES_H
