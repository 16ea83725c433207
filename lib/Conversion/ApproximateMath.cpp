//===- ApproximateMath.cpp - Elementary functions as polynomials ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM turns a vector of exp into sixteen calls of expf. These are a few
// instructions on the whole vector instead.
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Passes.h"
#include "remat/Workarounds/MathExpansions.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <limits>

namespace mlir::remat {
#define GEN_PASS_DEF_APPROXIMATEMATH
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {

bool isF32(Operation *op) {
  Type type = op->getResult(0).getType();
  return isScalarOrVector(type) && getElementTypeOrSelf(type).isF32();
}

/// Arithmetic on f32 scalars or vectors of one shape.
class FloatBuilder {
public:
  FloatBuilder(PatternRewriter &rewriter, Operation *op)
      : b(op->getLoc(), rewriter), type(op->getResult(0).getType()) {}

  Value constant(float value) {
    return createScalarOrSplatConstant(b, b.getLoc(), type, APFloat(value));
  }
  Value integer(int32_t value) {
    return createScalarOrSplatConstant(b, b.getLoc(), intType(), value);
  }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, x, y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, x, y); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, x, y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, x, y); }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, x, y, z);
  }
  /// coefficients[0] x^n + coefficients[1] x^(n-1) + ...
  Value polynomial(Value x, ArrayRef<Value> coefficients) {
    Value sum = coefficients.front();
    for (Value coefficient : coefficients.drop_front())
      sum = fma(sum, x, coefficient);
    return sum;
  }
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    return polynomial(x, llvm::map_to_vector(coefficients, [&](float number) {
                        return constant(number);
                      }));
  }
  Value bits(Value x) { return arith::BitcastOp::create(b, intType(), x); }
  Value fromBits(Value x) { return arith::BitcastOp::create(b, type, x); }
  Value toFloat(Value x) { return arith::SIToFPOp::create(b, type, x); }
  Value addInt(Value x, Value y) { return arith::AddIOp::create(b, x, y); }
  Value subInt(Value x, Value y) { return arith::SubIOp::create(b, x, y); }
  Value andInt(Value x, Value y) { return arith::AndIOp::create(b, x, y); }
  Value shiftLeft(Value x, int n) {
    return arith::ShLIOp::create(b, x, integer(n));
  }
  Value shiftRight(Value x, int n) {
    return arith::ShRSIOp::create(b, x, integer(n));
  }
  Value abs(Value x) { return math::AbsFOp::create(b, x); }
  Value copySign(Value x, Value sign) {
    return math::CopySignOp::create(b, x, sign);
  }
  Value atMost(Value x, float high) {
    return arith::MinimumFOp::create(b, x, constant(high));
  }
  Value clamp(Value x, float low, float high) {
    return arith::MaximumFOp::create(b, atMost(x, high), constant(low));
  }
  /// 2^x as the processor approximates it, where that is faster.
  Value fastPower(Value x) {
    return math::Exp2Op::create(b, x, arith::FastMathFlags::afn);
  }
  Value select(arith::CmpFPredicate predicate, Value x, float y, Value yes,
               Value no) {
    Value holds = arith::CmpFOp::create(b, predicate, x, constant(y));
    return arith::SelectOp::create(b, holds, yes, no);
  }

private:
  Type intType() {
    if (auto vector = dyn_cast<VectorType>(type))
      return vector.clone(b.getI32Type());
    return b.getI32Type();
  }
  ImplicitLocOpBuilder b;
  Type type;
};

constexpr float kLog2e = 1.44269504088896341f;
/// ln 2 in two parts; products of the first with small integers are exact.
constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;
/// ln 2 as one number, and how much that is too large.
constexpr float kLn2 = 0.693147182464599609f, kLn2Excess = 1.90465429e-9f;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
constexpr float kRoundToInteger = 12582912.0f;

struct ExpPattern : OpRewritePattern<math::ExpOp> {
  ExpPattern(MLIRContext *context, bool fastPowers)
      : OpRewritePattern(context), fastPowers(fastPowers) {}
  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op))
      return failure();
    FloatBuilder b(rewriter, op);
    // Beyond, the result is 0 or infinity all the same.
    Value x = b.clamp(op.getOperand(), -104.0f, 89.0f);
    rewriter.replaceOp(op, fastPowers ? emitByPower(b, x) : emit(b, x));
    return success();
  }

