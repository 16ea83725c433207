//===- ScalarRules.cpp - Derivatives of arith and math --------------------===//
//
// One rule for each scalar operation. Where a derivative can be written in
// terms of the operation's own result it is: the result may be known already,
// and then the operands need not be. Kinks and poles are those of JAX
// (docs/kinks.md).
//
//===----------------------------------------------------------------------===//

#include "ScalarAdjoint.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::remat;
using arith::CmpFPredicate;

namespace {

constexpr double kLn2 = 0.693147180559945309417232121458;
constexpr double kLn10 = 2.302585092994045684017991454684;
constexpr double kTwoOverSqrtPi = 1.128379167095512573896158903122;

/// The rules, with the names of the formulas: `x` is the operand's value, `y`
/// the result's, `ct` the result's cotangent.
struct Rules {
  ScalarAdjoint &a;
  Value ct;

  Value x(Operation *op, unsigned i = 0) { return a.primal(op->getOperand(i)); }
  Value y(Operation *op) { return a.primal(op->getResult(0)); }
  template <typename Op> Value apply(Value v) {
    return Op::create(a.builder, a.loc, v);
  }
  Value square(Value v) { return a.mul(v, v); }
  /// Adds `contribution` to the cotangent of operand `i`.
  void to(Operation *op, unsigned i, Value contribution) {
    a.add(op->getOperand(i), contribution);
  }
  void to(Operation *op, Value contribution) { to(op, 0, contribution); }

  LogicalResult unary(Operation *op);
  LogicalResult binary(Operation *op);
  void multiply(Operation *op);
  void divide(arith::DivFOp op);
  void choose(arith::SelectOp op);
  void extremum(Operation *op, bool isMax);
  void power(math::PowFOp op);
  void clamp(math::ClampFOp op);
};

} // namespace

LogicalResult Rules::unary(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](arith::NegFOp) { return to(op, a.neg(ct)), success(); })
      .Case([&](math::ExpOp) { return to(op, a.mul(ct, y(op))), success(); })
      .Case([&](math::Exp2Op) {
        return to(op, a.mul(ct, a.scale(y(op), kLn2))), success();
      })
      .Case([&](math::ExpM1Op) {
        return to(op, a.mul(ct, a.offset(y(op), 1.0))), success();
      })
      .Case([&](math::LogOp) { return to(op, a.div(ct, x(op))), success(); })
      .Case([&](math::Log1pOp) {
        return to(op, a.div(ct, a.offset(x(op), 1.0))), success();
      })
      .Case([&](math::Log2Op) {
        return to(op, a.div(ct, a.scale(x(op), kLn2))), success();
      })
      .Case([&](math::Log10Op) {
        return to(op, a.div(ct, a.scale(x(op), kLn10))), success();
      })
      .Case([&](math::SqrtOp) {
        return to(op, a.div(a.scale(ct, 0.5), y(op))), success();
      })
      .Case([&](math::RsqrtOp) {
        Value r = y(op);
        Value cube = a.mul(a.mul(r, r), r);
        return to(op, a.mul(a.scale(ct, -0.5), cube)), success();
      })
      .Case([&](math::CbrtOp) {
        return to(op, a.div(ct, a.scale(square(y(op)), 3.0))), success();
      })
      .Case([&](math::SinOp) {
        return to(op, a.mul(ct, apply<math::CosOp>(x(op)))), success();
      })
      .Case([&](math::CosOp) {
        return to(op, a.neg(a.mul(ct, apply<math::SinOp>(x(op))))), success();
      })
      .Case([&](math::TanOp) {
        return to(op, a.mul(ct, a.offset(square(y(op)), 1.0))), success();
      })
      .Case([&](math::SinhOp) {
        return to(op, a.mul(ct, apply<math::CoshOp>(x(op)))), success();
      })
      .Case([&](math::CoshOp) {
        return to(op, a.mul(ct, apply<math::SinhOp>(x(op)))), success();
      })
      .Case([&](math::TanhOp) {
        Value one = a.constant(1.0, ct.getType());
        return to(op, a.mul(ct, a.minus(one, square(y(op))))), success();
      })
      .Case<math::AsinOp, math::AcosOp>([&](auto) {
        Value one = a.constant(1.0, ct.getType());
        Value slope = apply<math::RsqrtOp>(a.minus(one, square(x(op))));
        Value product = a.mul(ct, slope);
        to(op, isa<math::AcosOp>(op) ? a.neg(product) : product);
        return success();
      })
      .Case([&](math::AtanOp) {
        return to(op, a.div(ct, a.offset(square(x(op)), 1.0))), success();
      })
      .Case([&](math::AsinhOp) {
        Value slope = apply<math::RsqrtOp>(a.offset(square(x(op)), 1.0));
        return to(op, a.mul(ct, slope)), success();
      })
      .Case([&](math::AcoshOp) {
        Value v = x(op);
        Value product = a.mul(a.offset(v, -1.0), a.offset(v, 1.0));
        return to(op, a.mul(ct, apply<math::RsqrtOp>(product))), success();
      })
      .Case([&](math::AtanhOp) {
        Value v = x(op), one = a.constant(1.0, ct.getType());
        Value product = a.mul(a.minus(one, v), a.plus(one, v));
        return to(op, a.div(ct, product)), success();
      })
      .Case<math::ErfOp, math::ErfcOp>([&](auto) {
        double sign = isa<math::ErfcOp>(op) ? -1.0 : 1.0;
        Value bell = apply<math::ExpOp>(a.neg(square(x(op))));
        return to(op, a.mul(ct, a.scale(bell, sign * kTwoOverSqrtPi))),
               success();
      })
      .Case([&](math::AbsFOp) {
        Value v = x(op), zero = a.constant(0.0, ct.getType());
        Value positive = a.compare(CmpFPredicate::OGT, v, zero);
        Value negative = a.compare(CmpFPredicate::OLT, v, zero);
        Value otherwise = a.guard(negative, a.neg(ct));
        to(op,
           arith::SelectOp::create(a.builder, a.loc, positive, ct, otherwise));
        return success();
      })
      .Case([&](arith::ExtFOp cast) {
        to(op, arith::TruncFOp::create(a.builder, a.loc, cast.getIn().getType(),
                                       ct));
        return success();
      })
      .Case([&](arith::TruncFOp cast) {
        to(op,
           arith::ExtFOp::create(a.builder, a.loc, cast.getIn().getType(), ct));
        return success();
      })
      .Default([](Operation *) { return failure(); });
}

