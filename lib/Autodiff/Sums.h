//===- Sums.h - Contributions to one cotangent ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A weight that a loop or several layers share has many contributions to its
// gradient; a buffer and a pass over memory for each would be the largest part
// of its cost.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_SUMS_H
#define REMAT_LIB_AUTODIFF_SUMS_H

#include "remat/Analysis/AffineValues.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::remat {

struct Sum {
  Value value;
  /// The slices outside of which it is zero, as far as that is known. An
  /// addition to another slice need not read the sum. Known by how the sum was
  /// made and not by the operations that make it, which a region may hide.
  std::optional<SmallVector<TensorPart>> slices;
};

/// `sum` (none if its value is null) + `contribution`. In place where the
/// contribution is a sum itself that starts at zero, or is zero but for a
/// slice, or if `inPlace` asks for it; `madeByRule` numbers the operations that
/// may still be changed for this in the order of their making.
Sum addContribution(OpBuilder &builder, Location loc, const Sum &sum,
                    Value contribution, bool inPlace,
                    const DenseMap<Operation *, unsigned> &madeByRule);

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_SUMS_H
