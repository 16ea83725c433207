//===- Structured.cpp - Computations on tensors as kernels ----------------===//
//
// arith and math on whole tensors, generated tensors and gathers would each
// need a rule that saves operands; as structured operations they share the one
// that recomputes in registers, and they fuse.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Normalize/Structured.h"

#include "Concatenation.h"
#include "ParallelLoops.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::remat;

/// Whether `op` is an operation of arith, math or complex on tensors of one
/// shape, and perhaps scalars. Those of other dialects may have rules on
/// tensors.
static bool isElementwiseOnTensors(Operation *op) {
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect,
                       complex::ComplexDialect>(op->getDialect()) ||
      !OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() == 0)
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && llvm::all_of(op->getOperandTypes(), [&](Type operand) {
           auto tensor = dyn_cast<RankedTensorType>(operand);
           return tensor ? tensor.getRank() == type.getRank()
                         : operand.isIntOrIndexOrFloat();
         });
}

Operation *mlir::remat::replaceElementwiseByLinalg(Operation *op) {
  if (!isElementwiseOnTensors(op))
    return nullptr;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  unsigned rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  AffineMap constant = AffineMap::get(rank, 0, {}, builder.getContext());
  SmallVector<AffineMap> maps;
  Value shaped;
  for (Value operand : op->getOperands()) {
    bool isTensor = isa<RankedTensorType>(operand.getType());
    maps.push_back(isTensor ? identity : constant);
    if (isTensor && !shaped)
      shaped = operand;
  }
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, shaped);
  SmallVector<Value> empties;
  SmallVector<Type> elementTypes;
  for (Type result : op->getResultTypes()) {
    auto type = cast<RankedTensorType>(result);
    elementTypes.push_back(type.getElementType());
    empties.push_back(tensor::EmptyOp::create(
        builder, loc, sizes, type.getElementType(), type.getEncoding()));
  }
  maps.append(empties.size(), identity);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, ValueRange(empties).getTypes(), op->getOperands(), empties,
      maps, iterators, [&](OpBuilder &nested, Location loc, ValueRange args) {
        Operation *scalar = nested.create(loc, op->getName().getIdentifier(),
                                          args.take_front(op->getNumOperands()),
                                          elementTypes, op->getAttrs());
        scalar->setDiscardableAttrs(ArrayRef<NamedAttribute>());
        linalg::YieldOp::create(nested, loc, scalar->getResults());
      });
  generic->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [result, value] :
       llvm::zip_equal(op->getResults(), generic.getResults())) {
    Value same = value;
    if (value.getType() != result.getType())
      same = tensor::CastOp::create(builder, loc, result.getType(), value);
    result.replaceAllUsesWith(same);
  }
  op->erase();
  return generic;
}

/// arith.bitcast, element by element.
static void replaceBitcast(OpBuilder &builder, tensor::BitcastOp cast) {
  Value source = cast.getSource();
  auto from = dyn_cast<RankedTensorType>(source.getType());
  auto to = dyn_cast<RankedTensorType>(cast.getType());
  if (!from || !to || from.getShape() != to.getShape())
    return;
  Value bits = arith::BitcastOp::create(builder, cast.getLoc(), to, source);
  copyAttributes(cast, bits.getDefiningOp());
  cast.replaceAllUsesWith(bits);
  cast.erase();
  (void)replaceElementwiseByLinalg(bits.getDefiningOp());
}

/// tensor.extract at the coordinates that the indices hold.
static void replaceGather(OpBuilder &builder, tensor::GatherOp gather) {
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
    sizes.push_back(tensor::getMixedSize(builder, loc, indices, dim));
  for (int64_t dim : llvm::seq(sourceRank))
    if (!llvm::is_contained(gathered, dim))
      sizes.push_back(tensor::getMixedSize(builder, loc, source, dim));
    else if (keepsGathered)
      sizes.push_back(builder.getIndexAttr(1));
  Value empty =
      tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, loc, TypeRange{empty.getType()}, ValueRange{}, ValueRange{empty},
      ArrayRef<AffineMap>{builder.getMultiDimIdentityMap(rank)}, iterators,
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
  copyAttributes(gather, generic);
  Value result = generic.getResult(0);
  if (result.getType() != type)
    result = tensor::CastOp::create(builder, loc, type, result);
  gather.replaceAllUsesWith(result);
  gather.erase();
}

/// Whether the derivative of `pad` is a slice: what surrounds it is constant.
static bool padsWithConstant(tensor::PadOp pad) {
  Value value = pad.getConstantPaddingValue();
  return value && matchPattern(value, m_Constant());
}

void mlir::remat::replaceByStructured(Operation *root) {
  // Collected first: what comes of one of them may be another. From the inside
  // out: a loop is cloned into its replacement.
  auto forEach = [&](auto replace) {
    SmallVector<Operation *> ops;
    root->walk([&](Operation *op) {
      if (op != root)
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      PhaseListener listener(getPhase(op));
      IRRewriter rewriter(op->getContext(), &listener);
      rewriter.setInsertionPoint(op);
      replace(rewriter, op);
    }
  };
  forEach([](RewriterBase &rewriter, Operation *op) {
    if (auto pack = dyn_cast<linalg::PackOp>(op))
      (void)linalg::lowerPack(rewriter, pack);
    else if (auto unpack = dyn_cast<linalg::UnPackOp>(op))
      (void)linalg::lowerUnPack(rewriter, unpack);
    else if (auto scatter = dyn_cast<tensor::ScatterOp>(op))
      replaceScatter(rewriter, scatter);
    else if (auto forall = dyn_cast<scf::ForallOp>(op))
      (void)replaceForall(rewriter, forall);
    else if (auto parallel = dyn_cast<scf::ParallelOp>(op))
      replaceParallel(rewriter, parallel);
  });
  forEach([](RewriterBase &rewriter, Operation *op) {
    if (auto generate = dyn_cast<tensor::GenerateOp>(op))
      (void)linalg::rewriteInDestinationPassingStyle(rewriter, generate);
    else if (auto pad = dyn_cast<tensor::PadOp>(op);
             pad && !padsWithConstant(pad))
      (void)linalg::rewriteInDestinationPassingStyle(rewriter, pad);
    else if (auto gather = dyn_cast<tensor::GatherOp>(op))
      replaceGather(rewriter, gather);
    else if (auto cast = dyn_cast<tensor::BitcastOp>(op))
      replaceBitcast(rewriter, cast);
    else if (auto generic = dyn_cast<linalg::GenericOp>(op))
      (void)raiseConcatenation(rewriter, generic);
    else
      (void)replaceElementwiseByLinalg(op);
  });
}