LogicalResult Rules::binary(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](arith::AddFOp) {
        to(op, 0, ct);
        to(op, 1, ct);
        return success();
      })
      .Case([&](arith::SubFOp) {
        to(op, 0, ct);
        to(op, 1, a.neg(ct));
        return success();
      })
      .Case([&](arith::MulFOp) {
        multiply(op);
        return success();
      })
      .Case([&](arith::DivFOp divf) { return divide(divf), success(); })
      .Case([&](arith::RemFOp) {
        to(op, 0, ct);
        Value whole = apply<math::TruncOp>(a.div(x(op, 0), x(op, 1)));
        to(op, 1, a.neg(a.mul(ct, whole)));
        return success();
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return extremum(op, /*isMax=*/true), success(); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return extremum(op, /*isMax=*/false), success(); })
      .Case([&](math::PowFOp powf) { return power(powf), success(); })
      .Case([&](math::FPowIOp) {
        Value base = x(op, 0), exponent = x(op, 1);
        Type type = exponent.getType();
        auto integer = [&](int64_t value) -> Value {
          return arith::ConstantOp::create(
              a.builder, a.loc, a.builder.getIntegerAttr(type, value));
        };
        Value less =
            arith::SubIOp::create(a.builder, a.loc, exponent, integer(1));
        Value power = math::FPowIOp::create(a.builder, a.loc, base, less);
        Value factor =
            arith::SIToFPOp::create(a.builder, a.loc, ct.getType(), exponent);
        Value isZero = arith::CmpIOp::create(
            a.builder, a.loc, arith::CmpIPredicate::eq, exponent, integer(0));
        to(op, 0, a.guardNot(isZero, a.mul(ct, a.mul(factor, power))));
        return success();
      })
      .Case([&](math::Atan2Op) {
        Value s = x(op, 0), c = x(op, 1);
        Value share = a.div(ct, a.plus(square(s), square(c)));
        to(op, 0, a.mul(share, c));
        to(op, 1, a.neg(a.mul(share, s)));
        return success();
      })
      .Case([&](math::CopySignOp) {
        Value one = a.constant(1.0, ct.getType());
        auto sign = [&](Value v) -> Value {
          return math::CopySignOp::create(a.builder, a.loc, one, v);
        };
        to(op, 0, a.mul(ct, a.mul(sign(x(op, 0)), sign(x(op, 1)))));
        return success();
      })
      .Default([](Operation *) { return failure(); });
}