private:
  /// exp(x) = 2^n exp(r), |r| <= ln(2)/2, by a polynomial whose relative error
  /// is 2^-28. The power is multiplied in two halves, so that results may be
  /// denormal; both have the bias of an exponent from the addition that rounds.
  static Value emit(FloatBuilder &b, Value x) {
    constexpr float magic = kRoundToInteger + 2 * 127;
    Value shifted = b.fma(x, b.constant(kLog2e), b.constant(magic));
    Value n = b.sub(shifted, b.constant(magic));
    Value r = b.fma(n, b.constant(-kLn2High), x);
    r = b.fma(n, b.constant(-kLn2Low), r);
    Value y =
        b.polynomial(r, {1.381461159e-3f, 8.368715644e-3f, 4.166841879e-2f,
                         1.666652262e-1f, 4.999999404e-1f, 1.0f, 1.0f});
    Value power = b.bits(shifted);
    Value half = b.shiftLeft(b.shiftRight(power, 1), 23);
    Value otherHalf = b.subInt(b.shiftLeft(power, 23), half);
    for (Value part : {half, otherHalf})
      y = b.mul(y, b.fromBits(part));
    return y;
  }

  /// exp(x) = 2^y (1 + r), where y is x / ln(2) rounded and r is what that
  /// leaves of x. Results that would be denormal are 0.
  static Value emitByPower(FloatBuilder &b, Value x) {
    Value y = b.mul(x, b.constant(kLog2e));
    Value r = b.fma(y, b.constant(-kLn2), x);
    r = b.fma(y, b.constant(kLn2Excess), r);
    return b.mul(b.fastPower(y), b.add(r, b.constant(1.0f)));
  }

  bool fastPowers;
};

/// erf(x) = x + x P(x^2) up to 0.92, then 1 - 2^P(|x|), with other coefficients
/// of P: a choice between two numbers runs beside multiplications, of which a
/// second polynomial would be six, and a quotient's division takes as long as
/// ten. The formulas are Juffa's, the coefficients are fitted for this one.
struct ErfPattern : OpRewritePattern<math::ErfOp> {
  ErfPattern(MLIRContext *context, bool fastPowers)
      : OpRewritePattern(context), fastPowers(fastPowers) {}
  LogicalResult matchAndRewrite(math::ErfOp op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op))
      return failure();
    FloatBuilder b(rewriter, op);
    Value x = op.getOperand(), size = b.abs(x);
    auto choose = [&](Value large, Value small) {
      return b.select(arith::CmpFPredicate::OGT, size, 0.921875f, large, small);
    };
    // From 3.95 on the result is 1.
    Value argument = choose(b.atMost(size, 3.95f), b.mul(x, x));
    constexpr float large[] = {-1.773157157e-3f, 2.222395688e-2f,
                               -1.306806505e-1f, -9.399645925e-1f,
                               -1.615286589f,    -2.935469151e-3f};
    constexpr float small[] = {-5.990867503e-4f, 4.993183538e-3f,
                               -2.676660381e-2f, 1.128181592e-1f,
                               -3.761249483e-1f, 1.283791512e-1f};
    SmallVector<Value> coefficients;
    for (auto [atLarge, atSmall] : llvm::zip_equal(large, small))
      coefficients.push_back(choose(b.constant(atLarge), b.constant(atSmall)));
    Value p = b.polynomial(argument, coefficients);
    Value rest =
        fastPowers ? b.sub(b.constant(1.0f), b.fastPower(p)) : emitRest(b, p);
    rewriter.replaceOp(op, choose(b.copySign(rest, x), b.fma(p, x, x)));
    return success();
  }

private:
  /// 1 - 2^p = 1 - 2^r 2^n, by a polynomial in r, |r| <= 1/2.
  static Value emitRest(FloatBuilder &b, Value p) {
    constexpr float magic = kRoundToInteger + 127;
    Value shifted = b.add(p, b.constant(magic));
    Value r = b.sub(p, b.sub(shifted, b.constant(magic)));
    Value y =
        b.polynomial(r, {-1.326468773e-3f, -9.671512991e-3f, -5.550787970e-2f,
                         -2.402217686e-1f, -6.931467056e-1f, -1.0f});
    Value power = b.fromBits(b.shiftLeft(b.bits(shifted), 23));
    return b.fma(y, power, b.constant(1.0f));
  }

  bool fastPowers;
};

