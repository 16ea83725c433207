//===- TimedRebuilds.cpp - What is worth a kernel in the backward ---------===//
//
// A knapsack: values are items with bytes and time, and interact, as one may be
// made of another one that is made again as well. Greedy by time for a byte.
//
//===----------------------------------------------------------------------===//

#include "TimedRebuilds.h"

#include "remat/Analysis/TimeEstimate.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Fuse/ElementwiseFusion.h"
#include "remat/Transforms/Plan/Residuals.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

/// All that is made again may take a 25th of the step: as much as a step varies
/// from run to run, and enough for each elementwise result of the usual models,
/// whose products take most of their time.
static constexpr int64_t kShareOfStep = 25;

/// A chain of more kernels is not followed: each reads what the next one does
/// and more.
static constexpr unsigned kMaxKernels = 8;

/// What is added to what is kept, and what has to be in memory on the way, is
/// at most this share of what goes.
static constexpr int64_t kShareOfValue = 8;

namespace {
/// How a value is made of others that are there in the backward.
struct Chain {
  SetVector<Operation *> ops;
  SetVector<Value> sources;
  int64_t time = 0;
  unsigned numKernels = 0;
};

class Chooser {
public:
  Chooser(Block &block, ArrayRef<TimedResidual> residuals);

  TimedRebuilds run();

private:
  /// The time in the order of the block in which the backward reads a value
  /// first and last.
  struct Reads {
    unsigned first, last;
  };

  bool isThere(Value value);
  std::optional<Chain> findChain(OpResult value);
  bool addProducer(Chain &chain, Value value);
  bool estimateTime(Chain &chain, OpResult value);
  bool keepsLittle(const Chain &chain, OpResult value);
  bool choose(OpResult value);

  ArrayRef<TimedResidual> residuals;
  DenseMap<Operation *, unsigned> position;
  DenseMap<Value, Reads> reads;
  /// Residuals that are not there in the backward.
  DenseSet<Value> gone;
  /// For values that have been chosen.
  DenseMap<Value, Chain> chains;
  /// The chosen values that are made of a value.
  DenseMap<Value, SetVector<Value>> madeOf;
  int64_t budget = 0, spent = 0;
  TimedRebuilds chosen;
};
} // namespace

Chooser::Chooser(Block &block, ArrayRef<TimedResidual> residuals)
    : residuals(residuals) {
  int64_t stepTime = 0;
  for (Operation &op : block) {
    position[&op] = position.size();
    stepTime += remat::estimateTime(&op);
  }
  budget = stepTime / kShareOfStep;
  for (const TimedResidual &residual : residuals) {
    if (residual.isRebuilt)
      gone.insert(residual.value);
    for (Operation *reader : residual.readers) {
      unsigned at = position.lookup(block.findAncestorOpInBlock(*reader));
      auto [it, isNew] = reads.try_emplace(residual.value, Reads{at, at});
      it->second.first = std::min(it->second.first, at);
      it->second.last = std::max(it->second.last, at);
    }
  }
}

bool Chooser::isThere(Value value) {
  return isa<BlockArgument>(value) || matchPattern(value, m_Constant()) ||
         chosen.kept.contains(value) ||
         (reads.contains(value) && !gone.contains(value));
}

//===----------------------------------------------------------------------===//
// What a value is made of
//===----------------------------------------------------------------------===//

bool Chooser::addProducer(Chain &chain, Value value) {
  Operation *op = value.getDefiningOp();
  if (chain.ops.contains(op))
    return true;
  auto kernel = dyn_cast<LinalgOp>(op);
  if (kernel ? !isFusableProducer(kernel) : !isReshape(op))
    return false;
  if (kernel && !readsNoTensor(kernel) && ++chain.numKernels > kMaxKernels)
    return false;
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (!isa<TensorType>(operand.getType()) ||
        (producer && isWithoutContents(producer)))
      continue;
    Chain before = chain;
    if (!isThere(operand) && addProducer(chain, operand))
      continue;
    chain = std::move(before);
    chain.sources.insert(operand);
  }
  chain.ops.insert(op);
  return chain.numKernels <= kMaxKernels;
}

