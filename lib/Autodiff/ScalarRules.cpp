//===- ScalarRules.cpp - Derivatives of arith and math --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One formula for each scalar operation; `registerScalarRules` lists them.
// Where a derivative can be written in terms of the operation's own result it
// is: the result may be known already, and then the operands need not be. Kinks
// and poles are those of JAX (docs/kinks.md).
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "remat/Analysis/EqualValues.h"
#include "remat/Autodiff/ScalarDifferentiableOpInterface.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;
using arith::CmpFPredicate;

constexpr double kLn2 = 0.693147180559945309417232121458;
constexpr double kLn10 = 2.302585092994045684017991454684;
constexpr double kTwoOverSqrtPi = 1.128379167095512573896158903122;

using D = ScalarVJPContext;

static Scalar square(Scalar v) { return v * v; }

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

static void neg(D &d) { d.add(-d.ct()); }
static void exp(D &d) { d.add(d.ct() * d.y()); }
static void exp2(D &d) { d.add(d.ct() * (d.y() * kLn2)); }
static void expm1(D &d) { d.add(d.ct() * (d.y() + 1.0)); }
static void log(D &d) { d.add(d.ct() / d.x()); }
static void log1p(D &d) { d.add(d.ct() / (d.x() + 1.0)); }
static void log2(D &d) { d.add(d.ct() / (d.x() * kLn2)); }
static void log10(D &d) { d.add(d.ct() / (d.x() * kLn10)); }
static void sqrt(D &d) { d.add(d.ct() * 0.5 / d.y()); }
static void rsqrt(D &d) {
  Scalar y = d.y();
  d.add(d.ct() * -0.5 * (y * y * y));
}
static void cbrt(D &d) { d.add(d.ct() / (square(d.y()) * 3.0)); }
static void sin(D &d) { d.add(d.ct() * d.x().apply<math::CosOp>()); }
static void cos(D &d) { d.add(-(d.ct() * d.x().apply<math::SinOp>())); }
static void tan(D &d) { d.add(d.ct() * (square(d.y()) + 1.0)); }
static void sinh(D &d) { d.add(d.ct() * d.x().apply<math::CoshOp>()); }
static void cosh(D &d) { d.add(d.ct() * d.x().apply<math::SinhOp>()); }
static void tanh(D &d) { d.add(d.ct() * (1.0 - square(d.y()))); }
static void asin(D &d) {
  d.add(d.ct() * (1.0 - square(d.x())).apply<math::RsqrtOp>());
}
static void acos(D &d) {
  d.add(-(d.ct() * (1.0 - square(d.x())).apply<math::RsqrtOp>()));
}
static void atan(D &d) { d.add(d.ct() / (square(d.x()) + 1.0)); }
static void asinh(D &d) {
  d.add(d.ct() * (square(d.x()) + 1.0).apply<math::RsqrtOp>());
}
static void acosh(D &d) {
  Scalar x = d.x();
  d.add(d.ct() * ((x + -1.0) * (x + 1.0)).apply<math::RsqrtOp>());
}
static void atanh(D &d) {
  Scalar x = d.x();
  d.add(d.ct() / ((1.0 - x) * (1.0 + x)));
}
static Scalar bell(Scalar x) { return (-square(x)).apply<math::ExpOp>(); }
static void erf(D &d) { d.add(d.ct() * (bell(d.x()) * kTwoOverSqrtPi)); }
static void erfc(D &d) { d.add(d.ct() * (bell(d.x()) * -kTwoOverSqrtPi)); }
static void abs(D &d) {
  Scalar x = d.x(), ct = d.ct();
  d.add((x > 0.0).select(ct, (x < 0.0).select(-ct, 0.0)));
}
static void extf(D &d) {
  d.add(d.ct().convert<arith::TruncFOp>(d.op->getOperand(0).getType()));
}
static void truncf(D &d) {
  d.add(d.ct().convert<arith::ExtFOp>(d.op->getOperand(0).getType()));
}
static void flat(D &) {}

//===----------------------------------------------------------------------===//
// Several operands
//===----------------------------------------------------------------------===//

