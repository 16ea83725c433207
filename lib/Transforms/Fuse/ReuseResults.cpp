//===- ReuseResults.cpp - Read what another kernel has stored -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The adjoint of a kernel has a kernel for the gradient of each operand that it
// reads in a way of its own, and each of them begins with the same scalar
// operations: a mask applied to a cotangent, say. Where one of them stores
// such a value anyway, the others read it, and the live ranges of the tensors
// from which they would have recomputed it end earlier.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Fuse/ElementwiseFusion.h"
#include "remat/Transforms/Fuse/Passes.h"

#include "remat/Analysis/BackwardBorder.h"
#include "remat/Transforms/Utils/Attributes.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {
#define GEN_PASS_DEF_REUSERESULTSPASS
#include "remat/Transforms/Fuse/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using linalg::GenericOp;

/// Kernels that share an operand are compared pairwise; an operand that more
/// kernels read (a parameter, a mask) is no way to find those that matter.
static constexpr unsigned kMaxSharers = 32;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Returns the operand of an argument of the body of `op`, if it is an input.
static OpOperand *getInput(GenericOp op, Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  if (!argument || argument.getOwner() != op.getBlock())
    return nullptr;
  OpOperand *operand = op.getMatchingOpOperand(argument);
  return op.isDpsInput(operand) ? operand : nullptr;
}

/// As large as the iteration space: a tensor that counts.
static bool isFull(GenericOp op, OpOperand *input) {
  return op.getMatchingIndexingMap(input).isPermutation();
}

namespace {
/// Compares scalars of two bodies as functions of the same elements.
class Equivalence {
public:
  /// `loopMap` leads from the loops of `to` to those of `from`.
  Equivalence(GenericOp from, GenericOp to, AffineMap loopMap)
      : from(from), to(to), loopMap(loopMap) {}

  bool holds(Value a, Value b) {
    auto [known, inserted] = decided.try_emplace({a, b}, false);
    if (!inserted)
      return known->second;
    return decided[{a, b}] = compute(a, b);
  }

private:
  bool compute(Value a, Value b) {
    OpOperand *inputA = getInput(from, a), *inputB = getInput(to, b);
    if (inputA && inputB)
      return inputA->get() == inputB->get() &&
             from.getMatchingIndexingMap(inputA).compose(loopMap) ==
                 to.getMatchingIndexingMap(inputB);
    Operation *opA = a.getDefiningOp(), *opB = b.getDefiningOp();
    bool insideA = opA && opA->getBlock() == from.getBlock();
    bool insideB = opB && opB->getBlock() == to.getBlock();
    if (!insideA && !insideB)
      return a == b;
    if (!insideA || !insideB || isa<linalg::IndexOp>(opA) ||
        opA->getNumRegions() || !isMemoryEffectFree(opA) ||
        cast<OpResult>(a).getResultNumber() !=
            cast<OpResult>(b).getResultNumber())
      return false;
    return OperationEquivalence::isEquivalentTo(
        opA, opB, [&](Value x, Value y) { return success(holds(x, y)); },
        /*markEquivalent=*/nullptr,
        OperationEquivalence::IgnoreLocations |
            OperationEquivalence::IgnoreDiscardableAttrs);
  }

  GenericOp from, to;
  AffineMap loopMap;
  DenseMap<std::pair<Value, Value>, bool> decided;
};
} // namespace

/// Returns true if something reads `value` once `op`, in its block, has run.
static bool isReadAfter(Value value, Operation *op) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
    return !ancestor || op->isBeforeInBlock(ancestor);
  });
}

static bool isDestination(Value value) {
  return llvm::any_of(value.getUses(), [](OpOperand &use) {
    auto op = dyn_cast<DestinationStyleOpInterface>(use.getOwner());
    return op && op.isDpsInit(&use);
  });
}

/// Returns true if `op` stores values of its body at once, element for element.
static bool storesValues(GenericOp op) {
  return isFusableProducer(op) && op.getNumLoops() > 0;
}

