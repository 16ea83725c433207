//===- Patterns.h - Normal forms that other passes look for -----*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_NORMALIZE_PATTERNS_H
#define REMAT_LIB_TRANSFORMS_NORMALIZE_PATTERNS_H

namespace mlir {
class Operation;
class RewritePatternSet;
namespace remat {

/// Those of `remat-fold-transposes`, apart from its regions.
void populateFoldTransposesPatterns(RewritePatternSet &patterns);
/// Those of `remat-raise-softmax`.
void populateRaiseSoftmaxPatterns(RewritePatternSet &patterns);
/// Detaches maxima in `root` that results do not depend on; whether there were
/// any.
bool detachMaxima(Operation *root);

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_TRANSFORMS_NORMALIZE_PATTERNS_H
