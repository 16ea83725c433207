//===- SplitAccumulations.cpp - Long chains in pieces ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One-shot bufferization compares all reads with all writes of values that
// share a buffer, once for each of them, and follows each back to where it is
// defined. Fifty operations that compute in one another's results (the gradient
// of a weight that many layers share, the cotangent that passes many skip
// connections, a tensor that is written slice by slice) would take half a
// minute, a thousand of them days.
//===----------------------------------------------------------------------===//

#include "SplitAccumulations.h"

#include "Buffers.h"
#include "CarryInPlace.h"

#include "remat/Transforms/Schedule/Destination.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SubsetOpInterface.h"

using namespace mlir;
using linalg::LinalgOp;

/// Pieces have so many operations; shorter chains stay as they are.
static constexpr unsigned kMaxChain = 8;

/// The same for a chain that ends in an insertion, in whose tensor
/// bufferization could compute all of it: after a cut, it is copied there.
static constexpr unsigned kMaxInsertedChain = 64;

/// Loops that carry more tensors carry their buffers instead: bufferization
/// takes the third power of their number.
static constexpr unsigned kMaxCarried = 32;

/// The number of insertions that are compared to find one that overwrites
/// another.
static constexpr unsigned kMaxLookahead = 32;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Returns the result that takes over the buffer of the operand `use`; null if
/// its owner does not compute in an operand.
static OpResult getTiedResult(OpOperand &use) {
  Operation *op = use.getOwner();
  if (!isa<RankedTensorType>(use.get().getType()))
    return {};
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return use.getOperandNumber() < loop.getNumControlOperands()
               ? OpResult()
               : loop.getTiedLoopResult(&use);
  auto destinationStyle = dyn_cast<DestinationStyleOpInterface>(op);
  return destinationStyle && destinationStyle.hasPureTensorSemantics() &&
                 destinationStyle.isDpsInit(&use)
             ? destinationStyle.getTiedOpResult(&use)
             : OpResult();
}

/// Returns true if `use` inserts its tensor into another one, rather than into
/// a buffer.
static bool isInserted(OpOperand &use) {
  auto insertion = dyn_cast<SubsetInsertionOpInterface>(use.getOwner());
  return insertion && &insertion.getSourceOperand() == &use &&
         isa<TensorType>(insertion.getDestinationOperand().get().getType());
}

/// Returns true if `use`, and all uses of views that it creates, only read, and
/// are before `next` in its block: the buffer is not needed when `next` writes.
/// Views in which the source of `next` is computed are appended to `writes`,
/// unless it is null.
static bool isReadBefore(OpOperand &use, Operation *next,
                         SmallVectorImpl<Operation *> *writes = nullptr) {
  Operation *op = use.getOwner();
  Operation *ancestor = next->getBlock()->findAncestorOpInBlock(*op);
  if (!ancestor || !ancestor->isBeforeInBlock(next))
    return false;
  if (isa<tensor::ExtractOp>(op))
    return true;
  if (auto destinationStyle = dyn_cast<DestinationStyleOpInterface>(op))
    return destinationStyle.isDpsInput(&use);
  bool isView = false;
  for (OpResult result : op->getOpResults()) {
    if (remat::getViewedTensor(result) != use.get())
      continue;
    isView = true;
    for (OpOperand &read : result.getUses()) {
      if (isReadBefore(read, next))
        continue;
      OpResult computed = getTiedResult(read);
      bool isForNext =
          writes && computed && read.getOwner()->getBlock() == op->getBlock() &&
          op->getBlock() == next->getBlock() &&
          read.getOwner()->isBeforeInBlock(next) &&
          llvm::all_of(computed.getUses(), [&](OpOperand &use) {
            return use.getOwner() == next || isReadBefore(use, next);
          });
      if (!isForNext)
        return false;
      writes->push_back(op);
    }
  }
  return isView;
}

