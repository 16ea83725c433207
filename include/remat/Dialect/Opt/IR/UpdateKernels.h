//===- UpdateKernels.h - What update rules are built from -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formulas on scalars, for rules that update one element, and the kernels of
// rules that need more than one element at a time: maps in place and sums.
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_OPT_IR_UPDATEKERNELS_H
#define REMAT_DIALECT_OPT_IR_UPDATEKERNELS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace mlir::opt {

/// `value` in the floating-point type `type`.
Value convertFloat(OpBuilder &builder, Location loc, Value value, Type type);

/// Scalar arithmetic in the type of its operands.
struct Formula {
  OpBuilder &builder;
  Location loc;

  Value number(double value, Type type) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(type, value));
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value mul(double a, Value b) { return mul(number(a, b.getType()), b); }
  Value div(Value a, Value b) {
    return arith::DivFOp::create(builder, loc, a, b);
  }
  Value max(Value a, double b) {
    return arith::MaximumFOp::create(builder, loc, a, number(b, a.getType()));
  }
  Value min(Value a, Value b) {
    return arith::MinimumFOp::create(builder, loc, a, b);
  }
  Value sqrt(Value a) { return math::SqrtOp::create(builder, loc, a); }
  /// 1, -1 or 0; NaN for NaN.
  Value sign(Value a);
  /// step + 1 of an i64, in f64.
  Value count(Value step);
  /// 1 - base^(step + 1), in f64.
  Value biasCorrection(double base, Value step);
  /// 1 - decay * lr.
  Value kept(double decay, Value lr) {
    return sub(number(1, lr.getType()), mul(decay, lr));
  }
  /// Adam's moments: m + (1 - b1) * (g - m) and b2 * v + (1 - b2) * g * g.
  Value firstMoment(double b1, Value m, Value g) {
    return add(m, mul(1 - b1, sub(g, m)));
  }
  Value secondMoment(double b2, Value v, Value g) {
    return add(mul(b2, v), mul(mul(1 - b2, g), g));
  }
};

/// An input of a kernel: a scalar, a tensor over all loops, or a tensor whose
/// dimensions are the `loops` given, such as the rows of a matrix.
struct KernelInput {
  KernelInput(Value value) : value(value) {}
  KernelInput(Value value, ArrayRef<unsigned> loops)
      : value(value), loops(SmallVector<unsigned>(loops)) {}

  Value value;
  std::optional<SmallVector<unsigned>> loops;
};

/// One value for what several hold: of `type`, whose elements are quantized
/// (`parts`: codes, scales), rounded stochastically (the parameter, key and
/// step, both i64) or compensated (the parameter, what was rounded away). Rules
/// know one value for each state; kernels look through it.
Value joinStored(OpBuilder &builder, Location loc, RankedTensorType type,
                 ValueRange parts);

/// The tensors that hold `value`.
SmallVector<Value> splitStored(Value value);

/// Emits the kernels of a rule. Bodies see all numbers in `type`. What is
/// quantized or rounded in a way of its own is read, and stored again, in the
/// kernel; beside quantized tensors there may be no inputs with loops of their
/// own.
class UpdateKernels {
public:
  /// The numbers of a body are the inputs, then what is overwritten.
  using Body = function_ref<SmallVector<Value>(Formula &, ValueRange)>;
  /// The numbers of a term are the inputs.
  using Term = function_ref<Value(Formula &, ValueRange)>;

  UpdateKernels(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), type(type) {}

  /// Overwrites each element of `inits`, tensors of one shape, by what the body
  /// returns for it, in the element types of `inits`.
  SmallVector<Value> map(ArrayRef<KernelInput> inputs, ValueRange inits,
                         Body body);

  /// Sums the terms of all elements of the first input, in f64: one sum for
  /// each index of the loops `kept`; a scalar if there are none (and there are
  /// none where an input is quantized).
  Value sum(ArrayRef<KernelInput> inputs, Term term,
            ArrayRef<unsigned> kept = {});

  /// A matrix of `rows` x `columns` numbers of `element`, each 1 or -1 at
  /// random: by a key, an epoch (both i64) and where it is.
  Value drawSigns(int64_t rows, int64_t columns, Type element, Value key,
                  Value epoch);

  /// The product, in the rule's type, of two matrices whose sizes are known, or
  /// of their transposes.
  Value multiply(Value a, Value b, bool transposesA = false,
                 bool transposesB = false);

  /// `tensor` in another shape of as many elements, one of which has at most
  /// one dimension.
  Value reshape(Value tensor, ArrayRef<int64_t> shape);

  /// The product (f64) of the sizes of the dimensions `dims` of `tensor`, or of
  /// all of them.
  Value count(Value tensor, std::optional<ArrayRef<unsigned>> dims = {});

private:
  OpBuilder &builder;
  Location loc;
  Type type;
};

} // namespace mlir::opt

#endif // REMAT_DIALECT_OPT_IR_UPDATEKERNELS_H