void Rules::multiply(Operation *op) {
  for (unsigned i : {0, 1}) {
    Value product = a.mul(ct, x(op, 1 - i));
    // Infinity times x is how exports of erf_inv write a pole behind a mask: no
    // cotangent is to become NaN there.
    std::optional<APFloat> factor = a.constantOf(op->getOperand(1 - i));
    if (factor && factor->isInfinity())
      product = a.guardNot(
          a.compare(CmpFPredicate::OEQ, ct, a.constant(0.0, ct.getType())),
          product);
    to(op, i, product);
  }
}

/// Matches `1 / (1 + exp(u))` and returns `u`.
static Value matchSigmoid(arith::DivFOp op, ScalarAdjoint &a) {
  auto isOne = [&](Value v) {
    std::optional<APFloat> constant = a.constantOf(v);
    return constant && constant->isExactlyValue(1.0);
  };
  auto sum = op.getRhs().getDefiningOp<arith::AddFOp>();
  if (!sum || !isOne(op.getLhs()))
    return {};
  for (unsigned i : {0, 1})
    if (auto exp = sum->getOperand(i).getDefiningOp<math::ExpOp>())
      if (isOne(sum->getOperand(1 - i)))
        return exp.getOperand();
  return {};
}

void Rules::divide(arith::DivFOp op) {
  // The sigmoid's derivative in terms of its result: its input is not read.
  if (Value exponent = matchSigmoid(op, a)) {
    Value s = y(op), one = a.constant(1.0, ct.getType());
    a.add(exponent, a.neg(a.mul(ct, a.mul(s, a.minus(one, s)))));
    return;
  }
  Value share = a.div(ct, x(op, 1));
  to(op, 0, share);
  to(op, 1, a.neg(a.mul(share, y(op))));
}

/// If the choice between a value and a constant shows in the result (ReLU: the
/// input is positive exactly where the result is), the condition on the result.
static Value conditionOnResult(arith::SelectOp op, ScalarAdjoint &a) {
  auto cmp = op.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!cmp || !a.isKnown(op.getResult()))
    return {};
  Value value = cmp.getLhs(), bound = cmp.getRhs();
  std::optional<APFloat> limit = a.constantOf(bound);
  bool boundFirst = !limit;
  if (boundFirst) {
    std::swap(value, bound);
    limit = a.constantOf(bound);
  }
  if (!limit || limit->isNaN())
    return {};
  auto isBound = [&](Value v) {
    std::optional<APFloat> constant = a.constantOf(v);
    return constant && constant->bitwiseIsEqual(*limit);
  };
  bool takesValue = op.getTrueValue() == value && isBound(op.getFalseValue());
  bool takesBound = op.getFalseValue() == value && isBound(op.getTrueValue());
  // With y = c where the bound was taken, the predicate on (c, c) has to give
  // what led there: false if the value is taken on true, else true.
  bool atBound = arith::applyCmpPredicate(cmp.getPredicate(), *limit, *limit);
  if (!(takesValue && !atBound) && !(takesBound && atBound))
    return {};
  Value y = a.primal(op.getResult()), c = a.primal(bound);
  return boundFirst ? a.compare(cmp.getPredicate(), c, y)
                    : a.compare(cmp.getPredicate(), y, c);
}

void Rules::choose(arith::SelectOp op) {
  Value condition = conditionOnResult(op, a);
  if (!condition)
    condition = a.primal(op.getCondition());
  a.add(op.getTrueValue(), a.guard(condition, ct));
  a.add(op.getFalseValue(), a.guardNot(condition, ct));
}

/// Whether |value| is computed, too. softplus and log_sigmoid are written as
/// max(x, 0) + log1p(exp(-|x|)): at 0, where neither part has a derivative,
/// theirs is 1/2, which is what equal shares and 0 for |x| add up to.
static bool isBesideItsSize(Value value) {
  if (auto negation = value.getDefiningOp<arith::NegFOp>())
    value = negation.getOperand();
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return isa<math::AbsFOp>(user) ||
           (isa<arith::NegFOp>(user) &&
            llvm::any_of(user->getUsers(), llvm::IsaPred<math::AbsFOp>));
  });
}