/// log(x) = k ln(2) + log(m), m in [sqrt(1/2), sqrt(2)]; FreeBSD's e_logf.c.
template <typename Op, bool isBase2> struct LogPattern : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!isF32(op))
      return failure();
    FloatBuilder b(rewriter, op);
    using Predicate = arith::CmpFPredicate;
    Value given = op.getOperand();
    constexpr float smallestNormal = std::numeric_limits<float>::min();
    Value x = b.select(Predicate::OLT, given, smallestNormal,
                       b.mul(given, b.constant(33554432.0f)), given);
    Value denormal = b.select(Predicate::OLT, given, smallestNormal,
                              b.constant(-25.0f), b.constant(0.0f));
    constexpr int32_t one = 0x3f800000, sqrtHalf = 0x3f3504f3;
    Value bits = b.addInt(b.bits(x), b.integer(one - sqrtHalf));
    Value k = b.add(b.toFloat(b.subInt(b.shiftRight(bits, 23), b.integer(127))),
                    denormal);
    Value m = b.fromBits(
        b.addInt(b.andInt(bits, b.integer(0x7fffff)), b.integer(sqrtHalf)));
    Value f = b.sub(m, b.constant(1.0f));
    Value s = b.div(f, b.add(b.constant(2.0f), f));
    Value z = b.mul(s, s);
    Value r = b.mul(z, b.polynomial(z, {0.24279078841f, 0.28498786688f,
                                        0.40000972152f, 0.66666662693f}));
    Value halfSquare = b.mul(b.mul(b.constant(0.5f), f), f);
    Value correction = b.mul(s, b.add(halfSquare, r));
    Value y;
    if (isBase2) {
      Value logM = b.add(b.sub(correction, halfSquare), f);
      y = b.fma(logM, b.constant(kLog2e), k);
    } else {
      Value low = b.fma(k, b.constant(kLn2Low), correction);
      y = b.fma(k, b.constant(kLn2High), b.add(b.sub(low, halfSquare), f));
    }
    y = b.select(Predicate::OEQ, given, kInfinity, given, y);
    y = b.select(Predicate::OEQ, given, 0.0f, b.constant(-kInfinity), y);
    y = b.select(Predicate::ULT, given, 0.0f, b.constant(kNaN), y);
    rewriter.replaceOp(op, y);
    return success();
  }
};

/// x / c, rounded, as x * (1 / c) and what that lacks (Markstein): no division,
/// and no branch for those that are hard, without which loops are not unrolled.
/// Proven for all x whose remainders are no denormal numbers: |x| from 2^-102
/// on (f64: 2^-969). Below, the last bit may differ.
struct DivideByConstantPattern : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType(), element = getElementTypeOrSelf(type);
    APFloat divisor(0.0f);
    if (!isScalarOrVector(type) || !(element.isF32() || element.isF64()) ||
        !matchPattern(op.getRhs(), m_ConstantFloat(&divisor)) ||
        matchPattern(op.getLhs(), m_Constant()) || !divisor.isFiniteNonZero() ||
        std::abs(ilogb(divisor)) > kMaxDivisorExponent)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto constant = [&](const APFloat &value) {
      return createScalarOrSplatConstant(b, op.getLoc(), type, value);
    };
    const llvm::fltSemantics &semantics = divisor.getSemantics();
    APFloat inverse = APFloat::getOne(semantics);
    bool isExact =
        inverse.divide(divisor, APFloat::rmNearestTiesToEven) == APFloat::opOK;
    Value x = op.getLhs(), factor = constant(inverse);
    Value quotient = arith::MulFOp::create(b, x, factor);
    if (isExact) {
      rewriter.replaceOp(op, quotient);
      return success();
    }
    Value remainder =
        math::FmaOp::create(b, quotient, constant(llvm::neg(divisor)), x);
    Value corrected = math::FmaOp::create(b, remainder, factor, quotient);
    // Neither of a zero, which keeps its sign, nor of infinity.
    Value isRounded =
        arith::CmpFOp::create(b, arith::CmpFPredicate::ONE, remainder,
                              constant(APFloat::getZero(semantics)));
    if (ilogb(divisor) < 0) { // Quotients of numbers may be infinite.
      Value isNumber = arith::CmpFOp::create(b, arith::CmpFPredicate::ORD,
                                             corrected, corrected);
      isRounded = arith::AndIOp::create(b, isRounded, isNumber);
    }
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isRounded, corrected,
                                                 quotient);
    return success();
  }

private:
  /// So that inverses are far from overflow and from denormal numbers.
  static constexpr int kMaxDivisorExponent = 60;
};

