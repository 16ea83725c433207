//===- SplitComplex.cpp - Split complex tensors into two real ones --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derivatives, library products and kernels know real numbers only. A complex
// tensor becomes the tensors of its real and its imaginary parts, through
// views, loops, branches and regions; scalars, which are complex in the bodies
// of kernels, are split where they meet tensors of parts.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Complex/Passes.h"

#include "mlir/Conversion/ComplexToStandard/ComplexToStandard.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <complex>

namespace mlir::remat {
#define GEN_PASS_DEF_SPLITCOMPLEXPASS
#include "remat/Transforms/Complex/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

static bool isComplexTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<ComplexType>(tensor.getElementType());
}

/// Returns the type of one part of a complex tensor or number, or any other
/// type itself.
static Type getPartType(Type type) {
  if (isComplexTensor(type)) {
    auto tensor = cast<RankedTensorType>(type);
    return tensor.clone(
        cast<ComplexType>(tensor.getElementType()).getElementType());
  }
  auto number = dyn_cast<ComplexType>(type);
  return number ? number.getElementType() : type;
}

/// Returns the real or the imaginary part of a complex number.
static Value getPart(OpBuilder &builder, Location loc, Value number,
                     unsigned part) {
  if (part == 0)
    return complex::ReOp::create(builder, loc, number);
  return complex::ImOp::create(builder, loc, number);
}

/// Returns both parts of a complex number, or any other value itself.
static SmallVector<Value> getParts(OpBuilder &builder, Location loc,
                                   Value value) {
  if (!isa<ComplexType>(value.getType()))
    return {value};
  return {getPart(builder, loc, value, 0), getPart(builder, loc, value, 1)};
}

/// Groups `values` by the original `types`: two for a complex tensor.
static SmallVector<SmallVector<Value>> group(ValueRange values,
                                             TypeRange types) {
  SmallVector<SmallVector<Value>> groups;
  for (Type type : types) {
    unsigned count = isComplexTensor(type) ? 2 : 1;
    groups.emplace_back(values.take_front(count));
    values = values.drop_front(count);
  }
  return groups;
}

//===----------------------------------------------------------------------===//
// Arguments and results that stay complex
//===----------------------------------------------------------------------===//

static Value createElementwise(
    OpBuilder &builder, Location loc, ValueRange inputs, Type elementType,
    function_ref<Value(OpBuilder &, Location, ValueRange)> compute) {
  Value shaped = inputs.front();
  unsigned rank = cast<RankedTensorType>(shaped.getType()).getRank();
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, shaped), elementType);
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), inputs, empty, maps, loops,
             [&](OpBuilder &body, Location loc, ValueRange arguments) {
               linalg::YieldOp::create(
                   body, loc, compute(body, loc, arguments.drop_back()));
             })
      .getResult(0);
}

static SmallVector<Value> split(OpBuilder &builder, Location loc,
                                Value tensor) {
  Type number = getElementTypeOrSelf(getPartType(tensor.getType()));
  SmallVector<Value> parts;
  for (unsigned part : {0, 1})
    parts.push_back(createElementwise(
        builder, loc, tensor, number,
        [&](OpBuilder &body, Location loc, ValueRange arguments) {
          return getPart(body, loc, arguments.front(), part);
        }));
  return parts;
}

static Value combine(OpBuilder &builder, Location loc, ValueRange parts,
                     Type type) {
  Type number = getElementTypeOrSelf(type);
  return createElementwise(
      builder, loc, parts, number,
      [&](OpBuilder &body, Location loc, ValueRange arguments) -> Value {
        return complex::CreateOp::create(body, loc, number, arguments[0],
                                         arguments[1]);
      });
}

//===----------------------------------------------------------------------===//
// Operations on complex tensors
//===----------------------------------------------------------------------===//

namespace {
/// Applies the same view to each part.
struct SplitViews : ConversionPattern {
  SplitViews(const TypeConverter &converter, MLIRContext *context)
      : ConversionPattern(converter, MatchAnyOpTypeTag(), 1, context) {}