static void add(D &d) {
  d.add(0, d.ct());
  d.add(1, d.ct());
}

static void subtract(D &d) {
  d.add(0, d.ct());
  d.add(1, -d.ct());
}

static void multiply(D &d) {
  for (unsigned i : {0, 1}) {
    Scalar product = d.ct() * d.x(1 - i);
    // Infinity times x is how exports of erf_inv write a masked pole: no
    // cotangent is to become NaN there.
    std::optional<APFloat> factor = d.getConstant(d.op->getOperand(1 - i));
    if (factor && factor->isInfinity())
      product = (d.ct() == 0.0).select(0.0, product);
    d.add(i, product);
  }
}

static void fma(D &d) {
  d.add(0, d.ct() * d.x(1));
  d.add(1, d.ct() * d.x(0));
  d.add(2, d.ct());
}

/// Matches `1 / (1 + exp(u))` and returns `u`.
static Value matchSigmoid(D &d) {
  auto isOne = [&](Value v) {
    std::optional<APFloat> constant = d.getConstant(v);
    return constant && constant->isExactlyValue(1.0);
  };
  auto sum = d.op->getOperand(1).getDefiningOp<arith::AddFOp>();
  if (!sum || !isOne(d.op->getOperand(0)))
    return {};
  for (unsigned i : {0, 1})
    if (auto exp = sum->getOperand(i).getDefiningOp<math::ExpOp>())
      if (isOne(sum->getOperand(1 - i)))
        return exp.getOperand();
  return {};
}

static void divide(D &d) {
  // The sigmoid's derivative in terms of its result: its input is not read.
  if (Value exponent = matchSigmoid(d)) {
    Scalar y = d.y();
    return d.accumulate(exponent, -(d.ct() * (y * (1.0 - y))));
  }
  Scalar share = d.ct() / d.x(1);
  d.add(0, share);
  d.add(1, -(share * d.y()));
}

static void remainder(D &d) {
  d.add(0, d.ct());
  d.add(1, -(d.ct() * (d.x(0) / d.x(1)).apply<math::TruncOp>()));
}

static void atan2(D &d) {
  Scalar sine = d.x(0), cosine = d.x(1);
  Scalar share = d.ct() / (square(sine) + square(cosine));
  d.add(0, share * cosine);
  d.add(1, -(share * sine));
}

static void copysign(D &d) {
  Scalar ct = d.ct(),
         one = d.wrap(arith::ConstantOp::create(
             d.builder, d.loc, d.builder.getFloatAttr(ct.getType(), 1.0)));
  d.add(0, ct * (one.apply<math::CopySignOp>(d.x(0)) *
                 one.apply<math::CopySignOp>(d.x(1))));
}

static void fpowi(D &d) {
  Type type = d.op->getOperand(1).getType();
  auto integer = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(d.builder, d.loc,
                                     d.builder.getIntegerAttr(type, value));
  };
  Scalar exponent = d.x(1), ct = d.ct();
  Scalar power =
      d.x(0).apply<math::FPowIOp>(exponent.apply<arith::SubIOp>(integer(1)));
  Scalar isZero = d.wrap(arith::CmpIOp::create(
      d.builder, d.loc, arith::CmpIPredicate::eq, exponent, integer(0)));
  Scalar slope = exponent.convert<arith::SIToFPOp>(ct.getType()) * power;
  d.add(isZero.select(0.0, ct * slope));
}

static void power(D &d) {
  Scalar base = d.x(0), exponent = d.x(1), ct = d.ct();
  std::optional<APFloat> constant = d.getConstant(d.op->getOperand(1));
  if (constant && constant->isExactlyValue(2.0)) {
    d.add(0, ct * (base + base));
  } else {
    // x^0 is flat, also at x = 0 where x^-1 is infinite.
    Scalar isFlat = exponent == 0.0;
    Scalar less = isFlat.select(1.0, exponent - 1.0);
    Scalar slope = exponent * base.apply<math::PowFOp>(less);
    d.add(0, isFlat.select(0.0, ct * slope));
  }
  // d/dn x^n = x^n log x, with 0 log 0 = 0.
  Scalar safe = (base == 0.0).select(1.0, base);
  d.add(1, ct * (d.y() * safe.apply<math::LogOp>()));
}

