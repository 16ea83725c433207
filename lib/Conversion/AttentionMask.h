//===- AttentionMask.h - Keys that a mask leaves ----------------*- C++ -*-===//
//
// Half of causal attention is masked. Where the body of an attention says that
// by positions alone, kernels leave these keys out.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_ATTENTIONMASK_H
#define REMAT_LIB_CONVERSION_ATTENTIONMASK_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::remat {

/// slope * row + offset, with a slope that is not negative.
struct KeyBound {
  int64_t slope, offset;
};

/// The keys of a row are at least each of `lower`, and at most each of `upper`;
/// all others have no probability.
struct VisibleKeys {
  llvm::SmallVector<KeyBound, 1> lower, upper;
};

/// What the modified score `t` says about the keys of a row. `row` and `key`
/// are their indices, arguments of the body. `onlyPositionsMask`: the key with
/// the row's index exists for each row, and no operand can mask it, so that no
/// row is without a key.
VisibleKeys findVisibleKeys(Value t, Value row, Value key,
                            bool onlyPositionsMask);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_ATTENTIONMASK_H
