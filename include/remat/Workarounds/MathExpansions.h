//===- MathExpansions.h - Functions that upstream expands wrongly -*- C++ -*-=//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_WORKAROUNDS_MATHEXPANSIONS_H
#define REMAT_WORKAROUNDS_MATHEXPANSIONS_H

#include "mlir/IR/BuiltinTypes.h"

namespace mlir {
class RewritePatternSet;

namespace remat {

/// Returns true for types of values in bodies of kernels. Operations on tensors
/// become kernels first.
inline bool isScalarOrVector(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? !vector.isScalable() : !isa<ShapedType>(type);
}

/// Expands functions of which upstream's expansion, or its conversion to LLVM,
/// computes other numbers. test/Upstream/mlir/math.mlir shows these.
void populateMathWorkaroundPatterns(RewritePatternSet &patterns);

} // namespace remat
} // namespace mlir

#endif // REMAT_WORKAROUNDS_MATHEXPANSIONS_H
