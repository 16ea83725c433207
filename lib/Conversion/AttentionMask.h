//===- AttentionMask.h - Keys that a mask leaves ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Half of causal attention is masked. Where the body of an attention says that
// by positions alone, kernels leave these keys out.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_ATTENTIONMASK_H
#define REMAT_LIB_CONVERSION_ATTENTIONMASK_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::remat {

/// slope * row + offset, with a slope that is not negative.
struct KeyBound {
  int64_t slope, offset;
};

/// `compare` holds, or not, exactly where rows * row + keys * key + constant is
/// at most 0; elsewhere a key is masked.
struct PositionTest {
  Operation *compare;
  bool holds;
  int64_t rows, keys, constant;
};

/// The keys of a row are at least each of `lower`, and at most each of `upper`;
/// all others have no probability.
struct VisibleKeys {
  llvm::SmallVector<KeyBound, 1> lower, upper;
  /// All comparisons of positions on which masks depend.
  llvm::SmallVector<PositionTest, 2> tests;
};

/// Returns what the modified score `t` says about the keys of a row. `row` and
/// `key` are their indices, arguments of the body. `onlyPositionsMask`: the key
/// with the row's index exists for each row, and no operand can mask it, so
/// that no row is without a key.
VisibleKeys findVisibleKeys(Value t, Value row, Value key,
                            bool onlyPositionsMask);

/// The first of `numKeys` keys that some of `rows` rows from `start` on sees,
/// and how many they are, in whole multiples. Of constants these are constants.
std::pair<OpFoldResult, OpFoldResult>
findKeyRange(OpBuilder &builder, Location loc, const VisibleKeys &visible,
             OpFoldResult start, OpFoldResult rows, OpFoldResult numKeys,
             int64_t multiple);
/// The first of `numRows` rows that may see some of `keys` keys from `start`
/// on, a multiple, and how many they are.
std::pair<OpFoldResult, OpFoldResult>
findRowRange(OpBuilder &builder, Location loc, const VisibleKeys &visible,
             OpFoldResult start, OpFoldResult keys, OpFoldResult numRows,
             int64_t multiple);

/// Tests whether each of `rows` rows from `firstRow` on sees each of `keys`
/// keys from `firstKey` on, as far as positions say; null if they say nothing.
Value createIsVisible(OpBuilder &builder, Location loc,
                      const VisibleKeys &visible, Value firstRow, int64_t rows,
                      Value firstKey, int64_t keys);

/// The modified score t in exp(t - log_sum), which the backward multiplies by;
/// null if its body has no such.
Value findModifiedScore(AttentionBackwardOp op);
/// exp(t - log_sum) itself, 0 where t is -inf; null likewise.
Operation *findProbability(AttentionBackwardOp op);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_ATTENTIONMASK_H
