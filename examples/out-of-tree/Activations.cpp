//===- Activations.cpp - A dialect outside of remat -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a project has to write so that remat differentiates its operations and
// through its loop, weighs recomputing them, updates parameters by its rule,
// and saves what its policy permits.
//===----------------------------------------------------------------------===//

#include "Activations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "remat/Dialect/Opt/IR/UpdateKernels.h"
#include "remat/Dialect/Remat/IR/Policies.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
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
// Control flow
//===----------------------------------------------------------------------===//

LogicalResult RepeatOp::verifyRegions() {
  Block &body = getBody().front();
  TypeRange types = getInits().getTypes();
  if (types != getResultTypes() || types != body.getArgumentTypes() ||
      types != body.getTerminator()->getOperandTypes())
    return emitOpError()
           << "has initial values, arguments of the body, yielded "
              "values and results of different types";
  return success();
}

// A loop of scf is differentiated through its body: there is nothing to be said
// here about tapes, residuals or random states.
LogicalResult RepeatOp::decompose(PatternRewriter &rewriter) {
  Value zero = arith::ConstantIndexOp::create(rewriter, getLoc(), 0);
  Value one = arith::ConstantIndexOp::create(rewriter, getLoc(), 1);
  auto loop =
      scf::ForOp::create(rewriter, getLoc(), zero, getCount(), one, getInits(),
                         [](OpBuilder &, Location, Value, ValueRange) {});
  Operation *yield = getBody().front().getTerminator();
  rewriter.mergeBlocks(&getBody().front(), loop.getBody(),
                       loop.getRegionIterArgs());
  rewriter.setInsertionPoint(yield);
  rewriter.replaceOpWithNewOp<scf::YieldOp>(yield, yield->getOperands());
  rewriter.replaceOp(*this, loop);
  return success();
}

//===----------------------------------------------------------------------===//
// #act.sign_descent
//===----------------------------------------------------------------------===//

opt::HyperparameterTable SignDescentAttr::getTable() {
  using Kind = opt::Hyperparameter::Kind;
  static constexpr opt::Hyperparameter table[] = {
      {"lr", Kind::LearningRate},
      {"decay", Kind::Real, 0.9, 0.0, 1.0},
  };
  return table;
}

SmallVector<opt::RuleState> SignDescentAttr::getStates(RankedTensorType param,
                                                       Operation *) const {
  Type number = opt::getComputeType(param.getElementType());
  return {{"size", RankedTensorType::get({}, number), "ones"}};
}

// The mean is over the whole gradient.
bool SignDescentAttr::isElementwise(Operation *) const { return false; }

SmallVector<Value>
SignDescentAttr::emitTensorUpdate(OpBuilder &builder, Location loc, Value param,
                                  Value grad, ValueRange states,
                                  ValueRange scalars, Operation *) const {
  opt::UpdateKernels kernels(builder, loc, scalars[0].getType());
  double decay = getReal("decay");
  Value sum = kernels.sum({grad}, [](opt::Formula &f, ValueRange in) -> Value {
    return math::AbsFOp::create(f.builder, f.loc, in[0]);
  });
  Value size = kernels
                   .map({sum, kernels.count(grad)}, states,
                        [&](opt::Formula &f, ValueRange in) {
                          Value mean = f.div(in[0], in[1]);
                          return SmallVector<Value>{f.add(
                              f.mul(decay, in[2]), f.mul(1 - decay, mean))};
                        })
                   .front();
  Value next = kernels
                   .map({grad, size, scalars[0]}, param,
                        [](opt::Formula &f, ValueRange in) {
                          Value step =
                              f.mul(f.mul(in[2], in[1]), f.sign(in[0]));
                          return SmallVector<Value>{f.sub(in[3], step)};
                        })
                   .front();
  return {next, size};
}

//===----------------------------------------------------------------------===//
// #act.save_small_names
//===----------------------------------------------------------------------===//

// `isSaveable` is in tablegen. A policy says which names it mentions, so that a
// region in which no value has such a name is an error.
void SaveSmallNamesAttr::collectNames(SmallVectorImpl<StringAttr> &out) const {
  llvm::append_range(out, getNames());
}

LogicalResult
SaveSmallNamesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                           int64_t bytes, ArrayRef<StringAttr> names) {
  if (bytes <= 0)
    return emitError() << "save_small_names needs a positive number of bytes, "
                          "but got "
                       << bytes;
  return remat::verifyPolicyNames(emitError, names);
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
    // The phase is an attribute: a recompute stays one.
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