/// Returns true if `insertion` is the last user of its source, which may be in
/// its destination by then.
static bool isLastReaderOfSource(SubsetInsertionOpInterface insertion) {
  Value value = insertion.getSourceOperand().get();
  Operation *reader = insertion;
  while (auto result = dyn_cast<OpResult>(value)) {
    for (OpOperand &use : value.getUses())
      if (use.getOwner() != reader && !isReadBefore(use, insertion))
        return false;
    reader = result.getOwner();
    value = remat::getViewedTensor(result);
    if (!value)
      break;
  }
  return true;
}

/// Returns true if one of the next few insertions into the same tensor may
/// overwrite `insertion`.
static bool isSoonOverwritten(SubsetInsertionOpInterface insertion) {
  Value value = insertion.getUpdatedDestination();
  for (unsigned i = 0; i < kMaxLookahead; ++i) {
    SubsetInsertionOpInterface next;
    for (OpOperand &use : value.getUses()) {
      auto user = dyn_cast<SubsetInsertionOpInterface>(use.getOwner());
      if (user && &user.getDestinationOperand() == &use &&
          user->getBlock() == insertion->getBlock())
        next = user;
    }
    if (!next)
      return false;
    // Both are in the buffer of the chain.
    auto areEquivalent = [](Value, Value) { return true; };
    if (!cast<SubsetOpInterface>(next.getOperation())
             .operatesOnDisjointSubset(
                 cast<SubsetOpInterface>(insertion.getOperation()),
                 areEquivalent))
      return true;
    value = next.getUpdatedDestination();
  }
  return false;
}

namespace {
/// One step of a chain.
struct Link {
  OpOperand *destination;
  /// The operation reads the value besides computing in it.
  bool isRead = false;
  /// Views of the value in which the operation's source is computed.
  SmallVector<Operation *> writes = {};
  /// Slices of the value that are read after the operation has written.
  SmallVector<tensor::ExtractSliceOp> kept = {};
  /// The inserted tensor has other users, and is soon overwritten.
  bool isSourceKept = false;

  Value getValue() const { return destination->get(); }
};
} // namespace

/// Returns the operation that computes in the buffer of `value`, if all other
/// uses of `value` are reads before it: nothing keeps later operations from
/// overwriting it.
static std::optional<Link> getNext(Value value) {
  std::optional<Link> next;
  for (OpOperand &use : value.getUses()) {
    if (!getTiedResult(use) ||
        use.getOwner()->getBlock() != value.getParentBlock())
      continue;
    if (next)
      return std::nullopt;
    next = Link{&use};
  }
  if (!next)
    return std::nullopt;
  Operation *op = next->destination->getOwner();
  auto insertion = dyn_cast<SubsetInsertionOpInterface>(op);
  if (insertion && !isLastReaderOfSource(insertion)) {
    if (!isSoonOverwritten(insertion))
      return std::nullopt;
    next->isSourceKept = true;
  }
  for (OpOperand &use : value.getUses()) {
    if (&use == next->destination)
      continue;
    if (use.getOwner() == op && isa<LinalgOp>(op)) {
      next->isRead = true;
      continue;
    }
    SmallVector<Operation *> writes;
    if (isReadBefore(use, op, insertion ? &writes : nullptr)) {
      next->writes.append(writes);
      continue;
    }
    auto slice = dyn_cast<tensor::ExtractSliceOp>(use.getOwner());
    if (!insertion || !slice || slice->getBlock() != op->getBlock() ||
        !slice->isBeforeInBlock(op))
      return std::nullopt;
    next->kept.push_back(slice);
  }
  return next;
}

/// Returns `value` and the values whose buffers it takes over, one from the
/// next, up to the one that defines the buffer in its block.
static SmallVector<Value> getSources(Value value) {
  SmallVector<Value> sources;
  while (value) {
    sources.push_back(value);
    auto result = dyn_cast<OpResult>(value);
    value = result ? remat::getBufferSource(result) : Value();
  }
  return sources;
}

/// Returns true if the buffer of `value`, in which an operation of `block`
/// computes, is visible outside of it: a carried tensor of a loop, an argument
/// of a called function, or a tensor from outside of a branch.
static bool isOthersBuffer(Value value, Block *block, bool isCalled) {
  value = getSources(value).back();
  bool isOwnArgument = block->isEntryBlock() && !isCalled &&
                       isa<func::FuncOp>(block->getParentOp());
  return value.getParentBlock() != block ||
         (isa<BlockArgument>(value) && !isOwnArgument);
}