  static bool covers(Operation *op) {
    return isa<tensor::CastOp, tensor::CollapseShapeOp, tensor::ConcatOp,
               tensor::EmptyOp, tensor::ExpandShapeOp, tensor::ExtractSliceOp,
               tensor::FromElementsOp, tensor::InsertOp, tensor::InsertSliceOp,
               tensor::ReshapeOp, tensor::SplatOp, arith::SelectOp, NameOp,
               StopGradientOp>(op);
  }

  LogicalResult
  matchAndRewrite(Operation *op, ArrayRef<ValueRange> operands,
                  ConversionPatternRewriter &rewriter) const override {
    if (!covers(op) || op->getNumResults() != 1)
      return failure();
    SmallVector<Value> parts;
    for (unsigned part : {0, 1}) {
      SmallVector<Value> partOperands;
      for (ValueRange range : operands) {
        Value operand = range[range.size() == 2 ? part : 0];
        if (isa<ComplexType>(operand.getType()))
          operand = getPart(rewriter, op->getLoc(), operand, part);
        partOperands.push_back(operand);
      }
      Operation *copy = op->cloneWithoutRegions();
      copy->setOperands(partOperands);
      copy->getResult(0).setType(getPartType(op->getResult(0).getType()));
      parts.push_back(rewriter.insert(copy)->getResult(0));
    }
    rewriter.replaceOpWithMultiple(op, {parts});
    return success();
  }
};

struct SplitConstant : OpConversionPattern<arith::ConstantOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(arith::ConstantOp op, OneToNOpAdaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto value = dyn_cast<DenseElementsAttr>(op.getValue());
    if (!value || !isComplexTensor(op.getType()))
      return failure();
    auto type = cast<RankedTensorType>(getPartType(op.getType()));
    if (!isa<FloatType>(type.getElementType()))
      return failure();
    using Number = std::complex<APFloat>;
    std::array<SmallVector<APFloat>, 2> numbers;
    auto add = [&](const Number &number) {
      numbers[0].push_back(number.real());
      numbers[1].push_back(number.imag());
    };
    if (value.isSplat())
      add(value.getSplatValue<Number>());
    else
      for (const Number &number : value.getValues<Number>())
        add(number);
    SmallVector<Value> parts;
    for (const SmallVector<APFloat> &part : numbers)
      parts.push_back(arith::ConstantOp::create(
          rewriter, op.getLoc(), DenseElementsAttr::get(type, part)));
    rewriter.replaceOpWithMultiple(op, {parts});
    return success();
  }
};

struct SplitExtract : OpConversionPattern<tensor::ExtractOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tensor::ExtractOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    for (Value part : adaptor.getTensor())
      parts.push_back(tensor::ExtractOp::create(rewriter, op.getLoc(), part,
                                                op.getIndices()));
    rewriter.replaceOpWithNewOp<complex::CreateOp>(op, op.getType(), parts[0],
                                                   parts[1]);
    return success();
  }
};

struct SplitPad : OpConversionPattern<tensor::PadOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(tensor::PadOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Value padding = op.getConstantPaddingValue();
    if (!padding || adaptor.getSource().size() != 2)
      return failure();
    Location loc = op.getLoc();
    // The yielded constant may be in the body.
    if (Operation *constant = padding.getDefiningOp();
        constant && op->isProperAncestor(constant))
      padding = rewriter.clone(*constant)->getResult(0);
    SmallVector<Value> parts;
    for (unsigned part : {0, 1})
      parts.push_back(tensor::PadOp::create(
          rewriter, loc, getPartType(op.getType()), adaptor.getSource()[part],
          op.getMixedLowPad(), op.getMixedHighPad(),
          getPart(rewriter, loc, padding, part), op.getNofold()));
    rewriter.replaceOpWithMultiple(op, {parts});
    return success();
  }
};

