//===- ScalarDifferentiableOpInterface.h - Scalar rules ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule is a formula: `vjp.add(vjp.ct() * (1.0 - vjp.y() * vjp.y()))` is
// tanh's.
//===----------------------------------------------------------------------===//

#ifndef REMAT_AUTODIFF_SCALARDIFFERENTIABLEOPINTERFACE_H
#define REMAT_AUTODIFF_SCALARDIFFERENTIABLEOPINTERFACE_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir::remat {

enum class DerivativeKind {
  /// It may be infinite or undefined somewhere (log, division).
  Any,
  /// It is finite wherever the operands are (sums, products, selections).
  Finite,
  /// It is zero almost everywhere (floor).
  Zero
};

/// A scalar in the backward, for formulas. A number takes the type of what it
/// is combined with.
class Scalar {
public:
  Scalar(double number) : number(number) {}
  Scalar(OpBuilder &builder, Location loc, Value value)
      : builder(&builder), loc(loc), value(value) {}

  operator Value() const { return value; }
  Type getType() const { return value.getType(); }

  friend Scalar operator+(Scalar a, Scalar b) {
    return a.make<arith::AddFOp>(b);
  }
  friend Scalar operator-(Scalar a, Scalar b) {
    return a.make<arith::SubFOp>(b);
  }
  friend Scalar operator*(Scalar a, Scalar b) {
    return a.make<arith::MulFOp>(b);
  }
  friend Scalar operator/(Scalar a, Scalar b) {
    return a.make<arith::DivFOp>(b);
  }
  Scalar operator-() const { return apply<arith::NegFOp>(); }

  /// The results of comparisons, of type i1.
  friend Scalar operator==(Scalar a, Scalar b) {
    return a.compare(arith::CmpFPredicate::OEQ, b);
  }
  friend Scalar operator<(Scalar a, Scalar b) {
    return a.compare(arith::CmpFPredicate::OLT, b);
  }
  friend Scalar operator>(Scalar a, Scalar b) {
    return a.compare(arith::CmpFPredicate::OGT, b);
  }
  friend Scalar operator&(Scalar a, Scalar b) {
    return a.make<arith::AndIOp>(b);
  }
  Scalar compare(arith::CmpFPredicate predicate, Scalar other) const;
  /// `*this ? a : b`, for the result of a comparison. A masked cotangent
  /// is exactly zero, also where it would have been infinite or NaN.
  Scalar select(Scalar a, Scalar b) const;

  /// The result of an operation on this scalar (and others).
  template <typename Op, typename... Others>
  Scalar apply(Others... others) const {
    return {*builder, *loc, Op::create(*builder, *loc, value, others...)};
  }
  /// The result of a conversion to `type`.
  template <typename Op> Scalar convert(Type type) const {
    return {*builder, *loc, Op::create(*builder, *loc, type, value)};
  }

private:
  /// This number as a constant beside `other`.
  Scalar beside(Scalar other) const;
  template <typename Op> Scalar make(Scalar other) const {
    Scalar a = beside(other), b = other.beside(a);
    return a.apply<Op>(b.value);
  }

  OpBuilder *builder = nullptr;
  std::optional<Location> loc;
  Value value;
  double number = 0.0;
};

/// The interface between a scalar derivative rule and the driver.
class ScalarVJPContext {
public:
  ScalarVJPContext(OpBuilder &builder, Operation *op, Location loc)
      : builder(builder), op(op), loc(loc) {}
  virtual ~ScalarVJPContext();

  /// Cotangent of result `index`; null if the loss does not depend on it.
  virtual Value cotangent(unsigned index) = 0;
  /// A forward value, recomputed if need be.
  virtual Value primal(Value value) = 0;
  /// Returns true if that recomputes nothing.
  virtual bool isKnown(Value value) = 0;
  /// The value of a forward value that is a floating-point constant.
  virtual std::optional<APFloat> getConstant(Value value) = 0;
  /// Adds `contribution` to the cotangent of `value`, an operand or what it is
  /// computed from.
  virtual void accumulate(Value value, Value contribution) = 0;

  /// For formulas: operand, result, and result's cotangent.
  Scalar x(unsigned index = 0) { return wrap(primal(op->getOperand(index))); }
  Scalar y(unsigned index = 0) { return wrap(primal(op->getResult(index))); }
  Scalar ct(unsigned index = 0) { return wrap(cotangent(index)); }
  Scalar wrap(Value value) { return {builder, loc, value}; }
  void add(unsigned operand, Scalar contribution) {
    accumulate(op->getOperand(operand), contribution);
  }
  void add(Scalar contribution) { add(0, contribution); }

  OpBuilder &builder;
  Operation *op;
  Location loc;
};

} // namespace mlir::remat

#include "remat/Autodiff/ScalarDifferentiableOpInterface.h.inc"

#endif // REMAT_AUTODIFF_SCALARDIFFERENTIABLEOPINTERFACE_H