/// Returns true if an operation other than the owner of `first` computes in the
/// same tensor.
static bool isComputedInElsewhere(OpOperand &first) {
  return llvm::any_of(first.get().getUses(), [&](OpOperand &use) {
    return &use != &first && getTiedResult(use);
  });
}

/// Returns the operations that compute one after the other in the buffer of
/// which `first` is the destination; empty if it continues another chain.
static SmallVector<Link> getChain(OpOperand &first) {
  if (auto result = dyn_cast<OpResult>(first.get())) {
    bool isComputedInPlace =
        llvm::any_of(result.getOwner()->getOpOperands(), [&](OpOperand &use) {
          return getTiedResult(use) == result;
        });
    std::optional<Link> next;
    if (isComputedInPlace && (next = getNext(result)) &&
        next->destination == &first)
      return {};
  }
  SmallVector<Link> chain = {Link{&first}};
  Value value = getTiedResult(first);
  while (std::optional<Link> next = getNext(value)) {
    chain.push_back(*next);
    value = getTiedResult(*next->destination);
  }
  return chain;
}

/// Returns true if `chain` is long, its result may not be computed in another
/// buffer, and others need not see that it is in this one.
static bool isToBeCut(ArrayRef<Link> chain, bool isCalled) {
  if (chain.size() <= kMaxChain)
    return false;
  OpOperand &first = *chain.front().destination;
  Value last = getTiedResult(*chain.back().destination);
  return (chain.size() > kMaxInsertedChain ||
          llvm::none_of(last.getUses(), isInserted)) &&
         !isComputedInElsewhere(first) &&
         !isOthersBuffer(first.get(), first.getOwner()->getBlock(), isCalled);
}

/// Returns true if bufferization need not know that `result` of a loop is in
/// the buffer of its initial value: no other operation computes there, or reads
/// that later. A part of a tensor is computed there only if bufferization sees
/// it.
static bool mayBeUnnamed(OpResult result, bool isCalled) {
  auto loop = cast<scf::ForOp>(result.getOwner());
  Value init = loop.getTiedLoopInit(result)->get(), next = result;
  if (isOthersBuffer(init, loop->getBlock(), isCalled) ||
      llvm::any_of(result.getUses(), isInserted))
    return false;
  for (Value source : getSources(init)) {
    std::optional<Link> link = getNext(source);
    if (!link || getTiedResult(*link->destination) != next)
      return false;
    next = source;
  }
  return true;
}