/// A kernel with two operands and results for each complex one.
struct SplitGeneric : OpConversionPattern<linalg::GenericOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(linalg::GenericOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    SmallVector<Value> inputs, outputs;
    SmallVector<AffineMap> maps;
    SmallVector<Type> types;
    for (auto [operand, range] :
         llvm::zip_equal(op->getOpOperands(), adaptor.getOperands())) {
      SmallVector<Value> values(range);
      if (range.size() == 1)
        values = getParts(rewriter, loc, range.front());
      for (Value value : values) {
        maps.push_back(op.getMatchingIndexingMap(&operand));
        types.push_back(getElementTypeOrSelf(value.getType()));
      }
      llvm::append_range(op.isDpsInput(&operand) ? inputs : outputs, values);
    }
    auto kernel = linalg::GenericOp::create(
        rewriter, loc, TypeRange(ValueRange(outputs)), inputs, outputs, maps,
        op.getIteratorTypesArray());
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      kernel->setDiscardableAttr(attribute.getName(), attribute.getValue());

    Block *old = op.getBody();
    OpBuilder::InsertionGuard guard(rewriter);
    Block *body =
        rewriter.createBlock(&kernel.getRegion(), {}, types,
                             SmallVector<Location>(types.size(), loc));
    SmallVector<Value> arguments;
    unsigned next = 0;
    for (BlockArgument argument : old->getArguments()) {
      Value value = body->getArgument(next++);
      if (isa<ComplexType>(argument.getType()))
        value = complex::CreateOp::create(rewriter, loc, argument.getType(),
                                          value, body->getArgument(next++));
      arguments.push_back(value);
    }
    auto yield = cast<linalg::YieldOp>(old->getTerminator());
    rewriter.inlineBlockBefore(old, body, body->end(), arguments);
    rewriter.setInsertionPoint(yield);
    SmallVector<Value> yielded;
    for (Value value : yield.getValues())
      llvm::append_range(
          yielded, getParts(rewriter, loc, rewriter.getRemappedValue(value)));
    rewriter.replaceOpWithNewOp<linalg::YieldOp>(yield, yielded);

    rewriter.replaceOpWithMultiple(
        op, group(kernel.getResults(), op.getResultTypes()));
    return success();
  }
};

/// A complex product becomes four real ones, each of which a library has.
struct SplitProduct : OpConversionPattern<linalg::GenericOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(linalg::GenericOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    if (!linalg::isaContractionOpInterface(op) ||
        !llvm::all_of(op->getOperandTypes(), isComplexTensor))
      return failure();
    Location loc = op.getLoc();
    ValueRange a = adaptor.getInputs()[0], b = adaptor.getInputs()[1],
               start = adaptor.getOutputs()[0];
    auto addProduct = [&](Value a, Value b, Value sum) -> Value {
      return linalg::GenericOp::create(
                 rewriter, loc, sum.getType(), ValueRange{a, b}, sum,
                 op.getIndexingMapsArray(), op.getIteratorTypesArray(),
                 [](OpBuilder &body, Location loc, ValueRange arguments) {
                   Value product = arith::MulFOp::create(
                       body, loc, arguments[0], arguments[1]);
                   Value sum =
                       arith::AddFOp::create(body, loc, arguments[2], product);
                   linalg::YieldOp::create(body, loc, sum);
                 })
          .getResult(0);
    };
    Value negative = createElementwise(
        rewriter, loc, a[1], getElementTypeOrSelf(a[1].getType()),
        [](OpBuilder &body, Location loc, ValueRange arguments) -> Value {
          return arith::NegFOp::create(body, loc, arguments.front());
        });
    Value real = addProduct(negative, b[1], addProduct(a[0], b[0], start[0]));
    Value imaginary = addProduct(a[1], b[0], addProduct(a[0], b[1], start[1]));
    rewriter.replaceOpWithMultiple(op, {{real, imaginary}});
    return success();
  }
};

SmallVector<Value> flatten(ArrayRef<ValueRange> ranges) {
  SmallVector<Value> values;
  for (ValueRange range : ranges)
    llvm::append_range(values, range);
  return values;
}

