//===- FoldIntoAttention.h - Operands of an attention -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_RAISE_FOLDINTOATTENTION_H
#define REMAT_LIB_TRANSFORMS_RAISE_FOLDINTOATTENTION_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Match/Copies.h"

#include "mlir/IR/PatternMatch.h"

namespace mlir::remat {

/// Returns true if each result of `map` is a dimension of its own, or the
/// constant 0: unlike upstream's projected permutations, also where there are
/// more results than dimensions.
bool isProjectionWithZeros(AffineMap map);

/// Returns true if all users of `value`, also through reshapes and
/// transpositions, round it to `type`.
bool isOnlyRounded(Value value, Type type);

/// Returns the elements of a query, key or value before transpositions and
/// broadcasts, where a projection says as much, and without dimensions that are
/// held at 0.
Read readBeforeCopies(RewriterBase &rewriter, Location loc, Read operand);

/// Makes the result of `op` one in the order in which a transposition, its only
/// user, has it. Returns true if it has replaced `op`.
bool foldTransposesOfResult(RewriterBase &rewriter, AttentionOp &op);

/// Replaces `op`, an attention that was exported as one operation, by one that
/// reads query, key and value before transpositions, computes in its body what
/// masks and draws are computed from, and writes its result in the order in
/// which that is read. With `rounds`, a result that is only rounded is. Null if
/// nothing changes.
AttentionOp foldIntoAttention(RewriterBase &rewriter, AttentionOp op,
                              bool rounds);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_RAISE_FOLDINTOATTENTION_H
