//===- Activations.cpp - A dialect outside of remat -----------------------===//
//
// What a project has to write so that remat differentiates its operations,
// weighs recomputing them, and updates parameters by its rule.
//
//===----------------------------------------------------------------------===//

#include "Activations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace act;

#include "ActivationsDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "ActivationsAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "ActivationsOps.cpp.inc"

void ActDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ActivationsAttributes.cpp.inc"
      >();
}

void ActDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "ActivationsOps.cpp.inc"
      >();
}

/// A linalg.generic over the elements of `inputs`, all of one type.
static Value
buildElementwise(OpBuilder &builder, Location loc, ValueRange inputs,
                 function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  auto type = cast<RankedTensorType>(inputs[0].getType());
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, inputs[0]),
      type.getElementType());
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> loops(type.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, inputs, empty, maps, loops,
             [&](OpBuilder &nested, Location loc, ValueRange scalars) {
               linalg::YieldOp::create(nested, loc, body(nested, loc, scalars));
             })
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Derivatives and costs
//===----------------------------------------------------------------------===//

// dx = dy (1 - exp(-y)): the result is all that has to be kept.
LogicalResult SoftplusOp::buildVJP(remat::VJPContext &vjp) {
  Value dx = buildElementwise(
      vjp.builder, getLoc(), {getY(), vjp.cotangent(0)},
      [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
        Value minus = arith::NegFOp::create(b, loc, scalars[0]);
        Value slope = math::ExpM1Op::create(b, loc, minus);
        Value product = arith::MulFOp::create(b, loc, slope, scalars[1]);
        return arith::NegFOp::create(b, loc, product);
      });
  vjp.accumulate(0, dx);
  return success();
}

// The machine of this example computes activations while it loads them, so that
// keeping one is never worth its bytes.
int64_t SoftplusOp::getRecomputeCost() { return 0; }

// da = db = the sum of dy's rows: the rule builds it once and adds it twice.
LogicalResult SumRowsOp::buildVJP(remat::VJPContext &vjp) {
  OpBuilder &b = vjp.builder;
  auto type = cast<RankedTensorType>(getA().getType());
  Value zero = arith::ConstantOp::create(b, getLoc(),
                                         b.getZeroAttr(type.getElementType()));
  Value empty = tensor::EmptyOp::create(
      b, getLoc(), tensor::getMixedSizes(b, getLoc(), getA()),
      type.getElementType());
  Value zeros = linalg::FillOp::create(b, getLoc(), zero, empty).getResult(0);
  Value sum = linalg::ReduceOp::create(
                  b, getLoc(), ValueRange{vjp.cotangent(0)}, ValueRange{zeros},
                  ArrayRef<int64_t>{0},
                  [](OpBuilder &nested, Location loc, ValueRange scalars) {
                    Value next = arith::AddFOp::create(nested, loc, scalars[1],
                                                       scalars[0]);
                    linalg::YieldOp::create(nested, loc, next);
                  })
                  ->getResult(0);
  vjp.accumulate(0, sum);
  vjp.accumulate(1, sum);
  return success();
}

// dx = dy tanh(x). A rule on scalars is a formula.
LogicalResult LogCoshOp::buildScalarVJP(remat::ScalarVJPContext &vjp) {
  vjp.add(vjp.ct() * vjp.x().apply<math::TanhOp>());
  return success();
}

// tanh has no pole: the driver need not look for zero cotangents.
remat::DerivativeKind LogCoshOp::getDerivativeKind() {
  return remat::DerivativeKind::Finite;
}

//===----------------------------------------------------------------------===//
// #act.sign_descent
//===----------------------------------------------------------------------===//

SmallVector<std::string> SignDescentAttr::getStateNames() const { return {}; }

SmallVector<Value> SignDescentAttr::emitScalars(OpBuilder &, Location, Value,
                                                Value lr) const {
  return {lr};
}

SmallVector<Value> SignDescentAttr::emitUpdate(OpBuilder &builder, Location loc,
                                               Value param, Value grad,
                                               ValueRange,
                                               ValueRange scalars) const {
  Type type = grad.getType();
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(type, value));
  };
  Value zero = constant(0.0);
  Value isZero = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                       grad, zero);
  Value sign = math::CopySignOp::create(builder, loc, constant(1.0), grad);
  sign = arith::SelectOp::create(builder, loc, isZero, zero, sign);
  Value step = arith::MulFOp::create(builder, loc, scalars[0], sign);
  return {arith::SubFOp::create(builder, loc, param, step)};
}

Attribute
SignDescentAttr::withOverrides(function_ref<InFlightDiagnostic()> emitError,
                               DictionaryAttr overrides) const {
  for (NamedAttribute entry : overrides)
    if (entry.getName() != "lr") {
      emitError() << "#act.sign_descent has no hyperparameter '"
                  << entry.getName().getValue() << "'; it has lr";
      return {};
    }
  Attribute lr = overrides.get("lr");
  return get(getContext(), lr ? lr : getLearningRate());
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

namespace {
struct LowerSoftplus : OpRewritePattern<SoftplusOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SoftplusOp op,
                                PatternRewriter &rewriter) const override {
    Value result = buildElementwise(
        rewriter, op.getLoc(), op.getX(),
        [](OpBuilder &b, Location loc, ValueRange scalars) -> Value {
          return math::Log1pOp::create(b, loc,
                                       math::ExpOp::create(b, loc, scalars[0]));
        });
    // What a recompute is, it stays.
    result.getDefiningOp()->setDiscardableAttrs(
        op->getDiscardableAttrDictionary());
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct LowerSumRows : OpRewritePattern<SumRowsOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SumRowsOp op,
                                PatternRewriter &rewriter) const override {
    Value sum =
        arith::AddFOp::create(rewriter, op.getLoc(), op.getA(), op.getB());
    auto type = cast<RankedTensorType>(op.getY().getType());
    Value empty = tensor::EmptyOp::create(
        rewriter, op.getLoc(), type.getShape(), type.getElementType());
    auto rows = linalg::BroadcastOp::create(rewriter, op.getLoc(), sum, empty,
                                            ArrayRef<int64_t>{0});
    rewriter.replaceOp(op, rows->getResult(0));
    return success();
  }
};

struct LowerLogCosh : OpRewritePattern<LogCoshOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LogCoshOp op,
                                PatternRewriter &rewriter) const override {
    Value cosh = math::CoshOp::create(rewriter, op.getLoc(), op.getX());
    rewriter.replaceOpWithNewOp<math::LogOp>(op, cosh);
    return success();
  }
};

struct LowerPass : PassWrapper<LowerPass, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerPass)

  StringRef getArgument() const final { return "act-lower"; }
  StringRef getDescription() const final {
    return "Turn operations of act into linalg and math";
  }
  void runOnOperation() final {
    RewritePatternSet patterns(&getContext());
    patterns.add<LowerLogCosh, LowerSoftplus, LowerSumRows>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace

void act::registerPasses() { PassRegistration<LowerPass>(); }
