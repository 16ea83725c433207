//===- Elementwise.cpp - Tensor operations as kernels ---------------------===//
//
// arith and math on whole tensors would each need a rule that saves operands;
// as structured operations they share the one that recomputes in registers.
//
//===----------------------------------------------------------------------===//

#include "CallAdjoints.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

/// Whether `op` is an operation of arith or math on tensors of one shape, and
/// perhaps scalars.
static bool isElementwiseOnTensors(Operation *op) {
  if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1)
    return false;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && llvm::all_of(op->getOperandTypes(), [&](Type operand) {
           auto tensor = dyn_cast<RankedTensorType>(operand);
           return tensor ? tensor.getRank() == type.getRank()
                         : operand.isIntOrIndexOrFloat();
         });
}

void mlir::remat::replaceElementwiseByLinalg(func::FuncOp joint) {
  joint.walk([](Operation *op) {
    if (!isElementwiseOnTensors(op))
      return;
    OpBuilder builder(op);
    auto type = cast<RankedTensorType>(op->getResult(0).getType());
    AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
    AffineMap constant =
        AffineMap::get(type.getRank(), 0, {}, builder.getContext());
    SmallVector<AffineMap> maps;
    Value shaped;
    for (Value operand : op->getOperands()) {
      bool isTensor = isa<RankedTensorType>(operand.getType());
      maps.push_back(isTensor ? identity : constant);
      if (isTensor && !shaped)
        shaped = operand;
    }
    maps.push_back(identity);
    Value empty = tensor::EmptyOp::create(
        builder, op->getLoc(),
        tensor::getMixedSizes(builder, op->getLoc(), shaped),
        type.getElementType(), type.getEncoding());
    SmallVector<utils::IteratorType> iterators(type.getRank(),
                                               utils::IteratorType::parallel);
    auto generic = linalg::GenericOp::create(
        builder, op->getLoc(), type, op->getOperands(), empty, maps, iterators,
        [&](OpBuilder &nested, Location loc, ValueRange args) {
          Operation *scalar = nested.create(
              loc, op->getName().getIdentifier(), args.drop_back(),
              type.getElementType(), op->getAttrs());
          linalg::YieldOp::create(nested, loc, scalar->getResults());
        });
    op->replaceAllUsesWith(generic);
    op->erase();
  });
}
