//===- ElementwiseFusion.h - Fuse a kernel into its user ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The mechanics of fusion: what can be fused at all, and doing it. What should
// be fused is the pass's business.
//===----------------------------------------------------------------------===//
#ifndef REMAT_TRANSFORMS_FUSE_ELEMENTWISEFUSION_H
#define REMAT_TRANSFORMS_FUSE_ELEMENTWISEFUSION_H

#include "remat/Analysis/OldValueReads.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::remat {

/// Returns true if the body reads tensors that are no operands of `op`.
bool readsTensorsInBody(linalg::LinalgOp op);

/// Returns true if a library takes this operation, so that its operands are to
/// stay in memory: a convolution, a pooling, or a contraction with a dimension
/// of only one operand (a sum of elementwise products is a mere reduction).
bool isLibraryKernel(linalg::LinalgOp op);

/// Returns true if `op` can be fused into its users: elementwise on tensors,
/// free of effects, reads neither its destination nor tensors from its body.
bool isFusableProducer(linalg::LinalgOp op);

/// Returns true if producers can be fused into `op`: an elementwise operation
/// or a reduction on tensors, with operands indexed by single loops.
bool isFusableConsumer(linalg::LinalgOp op);

/// Returns true if `producer`, a fusable one, can be fused into the fusable
/// `consumer` at each of its uses there: all of them are inputs, the loop
/// bounds of the result can still be read off its operands, and a library would
/// not take it (which would change the order of a sum).
bool canFuse(linalg::LinalgOp producer, linalg::LinalgOp consumer);

/// Returns true if evaluating `producer` inside `consumer` evaluates it more
/// often than once for each of its elements.
bool isBroadcast(linalg::LinalgOp producer, linalg::LinalgOp consumer);

/// A producer that is evaluated more than once may have this many users;
/// beyond, loading its value is faster.
inline constexpr unsigned kMaxUsers = 8;

/// Returns true if the values depend on scalars and indices only: constants,
/// masks made of indices, random draws.
bool readsNoTensor(linalg::LinalgOp op);

/// Returns true if keeping the operands of `op` alive instead of its results
/// costs no memory: at most one is as large as a result.
bool readsOneFullTensor(linalg::LinalgOp op);

/// Returns true if `consumer` is cheap to recompute from its operands, which
/// take fewer bytes than its results: fused into its users these need not
/// exist.
bool onlyWidens(linalg::LinalgOp consumer);

/// Returns true if an operation between the two takes an operand of `producer`
/// as its destination: reading the operand later would make that a copy. The
/// destinations of `consumer` itself are fine where it reads element for
/// element what it writes. Only uses of `overwritten` are looked at, if given.
bool isOverwrittenBetween(linalg::LinalgOp producer, linalg::LinalgOp consumer,
                          const OverwrittenValues *overwritten = nullptr);

/// Returns true if `producer`, a fusable one, can be fused into `consumer`
/// without evaluating anything dear more than once and without a copy.
bool canFuseCheaply(linalg::LinalgOp producer, linalg::LinalgOp consumer,
                    const OverwrittenValues *overwritten = nullptr);

/// The map from the loops of `consumer` to those of `producer`, if all reads
/// have the same.
std::optional<AffineMap> getOnlyLoopMap(linalg::LinalgOp producer,
                                        linalg::LinalgOp consumer);

/// Returns true if both have the same loops, element by element, and `producer`
/// is read in one way only, so that its results can be results of the fusion.
bool haveSameIterationSpace(linalg::LinalgOp producer,
                            linalg::LinalgOp consumer);

/// Replaces `consumer` by an operation that evaluates `producer` in its body
/// and erases `producer` if nothing else uses it. With `keepResults`, uses of
/// `producer` elsewhere are fed by extra results (before those of `consumer`)
/// of the new operation; otherwise they keep `producer`. Inputs that both read
/// in the same place become one with `mergesInputs`; without, the consumer's
/// come first. Requires `canFuse`.
linalg::GenericOp fuse(RewriterBase &rewriter, linalg::LinalgOp producer,
                       linalg::LinalgOp consumer, bool keepResults,
                       bool mergesInputs);

/// Turns inputs of `op` that are splat constants into scalar constants of the
/// body and, with `mergesInputs`, those that are read in the same place into
/// one. Returns the new operation, or null if there is nothing to do.
linalg::GenericOp foldInputs(RewriterBase &rewriter, linalg::LinalgOp op,
                             bool mergesInputs);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_FUSE_ELEMENTWISEFUSION_H