struct SplitRegion : OpConversionPattern<RegionOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(RegionOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertTypes(op.getOutputs().getTypes(),
                                                types)) ||
        !op.getResiduals().empty())
      return failure();
    OperationState state(op.getLoc(), RegionOp::getOperationName(),
                         flatten(adaptor.getInputs()), types,
                         llvm::to_vector(op->getDiscardableAttrs()));
    RegionOp::Properties &properties =
        state.getOrAddProperties<RegionOp::Properties>();
    properties = op.getProperties();
    properties.resultSegmentSizes = {static_cast<int32_t>(types.size()), 0};
    if (op.getPreventCse()) {
      SmallVector<bool> flags;
      for (auto [index, range] : llvm::enumerate(adaptor.getInputs()))
        flags.append(range.size(), op.preventsCSE(index));
      properties.setPreventCse(rewriter.getDenseBoolArrayAttr(flags));
    }
    Region *body = state.addRegion();
    rewriter.inlineRegionBefore(op.getBody(), *body, body->end());
    if (failed(rewriter.convertRegionTypes(body, *getTypeConverter())))
      return failure();
    Operation *region = rewriter.create(state);
    rewriter.replaceOpWithMultiple(
        op, group(region->getResults(), op.getOutputs().getTypes()));
    return success();
  }
};

struct SplitYield : OpConversionPattern<remat::YieldOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(remat::YieldOp op, OneToNOpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<remat::YieldOp>(op,
                                                flatten(adaptor.getOperands()));
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Operations on complex numbers
//===----------------------------------------------------------------------===//

struct SplitSelect : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::SelectOp op,
                                PatternRewriter &rewriter) const override {
    if (!isa<ComplexType>(op.getType()))
      return failure();
    SmallVector<Value> parts;
    for (unsigned part : {0, 1})
      parts.push_back(arith::SelectOp::create(
          rewriter, op.getLoc(), op.getCondition(),
          getPart(rewriter, op.getLoc(), op.getTrueValue(), part),
          getPart(rewriter, op.getLoc(), op.getFalseValue(), part)));
    rewriter.replaceOpWithNewOp<complex::CreateOp>(op, op.getType(), parts[0],
                                                   parts[1]);
    return success();
  }
};

/// Computes the absolute value without overflow, and with the derivative 0 at
/// 0, as JAX and PyTorch define it: upstream's lowering divides zero by zero
/// there and replaces the result.
struct LowerAbs : OpConversionPattern<complex::AbsOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(complex::AbsOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    ImplicitLocOpBuilder builder(loc, rewriter);
    auto type = cast<FloatType>(op.getType());
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(builder,
                                       builder.getFloatAttr(type, value));
    };
    Value real = math::AbsFOp::create(
        builder, getPart(rewriter, loc, adaptor.getComplex(), 0));
    Value imaginary = math::AbsFOp::create(
        builder, getPart(rewriter, loc, adaptor.getComplex(), 1));
    Value longer = arith::MaximumFOp::create(builder, real, imaginary);
    Value shorter = arith::MinimumFOp::create(builder, real, imaginary);
    auto isNumber = [&](double value) -> Value {
      return arith::CmpFOp::create(builder, arith::CmpFPredicate::OEQ, longer,
                                   number(value));
    };
    Value isExtreme =
        arith::OrIOp::create(builder, isNumber(0.0),
                             isNumber(std::numeric_limits<double>::infinity()));
    Value divisor =
        arith::SelectOp::create(builder, isExtreme, number(1.0), longer);
    Value ratio = arith::DivFOp::create(builder, shorter, divisor);
    Value square = arith::MulFOp::create(builder, ratio, ratio);
    Value root = math::SqrtOp::create(
        builder, arith::AddFOp::create(builder, square, number(1.0)));
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, longer, root);
    return success();
  }
};

