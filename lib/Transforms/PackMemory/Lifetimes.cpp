//===- Lifetimes.cpp - When each buffer of a function is alive ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Program order is the clock: every operation on the way through structured
// control flow has a position, loops a range of them.
//===----------------------------------------------------------------------===//

#include "Lifetimes.h"

#include "Buffers.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::remat;

/// Returns true if the operations in `op` run one after the other. Those in
/// other operations with regions count as one with it.
static bool isSequential(Operation *op) {
  return isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::IndexSwitchOp,
             scf::ExecuteRegionOp, func::FuncOp>(op);
}

/// Returns true if `op` only forwards buffers.
static bool isTransparent(Operation *op) {
  return isSequential(op) || isa<ViewLikeOpInterface>(op) ||
         op->hasTrait<OpTrait::IsTerminator>();
}

/// Returns true if `op` reads or writes a buffer.
static bool touchesMemory(Operation *op) {
  return !isTransparent(op) &&
         llvm::any_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>);
}

/// Returns true if the result of `op` gives other operations access to a buffer
/// that the analysis does not see.
static bool leaksAddress(Operation *op) {
  return isa<memref::ExtractAlignedPointerAsIndexOp>(op);
}

/// The outermost operation that has a position of its own and holds `op`.
static Operation *getPositioned(Operation *op) {
  Operation *positioned = op;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    if (isa<func::FuncOp>(parent))
      return positioned;
    if (!isSequential(parent))
      positioned = parent;
  }
  return positioned;
}

int64_t remat::getByteSize(Type type, Operation *scope) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || !memref.hasStaticShape() || !memref.getLayout().isIdentity())
    return -1;
  DataLayout layout = DataLayout::closest(scope);
  return multiplySizes(
      memref.getShape(),
      static_cast<int64_t>(layout.getTypeSize(memref.getElementType())));
}

Lifetimes::Lifetimes(func::FuncOp function) {
  number(function);
  function.walk([&](memref::AllocOp alloc) {
    Buffer buffer;
    buffer.alloc = alloc;
    buffer.size = getByteSize(alloc.getType(), function);
    buffers.push_back(std::move(buffer));
  });
  BufferViewFlowAnalysis views(function);
  for (unsigned index = 0; index < buffers.size(); ++index)
    addUses(index, views);
  if (function.isPrivate())
    for (BlockArgument argument : function.getArguments())
      argumentUses.push_back(findUse(argument, views));
}

ArgumentUse Lifetimes::findUse(BlockArgument argument,
                               BufferViewFlowAnalysis &views) const {
  ArgumentUse use;
  if (!isa<BaseMemRefType>(argument.getType()))
    return use;
  for (Value view : views.resolve(argument)) {
    if (!isa<BaseMemRefType>(view.getType()))
      continue;
    for (OpOperand &operand : view.getUses()) {
      Operation *user = operand.getOwner();
      use.escapes |= isa<func::ReturnOp>(user) || leaksAddress(user);
      if (isViewed(operand))
        continue;
      // A buffer that is used in one iteration may be needed in the next.
      Operation *positioned = getPositioned(user);
      for (Operation *op = positioned; op; op = op->getParentOp())
        if (isa<LoopLikeOpInterface>(op))
          positioned = op;
      auto [first, last] = getPositions(positioned);
      use.lifetime.cover(first, last);
    }
  }
  return use;
}

void Lifetimes::number(Operation *op) {
  int64_t first = next++;
  // Constants and scalars of the backward stand at the top of the function.
  if (remat::getPhase(op) == kBackwardPhase && touchesMemory(op))
    firstBackward = std::min(firstBackward, first);
  if (isSequential(op))
    for (Region &region : op->getRegions())
      for (Operation &nested : region.getOps())
        number(&nested);
  positions[op] = {first, next - 1};
}

int Lifetimes::getBuffer(Value value) const {
  auto it = bufferOf.find(value);
  return it == bufferOf.end() ? noBuffer : it->second;
}

Phase Lifetimes::getPhase(Operation *op) const {
  for (Operation *at = op; at; at = at->getParentOp())
    if (StringRef phase = remat::getPhase(at); !phase.empty())
      return llvm::StringSwitch<Phase>(phase)
          .Case(kBackwardPhase, Phase::backward)
          .Case(kRecomputePhase, Phase::recompute)
          .Case(kUpdatePhase, Phase::update)
          .Default(Phase::forward);
  // Bufferization makes copies without attributes, and scheduling moves forward
  // operations that only the backward reads after its beginning.
  if (positions.lookup(getPositioned(op)).first > firstBackward)
    return Phase::backward;
  return Phase::forward;
}

void Lifetimes::addUses(unsigned index, BufferViewFlowAnalysis &views) {
  for (Value view : views.resolve(buffers[index].alloc)) {
    // To the analysis all that a call returns is made of all that it gets.
    if (!isa<BaseMemRefType>(view.getType()))
      continue;
    auto [it, inserted] = bufferOf.try_emplace(view, index);
    if (!inserted)
      it->second = severalBuffers;
    for (OpOperand &use : view.getUses())
      addUse(index, use);
  }
}

void Lifetimes::addUse(unsigned index, OpOperand &use) {
  Buffer &buffer = buffers[index];
  Operation *user = use.getOwner();
  if (auto dealloc = dyn_cast<memref::DeallocOp>(user)) {
    buffer.deallocs.push_back(dealloc);
    return;
  }
  if (isa<func::ReturnOp>(user)) {
    buffer.setEscape("is returned");
    return;
  }
  Operation *positioned = getPositioned(user);
  if (positioned != user)
    captures.insert({positioned, index});
  if (!isTransparent(user))
    buffer.phases |= 1 << unsigned(getPhase(user));
  if (getPositioned(buffer.alloc) != buffer.alloc) {
    buffer.setEscape("is allocated inside an operation whose parts may run in "
                     "any order");
    return;
  }

  // Blocks around the allocation, up to the innermost loop: beyond it there is
  // one buffer per iteration.
  Operation *at = positioned;
  auto [first, last] = getPositions(at);
  Block *home = buffer.alloc->getBlock();
  while (true) {
    // Lift the use to the level of `home`, if it is in there.
    Operation *ancestor = home->findAncestorOpInBlock(*positioned);
    if (ancestor) {
      for (Operation *op = positioned; op != ancestor->getParentOp();
           op = op->getParentOp())
        if (isa<LoopLikeOpInterface>(op))
          std::tie(first, last) = getPositions(op);
      at = ancestor;
      break;
    }
    Operation *parent = home->getParentOp();
    if (isa<LoopLikeOpInterface>(parent)) {
      buffer.setEscape("outlives the iteration of the loop that allocates it");
      return;
    }
    home = parent->getBlock();
  }
  if (leaksAddress(user)) {
    at = home->getTerminator();
    last = getPositions(at).second;
  }
  if (home == buffer.alloc->getBlock()) {
    if (!buffer.firstUser || at->isBeforeInBlock(buffer.firstUser))
      buffer.firstUser = at;
    if (!buffer.lastUser || buffer.lastUser->isBeforeInBlock(at))
      buffer.lastUser = at;
  } else {
    buffer.leavesBlock = true;
  }
  // A view is no access yet.
  if (!isViewed(use))
    buffer.lifetime.cover(first, last);
}
