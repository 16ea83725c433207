//===- DifferentiableOpInterface.h - Derivative rules -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_AUTODIFF_DIFFERENTIABLEOPINTERFACE_H
#define REMAT_AUTODIFF_DIFFERENTIABLEOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir::remat {

/// The interface between a derivative rule and the driver. The builder's
/// insertion point is in the backward, where every forward value that dominates
/// the differentiated operation may be used directly.
class VJPContext {
public:
  explicit VJPContext(OpBuilder &builder) : builder(builder) {}
  virtual ~VJPContext();

  /// Cotangent of result `index`; null if the loss does not depend on it.
  virtual Value cotangent(unsigned index) = 0;
  /// Cotangent of result `index`, a tensor of zeros in place of null.
  virtual Value cotangentOrZero(unsigned index) = 0;
  /// Returns true if operand `index` is active: its cotangent is needed. Never
  /// true for integers.
  virtual bool isWanted(unsigned index) = 0;
  /// Adds `value` to the cotangent of operand `index`.
  virtual void accumulate(unsigned index, Value value) = 0;
  /// The same two for a value that a region of the operation captures, which is
  /// no operand of it: the table that a `tensor.extract` in a `linalg.generic`
  /// reads. Captured values count as inputs in activity analysis.
  virtual bool isCapturedValueWanted(Value captured) = 0;
  virtual void accumulateCaptured(Value captured, Value value) = 0;

  /// The value whose cotangent `value` has: the same for operands of which one
  /// is a name of the other.
  virtual Value getKey(Value value) = 0;
  /// Returns true if something has been added to that cotangent before.
  virtual bool hasContributions(Value value) = 0;

  OpBuilder &builder;
};

} // namespace mlir::remat

#include "remat/Autodiff/DifferentiableOpInterface.h.inc"

namespace mlir::remat {
/// Registers the derivative rules of arith, linalg, math, remat and tensor.
void registerDifferentiableExternalModels(DialectRegistry &registry);
/// The part of it for all structured operations of linalg, and
/// `linalg.softmax`.
void registerLinalgRules(DialectRegistry &registry);
} // namespace mlir::remat

#endif // REMAT_AUTODIFF_DIFFERENTIABLEOPINTERFACE_H
