//===- BranchBuffers.cpp - One buffer for each result of a branch ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A buffer that is allocated in a branch and outlives it has a counterpart in
// the other one: memory is reserved for both, and a buffer of dynamic size is
// not freed at all.
//===----------------------------------------------------------------------===//

#include "BranchBuffers.h"

#include "InPlace.h"

#include "remat/Dialect/Remat/IR/Branches.h"
#include "remat/Transforms/Schedule/Destination.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::remat;

static OpOperand &getYielded(Region &region, unsigned result) {
  return region.front().getTerminator()->getOpOperand(result);
}

//===----------------------------------------------------------------------===//
// Results that take turns
//===----------------------------------------------------------------------===//

/// Returns true if each branch defines at most one of the two results.
static bool takeTurns(scf::IfOp op, unsigned first, unsigned second) {
  return op.getResult(first).getType() == op.getResult(second).getType() &&
         llvm::all_of(op->getRegions(), [&](Region &region) {
           return isUndefined(getYielded(region, first).get()) ||
                  isUndefined(getYielded(region, second).get());
         });
}

/// Residuals of one branch and of the other need not both have memory.
static void mergeResults(scf::IfOp op) {
  llvm::BitVector merged(op.getNumResults());
  for (unsigned first = 0; first < op.getNumResults(); ++first)
    for (unsigned second = first + 1; second < op.getNumResults(); ++second) {
      if (merged.test(first) || merged.test(second) ||
          !takeTurns(op, first, second))
        continue;
      for (Region &region : op->getRegions())
        if (isUndefined(getYielded(region, first).get()))
          getYielded(region, first).set(getYielded(region, second).get());
      op.getResult(second).replaceAllUsesWith(op.getResult(first));
      merged.set(second);
    }
  if (merged.any())
    eraseBranchResults(op, merged);
}

//===----------------------------------------------------------------------===//
// Destinations
//===----------------------------------------------------------------------===//

static Value getOuterBuffer(Value value, Operation *op);

/// Returns the tensor from outside of `branch` in whose buffer all its regions
/// leave result `index`, or null.
static Value getCommonBuffer(Operation *branch, unsigned index) {
  Value common;
  for (Region &region : branch->getRegions()) {
    Value buffer = getOuterBuffer(getYielded(region, index).get(), branch);
    if (!buffer || (common && common != buffer))
      return {};
    common = buffer;
  }
  return common;
}

/// Returns true if `result` is of a loop that has the same initial value for
/// another one: only one of them can be in its buffer.
static bool startsLikeAnother(OpResult result) {
  auto loop = dyn_cast<LoopLikeOpInterface>(result.getOwner());
  OpOperand *start = loop ? loop.getTiedLoopInit(result) : nullptr;
  return start && llvm::count(loop.getInits(), start->get()) > 1;
}

/// Returns the tensor from outside of `op` whose buffer `value` takes over;
/// null if it is in a buffer of its own.
static Value getOuterBuffer(Value value, Operation *op) {
  while (isDefinedIn(value, op)) {
    auto result = dyn_cast<OpResult>(value);
    if (!result || startsLikeAnother(result))
      return {};
    value = isBranch(result.getOwner())
                ? getCommonBuffer(result.getOwner(), result.getResultNumber())
                : getBufferSource(result);
    if (!value)
      return {};
  }
  return isEmptyTensor(value) ? Value() : value;
}

/// Returns true if `user`, outside of `op`, may run after it.
static bool mayRunAfter(Operation *user, Operation *op) {
  for (Operation *at = op; at; at = at->getParentOp()) {
    Operation *other = at->getBlock()->findAncestorOpInBlock(*user);
    if (other)
      return other == at ? !isBranch(at) : at->isBeforeInBlock(other);
    if (isa<LoopLikeOpInterface>(at->getParentOp()))
      return true;
  }
  return true;
}

/// Returns the tensor from outside of `op` in whose buffer both branches leave
/// the result anyway, if it has no other reads afterwards; else null.
static Value getUpdated(scf::IfOp op, unsigned index) {
  Value common = getCommonBuffer(op, index);
  if (!common)
    return {};
  auto argument = dyn_cast<BlockArgument>(common);
  bool isCallers =
      argument && isa<FunctionOpInterface>(argument.getOwner()->getParentOp());
  bool isRead = llvm::any_of(common.getUsers(), [&](Operation *user) {
    return !op->isAncestor(user) && mayRunAfter(user, op);
  });
  return isCallers || isRead ? Value() : common;
}

/// Has a region that cannot compute result `index` in `buffer` copy it there.
static void update(scf::IfOp op, unsigned index, Value buffer) {
  for (Region &region : op->getRegions()) {
    OpOperand &operand = getYielded(region, index);
    Value value = operand.get();
    if (value.getType() != buffer.getType() ||
        isUpdateOf(value, buffer, &region.front()))
      continue;
    OpBuilder builder(operand.getOwner());
    operand.set(bufferization::MaterializeInDestinationOp::create(
                    builder, value.getLoc(), value, buffer)
                    ->getResult(0));
  }
}