//===----------------------------------------------------------------------===//
// Rewrites
//===----------------------------------------------------------------------===//

/// The scalars of the body of `op`, and from around it, that `yielded` are
/// computed from where those in `read` are given.
static SetVector<Value> getNeeded(GenericOp op, ValueRange yielded,
                                  const SetVector<Value> &read) {
  SetVector<Value> needed(yielded.begin(), yielded.end());
  for (size_t i = 0; i < needed.size(); ++i) {
    Operation *inner = needed[i].getDefiningOp();
    if (!inner || inner->getBlock() != op.getBlock() ||
        read.contains(needed[i]))
      continue;
    needed.insert_range(getInputs(inner));
  }
  return needed;
}

/// The tensors of full size among what `yielded` are computed from.
static SetVector<Value> getFullTensors(GenericOp op, ValueRange yielded,
                                       const SetVector<Value> &read) {
  SetVector<Value> tensors;
  for (Value scalar : getNeeded(op, yielded, read))
    if (OpOperand *input = getInput(op, scalar);
        input && isFull(op, input) && !read.contains(scalar))
      tensors.insert(input->get());
  return tensors;
}

namespace {
/// Where the scalars in the body of a kernel come from.
class TensorUses {
public:
  explicit TensorUses(GenericOp op) : block(*op.getBlock()) {
    for (OpOperand *input : op.getDpsInputOperands())
      if (isFull(op, input))
        made.insert(op.getMatchingBlockArgument(input));
    for (Operation &inner : block.without_terminator())
      if (readsMade(&inner))
        made.insert_range(inner.getResults());
  }

  /// Returns true if an element of a tensor of full size is in `scalar`.
  bool isMadeOfTensors(Value scalar) const { return made.contains(scalar); }

  /// The results of inner operations through which all ways lead from such
  /// elements to `yielded`, the last one first.
  SmallVector<Value> getGates(ValueRange yielded) const {
    SmallVector<Value> gates;
    // Values that have to be known for the operations after this one.
    DenseSet<Value> pending;
    auto require = [&](const auto &values) {
      for (Value value : values)
        if (isMadeOfTensors(value))
          pending.insert(value);
    };
    require(yielded);
    for (Operation &inner : llvm::reverse(block.without_terminator())) {
      bool isPending = false;
      for (Value scalar : inner.getResults()) {
        if (!pending.contains(scalar))
          continue;
        if (pending.size() == 1)
          gates.push_back(scalar);
        isPending = true;
      }
      if (!isPending)
        continue;
      for (Value scalar : inner.getResults())
        pending.erase(scalar);
      require(getInputs(&inner));
    }
    return gates;
  }

private:
  bool readsMade(Operation *inner) const {
    return llvm::any_of(getInputs(inner),
                        [&](Value value) { return isMadeOfTensors(value); });
  }

  Block &block;
  DenseSet<Value> made;
};
} // namespace

namespace {
/// A result of a kernel to be made: a scalar of the body, and the result of the
/// old kernel whose destination it gets.
struct Output {
  Value scalar;
  unsigned result;
};
} // namespace

static Output getOutput(GenericOp op, unsigned result) {
  return {op.getBlock()->getTerminator()->getOperand(result), result};
}

