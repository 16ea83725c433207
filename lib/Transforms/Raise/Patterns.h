//===- Patterns.h - Forms that other passes look for ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_RAISE_PATTERNS_H
#define REMAT_LIB_TRANSFORMS_RAISE_PATTERNS_H

namespace mlir {
class RewritePatternSet;
namespace remat {

/// Those of `remat-raise-softmax`.
void populateRaiseSoftmaxPatterns(RewritePatternSet &patterns);

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_TRANSFORMS_RAISE_PATTERNS_H