static void sincos(D &d) {
  if (d.cotangent(0))
    d.add(d.ct(0) * d.y(1));
  if (d.cotangent(1))
    d.add(-(d.ct(1) * d.y(0)));
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// If the choice between a value and a constant shows in the result (ReLU: the
/// input is positive exactly where the result is), the condition on the result.
static Value conditionOnResult(arith::SelectOp op, D &d) {
  auto cmp = op.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!cmp || !d.isKnown(op.getResult()))
    return {};
  Value value = cmp.getLhs(), bound = cmp.getRhs();
  std::optional<APFloat> limit = d.getConstant(bound);
  bool boundFirst = !limit;
  if (boundFirst) {
    std::swap(value, bound);
    limit = d.getConstant(bound);
  }
  if (!limit || limit->isNaN())
    return {};
  auto isBound = [&](Value v) {
    std::optional<APFloat> constant = d.getConstant(v);
    return constant && constant->bitwiseIsEqual(*limit);
  };
  bool takesValue = op.getTrueValue() == value && isBound(op.getFalseValue());
  bool takesBound = op.getFalseValue() == value && isBound(op.getTrueValue());
  // With y = c where the bound was taken, the predicate on (c, c) has to give
  // what led there: false if the value is taken on true, else true.
  bool atBound = arith::applyCmpPredicate(cmp.getPredicate(), *limit, *limit);
  if (!(takesValue && !atBound) && !(takesBound && atBound))
    return {};
  Scalar y = d.y(), c = d.wrap(d.primal(bound));
  return boundFirst ? c.compare(cmp.getPredicate(), y)
                    : y.compare(cmp.getPredicate(), c);
}

static void choose(D &d) {
  Value condition = conditionOnResult(cast<arith::SelectOp>(d.op), d);
  Scalar isFirst = condition ? d.wrap(condition) : d.x(0);
  d.add(1, isFirst.select(d.ct(), 0.0));
  d.add(2, isFirst.select(0.0, d.ct()));
}

/// Calls `visit` for the arguments of bodies that elements of `tensor` are,
/// names, barriers and borders of regions aside.
static void forEachElement(Value tensor, function_ref<void(Value)> visit) {
  SmallVector<Value> same = {tensor};
  while (!same.empty())
    for (OpOperand &use : same.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      unsigned index = use.getOperandNumber();
      if (auto op = dyn_cast<linalg::LinalgOp>(user)) {
        if (op.isDpsInput(&use))
          visit(op.getMatchingBlockArgument(&use));
      } else if (auto region = dyn_cast<RegionOp>(user)) {
        same.push_back(region.getBody().getArgument(index));
      } else if (isa<YieldOp>(user) && isa<RegionOp>(user->getParentOp())) {
        same.push_back(user->getParentOp()->getResult(index));
      } else if (isa<NameOp, BarrierOp>(user) &&
                 index < user->getNumResults()) {
        same.push_back(user->getResult(index));
      }
    }
}

/// Returns true if `matches` holds for an operation that reads `scalar`, in its
/// own body or in that of an operation that reads the tensor of these.
static bool isReadBy(Value scalar, function_ref<bool(Operation *)> matches) {
  llvm::SetVector<Value> scalars;
  scalars.insert(scalar);
  for (unsigned next = 0; next < scalars.size(); ++next)
    for (OpOperand &use : scalars[next].getUses()) {
      Operation *user = use.getOwner();
      if (!isa<linalg::YieldOp>(user)) {
        if (matches(user))
          return true;
        continue;
      }
      auto op = dyn_cast<linalg::LinalgOp>(user->getParentOp());
      if (op && op.hasPureTensorSemantics())
        forEachElement(op->getResult(use.getOperandNumber()),
                       [&](Value element) { scalars.insert(element); });
    }
  return false;
}

