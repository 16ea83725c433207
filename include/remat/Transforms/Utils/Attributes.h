//===- Attributes.h - Attributes of replaced operations ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_UTILS_ATTRIBUTES_H
#define REMAT_TRANSFORMS_UTILS_ATTRIBUTES_H

namespace mlir {
class Operation;
namespace remat {

/// Copies the discardable attributes of `from` to `to`, except those that `to`
/// has already, those by which linalg remembers properties of named operations,
/// and, unless `withPhase`, the phase.
void copyAttributes(Operation *from, Operation *to, bool withPhase = true);

} // namespace remat
} // namespace mlir

#endif // REMAT_TRANSFORMS_UTILS_ATTRIBUTES_H
