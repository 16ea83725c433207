//===- ScalarAdjoint.h - Reverse mode on scalar bodies ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The adjoint of a structured operation recomputes the forward's scalar body in
// registers, so that nothing inside a kernel is ever saved. This is that part.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_SCALARADJOINT_H
#define REMAT_LIB_AUTODIFF_SCALARADJOINT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::remat {

class VJPContext;

/// Reverse mode on a block of scalar operations. Operations are built at the
/// builder's insertion point; primal values are recomputed there when a rule
/// asks for them, and only then.
class ScalarAdjoint {
public:
  /// `primals` maps values of `body` to values that the adjoint may read: the
  /// block arguments, and any other value that is known without recomputation.
  ScalarAdjoint(OpBuilder &builder, Location loc, Block &body,
                IRMapping primals);

  /// Starts with the cotangent of a value of the body.
  void seed(Value value, Value cotangent);
  /// Runs backwards through the body towards `sources` (block arguments, or
  /// tensors that the body captures). Fails with a diagnostic at an operation
  /// without a rule.
  LogicalResult propagate(ArrayRef<Value> sources);
  /// The cotangent of a value; null if it is zero.
  Value cotangent(Value value) const { return cotangents.lookup(value); }

  /// A `tensor.extract` of an active tensor and the cotangent of its result.
  struct Gather {
    tensor::ExtractOp extract;
    Value cotangent;
  };
  ArrayRef<Gather> gathers() const { return activeGathers; }

  // For rules.

  /// The forward value, recomputed on demand.
  Value primal(Value root);
  /// Returns true if the cotangent of `value` is wanted.
  bool isActive(Value value) const { return active.contains(value); }
  /// Returns true if `value` is known without recomputing anything.
  bool isKnown(Value value) const { return primals.contains(value); }
  /// Adds `cotangent` to that of `value`, if `value` is active.
  void add(Value value, Value cotangent);
  /// The value of a floating-point constant of the body, if it is one. Block
  /// arguments count once the constructor's `primals` maps them to constants.
  std::optional<APFloat> constantOf(Value value);

  Value constant(double value, Type type);
  /// `condition ? a : 0`.
  Value guard(Value condition, Value a);

  OpBuilder &builder;
  Location loc;

private:
  LogicalResult reverse(Operation *op);
  /// Runs back through a call of a function with a rule of its own.
  LogicalResult reverseCall(func::CallOp call);
  /// Runs back through the region that the forward has taken.
  LogicalResult reverseIf(scf::IfOp op);

  Block &body;
  IRMapping primals;
  DenseSet<Value> active;
  DenseMap<Value, Value> cotangents;
  SmallVector<std::pair<Value, Value>> seeds;
  SmallVector<Gather> activeGathers;
};

/// The backward of an operation on scalars between tensor operations, by the
/// rule that it has in bodies.
LogicalResult buildScalarVJP(Operation *op, VJPContext &vjp);

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_SCALARADJOINT_H
