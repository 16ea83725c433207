//===- TensorRules.cpp - Derivatives of the tensor dialect ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These operations move elements and compute nothing: their adjoints move
// cotangents back, and read no forward value except for dynamic sizes.
//===----------------------------------------------------------------------===//

#include "Rules.h"

#include "Adjoint.h"
#include "AdjointKernel.h"
#include "remat/Autodiff/DifferentiableOpInterface.h"
#include "remat/Transforms/Utils/ConvertElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
template <typename Rule, typename Op>
using RuleFor = DifferentiableOpInterface::ExternalModel<Rule, Op>;

struct CastRule : RuleFor<CastRule, tensor::CastOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    vjp.accumulate(0, tensor::CastOp::create(vjp.builder, op->getLoc(),
                                             op->getOperand(0).getType(),
                                             vjp.cotangent(0)));
    return success();
  }
};

struct ExpandShapeRule : RuleFor<ExpandShapeRule, tensor::ExpandShapeOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    auto expand = cast<tensor::ExpandShapeOp>(op);
    vjp.accumulate(0, tensor::CollapseShapeOp::create(
                          vjp.builder, op->getLoc(), expand.getSrcType(),
                          vjp.cotangent(0), expand.getReassociationIndices()));
    return success();
  }
};

struct CollapseShapeRule : RuleFor<CollapseShapeRule, tensor::CollapseShapeOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    auto collapse = cast<tensor::CollapseShapeOp>(op);
    vjp.accumulate(0, tensor::ExpandShapeOp::create(
                          vjp.builder, op->getLoc(), collapse.getSrcType(),
                          vjp.cotangent(0), collapse.getReassociationIndices(),
                          tensor::getMixedSizes(vjp.builder, op->getLoc(),
                                                collapse.getSrc())));
    return success();
  }
};

struct ReshapeRule : RuleFor<ReshapeRule, tensor::ReshapeOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    auto reshape = cast<tensor::ReshapeOp>(op);
    Location loc = op->getLoc();
    if (!isa<RankedTensorType>(reshape.getSource().getType()))
      return op->emitOpError()
             << "is differentiated with respect to an unranked tensor";
    SmallVector<Value> sizes = getValueOrCreateConstantIndexOp(
        vjp.builder, loc,
        tensor::getMixedSizes(vjp.builder, loc, reshape.getSource()));
    auto shapeType = RankedTensorType::get({static_cast<int64_t>(sizes.size())},
                                           vjp.builder.getIndexType());
    Value shape =
        tensor::FromElementsOp::create(vjp.builder, loc, shapeType, sizes);
    vjp.accumulate(0, tensor::ReshapeOp::create(vjp.builder, loc,
                                                reshape.getSource().getType(),
                                                vjp.cotangent(0), shape));
    return success();
  }
};

/// The elements that were not read have no part in it: zeros. The driver turns
/// this into an addition to the slice where there is a sum already.
struct ExtractSliceRule : RuleFor<ExtractSliceRule, tensor::ExtractSliceOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    auto slice = cast<tensor::ExtractSliceOp>(op);
    Value zeros = createZerosLike(vjp.builder, op->getLoc(), slice.getSource());
    vjp.accumulate(0, tensor::InsertSliceOp::create(
                          vjp.builder, op->getLoc(), vjp.cotangent(0), zeros,
                          slice.getMixedOffsets(), slice.getMixedSizes(),
                          slice.getMixedStrides()));
    return success();
  }
};

struct InsertSliceRule : RuleFor<InsertSliceRule, tensor::InsertSliceOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    auto insert = cast<tensor::InsertSliceOp>(op);
    Location loc = op->getLoc();
    if (vjp.isWanted(0))
      vjp.accumulate(0, tensor::ExtractSliceOp::create(
                            vjp.builder, loc, insert.getSourceType(),
                            vjp.cotangent(0), insert.getMixedOffsets(),
                            insert.getMixedSizes(), insert.getMixedStrides()));
    // Overwritten elements have no part in the result.
    if (vjp.isWanted(1)) {
      Value zeros = createZerosLike(vjp.builder, loc, insert.getSource());
      vjp.accumulate(1, tensor::InsertSliceOp::create(
                            vjp.builder, loc, zeros, vjp.cotangent(0),
                            insert.getMixedOffsets(), insert.getMixedSizes(),
                            insert.getMixedStrides()));
    }
    return success();
  }
};

/// Of a constant: padding with anything else has become a linalg.generic.
struct PadRule : RuleFor<PadRule, tensor::PadOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    auto pad = cast<tensor::PadOp>(op);
    Location loc = op->getLoc();
    int64_t rank = pad.getSourceType().getRank();
    SmallVector<OpFoldResult> ones(rank, vjp.builder.getIndexAttr(1));
    vjp.accumulate(
        0, tensor::ExtractSliceOp::create(
               vjp.builder, loc, pad.getSourceType(), vjp.cotangent(0),
               pad.getMixedLowPad(),
               tensor::getMixedSizes(vjp.builder, loc, pad.getSource()), ones));
    return success();
  }
};

