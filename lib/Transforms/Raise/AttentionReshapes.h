//===- AttentionReshapes.h - Reshapes in attention --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_RAISE_ATTENTIONRESHAPES_H
#define REMAT_LIB_TRANSFORMS_RAISE_ATTENTIONRESHAPES_H

#include "mlir/IR/Operation.h"

namespace mlir {
class RewritePatternSet;
namespace remat {

/// Returns true if `op` is a linalg contraction on tensors.
bool isProductOnTensors(Operation *op);

/// Returns the first operation that `isSource` accepts among those from which
/// elementwise kernels and reshapes compute `value`, or null. Without
/// `throughReshapes`, only reshapes that add or remove dimensions of size 1.
Operation *findSource(Value value, bool throughReshapes,
                      function_ref<bool(Operation *)> isSource);

/// Patterns that move reshapes between the products of an attention before the
/// first or after the last of them, so that scores and probabilities have the
/// same dimensions in all of it.
void populateMoveReshapesOutOfAttentionPatterns(RewritePatternSet &patterns);

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_TRANSFORMS_RAISE_ATTENTIONRESHAPES_H
