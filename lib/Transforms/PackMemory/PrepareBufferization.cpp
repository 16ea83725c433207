//===- PrepareBufferization.cpp - What one-shot bufferization needs -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without it bufferization rejects loops that yield a tensor in a new buffer,
// and writes into arguments that belong to the caller.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/PackMemory/Passes.h"

#include "BranchBuffers.h"
#include "Buffers.h"
#include "CarryInPlace.h"
#include "ForwardResults.h"
#include "SplitAccumulations.h"
#include "SplitReads.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/Unreachable.h"
#include "remat/Workarounds/ReplaceSwitch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferUtils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::remat {
#define GEN_PASS_DEF_PREPAREBUFFERIZATIONPASS
#include "remat/Transforms/PackMemory/Passes.h.inc"

/// The translation to LLVM reads numbers from resources, but not pairs of them.
static void readResource(arith::ConstantOp op) {
  auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue());
  if (!resource || resource.getElementType().isIntOrIndexOrFloat())
    return;
  AsmResourceBlob *blob = resource.getRawHandle().getBlob();
  bool isSplat = false;
  // A missing resource is an error of remat-check-model.
  if (blob && DenseElementsAttr::isValidRawBuffer(resource.getType(),
                                                  blob->getData(), isSplat))
    op.setValueAttr(DenseElementsAttr::getFromRawBuffer(resource.getType(),
                                                        blob->getData()));
}

/// Replaces a select by the other tensor where one of two is undefined: that
/// may have any contents, and the buffer must not depend on a condition.
static void foldUndefined(arith::SelectOp op) {
  for (auto [value, other] : {std::pair(op.getTrueValue(), op.getFalseValue()),
                              std::pair(op.getFalseValue(), op.getTrueValue())})
    if (isEmptyTensor(value)) {
      op.replaceAllUsesWith(other);
      return op.erase();
    }
}

/// Makes kernels after `op` that read its source read its destination instead.
/// If the source may be computed in the destination, one-shot bufferization
/// takes a read of the source for a conflict between the two.
static void readFromDestination(bufferization::MaterializeInDestinationOp op) {
  if (op->getNumResults() == 0 || !op.getSource().getDefiningOp())
    return;
  op.getSource().replaceUsesWithIf(op->getResult(0), [&](OpOperand &use) {
    auto kernel = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
    Operation *user =
        kernel && kernel.isDpsInput(&use)
            ? op->getBlock()->findAncestorOpInBlock(*kernel.getOperation())
            : nullptr;
    return user && op->isBeforeInBlock(user);
  });
}

/// Returns true if `value` is an argument that the function writes at its end,
/// such as a model state.
static bool isArgumentWrittenBack(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp()) &&
         llvm::any_of(argument.getUses(), [](OpOperand &use) {
           auto write = dyn_cast<bufferization::MaterializeInDestinationOp>(
               use.getOwner());
           return write && write.getDest() == use.get();
         });
}

/// Returns true if an operation after `loop`, in its block, reads `value`,
/// other than as a destination.
static bool isReadBehind(Value value, LoopLikeOpInterface loop) {
  return llvm::any_of(value.getUses(), [&](OpOperand &use) {
    auto write =
        dyn_cast<bufferization::MaterializeInDestinationOp>(use.getOwner());
    if (write &&
        write.getDestMutable().getOperandNumber() == use.getOperandNumber())
      return false;
    Operation *user = loop->getBlock()->findAncestorOpInBlock(*use.getOwner());
    return user && loop->isBeforeInBlock(user);
  });
}

/// Returns true if `value` is carried by a loop whose condition reads it, too:
/// that is before the body runs, which one-shot bufferization does not see.
static bool isReadByCondition(Value value, LoopLikeOpInterface loop) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto around = argument
                    ? dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp())
                    : scf::WhileOp();
  if (!isa<scf::WhileOp>(loop) || !around ||
      argument.getOwner() != around.getAfterBody())
    return false;
  scf::ConditionOp condition = around.getConditionOp();
  Value passed = condition.getArgs()[argument.getArgNumber()];
  return llvm::any_of(passed.getUsers(),
                      [&](Operation *user) { return user != condition; });
}

/// Makes `loop` start from copies of tensors that it must not update: an
/// argument that is to be written at the end only, a tensor that the loop or
/// operations after it read, and one that an `scf.while` starts from twice.
/// One-shot bufferization rejects these.
static void startFromCopies(LoopLikeOpInterface loop) {
  OpBuilder builder(loop);
  ValueRange inits = loop.getInits();
  for (OpOperand &init : loop.getInitsMutable()) {
    inits = inits.drop_front();
    Value value = init.get();
    auto type = dyn_cast<RankedTensorType>(value.getType());
    bool isReadInside = llvm::any_of(value.getUsers(), [&](Operation *user) {
      return loop->isProperAncestor(user);
    });
    bool isTakenAgain =
        isa<scf::WhileOp>(loop) && llvm::is_contained(inits, value);
    if (type &&
        (isReadInside || isTakenAgain || isReadBehind(value, loop) ||
         isReadByCondition(value, loop) || isArgumentWrittenBack(value)))
      init.set(bufferization::AllocTensorOp::create(
          builder, loop.getLoc(), type, /*dynamicSizes=*/ValueRange(),
          /*copy=*/value));
  }
}

/// Erases a barrier: no pass may merge operations on tensors from here on, and
/// on memory none can. A thousand recomputes of a layer with shared weights
/// would otherwise give these a thousand aliases, each of which bufferization
/// compares with all uses of the others.
static void dropBarrier(BarrierOp op) {
  op.replaceAllUsesWith(op.getValues());
  op.erase();
}

