//===- AttentionRaiser.h - One attention out of its parts -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_RAISE_ATTENTIONRAISER_H
#define REMAT_LIB_TRANSFORMS_RAISE_ATTENTIONRAISER_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::remat {

/// Returns true if `op` is a product of floating-point numbers of one type,
/// which it accumulates in that type or a wider one.
bool isFloatProduct(Operation *op);

/// Makes a `remat.attention` of `product`, a product of floating-point numbers,
/// if that multiplies probabilities of an attention by its values. Null, with a
/// remark that says why, if that cannot be. With `rounds`, a product that is
/// rounded gives a result that is.
AttentionOp raiseAttentionOf(RewriterBase &rewriter, linalg::LinalgOp product,
                             bool rounds);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_RAISE_ATTENTIONRAISER_H
