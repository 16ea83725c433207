//===- TimedRebuilds.cpp - Recomputes that are worth a kernel -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A knapsack: values are items with bytes and time, and interact, since one may
// be computed from another one that is recomputed as well. Greedy by time per
// byte.
//===----------------------------------------------------------------------===//

#include "TimedRebuilds.h"

#include "remat/Analysis/Cost.h"
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

/// All recomputation may take a 25th of the step, by the estimates: a few
/// percent, chosen by judgement. It is enough for each elementwise result of
/// models whose products take most of their time.
static constexpr int64_t kShareOfStep = 25;

/// Longer chains of kernels are not followed: each kernel reads as much as the
/// next one and more.
static constexpr unsigned kMaxKernels = 8;

/// Values that are live only where less than this many hundredths of the peak
/// are live are not part of it, even though the schedule and the packing are
/// still to come.
static constexpr int64_t kPercentOfPeak = 80;

/// Values that are kept in addition, and temporaries near the peak, have at
/// most this share of the bytes of the recomputed value.
static constexpr int64_t kShareOfValue = 8;

namespace {
/// The operations that compute a value from others that are available in the
/// backward.
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
  /// The positions in the block at which the backward reads a value first and
  /// last.
  struct Reads {
    unsigned first, last;
  };

  bool isThere(Value value);
  std::optional<Chain> findChain(OpResult value);
  bool addProducer(Chain &chain, Value value);
  bool estimateTime(Chain &chain, OpResult value);
  bool keepsLittle(const Chain &chain, OpResult value);
  bool isFarFromPeak(int64_t bytes, unsigned at);
  void addToLive(Value value, int64_t bytes);
  bool choose(OpResult value);
  bool isCalled() const;
  void removeUseless();
  bool keep(Value value);
  unsigned findEnd(Value value);
  void estimateLiveBytes();

  Block &block;
  ArrayRef<TimedResidual> residuals;
  DenseMap<Operation *, unsigned> position;
  DenseMap<Value, Reads> reads;
  /// Residuals that are not available in the backward.
  DenseSet<Value> gone;
  /// For values that have been chosen.
  DenseMap<Value, Chain> chains;
  /// The chosen values that are recomputed from a value.
  DenseMap<Value, SetVector<Value>> madeOf;
  /// At each operation: the live bytes of the tensors that the block computes,
  /// in its present order, without those that have been chosen; and the
  /// maximum.
  SmallVector<int64_t> live;
  int64_t peak = 0;
  int64_t budget = 0, spent = 0;
  TimedRebuilds chosen;
};
} // namespace

Chooser::Chooser(Block &block, ArrayRef<TimedResidual> residuals)
    : block(block), residuals(residuals) {
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
  estimateLiveBytes();
}

bool Chooser::isThere(Value value) {
  return isa<BlockArgument>(value) || matchPattern(value, m_Constant()) ||
         chosen.kept.contains(value) ||
         (reads.contains(value) && !gone.contains(value));
}

//===----------------------------------------------------------------------===//
// Chains
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

