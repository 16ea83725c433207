//===- CallPairs.h - The forward and the backward of a function -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_AUTODIFF_CALLPAIRS_H
#define REMAT_AUTODIFF_CALLPAIRS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

/// On the declaration of a backward half (see `kJointAttrName`): the arguments
/// of the forward that its calls pass to it, between the token and the rest.
inline constexpr StringLiteral kReadsAttrName = "remat.reads";

/// `@callee_fwd` returns the callee's results, then residuals. `@callee_bwd`
/// takes what it reads of the forward, then cotangents of results, then sums to
/// which it adds, and returns cotangents of arguments.
struct CallPair {
  func::FuncOp forward, backward;
  /// The first operands of the backward: arguments of the call, by index, and
  /// results of the forward, counted from the number of arguments.
  SmallVector<unsigned> reads;
};

/// Passes the forward values that the backward reads as results of the forward,
/// whose body is complete, and arguments of the backward, or recomputes those
/// that cost nothing. Fills in `reads`; both functions get the types of their
/// bodies.
LogicalResult passResiduals(CallPair &pair);

} // namespace mlir::remat

#endif // REMAT_AUTODIFF_CALLPAIRS_H
