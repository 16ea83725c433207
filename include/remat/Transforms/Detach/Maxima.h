//===- Maxima.h - Maxima that results do not depend on ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_DETACH_MAXIMA_H
#define REMAT_TRANSFORMS_DETACH_MAXIMA_H

namespace mlir {
class Operation;
namespace remat {

/// Detaches maxima in `root` that no result depends on, and returns true if
/// there were any.
bool detachMaxima(Operation *root);

} // namespace remat
} // namespace mlir

#endif // REMAT_TRANSFORMS_DETACH_MAXIMA_H
