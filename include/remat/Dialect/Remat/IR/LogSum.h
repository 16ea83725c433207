//===- LogSum.h - The number that attention keeps of a row ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// log_sum = maximum + log(sum of powers relative to it). Where all of a row is
// masked by a large finite number, such as the lowest of f32, that addition
// would round the logarithm away, and each of n keys would have the probability
// 1 and not 1/n. Scores that differ at all differ by as much as makes powers
// vanish there: of such a row log_sum is 2^60 (1 + log(sum)), and all of its
// scores count alike.
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_LOGSUM_H
#define REMAT_DIALECT_REMAT_IR_LOGSUM_H

#include "mlir/IR/Builders.h"

#include <utility>

namespace mlir::remat {

/// Tests whether `maximum` is so low that neighbours of its type are 4 or more
/// apart.
Value createIsBeyond(OpBuilder &b, Location loc, Value maximum);

/// The number of a row with the largest score `maximum` and `sum` of powers
/// relative to it.
Value createLogSum(OpBuilder &b, Location loc, Value maximum, Value sum);

/// The logarithm of the probability of the score `t` in a row with the number
/// `logSum`; any number if `t` is -inf.
Value subtractLogSum(OpBuilder &b, Location loc, Value t, Value logSum);

/// f and o of a row of f32 for which the probability of each score t is
/// 2^(f t + o), up to rounding the product: -inf has the probability 0, also
/// in a row without any.
std::pair<Value, Value> createExponent(OpBuilder &b, Location loc,
                                       Value logSum);

} // namespace mlir::remat

#endif // REMAT_DIALECT_REMAT_IR_LOGSUM_H