/// Returns true if `value` is computed in a buffer of its own.
static bool startsEmpty(Value value) {
  while (auto op = value.getDefiningOp<DestinationStyleOpInterface>())
    value = op.getTiedOpOperand(cast<OpResult>(value))->get();
  return isEmptyTensor(value);
}

/// Returns true if `op` is the last operation that reads `value`, and reads it
/// through `map` only.
static bool isLastReader(linalg::LinalgOp op, Value value, AffineMap map) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    auto user = dyn_cast<linalg::LinalgOp>(use.getOwner());
    if (!user || user->getBlock() != op->getBlock() || !user.isDpsInput(&use))
      return false;
    return user == op ? user.getMatchingIndexingMap(&use) == map
                      : user->isBeforeInBlock(op);
  });
}

/// Computes results in the buffers of dying operands. Packing does so in the
/// arena, but results of the function are not there.
static void computeResultsInPlace(func::ReturnOp op) {
  for (Value value : op.getOperands()) {
    while (isa_and_nonnull<tensor::CastOp, tensor::CollapseShapeOp,
                           tensor::ExpandShapeOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    auto kernel = value.getDefiningOp<linalg::LinalgOp>();
    if (!kernel || kernel->getBlock() != op->getBlock())
      continue;
    OpOperand *init =
        kernel.getDpsInitOperand(cast<OpResult>(value).getResultNumber());
    AffineMap map = kernel.getMatchingIndexingMap(init);
    if (!map.isPermutation() || kernel.payloadUsesValueFromOperand(init) ||
        !isEmptyTensor(init->get()))
      continue;
    for (OpOperand *input : kernel.getDpsInputOperands()) {
      Value operand = input->get();
      Operation *producer = operand.getDefiningOp();
      if (operand.getType() != value.getType() || !producer ||
          producer->getBlock() != kernel->getBlock() || !startsEmpty(operand) ||
          !isLastReader(kernel, operand, map))
        continue;
      init->set(operand);
      break;
    }
  }
}

/// One-shot bufferization takes arguments for writable unless told otherwise,
/// and forgets what it is told in a time that grows with the square of the
/// number of arguments: those that are writable say nothing.
static void protectArguments(func::FuncOp function) {
  constexpr StringLiteral writable =
      bufferization::BufferizationDialect::kWritableAttrName;
  Builder builder(function.getContext());
  SmallVector<DictionaryAttr> attributes;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    NamedAttrList list(function.getArgAttrDict(i));
    if (isa<TensorType>(function.getArgument(i).getType())) {
      if (auto isWritable = dyn_cast_if_present<BoolAttr>(list.get(writable));
          isWritable && isWritable.getValue())
        list.erase(writable);
      else
        list.set(writable, builder.getBoolAttr(false));
    }
    attributes.push_back(list.getDictionary(function.getContext()));
  }
  function.setAllArgAttrs(attributes);
}

/// Returns buffers of tensors, as bufferization would, from a function that
/// nothing calls: of each tensor that a function returns, bufferization asks
/// for the callers' sake which of its arguments it is, and a step has thousands
/// of both.
static void returnBuffers(func::FuncOp function) {
  for (auto op : function.getOps<func::ReturnOp>()) {
    OpBuilder builder(op);
    for (OpOperand &operand : op->getOpOperands())
      if (isa<RankedTensorType>(operand.get().getType()))
        operand.set(createBuffer(builder, op.getLoc(), operand.get(),
                                 /*readOnly=*/true));
  }
  SmallVector<Type> results;
  for (Type type : function.getResultTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    results.push_back(tensor ? getBufferType(tensor) : type);
  }
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getArgumentTypes(), results));
}

/// Makes the globals of constants, which bufferization would make in the order
/// in which it takes functions: another one in each run.
static void createGlobals(ModuleOp module) {
  SymbolTableCollection symbolTables;
  uint64_t alignment = bufferization::BufferizationOptions().bufferAlignment;
  module.walk([&](arith::ConstantOp op) {
    if (isa<RankedTensorType>(op.getType()))
      (void)bufferization::getGlobalFor(op, symbolTables, alignment);
  });
}

namespace {
struct PrepareBufferizationPass
    : public impl::PrepareBufferizationPassBase<PrepareBufferizationPass> {
  void runOnOperation() override {
    eraseUnreachable(getOperation());
    getOperation().walk([](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case(readResource)
          .Case(dropBarrier)
          .Case(replaceSwitch)
          .Case(readFromDestination)
          .Case(foldUndefined);
    });
    forwardResults(getOperation());
    shareBranchBuffers(getOperation());
    DenseSet<StringAttr> called;
    getOperation().walk([&](Operation *op) {
      if (auto call = dyn_cast<func::CallOp>(op))
        called.insert(call.getCalleeAttr().getAttr());
      else if (auto loop = dyn_cast<scf::ForOp>(op)) {
        startFromCopies(loop);
        carryInPlace(loop);
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        startFromCopies(loop);
        carryInPlace(loop);
      }
    });
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      bool isCalled = called.contains(function.getSymNameAttr());
      for (auto op : function.getOps<func::ReturnOp>())
        computeResultsInPlace(op);
      splitAccumulations(function, isCalled);
      splitReads(function);
      if (!function.isDeclaration() && !isCalled) {
        protectArguments(function);
        returnBuffers(function);
      }
    }
    createGlobals(getOperation());
  }
};

} // namespace
} // namespace mlir::remat