/// Makes a copy of `op` that has the results `outputs` only and no operand that
/// it does not use. If there is a `stored`, it is read through `map` in place
/// of the scalars `read`.
static GenericOp createConsumer(RewriterBase &rewriter, GenericOp op,
                                Value stored, AffineMap map,
                                const SetVector<Value> &read,
                                ArrayRef<Output> outputs) {
  SmallVector<Value> yielded;
  SmallVector<Value> inits;
  SmallVector<AffineMap> initMaps;
  SmallVector<Type> types;
  for (Output output : outputs) {
    OpOperand *init = op.getDpsInitOperand(output.result);
    yielded.push_back(output.scalar);
    inits.push_back(init->get());
    initMaps.push_back(op.getMatchingIndexingMap(init));
    types.push_back(op->getResult(output.result).getType());
  }

  SetVector<Value> needed = getNeeded(op, yielded, read);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<Value> replaced;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value argument = op.getMatchingBlockArgument(input);
    if (!needed.contains(argument) || read.contains(argument))
      continue;
    inputs.push_back(input->get());
    maps.push_back(op.getMatchingIndexingMap(input));
    replaced.push_back(argument);
  }
  if (stored) {
    inputs.push_back(stored);
    maps.push_back(map);
  }
  llvm::append_range(maps, initMaps);

  auto consumer = GenericOp::create(
      rewriter, op.getLoc(), types, inputs, inits, maps,
      op.getIteratorTypesArray(),
      [&](OpBuilder &b, Location loc, ValueRange arguments) {
        IRMapping mapping;
        for (auto [old, argument] : llvm::zip(replaced, arguments))
          mapping.map(old, argument);
        for (Value scalar : read)
          mapping.map(scalar, arguments[inputs.size() - 1]);
        for (auto [output, argument] :
             llvm::zip_equal(outputs, arguments.drop_front(inputs.size())))
          mapping.map(
              op.getMatchingBlockArgument(op.getDpsInitOperand(output.result)),
              argument);
        for (Operation &inner : op.getBlock()->without_terminator())
          if (llvm::any_of(inner.getResults(), [&](Value value) {
                return needed.contains(value) && !read.contains(value);
              }))
            b.clone(inner, mapping);
        SmallVector<Value> values;
        for (Value value : yielded)
          values.push_back(mapping.lookupOrDefault(value));
        linalg::YieldOp::create(b, loc, values);
      });
  copyAttributes(op, consumer);
  return consumer;
}

/// Returns true if fusion makes one of the tensors `before` that are not in
/// `now` part of `stored` if `consumer` does not read it.
static bool leavesOneToFusion(const SetVector<Value> &before,
                              const SetVector<Value> &now, GenericOp stored,
                              GenericOp consumer) {
  return llvm::any_of(before, [&](Value tensor) {
    auto maker = tensor.getDefiningOp<linalg::LinalgOp>();
    return maker && !now.contains(tensor) && isFusableProducer(maker) &&
           maker->getBlock() == stored->getBlock() && !isDestination(tensor) &&
           llvm::all_of(tensor.getUsers(), [&](Operation *user) {
             return user == stored || user == consumer || isa<SavedOp>(user);
           });
  });
}

/// Lets `consumer` take `result` of an earlier kernel in place of scalars that
/// are the same function of the same operands, if `result` is needed as long
/// anyway, and a tensor of that size is then no operand any more, or nowhere.
static GenericOp reuse(RewriterBase &rewriter, GenericOp stored,
                       OpResult result, GenericOp consumer, AffineMap loopMap) {
  if (!isReadAfter(result, consumer) || isDestination(result))
    return {};
  Value scalar =
      stored.getBlock()->getTerminator()->getOperand(result.getResultNumber());
  if (isa<BlockArgument>(scalar))
    return {};
  Equivalence equivalence(stored, consumer, loopMap);
  SetVector<Value> read;
  for (Operation &inner : consumer.getBlock()->without_terminator())
    for (Value value : inner.getResults())
      if (equivalence.holds(scalar, value))
        read.insert(value);
  if (read.empty())
    return {};
  AffineMap map = stored.getIndexingMapMatchingResult(result).compose(loopMap);
  OperandRange yielded = consumer.getBlock()->getTerminator()->getOperands();
  SetVector<Value> tensors = getFullTensors(consumer, yielded, read);
  tensors.insert(result);
  SetVector<Value> before = getFullTensors(consumer, yielded, {});
  if (tensors.size() > before.size() ||
      (tensors.size() == before.size() &&
       !leavesOneToFusion(before, tensors, stored, consumer)))
    return {};
  rewriter.setInsertionPoint(consumer);
  SmallVector<Output> outputs;
  for (unsigned i = 0; i < consumer->getNumResults(); ++i)
    outputs.push_back(getOutput(consumer, i));
  GenericOp replacement =
      createConsumer(rewriter, consumer, result, map, read, outputs);
  // The library would add in another order.
  if (isLibraryKernel(replacement)) {
    rewriter.eraseOp(replacement);
    return {};
  }
  rewriter.replaceOp(consumer, replacement);
  return replacement;
}

