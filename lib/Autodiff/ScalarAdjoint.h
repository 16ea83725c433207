//===- ScalarAdjoint.h - Reverse mode on scalar bodies ----------*- C++ -*-===//
//
// The adjoint of a structured operation recomputes the forward's scalar body in
// registers, so that nothing inside a kernel is ever saved. This is that part.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_SCALARADJOINT_H
#define REMAT_LIB_AUTODIFF_SCALARADJOINT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::remat {

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

  // What rules use.

  /// The forward value, recomputed on demand.
  Value primal(Value value);
  /// Whether `value` is known without recomputing anything.
  bool isKnown(Value value) const { return primals.contains(value); }
  /// Adds `cotangent` to that of `value`, if `value` is active.
  void add(Value value, Value cotangent);
  /// The value of a floating-point constant of the body, if it is one. Block
  /// arguments count once the constructor's `primals` maps them to constants.
  std::optional<APFloat> constantOf(Value value);

  Value constant(double value, Type type);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);
  Value plus(Value a, Value b);
  Value minus(Value a, Value b);
  Value neg(Value a);
  /// `factor * a`, and `a + summand`.
  Value scale(Value a, double factor);
  Value offset(Value a, double summand);
  Value compare(arith::CmpFPredicate predicate, Value a, Value b);
  /// `condition ? a : 0`: a cotangent behind a mask is exactly zero, also where
  /// it would have been infinite or NaN.
  Value guard(Value condition, Value a);
  Value guardNot(Value condition, Value a);

  OpBuilder &builder;
  Location loc;

private:
  /// Runs back through a call of a function with a rule of its own.
  LogicalResult propagateCall(func::CallOp call);

  Block &body;
  IRMapping primals;
  DenseSet<Value> active;
  DenseMap<Value, Value> cotangents;
  SmallVector<std::pair<Value, Value>> seeds;
  SmallVector<Gather> activeGathers;
};

/// The derivative rules of arith and math: adds the contributions of
/// `cotangent` (of result `result` of `op`) to the operands. Fails without a
/// diagnostic if there is no rule.
LogicalResult applyScalarRule(Operation *op, unsigned result, Value cotangent,
                              ScalarAdjoint &adjoint);

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_SCALARADJOINT_H
