//===- BackwardBorder.h - Where the backward begins -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a value is saved or recomputed is decided between the forward and the
// backward of a joint function. Up to then their border is an operation, which
// survives passes that know neither, and what stands before it is the forward:
// `BackwardBorder`. Once decisions are code (`remat-lower-tapes`), operations
// move freely, and the forward is what its results depend on: `findForward`.
// `remat.phase` says the same for reports, which nothing else may ask.
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_BACKWARDBORDER_H
#define REMAT_ANALYSIS_BACKWARDBORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::remat {

/// The `remat.begin_backward` of each block in an operation. Other operations
/// may come, go and move while it is in use.
class BackwardBorder {
public:
  explicit BackwardBorder(Operation *root);

  /// Returns true if `op`, or what it is part of, stands after the border. A
  /// terminator is of neither side.
  bool isInBackward(Operation *op) const;
  bool separates(Operation *a, Operation *b) const {
    return isInBackward(a) != isInBackward(b);
  }

private:
  DenseMap<Block *, Operation *> borders;
};

/// On the declarations that stand for the forward and the backward of a
/// function while it is planned as a whole: names the joint function.
inline constexpr llvm::StringLiteral kJointAttrName = "remat.joint";

/// On a function that is the backward of another one as a whole.
inline constexpr llvm::StringLiteral kWholeBackwardAttrName = "remat.backward";

/// Returns the operations that the results of `function` depend on, but for
/// gradients, parameters and optimizer states: the forward of a function with
/// no border, in any order of its operations. In loops (`scf.for`), those that
/// the results in question depend on. Empty if all of it is a backward.
DenseSet<Operation *> findForward(func::FuncOp function);

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_BACKWARDBORDER_H
