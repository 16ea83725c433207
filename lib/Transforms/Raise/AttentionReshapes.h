//===- AttentionReshapes.h - Reshapes in attention --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_RAISE_ATTENTIONRESHAPES_H
#define REMAT_LIB_TRANSFORMS_RAISE_ATTENTIONRESHAPES_H

#include "mlir/IR/Operation.h"

namespace mlir {
class RewritePatternSet;
namespace remat {

/// Whether `op` is a linalg product on tensors.
bool isProductOnTensors(Operation *op);

/// The first operation that `isSource` accepts among those from which
/// elementwise kernels (and reshapes, if allowed) compute `value`.
Operation *findSource(Value value, bool throughReshapes,
                      function_ref<bool(Operation *)> isSource);

/// Patterns that move reshapes that stand between a product and the softmax of
/// its result, or behind that softmax, in front of the first and behind the
/// last, so that all of it is on the same dimensions.
void populateMoveReshapesOutOfAttentionPatterns(RewritePatternSet &patterns);

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_TRANSFORMS_RAISE_ATTENTIONRESHAPES_H