struct ConcatRule : RuleFor<ConcatRule, tensor::ConcatOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    auto concat = cast<tensor::ConcatOp>(op);
    OpBuilder &builder = vjp.builder;
    Location loc = op->getLoc();
    unsigned dim = concat.getDim();
    int64_t rank = concat.getResultType().getRank();
    SmallVector<OpFoldResult> offsets(rank, builder.getIndexAttr(0));
    SmallVector<OpFoldResult> ones(rank, builder.getIndexAttr(1));
    for (auto [index, input] : llvm::enumerate(concat.getInputs())) {
      SmallVector<OpFoldResult> sizes =
          tensor::getMixedSizes(builder, loc, input);
      if (vjp.isWanted(index))
        vjp.accumulate(index, tensor::ExtractSliceOp::create(
                                  builder, loc,
                                  cast<RankedTensorType>(input.getType()),
                                  vjp.cotangent(0), offsets, sizes, ones));
      std::optional<int64_t> offset = getConstantIntValue(offsets[dim]);
      std::optional<int64_t> size = getConstantIntValue(sizes[dim]);
      int64_t end;
      if (offset && size && !llvm::AddOverflow(*offset, *size, end))
        offsets[dim] = builder.getIndexAttr(end);
      else
        offsets[dim] =
            arith::AddIOp::create(
                builder, loc,
                getValueOrCreateConstantIndexOp(builder, loc, offsets[dim]),
                getValueOrCreateConstantIndexOp(builder, loc, sizes[dim]))
                .getResult();
    }
    return success();
  }
};

struct ExtractRule : RuleFor<ExtractRule, tensor::ExtractOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    auto extract = cast<tensor::ExtractOp>(op);
    Value zeros =
        createZerosLike(vjp.builder, op->getLoc(), extract.getTensor());
    vjp.accumulate(0, tensor::InsertOp::create(vjp.builder, op->getLoc(),
                                               vjp.cotangent(0), zeros,
                                               extract.getIndices()));
    return success();
  }
};

struct InsertRule : RuleFor<InsertRule, tensor::InsertOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    auto insert = cast<tensor::InsertOp>(op);
    Location loc = op->getLoc();
    if (vjp.isWanted(0))
      vjp.accumulate(0, tensor::ExtractOp::create(vjp.builder, loc,
                                                  vjp.cotangent(0),
                                                  insert.getIndices()));
    if (vjp.isWanted(1)) {
      Value zero = createZerosLike(vjp.builder, loc, insert.getScalar());
      vjp.accumulate(1, tensor::InsertOp::create(vjp.builder, loc, zero,
                                                 vjp.cotangent(0),
                                                 insert.getIndices()));
    }
    return success();
  }
};

struct FromElementsRule : RuleFor<FromElementsRule, tensor::FromElementsOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    Location loc = op->getLoc();
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(op->getResult(0).getType()).getShape();
    for (unsigned index : llvm::seq(op->getNumOperands())) {
      if (!vjp.isWanted(index))
        continue;
      SmallVector<Value> position(shape.size());
      int64_t rest = index;
      for (int64_t dim = shape.size() - 1; dim >= 0; rest /= shape[dim--])
        position[dim] =
            arith::ConstantIndexOp::create(vjp.builder, loc, rest % shape[dim]);
      vjp.accumulate(index, tensor::ExtractOp::create(
                                vjp.builder, loc, vjp.cotangent(0), position));
    }
    return success();
  }
};

struct SplatRule : RuleFor<SplatRule, tensor::SplatOp> {
  LogicalResult buildVJP(Operation *op, VJPContext &vjp) const {
    OpBuilder &builder = vjp.builder;
    Location loc = op->getLoc();
    if (!vjp.isWanted(0))
      return success();
    Value cotangent = vjp.cotangent(0);
    auto type = cast<RankedTensorType>(cotangent.getType());
    Type element = type.getElementType(), sumType = accumulationType(element);
    Value empty =
        tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>(), sumType);
    auto sum = linalg::ReduceOp::create(
        builder, loc, ValueRange{cotangent},
        ValueRange{fillZeros(builder, loc, empty)},
        llvm::to_vector(llvm::seq<int64_t>(type.getRank())),
        [&](OpBuilder &nested, Location loc, ValueRange args) {
          Value term = args[0];
          if (sumType != element)
            term = arith::ExtFOp::create(nested, loc, sumType, term);
          Value added = arith::AddFOp::create(nested, loc, args[1], term);
          linalg::YieldOp::create(nested, loc, added);
        });
    Value total = convertElements(builder, loc, sum->getResult(0), element);
    vjp.accumulate(
        0, tensor::ExtractOp::create(builder, loc, total, ValueRange()));
    return success();
  }
};
} // namespace

void mlir::remat::registerTensorRules(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, tensor::TensorDialect *dialect) {
        tensor::CastOp::attachInterface<CastRule>(*context);
        tensor::CollapseShapeOp::attachInterface<CollapseShapeRule>(*context);
        tensor::ConcatOp::attachInterface<ConcatRule>(*context);
        tensor::ExpandShapeOp::attachInterface<ExpandShapeRule>(*context);
        tensor::ExtractOp::attachInterface<ExtractRule>(*context);
        tensor::ExtractSliceOp::attachInterface<ExtractSliceRule>(*context);
        tensor::FromElementsOp::attachInterface<FromElementsRule>(*context);
        tensor::InsertOp::attachInterface<InsertRule>(*context);
        tensor::InsertSliceOp::attachInterface<InsertSliceRule>(*context);
        tensor::PadOp::attachInterface<PadRule>(*context);
        tensor::ReshapeOp::attachInterface<ReshapeRule>(*context);
        tensor::SplatOp::attachInterface<SplatRule>(*context);
      });
}