/// Also finds out whether the chain becomes one kernel: each part of it that
/// does not is a tensor in memory.
bool Chooser::estimateTime(Chain &chain, OpResult value) {
  int64_t bytes = estimateBytes(value.getType()), scalars = 0, starts = 0;
  int64_t inMemory = 0;
  for (Value source : chain.sources)
    bytes += estimateBytes(source.getType());
  for (Operation *op : chain.ops) {
    if (auto kernel = dyn_cast<LinalgOp>(op))
      scalars += countAllScalars(kernel);
    if (op == value.getOwner() || isReshape(op))
      continue;
    SetVector<Operation *> readers;
    for (Operation *user : op->getUsers())
      if (chain.ops.contains(user))
        readers.insert(user);
    auto kernel = dyn_cast<LinalgOp>(op);
    auto reader = dyn_cast<LinalgOp>(readers.front());
    if (kernel && reader && (readers.size() == 1 || isCheap(kernel)) &&
        llvm::all_of(readers, [&](Operation *reader) {
          auto consumer = dyn_cast<LinalgOp>(reader);
          return consumer && canFuseCheaply(kernel, consumer);
        }))
      continue;
    for (Type type : op->getResultTypes())
      inMemory += estimateBytes(type);
    ++starts;
  }
  chain.time = estimateKernelTime(bytes + 2 * inMemory, scalars) +
               multiplySizes({starts}, kStartTime);
  return inMemory <= estimateBytes(value.getType()) / kShareOfValue;
}

/// Whether what is kept for `value`, or kept for longer, is little beside it.
bool Chooser::keepsLittle(const Chain &chain, OpResult value) {
  int64_t more = 0;
  for (Value source : chain.sources) {
    if (isa<BlockArgument>(source) || matchPattern(source, m_Constant()))
      continue;
    auto it = reads.find(source);
    if (it == reads.end() || it->second.last < reads.at(value).first)
      more += estimateBytes(source.getType());
  }
  return more <= estimateBytes(value.getType()) / kShareOfValue;
}

std::optional<Chain> Chooser::findChain(OpResult value) {
  Chain chain;
  if (!addProducer(chain, value) || chain.sources.empty() ||
      !estimateTime(chain, value) || !keepsLittle(chain, value))
    return std::nullopt;
  return chain;
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// Takes `value` if the budget allows it, with what it adds to the chains of
/// those that are made of it.
bool Chooser::choose(OpResult value) {
  gone.insert(value);
  SmallVector<Value> changed = {value};
  llvm::append_range(changed, madeOf[value]);
  SmallVector<Chain> found;
  int64_t time = spent;
  for (Value other : changed) {
    std::optional<Chain> chain = findChain(cast<OpResult>(other));
    if (!chain) {
      gone.erase(value);
      return false;
    }
    time += chain->time;
    if (auto it = chains.find(other); it != chains.end())
      time -= it->second.time;
    found.push_back(std::move(*chain));
  }
  if (time > budget) {
    gone.erase(value);
    return false;
  }
  spent = time;
  chosen.rebuilt.insert(value);
  for (auto [other, chain] : llvm::zip_equal(changed, found)) {
    for (Value source : chain.sources) {
      madeOf[source].insert(other);
      if (!isThere(source))
        chosen.kept.insert(source);
      if (isa<BlockArgument>(source))
        continue;
      unsigned first = reads.at(other).first;
      auto [it, isNew] = reads.try_emplace(source, Reads{first, first});
      it->second.first = std::min(it->second.first, first);
    }
    chains[other] = std::move(chain);
  }
  return true;
}

TimedRebuilds Chooser::run() {
  struct Item {
    OpResult value;
    int64_t bytes, time;
    size_t index;
  };
  SmallVector<Item> items;
  for (const TimedResidual &residual : residuals) {
    if (!residual.mayBeRebuilt)
      continue;
    int64_t bytes = estimateBytes(residual.value.getType());
    if (std::optional<Chain> chain = findChain(residual.value))
      items.push_back({residual.value, bytes, chain->time, items.size()});
  }
  llvm::sort(items, [](const Item &a, const Item &b) {
    double left = double(a.time) * double(b.bytes);
    double right = double(b.time) * double(a.bytes);
    return left != right ? left < right : a.index < b.index;
  });
  for (const Item &item : items)
    choose(item.value);
  return std::move(chosen);
}

TimedRebuilds
mlir::remat::chooseTimedRebuilds(Block &block,
                                 ArrayRef<TimedResidual> residuals) {
  return Chooser(block, residuals).run();
}