/// The scalar that `value` is: where it is computed, or itself if that is in no
/// body of linalg; null if it is an element of a tensor that is `from`.
static Value findSource(Value value, Value &from) {
  while (true) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument)
      return value;
    auto op = dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp());
    if (!op)
      return value;
    Value tensor = lookThroughBorders(op.getMatchingOpOperand(argument)->get());
    auto producer = tensor.getDefiningOp<linalg::LinalgOp>();
    if (!producer) {
      from = tensor;
      return {};
    }
    value = producer.getBlock()->getTerminator()->getOperand(
        cast<OpResult>(tensor).getResultNumber());
  }
}

/// Returns true if `matches` holds for an operation that reads what `value` is,
/// in whichever body.
static bool isReadAnywhereBy(Value value,
                             function_ref<bool(Operation *)> matches) {
  Value from, source = findSource(value, from);
  if (source)
    return isReadBy(source, matches);
  bool found = false;
  forEachElement(from,
                 [&](Value element) { found |= isReadBy(element, matches); });
  return found;
}

/// Returns true if log1p(exp(-|x|)) stands beside a maximum or minimum of
/// `value`, x or -x, and zero.
static bool isPartOfSoftplus(Value value) {
  auto isExp = [](Operation *op) { return isa<math::ExpOp>(op); };
  auto isNegatedInExp = [&](Operation *op) {
    return isa<arith::NegFOp>(op) && isReadBy(op->getResult(0), isExp);
  };
  auto isSize = [&](Operation *op) {
    return isa<math::AbsFOp>(op) && isReadBy(op->getResult(0), isNegatedInExp);
  };
  auto isSizeOfEither = [&](Operation *op) {
    return isSize(op) ||
           (isa<arith::NegFOp>(op) && isReadBy(op->getResult(0), isSize));
  };
  if (isReadAnywhereBy(value, isSizeOfEither))
    return true;
  Value from, source = findSource(value, from);
  auto negation = source ? source.getDefiningOp<arith::NegFOp>() : nullptr;
  return negation && isReadAnywhereBy(negation.getOperand(), isSizeOfEither);
}

/// Returns true if the other extremum of the same two stands beside `op`, of
/// `value` and a constant.
static bool isBesideItsOpposite(Operation *op, Value value,
                                const APFloat &bound) {
  return isReadAnywhereBy(value, [&](Operation *other) {
    bool isOpposite = isa<arith::MaximumFOp>(op)
                          ? isa<arith::MinimumFOp>(other)
                          : isa<arith::MaximumFOp>(other);
    return isOpposite && llvm::any_of(other->getOperands(), [&](Value operand) {
             FloatAttr constant;
             return matchPattern(lookThroughBorders(operand),
                                 m_Constant(&constant)) &&
                    constant.getValue().bitwiseIsEqual(bound);
           });
  });
}

/// Returns true if what is made of an extremum of `value` and the constant
/// `bound` is smooth where they are equal, because another part makes up for
/// it: each part has no derivative there, and equal shares add up to that of
/// the whole. softplus and log_sigmoid are written as max(x, 0) +
/// log1p(exp(-|x|)), celu as max(x, 0) + expm1(min(x, 0)), hypot by the larger
/// and the smaller one.
static bool isPartOfSmooth(Operation *op, Value value, const APFloat &bound) {
  return isPartOfSoftplus(value) || isBesideItsOpposite(op, value, bound);
}

static void extremum(D &d, CmpFPredicate isBeyond) {
  // Against a constant this is ReLU's kin: the result alone tells, and the
  // derivative at the bound is 0 (as jax.nn.relu's, not jnp.maximum's).
  for (unsigned i : {0, 1}) {
    std::optional<APFloat> constant = d.getConstant(d.op->getOperand(1 - i));
    if (!constant || isPartOfSmooth(d.op, d.op->getOperand(i), *constant))
      continue;
    Scalar bound = d.x(1 - i);
    return d.add(i, d.y().compare(isBeyond, bound).select(d.ct(), 0.0));
  }
  Scalar y = d.y(), ct = d.ct(), half = ct * 0.5;
  Scalar isFirst = d.x(0) == y, isSecond = d.x(1) == y;
  Scalar share = (isFirst & isSecond).select(half, ct);
  d.add(0, isFirst.select(share, 0.0));
  d.add(1, isSecond.select(share, 0.0));
}
static void maximum(D &d) { extremum(d, CmpFPredicate::OGT); }
static void minimum(D &d) { extremum(d, CmpFPredicate::OLT); }