/// Estimates the time of the chain. Parts of it that are not fused into one
/// kernel are temporary tensors: returns false if these are too large.
bool Chooser::estimateTime(Chain &chain, OpResult value) {
  int64_t bytes = estimateBytes(value.getType()), scalars = 0, starts = 0;
  int64_t inMemory = 0;
  for (Value source : chain.sources)
    bytes += estimateBytes(source.getType());
  for (Operation *op : chain.ops) {
    if (auto kernel = dyn_cast<LinalgOp>(op))
      scalars += getRecomputeCost(kernel);
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
  return inMemory <= estimateBytes(value.getType()) / kShareOfValue ||
         isFarFromPeak(inMemory, reads.at(value).first);
}

/// Returns true if the values that are kept for `value`, or kept for longer,
/// are small in comparison. Dynamic sizes are not known, so they are not.
bool Chooser::keepsLittle(const Chain &chain, OpResult value) {
  int64_t more = 0;
  for (Value source : chain.sources) {
    if (isa<BlockArgument>(source) || matchPattern(source, m_Constant()))
      continue;
    auto it = reads.find(source);
    // A source that is recomputed itself would be kept after all.
    bool isLonger = !isThere(source) || it->second.last < reads.at(value).first;
    if (isLonger && !cast<ShapedType>(source.getType()).hasStaticShape())
      return false;
    if (isLonger)
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

bool Chooser::isCalled() const {
  auto function = dyn_cast<func::FuncOp>(block.getParentOp());
  return function && function.isPrivate();
}

/// Chooses `value` if the budget allows it, together with the additional time
/// of the chains of those that are recomputed from it.
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
  // A choice for a function is one for all of its calls, whose budgets together
  // might suffice for more than half of them.
  int64_t counted = isCalled() ? spent + (time - spent) / 2 : time;
  if (counted > budget) {
    gone.erase(value);
    return false;
  }
  spent = time;
  chosen.rebuilt.insert(value);
  addToLive(value, -estimateBytes(value.getType()));
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

//===----------------------------------------------------------------------===//
// The peak
//===----------------------------------------------------------------------===//

/// Returns the position of the last operation that reads `value` or a view of
/// it. Results of the function count as consumed where they are computed, as
/// gradients are by eager steps.
unsigned Chooser::findEnd(Value value) {
  unsigned end = position.lookup(value.getDefiningOp());
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = block.findAncestorOpInBlock(*user);
    if (!ancestor || ancestor->hasTrait<OpTrait::IsTerminator>())
      continue;
    end = std::max(end, isReshape(user) ? findEnd(user->getResult(0))
                                        : position.lookup(ancestor));
  }
  return end;
}

void Chooser::estimateLiveBytes() {
  live.assign(position.size() + 1, 0);
  for (Operation &op : block) {
    if (isWithoutContents(&op) || isReshape(&op))
      continue;
    for (OpResult result : op.getResults()) {
      if (!isa<TensorType>(result.getType()))
        continue;
      int64_t bytes = estimateBytes(result.getType());
      live[position.lookup(&op)] += bytes;
      live[findEnd(result) + 1] -= bytes;
    }
  }
  for (size_t i = 1; i < live.size(); ++i)
    live[i] += live[i - 1];
  peak = *llvm::max_element(live);
}

/// Returns true if `bytes` more, live at position `at`, stay clear of the peak.
bool Chooser::isFarFromPeak(int64_t bytes, unsigned at) {
  return live[at] + bytes <= peak / 100 * kPercentOfPeak;
}

/// Adds `bytes` to the live bytes in the live range of `value`, except where it
/// is computed.
void Chooser::addToLive(Value value, int64_t bytes) {
  unsigned begin = position.lookup(value.getDefiningOp());
  for (unsigned i = begin + 1, end = findEnd(value); i <= end; ++i)
    live[i] += bytes;
  peak = *llvm::max_element(live);
}

/// Drops choices that do not lower the peak, since much less is live in all of
/// the value's range.
void Chooser::removeUseless() {
  int64_t limit = peak / 100 * kPercentOfPeak;
  SmallVector<Value> values = chosen.rebuilt.takeVector();
  for (Value value : llvm::reverse(values)) {
    int64_t bytes = estimateBytes(value.getType());
    unsigned begin = position.lookup(value.getDefiningOp());
    auto range = ArrayRef(live).slice(begin, findEnd(value) - begin + 1);
    if (llvm::any_of(range.drop_front(),
                     [&](int64_t at) { return at + bytes > limit; }) ||
        !keep(value))
      chosen.rebuilt.insert(value);
    else
      addToLive(value, bytes);
  }
}

/// Takes back the choice of `value`, from which others may be recomputed then.
/// Returns false if one of these had no chain any more.
bool Chooser::keep(Value value) {
  gone.erase(value);
  SmallVector<std::pair<Value, Chain>> found;
  for (Value other : madeOf[value]) {
    if (!gone.contains(other))
      continue;
    std::optional<Chain> chain = findChain(cast<OpResult>(other));
    if (!chain) {
      gone.insert(value);
      return false;
    }
    found.emplace_back(other, std::move(*chain));
  }
  chains.erase(value);
  for (auto &[other, chain] : found)
    chains[other] = std::move(chain);
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
    if (!residual.mayBeRebuilt ||
        !cast<ShapedType>(residual.value.getType()).hasStaticShape())
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
  removeUseless();
  llvm::SmallDenseSet<Value> sources;
  for (Value value : chosen.rebuilt)
    sources.insert_range(chains[value].sources);
  chosen.kept.remove_if([&](Value value) { return !sources.contains(value); });
  return std::move(chosen);
}

TimedRebuilds
mlir::remat::chooseTimedRebuilds(Block &block,
                                 ArrayRef<TimedResidual> residuals) {
  return Chooser(block, residuals).run();
}
