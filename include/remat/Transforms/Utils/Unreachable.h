//===- Unreachable.h - Blocks that no branch leads to -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_UTILS_UNREACHABLE_H
#define REMAT_TRANSFORMS_UTILS_UNREACHABLE_H

namespace mlir {
class Operation;
namespace remat {

/// Erases the unreachable blocks of all regions of `root`; returns whether
/// there were any. Only there may a value be computed from itself, so that a
/// pass that follows operands without them comes to an end.
bool eraseUnreachable(Operation *root);

} // namespace remat
} // namespace mlir

#endif // REMAT_TRANSFORMS_UTILS_UNREACHABLE_H