void Rules::extremum(Operation *op, bool isMax) {
  // Against a constant this is ReLU's kin: the result alone tells, and the
  // derivative at the bound is 0 (as jax.nn.relu's, not jnp.maximum's).
  for (unsigned i : {0, 1}) {
    if (!a.constantOf(op->getOperand(1 - i)) ||
        isBesideItsSize(op->getOperand(i)))
      continue;
    Value bound = a.primal(op->getOperand(1 - i));
    Value passes = a.compare(isMax ? CmpFPredicate::OGT : CmpFPredicate::OLT,
                             y(op), bound);
    to(op, i, a.guard(passes, ct));
    return;
  }
  Value result = y(op), half = a.scale(ct, 0.5);
  Value isFirst = a.compare(CmpFPredicate::OEQ, x(op, 0), result);
  Value isSecond = a.compare(CmpFPredicate::OEQ, x(op, 1), result);
  Value tied = arith::AndIOp::create(a.builder, a.loc, isFirst, isSecond);
  Value share = arith::SelectOp::create(a.builder, a.loc, tied, half, ct);
  to(op, 0, a.guard(isFirst, share));
  to(op, 1, a.guard(isSecond, share));
}

void Rules::power(math::PowFOp op) {
  Value base = x(op, 0), exponent = x(op, 1);
  Value zero = a.constant(0.0, ct.getType());
  Value one = a.constant(1.0, ct.getType());
  if (std::optional<APFloat> n = a.constantOf(op.getRhs());
      n && n->isExactlyValue(2.0)) {
    to(op, 0, a.mul(ct, a.plus(base, base)));
  } else {
    // x^0 is flat, also at x = 0 where x^-1 is infinite.
    Value flat = a.compare(CmpFPredicate::OEQ, exponent, zero);
    Value less = arith::SelectOp::create(a.builder, a.loc, flat, one,
                                         a.minus(exponent, one));
    Value slope =
        a.mul(exponent, math::PowFOp::create(a.builder, a.loc, base, less));
    to(op, 0, a.guardNot(flat, a.mul(ct, slope)));
  }
  // d/dn x^n = x^n log x, with 0 log 0 = 0.
  Value isZero = a.compare(CmpFPredicate::OEQ, base, zero);
  Value safe = arith::SelectOp::create(a.builder, a.loc, isZero, one, base);
  to(op, 1, a.mul(ct, a.mul(y(op), apply<math::LogOp>(safe))));
}

void Rules::clamp(math::ClampFOp op) {
  Value v = x(op, 0), low = x(op, 1), high = x(op, 2);
  Value above = a.compare(CmpFPredicate::OGT, v, low);
  Value below = a.compare(CmpFPredicate::OLT, v, high);
  Value inside = arith::AndIOp::create(a.builder, a.loc, above, below);
  to(op, 0, a.guard(inside, ct));
  to(op, 1, a.guard(a.compare(CmpFPredicate::OLT, v, low), ct));
  to(op, 2, a.guard(a.compare(CmpFPredicate::OGT, v, high), ct));
}

LogicalResult mlir::remat::applyScalarRule(Operation *op, unsigned result,
                                           Value cotangent,
                                           ScalarAdjoint &adjoint) {
  Rules rules{adjoint, cotangent};
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return rules.choose(select), success();
  if (auto clamp = dyn_cast<math::ClampFOp>(op))
    return rules.clamp(clamp), success();
  if (isa<math::FmaOp>(op)) {
    rules.to(op, 0, adjoint.mul(cotangent, rules.x(op, 1)));
    rules.to(op, 1, adjoint.mul(cotangent, rules.x(op, 0)));
    rules.to(op, 2, cotangent);
    return success();
  }
  if (auto sincos = dyn_cast<math::SincosOp>(op)) {
    Value other = adjoint.primal(sincos->getResult(1 - result));
    Value product = adjoint.mul(cotangent, other);
    rules.to(op, result == 0 ? product : adjoint.neg(product));
    return success();
  }
  if (op->getNumResults() != 1 || !isa<FloatType>(op->getResult(0).getType()))
    return failure();
  if (op->getNumOperands() == 1)
    return rules.unary(op);
  if (op->getNumOperands() == 2)
    return rules.binary(op);
  return failure();
}