struct SplitComplexPass
    : mlir::remat::impl::SplitComplexPassBase<SplitComplexPass> {
  void runOnOperation() override {
    Operation *root = getOperation();
    bool isComplex = false;
    SmallVector<linalg::LinalgOp> named;
    root->walk([&](Operation *op) {
      bool here = isa_and_nonnull<complex::ComplexDialect>(op->getDialect()) ||
                  hasComplexTensors(op);
      isComplex |= here;
      auto kernel = dyn_cast<linalg::LinalgOp>(op);
      if (here && kernel && !isa<linalg::GenericOp>(op))
        named.push_back(kernel);
    });
    if (!isComplex)
      return markAllAnalysesPreserved();
    IRRewriter rewriter(root);
    for (linalg::LinalgOp op : named) {
      rewriter.setInsertionPoint(op);
      (void)linalg::generalizeNamedOp(rewriter, op);
    }
    if (failed(splitTensors(root)) || failed(splitNumbers(root)))
      signalPassFailure();
  }

private:
  static bool hasComplexTensors(Operation *op) {
    return llvm::any_of(op->getOperandTypes(), isComplexTensor) ||
           llvm::any_of(op->getResultTypes(), isComplexTensor) ||
           llvm::any_of(op->getRegions(), [](Region &region) {
             return llvm::any_of(region.getArgumentTypes(), isComplexTensor);
           });
  }

  static LogicalResult splitTensors(Operation *root) {
    MLIRContext *context = root->getContext();
    TypeConverter converter;
    converter.addConversion([](Type type) { return type; });
    converter.addConversion(
        [](RankedTensorType type,
           SmallVectorImpl<Type> &parts) -> std::optional<LogicalResult> {
          if (!isComplexTensor(type))
            return std::nullopt;
          parts.append(2, getPartType(type));
          return success();
        });
    converter.addSourceMaterialization(
        [](OpBuilder &builder, RankedTensorType type, ValueRange parts,
           Location loc) -> Value {
          return parts.size() == 2 ? combine(builder, loc, parts, type)
                                   : Value();
        });
    converter.addTargetMaterialization([](OpBuilder &builder, TypeRange types,
                                          ValueRange values,
                                          Location loc) -> SmallVector<Value> {
      if (types.size() != 2 || values.size() != 1)
        return {};
      return split(builder, loc, values.front());
    });

    RewritePatternSet patterns(context);
    patterns.add<SplitConstant, SplitExtract, SplitGeneric, SplitPad,
                 SplitRegion, SplitViews, SplitYield>(converter, context);
    patterns.add<SplitProduct>(converter, context, /*benefit=*/2);
    ConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal([](Operation *op) {
      bool covered =
          SplitViews::covers(op) ||
          isa<arith::ConstantOp, linalg::GenericOp, tensor::ExtractOp,
              tensor::PadOp, RegionOp>(op) ||
          (isa<remat::YieldOp>(op) && isa<RegionOp>(op->getParentOp()));
      return !covered || !hasComplexTensors(op);
    });
    scf::populateSCFStructuralTypeConversionsAndLegality(converter, patterns,
                                                         target);
    return applyPartialConversion(root, target, std::move(patterns));
  }

  static LogicalResult splitNumbers(Operation *root) {
    MLIRContext *context = root->getContext();
    RewritePatternSet patterns(context);
    populateComplexToStandardConversionPatterns(patterns);
    patterns.add<LowerAbs>(context, /*benefit=*/2);
    ConversionTarget target(*context);
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    target.addIllegalDialect<complex::ComplexDialect>();
    target.addLegalOp<complex::CreateOp, complex::ReOp, complex::ImOp,
                      complex::ConstantOp>();
    if (failed(applyPartialConversion(root, target, std::move(patterns))))
      return failure();
    RewritePatternSet cleanUp(context);
    cleanUp.add<SplitSelect>(context);
    complex::CreateOp::getCanonicalizationPatterns(cleanUp, context);
    complex::ReOp::getCanonicalizationPatterns(cleanUp, context);
    complex::ImOp::getCanonicalizationPatterns(cleanUp, context);
    return applyPatternsGreedily(root, std::move(cleanUp));
  }
};
} // namespace
