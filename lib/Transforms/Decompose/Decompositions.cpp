//===- Decompositions.cpp - Decompositions of upstream's operations -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One model for each operation that has no derivative of its own: as loops of
// scf and kernels they share the derivatives of these.
//===----------------------------------------------------------------------===//

#include "ParallelLoops.h"

#include "remat/Transforms/Decompose/DecomposableOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::remat;

/// Constants without elements: upstream's integer range analysis and the
/// translation to LLVM look for the first element.
static LogicalResult replaceByParts(RewriterBase &rewriter,
                                    arith::ConstantOp constant) {
  auto type = dyn_cast<RankedTensorType>(constant.getType());
  if (!type || type.getNumElements() > 0)
    return failure();
  rewriter.replaceOpWithNewOp<tensor::EmptyOp>(constant, type.getShape(),
                                               type.getElementType());
  return success();
}

static LogicalResult replaceByParts(RewriterBase &rewriter,
                                    linalg::PackOp pack) {
  return linalg::lowerPack(rewriter, pack);
}

static LogicalResult replaceByParts(RewriterBase &rewriter,
                                    linalg::UnPackOp unpack) {
  return linalg::lowerUnPack(rewriter, unpack);
}

static LogicalResult replaceByParts(RewriterBase &rewriter,
                                    tensor::GenerateOp generate) {
  return linalg::rewriteInDestinationPassingStyle(rewriter, generate);
}

/// Padding with a constant stays, as its derivative is a slice, unless the
/// source is empty: no slice may begin after the last element.
static LogicalResult replaceByParts(RewriterBase &rewriter, tensor::PadOp pad) {
  if (Value value = pad.getConstantPaddingValue();
      value && matchPattern(value, m_Constant())) {
    RankedTensorType from = pad.getSourceType(), to = pad.getResultType();
    if (!llvm::is_contained(from.getShape(), 0) || !to.hasStaticShape() ||
        llvm::is_contained(to.getShape(), 0))
      return failure();
    Value padding = rewriter.clone(*value.getDefiningOp())
                        ->getResult(cast<OpResult>(value).getResultNumber());
    Value empty = tensor::EmptyOp::create(rewriter, pad.getLoc(), to.getShape(),
                                          to.getElementType());
    rewriter.replaceOpWithNewOp<linalg::FillOp>(pad, padding, empty);
    return success();
  }
  return linalg::rewriteInDestinationPassingStyle(rewriter, pad);
}

/// Removes empty operands: no slice may begin after the last element, nor be
/// empty.
static LogicalResult replaceByParts(RewriterBase &rewriter,
                                    tensor::ConcatOp concat) {
  auto isEmpty = [](Type type) {
    return llvm::is_contained(cast<RankedTensorType>(type).getShape(), 0);
  };
  RankedTensorType type = concat.getResultType();
  if (isEmpty(type) && type.hasStaticShape()) {
    rewriter.replaceOpWithNewOp<tensor::EmptyOp>(concat, type.getShape(),
                                                 type.getElementType());
    return success();
  }
  SmallVector<Value> parts;
  for (Value input : concat.getInputs())
    if (!isEmpty(input.getType()))
      parts.push_back(input);
  if (parts.empty() || parts.size() == concat.getInputs().size())
    return failure();
  if (parts.size() > 1)
    rewriter.replaceOpWithNewOp<tensor::ConcatOp>(concat, type, concat.getDim(),
                                                  parts);
  else if (parts.front().getType() == type)
    rewriter.replaceOp(concat, parts);
  else
    rewriter.replaceOpWithNewOp<tensor::CastOp>(concat, type, parts.front());
  return success();
}

/// Expands to an elementwise arith.bitcast.
static LogicalResult replaceByParts(RewriterBase &rewriter,
                                    tensor::BitcastOp cast) {
  auto from = dyn_cast<RankedTensorType>(cast.getSource().getType());
  auto to = dyn_cast<RankedTensorType>(cast.getType());
  if (!from || !to || from.getShape() != to.getShape())
    return failure();
  rewriter.replaceOpWithNewOp<arith::BitcastOp>(cast, to, cast.getSource());
  return success();
}

/// Expands to a tensor.extract at the coordinates in the indices.
static LogicalResult replaceByParts(RewriterBase &rewriter,
                                    tensor::GatherOp gather) {
  Location loc = gather.getLoc();
  Value source = gather.getSource(), indices = gather.getIndices();
  auto type = cast<RankedTensorType>(gather.getResult().getType());
  int64_t rank = type.getRank();
  int64_t sourceRank = gather.getSourceType().getRank();
  int64_t batchRank = gather.getIndicesType().getRank() - 1;
  ArrayRef<int64_t> gathered = gather.getGatherDims();
  bool keepsGathered = rank == batchRank + sourceRank;

  SmallVector<OpFoldResult> sizes;
  for (int64_t dim : llvm::seq(batchRank))
    sizes.push_back(tensor::getMixedSize(rewriter, loc, indices, dim));
  for (int64_t dim : llvm::seq(sourceRank))
    if (!llvm::is_contained(gathered, dim))
      sizes.push_back(tensor::getMixedSize(rewriter, loc, source, dim));
    else if (keepsGathered)
      sizes.push_back(rewriter.getIndexAttr(1));
  Value empty =
      tensor::EmptyOp::create(rewriter, loc, sizes, type.getElementType());
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      rewriter, loc, TypeRange{empty.getType()}, ValueRange{},
      ValueRange{empty},
      ArrayRef<AffineMap>{rewriter.getMultiDimIdentityMap(rank)}, iterators,
      [&](OpBuilder &b, Location loc, ValueRange) {
        SmallVector<Value> batch, position(sourceRank);
        for (int64_t dim : llvm::seq(batchRank))
          batch.push_back(linalg::IndexOp::create(b, loc, dim));
        for (auto [dim, coordinate] :
             llvm::zip_equal(gathered, readCoordinates(b, loc, indices, batch,
                                                       gathered.size())))
          position[dim] = coordinate;
        int64_t loop = batchRank;
        for (int64_t dim : llvm::seq(sourceRank))
          if (!position[dim])
            position[dim] = linalg::IndexOp::create(b, loc, loop++);
          else if (keepsGathered)
            ++loop;
        Value element = tensor::ExtractOp::create(b, loc, source, position);
        linalg::YieldOp::create(b, loc, element);
      });
  Value result = generic.getResult(0);
  if (result.getType() != type)
    result = tensor::CastOp::create(rewriter, loc, type, result);
  rewriter.replaceOp(gather, result);
  return success();
}

namespace {
template <typename OpT>
struct Decomposition
    : DecomposableOpInterface::ExternalModel<Decomposition<OpT>, OpT> {
  LogicalResult decompose(Operation *op, PatternRewriter &rewriter) const {
    return replaceByParts(rewriter, cast<OpT>(op));
  }
};
} // namespace

template <typename... OpT> static void attach(MLIRContext *context) {
  (OpT::template attachInterface<Decomposition<OpT>>(*context), ...);
}

void mlir::remat::registerDecomposableExternalModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<arith::ConstantOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, linalg::LinalgDialect *) {
    attach<linalg::PackOp, linalg::UnPackOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, scf::SCFDialect *) {
    attach<scf::ForallOp, scf::ParallelOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, tensor::TensorDialect *) {
    attach<tensor::BitcastOp, tensor::ConcatOp, tensor::GatherOp,
           tensor::GenerateOp, tensor::PadOp, tensor::ScatterOp>(context);
  });
}