/// The kernel that alone reads `result`, and into which fusion would move one
/// that makes it; null if there is no such.
static linalg::LinalgOp getAbsorbingReader(OpResult result,
                                           const BackwardBorder &border) {
  if (!result.hasOneUse() || isDestination(result))
    return {};
  Operation *op = result.getOwner();
  auto reader = dyn_cast<linalg::LinalgOp>(*result.getUsers().begin());
  if (!reader || reader->getBlock() != op->getBlock() ||
      !isFusableConsumer(reader) || border.separates(op, reader) ||
      !reader.getMatchingIndexingMap(&*result.use_begin()).isPermutation())
    return {};
  return reader;
}

/// Makes a result of `op` from the scalars `read`, which `stored` holds where
/// `result` of `op` would, in a kernel of its own.
static void makeFrom(RewriterBase &rewriter, GenericOp op, OpResult made,
                     OpResult stored, unsigned result, Value read) {
  SetVector<Value> scalars;
  scalars.insert(read);
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(result));
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(*made.getUsers().begin());
  GenericOp maker = createConsumer(rewriter, op, stored, map, scalars,
                                   getOutput(op, made.getResultNumber()));
  rewriter.replaceAllUsesWith(made, maker->getResult(0));
}

/// Takes a result that can be made from another one out of `op`, into a kernel
/// of its own, which fusion moves into the only consumer. The other one must be
/// alive there anyway.
static GenericOp separate(RewriterBase &rewriter, GenericOp op,
                          const BackwardBorder &border) {
  if (op->getNumResults() < 2)
    return {};
  OperandRange yielded = op.getBlock()->getTerminator()->getOperands();
  std::optional<TensorUses> uses;
  for (OpResult made : op->getResults()) {
    linalg::LinalgOp consumer = getAbsorbingReader(made, border);
    if (!consumer)
      continue;
    if (!uses)
      uses.emplace(op);
    Value value = yielded[made.getResultNumber()];
    bool isMadeOfTensors = uses->isMadeOfTensors(value);
    SmallVector<Value> gates = uses->getGates(value);
    llvm::SmallDenseSet<Value> isGate(gates.begin(), gates.end());
    for (OpResult other : op->getResults()) {
      Value scalar = yielded[other.getResultNumber()];
      if (other == made || isa<BlockArgument>(scalar) || scalar == value ||
          (isMadeOfTensors && !isGate.contains(scalar)) ||
          isDestination(other) || !isReadAfter(other, consumer))
        continue;
      makeFrom(rewriter, op, made, other, other.getResultNumber(), scalar);
      SmallVector<Output> kept;
      for (OpResult result : op->getResults())
        if (result != made)
          kept.push_back(getOutput(op, result.getResultNumber()));
      rewriter.setInsertionPoint(op);
      GenericOp rest = createConsumer(rewriter, op, {}, {}, {}, kept);
      for (auto [index, output] : llvm::enumerate(kept))
        rewriter.replaceAllUsesWith(op->getResult(output.result),
                                    rest->getResult(index));
      rewriter.eraseOp(op);
      return rest;
    }
  }
  return {};
}

/// The last scalar of the body of `op`, of the type of its first result, from
/// which all results can be made without a tensor of full size.
static Value findShared(GenericOp op) {
  OperandRange yielded = op.getBlock()->getTerminator()->getOperands();
  for (Value scalar : TensorUses(op).getGates(yielded))
    if (scalar.getType() == yielded[0].getType())
      return scalar;
  return {};
}