/// Compares |x| with infinity and the smallest normal number, and x with
/// itself: isinf, isfinite, isnormal, isnan.
template <typename Op> struct ClassPattern : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Type type = op.getOperand().getType();
    const llvm::fltSemantics &semantics =
        cast<FloatType>(getElementTypeOrSelf(type)).getFloatSemantics();
    auto constant = [&](const APFloat &value) {
      return createScalarOrSplatConstant(rewriter, loc, type, value);
    };
    if (std::is_same_v<Op, math::IsNaNOp>) {
      rewriter.replaceOpWithNewOp<arith::CmpFOp>(
          op, arith::CmpFPredicate::UNO, op.getOperand(), op.getOperand());
      return success();
    }
    Value size = math::AbsFOp::create(rewriter, loc, op.getOperand());
    Value infinity = constant(APFloat::getInf(semantics));
    if (!std::is_same_v<Op, math::IsNormalOp>) {
      rewriter.replaceOpWithNewOp<arith::CmpFOp>(
          op,
          std::is_same_v<Op, math::IsInfOp> ? arith::CmpFPredicate::OEQ
                                            : arith::CmpFPredicate::OLT,
          size, infinity);
      return success();
    }
    Value finite = arith::CmpFOp::create(
        rewriter, loc, arith::CmpFPredicate::OLT, size, infinity);
    Value large = arith::CmpFOp::create(
        rewriter, loc, arith::CmpFPredicate::OGE, size,
        constant(APFloat::getSmallestNormalized(semantics)));
    rewriter.replaceOpWithNewOp<arith::AndIOp>(op, finite, large);
    return success();
  }
};

/// Powers of integers by squaring, one step for each bit of the exponent: the
/// same code for scalars, vectors and devices. Upstream's are calls of
/// functions beside the kernel, which a module of a device does not have.
struct IntegerPowerPattern : OpRewritePattern<math::IPowIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::IPowIOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    auto element = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
    if (!isScalarOrVector(type) || !element)
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    unsigned width = element.getWidth();
    auto constant = [&](const APInt &value) {
      return createScalarOrSplatConstant(b, op.getLoc(), type, value);
    };
    auto compare = [&](arith::CmpIPredicate predicate, Value x, Value y) {
      return arith::CmpIOp::create(b, predicate, x, y).getResult();
    };
    Value base = op.getLhs(), exponent = op.getRhs(),
          zero = constant(APInt::getZero(width)),
          one = constant(APInt(width, 1)),
          minusOne = constant(APInt::getAllOnes(width));
    auto hasBit = [&](unsigned number) {
      Value bit = arith::AndIOp::create(
          b, exponent, constant(APInt::getOneBitSet(width, number)));
      return compare(arith::CmpIPredicate::ne, bit, zero);
    };
    auto select = [&](Value condition, Value yes, Value no) -> Value {
      return arith::SelectOp::create(b, condition, yes, no);
    };
    Value power = one, square = base;
    for (unsigned bit : llvm::seq(width)) {
      Value product = arith::MulIOp::create(b, power, square);
      power = select(hasBit(bit), product, power);
      square = arith::MulIOp::create(b, square, square);
    }
    // A negative power is 1 / base^n, which is 0 but for 1 and -1. That of 0
    // has no value.
    auto isBase = [&](Value value) {
      return compare(arith::CmpIPredicate::eq, base, value);
    };
    Value inverse =
        select(isBase(one), one,
               select(isBase(minusOne), select(hasBit(0), base, one), zero));
    Value isNegative = compare(arith::CmpIPredicate::slt, exponent, zero);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNegative, inverse,
                                                 power);
    return success();
  }
};

struct ApproximateMath : remat::impl::ApproximateMathBase<ApproximateMath> {
  using ApproximateMathBase::ApproximateMathBase;

  void runOnOperation() override {
    // Only functions and divisions, which are a small part of a program, and
    // broadcasts of exponents and divisors, which may turn out to be constants.
    SetVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) &&
          !isa<arith::DivFOp>(op))
        return;
      ops.insert(op);
      for (Value operand : op->getOperands())
        if (auto broadcast = operand.getDefiningOp<vector::BroadcastOp>())
          ops.insert(broadcast);
    });
    if (ops.empty())
      return markAllAnalysesPreserved();
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpPattern, ErfPattern>(&getContext(), fastPowers);
    patterns
        .add<LogPattern<math::LogOp, false>, LogPattern<math::Log2Op, true>>(
            &getContext());
    // Operations that upstream's conversions to LLVM do not accept, and powers
    // that are a product or a root (of upstream's patterns those of powf).
    patterns.add<IntegerPowerPattern>(&getContext());
    patterns.add<DivideByConstantPattern, ClassPattern<math::IsNaNOp>,
                 ClassPattern<math::IsInfOp>, ClassPattern<math::IsFiniteOp>,
                 ClassPattern<math::IsNormalOp>>(&getContext());
    populateMathWorkaroundPatterns(patterns);
    populateMathAlgebraicSimplificationPatterns(patterns);
    // Upstream's approximations, where they are accurate to a few units in the
    // last place. Those of exp and log lose denormals; sin and cos lose all
    // digits for large arguments.
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained({"math.expm1", "math.log1p", "math.tanh"},
                                name);
    });
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(ops.getArrayRef(), std::move(patterns),
                                       config)))
      signalPassFailure();
  }
};
} // namespace
