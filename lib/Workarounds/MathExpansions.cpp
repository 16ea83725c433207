//===- MathExpansions.cpp - Functions that upstream expands wrongly -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A clamp whose bounds are in the other order is its upper bound, and
// exp(x) - 1 of a small x has lost what expm1 is called for. Each pattern goes
// when its function in test/Upstream/mlir/math.mlir is expanded correctly.
//===----------------------------------------------------------------------===//

#include "remat/Workarounds/MathExpansions.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

#include <limits>

using namespace mlir;
using namespace mlir::remat;

namespace {

/// x^n by repeated squaring where n is a constant, otherwise by powf: LLVM's
/// powi takes one i32 for all elements of a vector, and upstream's expansion
/// makes -infinity of 0^-1.
struct ExpandPower : OpRewritePattern<math::FPowIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::FPowIOp op,
                                PatternRewriter &rewriter) const override {
    if (!isScalarOrVector(op.getType()))
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Value base = op.getLhs();
    APInt exponent;
    if (!matchPattern(op.getRhs(), m_ConstantInt(&exponent))) {
      Value power = arith::SIToFPOp::create(b, op.getType(), op.getRhs());
      rewriter.replaceOpWithNewOp<math::PowFOp>(op, base, power);
      return success();
    }
    auto element = cast<FloatType>(getElementTypeOrSelf(op.getType()));
    auto createOne = [&] {
      return createScalarOrSplatConstant(
          b, op.getLoc(), op.getType(),
          APFloat::getOne(element.getFloatSemantics()));
    };
    Value result;
    for (APInt rest = exponent.abs(); !rest.isZero(); rest.lshrInPlace(1)) {
      if (rest[0])
        result = result ? arith::MulFOp::create(b, result, base) : base;
      if (rest.ugt(1))
        base = arith::MulFOp::create(b, base, base);
    }
    if (!result || exponent.isNegative()) {
      Value unit = createOne();
      result = result ? arith::DivFOp::create(b, unit, result) : unit;
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// min(max(x, low), high). Upstream's expansion takes the bounds in the other
/// order, which is the upper bound for all x.
struct ExpandClamp : OpRewritePattern<math::ClampFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ClampFOp op,
                                PatternRewriter &rewriter) const override {
    Value atLeast = arith::MaximumFOp::create(rewriter, op.getLoc(),
                                              op.getValue(), op.getMin());
    rewriter.replaceOpWithNewOp<arith::MinimumFOp>(op, atLeast, op.getMax());
    return success();
  }
};

/// Functions of f16 and bf16 in f32: exp(x) - 1 and log(1 + x), which
/// upstream's conversion to LLVM computes as these formulas say, where a narrow
/// type keeps next to no digit of a small x; and erf.
template <typename Op> struct ExpandInF32 : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    if (!isScalarOrVector(type) ||
        getElementTypeOrSelf(type).getIntOrFloatBitWidth() != 16)
      return failure();
    Type wide = rewriter.getF32Type();
    if (auto vector = dyn_cast<VectorType>(type))
      wide = vector.clone(wide);
    Location loc = op.getLoc();
    Value operand = arith::ExtFOp::create(rewriter, loc, wide, op.getOperand());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(
        op, type, Op::create(rewriter, loc, wide, operand));
    return success();
  }
};

/// The same on f64, where x is small or not, by Kahan's correction: u = exp(x)
/// and u = 1 + x are rounded, but (u - 1) / log(u) hardly depends on how.
template <typename Op> struct ExpandInF64 : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    constexpr bool isExp = std::is_same_v<Op, math::ExpM1Op>;
    Type type = op.getType();
    if (!isScalarOrVector(type) || !getElementTypeOrSelf(type).isF64())
      return failure();
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    auto constant = [&](double value) {
      return createScalarOrSplatConstant(b, op.getLoc(), type, APFloat(value));
    };
    auto select = [&](Value x, double y, Value yes, Value no) -> Value {
      Value isEqual =
          arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, x, constant(y));
      return arith::SelectOp::create(b, isEqual, yes, no);
    };
    Value x = op.getOperand(), one = constant(1.0);
    Value u = isExp ? math::ExpOp::create(b, x).getResult()
                    : arith::AddFOp::create(b, x, one).getResult();
    Value difference = arith::SubFOp::create(b, u, one);
    Value log = math::LogOp::create(b, u);
    Value quotient = arith::DivFOp::create(b, x, isExp ? log : difference);
    Value result = arith::MulFOp::create(b, isExp ? difference : log, quotient);
    result = select(u, 1.0, x, result);
    result = select(u, std::numeric_limits<double>::infinity(), u, result);
    // exp(x) lost what x had.
    if (isExp)
      result = select(difference, -1.0, difference, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void mlir::remat::populateMathWorkaroundPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  // Before upstream's patterns for powers.
  patterns.add<ExpandPower>(context, /*benefit=*/2);
  patterns.add<ExpandClamp, ExpandInF32<math::ExpM1Op>,
               ExpandInF32<math::Log1pOp>, ExpandInF32<math::ErfOp>,
               ExpandInF64<math::ExpM1Op>, ExpandInF64<math::Log1pOp>>(context);
}