static void clamp(D &d) {
  Scalar x = d.x(0), low = d.x(1), high = d.x(2), ct = d.ct();
  d.add(0, ((x > low) & (x < high)).select(ct, 0.0));
  d.add(1, (x < low).select(ct, 0.0));
  d.add(2, (x > high).select(ct, 0.0));
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

namespace {
template <typename Op, void (*rule)(D &), DerivativeKind kind>
struct ScalarRule
    : ScalarDifferentiableOpInterface::ExternalModel<ScalarRule<Op, rule, kind>,
                                                     Op> {
  LogicalResult buildScalarVJP(Operation *, D &vjp) const {
    rule(vjp);
    return success();
  }
  DerivativeKind getDerivativeKind(Operation *) const { return kind; }
};
} // namespace

template <typename Op, void (*rule)(D &),
          DerivativeKind kind = DerivativeKind::Any>
static void attach(MLIRContext *context) {
  Op::template attachInterface<ScalarRule<Op, rule, kind>>(*context);
}

void mlir::remat::registerScalarRules(DialectRegistry &registry) {
  constexpr auto Finite = DerivativeKind::Finite;
  constexpr auto Zero = DerivativeKind::Zero;
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<arith::AddFOp, add, Finite>(context);
    attach<arith::DivFOp, divide>(context);
    attach<arith::ExtFOp, extf, Finite>(context);
    attach<arith::MaximumFOp, maximum, Finite>(context);
    attach<arith::MaxNumFOp, maximum, Finite>(context);
    attach<arith::MinimumFOp, minimum, Finite>(context);
    attach<arith::MinNumFOp, minimum, Finite>(context);
    attach<arith::MulFOp, multiply, Finite>(context);
    attach<arith::NegFOp, neg, Finite>(context);
    attach<arith::RemFOp, remainder>(context);
    attach<arith::SelectOp, choose, Finite>(context);
    attach<arith::SubFOp, subtract, Finite>(context);
    attach<arith::TruncFOp, truncf, Finite>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attach<math::AbsFOp, abs, Finite>(context);
    attach<math::AcosOp, acos>(context);
    attach<math::AcoshOp, acosh>(context);
    attach<math::AsinOp, asin>(context);
    attach<math::AsinhOp, asinh>(context);
    attach<math::Atan2Op, atan2>(context);
    attach<math::AtanOp, atan>(context);
    attach<math::AtanhOp, atanh>(context);
    attach<math::CbrtOp, cbrt>(context);
    attach<math::CeilOp, flat, Zero>(context);
    attach<math::ClampFOp, clamp, Finite>(context);
    attach<math::CopySignOp, copysign, Finite>(context);
    attach<math::CosOp, cos>(context);
    attach<math::CoshOp, cosh>(context);
    attach<math::ErfOp, erf>(context);
    attach<math::ErfcOp, erfc>(context);
    attach<math::Exp2Op, exp2>(context);
    attach<math::ExpM1Op, expm1>(context);
    attach<math::ExpOp, exp>(context);
    attach<math::FPowIOp, fpowi>(context);
    attach<math::FloorOp, flat, Zero>(context);
    attach<math::FmaOp, fma, Finite>(context);
    attach<math::Log10Op, log10>(context);
    attach<math::Log1pOp, log1p>(context);
    attach<math::Log2Op, log2>(context);
    attach<math::LogOp, log>(context);
    attach<math::PowFOp, power>(context);
    attach<math::RoundEvenOp, flat, Zero>(context);
    attach<math::RoundOp, flat, Zero>(context);
    attach<math::RsqrtOp, rsqrt>(context);
    attach<math::SinOp, sin>(context);
    attach<math::SincosOp, sincos>(context);
    attach<math::SinhOp, sinh>(context);
    attach<math::SqrtOp, sqrt>(context);
    attach<math::TanOp, tan>(context);
    attach<math::TanhOp, tanh>(context);
    attach<math::TruncOp, flat, Zero>(context);
  });
}
