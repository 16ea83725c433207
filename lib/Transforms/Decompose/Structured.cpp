//===- Structured.cpp - Elementwise ops on tensors as kernels -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of arith and math on whole tensors would need rules that save
// operands; as structured operations they share the one rule that recomputes in
// registers, and they fuse.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Decompose/Structured.h"

#include "Concatenation.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Decompose/DecomposableOpInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

Operation *mlir::remat::replaceElementwiseByLinalg(Operation *op) {
  // Operations of other dialects may have derivatives on tensors.
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect,
                       complex::ComplexDialect>(op->getDialect()) ||
      !isElementwiseOnTensors(op))
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

void mlir::remat::replaceByStructured(Operation *root) {
  decomposeIn(root);
  // Collected first, as the loop below creates kernels.
  SmallVector<Operation *> ops;
  root->walk([&](Operation *op) {
    if (op != root)
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    PhaseListener listener(getPhase(op));
    IRRewriter rewriter(op, &listener);
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      (void)raiseConcatenation(rewriter, generic);
    else
      (void)replaceElementwiseByLinalg(op);
  }
}
