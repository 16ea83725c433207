//===- CheckCarriedSizes.cpp - Tensors that grow in a loop ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each tensor that a loop carries has one buffer, as large as it starts. One of
// another size in the next iteration would be written, and read, beside it.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "remat/Dialect/Remat/IR/Branches.h"
#include "remat/Transforms/Utils/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;

/// Checks that `next`, which takes the place of `carried`, has its sizes: where
/// that is not known, in each iteration.
static LogicalResult checkSizes(Value carried, OpOperand &next) {
  auto type = dyn_cast<RankedTensorType>(carried.getType());
  Value same = remat::getSameSizes(next.get());
  if (!type || same == carried)
    return success();
  Location loc = next.get().getLoc();
  OpBuilder builder(next.getOwner());
  for (int64_t dim : llvm::seq(type.getRank())) {
    if (!type.isDynamicDim(dim))
      continue;
    FailureOr<bool> areEqual =
        ValueBoundsConstraintSet::areEqual({same, dim}, {carried, dim});
    if (succeeded(areEqual) && *areEqual)
      continue;
    if (succeeded(areEqual))
      return emitError(loc)
             << "this tensor takes the place of another one in the loop, whose "
                "dimension "
             << dim
             << " has another size; carry one of the largest size, and mask "
                "what is not used";
    Value isSame = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq,
        tensor::DimOp::create(builder, loc, next.get(), dim),
        tensor::DimOp::create(builder, loc, carried, dim));
    std::optional<std::string> where = remat::describeFilePosition(loc);
    cf::AssertOp::create(builder, loc, isSame,
                         (where ? *where + ": " : "") +
                             "the size of dimension " + std::to_string(dim) +
                             " changes in the loop");
  }
  return success();
}

/// Returns the value of the body of `loop` that is carried at `index`; null if
/// there is none.
static Value getCarried(LoopLikeOpInterface loop, unsigned index) {
  Value carried = loop.getRegionIterArgs()[index];
  auto whileLoop = dyn_cast<scf::WhileOp>(loop.getOperation());
  if (!whileLoop)
    return carried;
  for (auto [passed, argument] : llvm::zip_equal(
           whileLoop.getConditionOp().getArgs(), whileLoop.getAfterArguments()))
    if (passed == carried)
      return argument;
  return {};
}

static WalkResult checkLoop(Operation *op) {
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  auto yielded = loop ? loop.getYieldedValuesMutable() : std::nullopt;
  if (!yielded || op->getParentOfType<linalg::LinalgOp>())
    return WalkResult::advance();
  for (auto [index, next] : llvm::enumerate(*yielded))
    if (Value carried = getCarried(loop, index);
        carried && failed(checkSizes(carried, next)))
      return WalkResult::interrupt();
  return WalkResult::advance();
}

LogicalResult mlir::remat::checkCarriedSizes(Operation *root) {
  return failure(root->walk(checkLoop).wasInterrupted());
}