/// Not a `tensor.empty`: that would be eliminated in favour of a slice of what
/// the result is inserted into, which bufferization then takes for a conflict.
static Value createDestination(scf::IfOp op, unsigned index) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getResult(index).getType());
  auto toValue = [&](OpFoldResult size) {
    return getValueOrCreateConstantIndexOp(builder, loc, size);
  };
  // The regions may make tensors of different sizes.
  std::optional<SmallVector<OpFoldResult>> sizes;
  for (Region &region : op->getRegions()) {
    Value yielded = getYielded(region, index).get();
    if (isUndefined(yielded))
      continue;
    SmallVector<OpFoldResult> own =
        isDefinedIn(yielded, op) ? getSizesBefore(builder, op, yielded)
                                 : tensor::getMixedSizes(builder, loc, yielded);
    if (llvm::is_contained(own, OpFoldResult()))
      return {};
    if (!sizes)
      sizes = own;
    for (auto [dim, size] : llvm::enumerate(*sizes))
      if (type.isDynamicDim(dim) && size != own[dim])
        size = arith::SelectOp::create(builder, loc, op.getCondition(),
                                       toValue(size), toValue(own[dim]))
                   .getResult();
  }
  if (!sizes)
    return {};
  SmallVector<Value> dynamicSizes;
  for (auto [dim, size] : llvm::enumerate(*sizes))
    if (type.isDynamicDim(dim))
      dynamicSizes.push_back(toValue(size));
  return bufferization::AllocTensorOp::create(builder, loc, type, dynamicSizes);
}

/// Returns true if `value`, which the inner branch `op` leaves in
/// `destination`, is or updates a value from outside that is computed after
/// `destination` and has other users. The elimination of empty tensors would
/// compute that there, though another region of `op` overwrites it before those
/// uses: bufferization cannot keep both then.
static bool needsOwnBuffer(Value value, Value destination, scf::IfOp op) {
  while (value && isDefinedIn(value, op)) {
    auto result = dyn_cast<OpResult>(value);
    value = result ? getBufferSource(result) : Value();
  }
  Operation *start = destination.getDefiningOp();
  Operation *definition = value ? value.getDefiningOp() : nullptr;
  if (!definition)
    return false;
  Operation *position = start->getBlock()->findAncestorOpInBlock(*definition);
  if (!position || position->isBeforeInBlock(start))
    return false;
  while (auto result = dyn_cast_or_null<OpResult>(value)) {
    if (!result.hasOneUse())
      return !isEmptyTensor(result);
    value = getBufferSource(result);
  }
  return false;
}

/// Copies by a kernel, since the elimination would take a `linalg.copy` for an
/// insertion, too.
static Value copyInto(OpBuilder &builder, Value value, Value destination) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  SmallVector<AffineMap> maps(2, builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto yieldInput = [](OpBuilder &body, Location loc, ValueRange scalars) {
    linalg::YieldOp::create(body, loc, scalars.front());
  };
  return linalg::GenericOp::create(builder, value.getLoc(), value.getType(),
                                   value, destination, maps, iterators,
                                   yieldInput)
      .getResult(0);
}

/// Returns the operation before which to write `value` to its destination, at
/// the `end` of a region: before newer values.
static Operation *getPosition(Value value, Operation *end) {
  Operation *position = end;
  while (auto other =
             dyn_cast_or_null<bufferization::MaterializeInDestinationOp>(
                 position->getPrevNode())) {
    if (!isOlder(value, other.getSource(), end->getBlock()))
      break;
    position = other;
  }
  return position;
}

/// Puts result `index` into `destination`, also in an inner branch that
/// computes it, whose result is then `done`.
static void fill(scf::IfOp op, unsigned index, Value destination,
                 DenseSet<Value> &done) {
  done.insert(op.getResult(index));
  for (Region &region : op->getRegions()) {
    OpOperand &operand = getYielded(region, index);
    if (isUndefined(operand.get())) {
      operand.set(destination);
      continue;
    }
    auto inner = operand.get().getDefiningOp<scf::IfOp>();
    if (inner && inner->getParentRegion() == &region &&
        operand.get().hasOneUse()) {
      fill(inner, cast<OpResult>(operand.get()).getResultNumber(), destination,
           done);
      continue;
    }
    Value value = operand.get();
    OpBuilder builder(getPosition(value, operand.getOwner()));
    if (needsOwnBuffer(value, destination, op))
      value = copyInto(builder, value, destination);
    operand.set(bufferization::MaterializeInDestinationOp::create(
                    builder, value.getLoc(), value, destination)
                    ->getResult(0));
  }
}

void mlir::remat::shareBranchBuffers(ModuleOp module) {
  module.walk(mergeResults);
  SmallVector<scf::IfOp> branches;
  module.walk<WalkOrder::PreOrder>(
      [&](scf::IfOp op) { branches.push_back(op); });
  DenseSet<Value> done;
  for (scf::IfOp op : branches) {
    // A sum may be a result both before and after its last addition.
    DenseSet<Value> updated;
    for (OpResult result : op->getResults()) {
      unsigned index = result.getResultNumber();
      if (!isa<RankedTensorType>(result.getType()) || done.contains(result))
        continue;
      Value buffer = getUpdated(op, index);
      if (buffer && updated.insert(buffer).second) {
        update(op, index, buffer);
        continue;
      }
      Value destination = createDestination(op, index);
      if (destination)
        fill(op, index, destination, done);
    }
  }
}