/// Stores what all results of `op` can be made from in their place, if each has
/// a consumer of its own, into which fusion moves the kernel that makes it.
static GenericOp storeShared(RewriterBase &rewriter, GenericOp op,
                             const BackwardBorder &border) {
  SetVector<Operation *> consumers;
  for (OpResult result : op->getResults()) {
    linalg::LinalgOp consumer = getAbsorbingReader(result, border);
    if (!consumer || !consumers.insert(consumer))
      return {};
  }
  if (consumers.size() < 2)
    return {};
  Value shared = findShared(op);
  if (!shared)
    return {};
  rewriter.setInsertionPoint(op);
  GenericOp stored =
      createConsumer(rewriter, op, {}, {}, {}, Output{shared, 0});
  for (OpResult result : op->getResults())
    makeFrom(rewriter, op, result, stored->getResult(0), 0, shared);
  rewriter.eraseOp(op);
  return stored;
}

namespace {
struct ReuseResultsPass : remat::impl::ReuseResultsPassBase<ReuseResultsPass> {
  using ReuseResultsPassBase::ReuseResultsPassBase;

  void runOnOperation() override {
    border.emplace(getOperation());
    IRRewriter rewriter(&getContext());
    bool changed = false;
    getOperation()->walk([&](Block *block) {
      // Before others read more than one of the results, and again where that
      // is what is stored.
      changed |= storeLess(rewriter, *block);
      for (Operation &op : llvm::make_early_inc_range(*block))
        if (auto consumer = dyn_cast<GenericOp>(op))
          while (GenericOp replacement = reuseIn(rewriter, consumer)) {
            consumer = replacement;
            changed = true;
          }
      changed |= storeLess(rewriter, *block);
    });
    if (!changed)
      markAllAnalysesPreserved();
  }

private:
  /// Leaves kernels with the results that the others cannot be made from.
  bool storeLess(RewriterBase &rewriter, Block &block) {
    bool changed = false;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      auto kernel = dyn_cast<GenericOp>(op);
      if (!kernel || !storesValues(kernel))
        continue;
      while (GenericOp rest = separate(rewriter, kernel, *border)) {
        kernel = rest;
        changed = true;
      }
      changed |= storeShared(rewriter, kernel, *border) != nullptr;
    }
    return changed;
  }

  /// One step; null if `consumer` can take nothing.
  GenericOp reuseIn(RewriterBase &rewriter, GenericOp consumer) {
    if (!isFusableConsumer(consumer))
      return {};
    for (OpOperand *input : consumer.getDpsInputOperands()) {
      if (!isFull(consumer, input))
        continue;
      AffineMap map = consumer.getMatchingIndexingMap(input);
      for (OpOperand *use : findUses(consumer, input->get())) {
        auto stored = cast<GenericOp>(use->getOwner());
        AffineMap loopMap =
            inversePermutation(stored.getMatchingIndexingMap(use)).compose(map);
        for (OpResult result : stored->getResults())
          if (GenericOp replacement =
                  reuse(rewriter, stored, result, consumer, loopMap))
            return replacement;
      }
    }
    return {};
  }

  /// Uses of all of `tensor` in kernels before `consumer` that store values, in
  /// the order of the block. A value of the forward is not there for the
  /// backward: to read it would save what the plan recomputes.
  SmallVector<OpOperand *> findUses(GenericOp consumer, Value tensor) {
    SmallVector<OpOperand *> uses;
    for (auto [number, use] : llvm::enumerate(tensor.getUses())) {
      if (number == kMaxSharers)
        return {};
      auto stored = dyn_cast<GenericOp>(use.getOwner());
      if (stored && stored->getBlock() == consumer->getBlock() &&
          stored->isBeforeInBlock(consumer) && storesValues(stored) &&
          !border->separates(stored, consumer) && stored.isDpsInput(&use) &&
          isFull(stored, &use))
        uses.push_back(&use);
    }
    llvm::sort(uses, [](OpOperand *a, OpOperand *b) {
      if (a->getOwner() != b->getOwner())
        return a->getOwner()->isBeforeInBlock(b->getOwner());
      return a->getOperandNumber() < b->getOperandNumber();
    });
    return uses;
  }

  std::optional<BackwardBorder> border;
};
} // namespace
