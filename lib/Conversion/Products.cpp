//===- Products.cpp - What goes to the library ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One definition of a product: kernels and library calls must not disagree.
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/RoundedProduct.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;

static bool hasPlainProductBody(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  Type type = body->getArgument(0).getType();
  return body->getNumArguments() == 3 &&
         llvm::all_equal(body->getArgumentTypes()) &&
         (type.isF32() || type.isF64()) && llvm::hasNItems(*body, 3) &&
         isa<arith::MulFOp>(body->front()) &&
         isa<arith::AddFOp>(*++body->begin());
}

static bool isNarrow(Type type) { return type.isBF16() || type.isF16(); }

static bool hasNarrowProductTypes(linalg::LinalgOp op, bool alike) {
  Block *body = op.getBlock();
  Type a = body->getArgument(0).getType(), b = body->getArgument(1).getType();
  Type result = body->getArgument(2).getType();
  if (a != b && (alike || (!a.isF32() && !b.isF32())))
    return false;
  Type narrow = isNarrow(a) ? a : b;
  return isNarrow(narrow) &&
         (remat::isRoundedProduct(op) ? result == narrow : result.isF32());
}

bool remat::isLibraryProduct(linalg::LinalgOp op, bool alike) {
  if (isProduct(op) && linalg::isaContractionOpInterface(op) &&
      hasPlainProductBody(op))
    return true;
  return isProductOfExtended(op) && hasNarrowProductTypes(op, alike);
}

/// The buffer that a value is part of. What `memref.view` returns is a buffer
/// of its own: a part of the arena that nothing else uses while it is alive.
static Value findBuffer(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<memref::ViewOp>(view))
      break;
    memref = view.getViewSource();
  }
  return memref;
}

static bool touches(Operation *op, Value buffer) {
  return op
      ->walk([&](Operation *inner) {
        // A view touches nothing; whoever uses it is seen on its own.
        if (isa<ViewLikeOpInterface>(inner))
          return WalkResult::advance();
        bool isUsed = llvm::any_of(inner->getOperands(), [&](Value operand) {
          return isa<BaseMemRefType>(operand.getType()) &&
                 findBuffer(operand) == buffer;
        });
        return isUsed ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns true if the body of `op` reads the buffer by itself.
static bool touchesInBody(Operation *op, Value buffer) {
  return llvm::any_of(op->getRegions(), [&](Region &region) {
    return llvm::any_of(region.getOps(), [&](Operation &inner) {
      return touches(&inner, buffer);
    });
  });
}

linalg::FillOp remat::findFill(DestinationStyleOpInterface op,
                               unsigned number) {
  Value output = op.getDpsInits()[number];
  Value buffer = findBuffer(output);
  for (OpOperand &operand : op->getOpOperands())
    if (&operand != op.getDpsInitOperand(number) &&
        findBuffer(operand.get()) == buffer)
      return {};
  if (touchesInBody(op, buffer))
    return {};
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode()) {
    if (auto fill = dyn_cast<linalg::FillOp>(before))
      if (fill.getDpsInits()[0] == output)
        return fill;
    if (touches(before, buffer))
      return {};
  }
  return {};
}

linalg::FillOp remat::findZeroFill(linalg::LinalgOp op) {
  linalg::FillOp fill = findFill(op, 0);
  bool isZero = fill && matchPattern(fill.getInputs()[0], m_PosZeroFloat());
  return isZero ? fill : linalg::FillOp();
}

bool remat::isContiguous(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset, expected = 1;
  if (type.getLayout().isIdentity())
    return true;
  if (!type.hasStaticShape() ||
      failed(type.getStridesAndOffset(strides, offset)))
    return false;
  for (auto [size, stride] :
       llvm::reverse(llvm::zip_equal(type.getShape(), strides))) {
    if (size == 0)
      return true;
    if (size != 1 && stride != expected)
      return false;
    expected *= size;
  }
  return true;
}

Value remat::allocateDense(OpBuilder &builder, Location loc, Value value,
                           Type elementType) {
  auto type = cast<MemRefType>(value.getType());
  SmallVector<Value> sizes;
  for (int64_t dim : llvm::seq(type.getRank()))
    if (type.isDynamicDim(dim))
      sizes.push_back(memref::DimOp::create(builder, loc, value, dim));
  return memref::AllocOp::create(
      builder, loc,
      MemRefType::get(type.getShape(),
                      elementType ? elementType : type.getElementType()),
      sizes);
}