/// Returns true if `loop`, or one in it, carries many tensors, or one in whose
/// buffer a long chain computes.
static bool carriesMuch(scf::ForOp loop) {
  auto isTensor = llvm::IsaPred<RankedTensorType>;
  return loop
      ->walk([&](Operation *op) {
        auto inner = dyn_cast<scf::ForOp>(op);
        if (inner &&
            llvm::count_if(inner.getResultTypes(), isTensor) > kMaxCarried)
          return WalkResult::interrupt();
        for (OpOperand &use : op->getOpOperands()) {
          if (!getTiedResult(use))
            continue;
          auto argument = dyn_cast<BlockArgument>(getSources(use.get()).back());
          if (argument && isa<scf::ForOp>(argument.getOwner()->getParentOp()) &&
              getChain(use).size() > kMaxChain)
            return WalkResult::interrupt();
        }
        return WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns the last operation before that of `link`, in its block, that reads
/// the buffer of `value`, which `link` writes; `last` if that is later.
static Operation *getLastReader(const Link &link, Value value,
                                Operation *last) {
  Operation *next = link.destination->getOwner();
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    Operation *reader = next->getBlock()->findAncestorOpInBlock(*op);
    if (reader == next || llvm::is_contained(link.writes, op))
      continue;
    if (!last || last->isBeforeInBlock(reader))
      last = reader;
    // Slices that are kept are copied at once.
    if (llvm::is_contained(link.kept, op))
      continue;
    for (OpResult result : op->getOpResults())
      if (remat::getViewedTensor(result) == value)
        last = getLastReader(link, result, last);
  }
  return last;
}

/// Returns the operation before which a piece can begin with `link`: all reads
/// of the value are before it, and all writes after it. Null if there is no
/// such operation. It is the first one, so that the source may still be
/// computed where it is inserted.
static Operation *getStart(const Link &link) {
  // Bufferization would not see that it reads the value that it overwrites.
  if (link.isRead)
    return nullptr;
  Value value = link.getValue();
  Operation *last = getLastReader(link, value, value.getDefiningOp());
  if (last && llvm::any_of(link.writes, [&](Operation *write) {
        return write->isBeforeInBlock(last);
      }))
    return nullptr;
  return last ? last->getNextNode() : &value.getParentBlock()->front();
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// Copies `slice`, as bufferization does where its source is overwritten.
static void keep(tensor::ExtractSliceOp slice) {
  OpBuilder builder(slice->getContext());
  builder.setInsertionPointAfter(slice);
  auto copy = bufferization::AllocTensorOp::create(
      builder, slice.getLoc(), slice.getType(), /*dynamicSizes=*/ValueRange(),
      /*copy=*/slice);
  slice.getResult().replaceAllUsesExcept(copy, copy);
}

/// Keeps the source of `insertion` in its buffer, from which an opaque tensor
/// is inserted.
static void keepSource(SubsetInsertionOpInterface insertion) {
  OpBuilder builder(insertion);
  Location loc = insertion->getLoc();
  OpOperand &source = insertion.getSourceOperand();
  Value buffer =
      remat::createBuffer(builder, loc, source.get(), /*readOnly=*/true);
  source.set(bufferization::ToTensorOp::create(
      builder, loc, source.get().getType(), buffer, /*restrict=*/true));
}

/// Makes `link` begin with an opaque tensor in the value's buffer. To
/// bufferization this is a write: if the old value were read after it after
/// all, the buffer would be another one, and a copy.
static void cut(const Link &link, Operation *start) {
  Value value = link.getValue();
  Location loc = value.getLoc();
  OpBuilder builder(start);
  Value buffer = remat::createBuffer(builder, loc, value, /*readOnly=*/false);
  Value piece = bufferization::ToTensorOp::create(builder, loc, value.getType(),
                                                  buffer, /*restrict=*/true,
                                                  /*writable=*/true);
  link.destination->set(piece);
  for (Operation *write : link.writes)
    write->replaceUsesOfWith(value, piece);
}

void mlir::remat::splitAccumulations(func::FuncOp function, bool isCalled) {
  // Outer loops first, whose buffers inner ones may carry.
  SmallVector<scf::ForOp> loops;
  function.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    if (carriesMuch(loop))
      loops.push_back(loop);
  });
  for (scf::ForOp loop : loops)
    carryInBuffers(
        loop, [&](OpResult result) { return mayBeUnnamed(result, isCalled); });
  // New operations have no order in their block yet: all queries come first.
  SmallVector<std::pair<Link, Operation *>> cuts;
  SmallVector<tensor::ExtractSliceOp> kept;
  SmallVector<SubsetInsertionOpInterface> keptSources;
  function.walk([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands()) {
      if (!getTiedResult(use))
        continue;
      SmallVector<Link> chain = getChain(use);
      if (!isToBeCut(chain, isCalled))
        continue;
      unsigned length = 0;
      for (Link &link : chain) {
        llvm::append_range(kept, link.kept);
        if (link.isSourceKept)
          keptSources.push_back(
              cast<SubsetInsertionOpInterface>(link.destination->getOwner()));
        Operation *start = length < kMaxChain ? nullptr : getStart(link);
        length = start ? 1 : length + 1;
        if (start)
          cuts.emplace_back(link, start);
      }
    }
  });
  for (auto &[link, start] : cuts)
    cut(link, start);
  llvm::for_each(kept, keep);
  llvm::for_each(keptSources, keepSource);
}
