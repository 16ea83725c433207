//===- Stages.cpp - Parts of a backward with a loop each ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Stages.h"

#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Opt/IR/UpdateKernels.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/MapVector.h"

#include <map>

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// What stages share
//===----------------------------------------------------------------------===//

bool mlir::remat::isReplicated(Operation *op) {
  if (op->hasTrait<OpTrait::ConstantLike>() || isEmptyTensor(op) ||
      isa<BarrierOp, linalg::FillOp, tensor::ExpandShapeOp,
          tensor::CollapseShapeOp, tensor::CastOp>(op))
    return true;
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return isa<BlockArgument>(slice.getSource());
  auto isTensor = llvm::IsaPred<TensorType>;
  return isPure(op) && op->getNumRegions() == 0 &&
         llvm::none_of(op->getOperandTypes(), isTensor) &&
         llvm::none_of(op->getResultTypes(), isTensor);
}

void mlir::remat::collectRoots(Value value, llvm::SetVector<Value> &roots) {
  SmallVector<Value> pending = {value};
  DenseSet<Value> seen;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (!op || !isReplicated(op))
      roots.insert(next);
    else if (auto barrier = dyn_cast<BarrierOp>(op))
      pending.push_back(
          barrier.getValues()[cast<OpResult>(next).getResultNumber()]);
    else
      llvm::append_range(pending, op->getOperands());
  }
}

//===----------------------------------------------------------------------===//
// The forward
//===----------------------------------------------------------------------===//

static DenseSet<Operation *> findFirstStage(func::FuncOp function) {
  Block &body = function.front();
  DenseSet<Operation *> forward;
  auto borders = body.getOps<BeginBackwardOp>();
  if (!borders.empty())
    for (Operation &op : body) {
      if (&op == *borders.begin())
        break;
      forward.insert(&op);
    }
  SmallVector<Value> pending(body.getTerminator()->getOperands());
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val().getDefiningOp();
    if (op && forward.insert(op).second)
      llvm::append_range(pending, getInputs(op));
  }
  return forward;
}

//===----------------------------------------------------------------------===//
// Cuts of the backward
//===----------------------------------------------------------------------===//

namespace {
/// Parameters that can be updated after one position, and the best place to cut
/// after it.
struct Cut {
  unsigned position;
  /// Bytes of the sums of their gradients.
  int64_t sums = 0;
  /// Bytes of one micro-batch that the backward passes over the cut, that it
  /// still reads of the forward after it, and that are live at once before it,
  /// from the cut before on.
  int64_t passed = 0, residuals = 0, live = 0;
};

class Cutter {
public:
  Cutter(const StepFunction &step, ArrayRef<Operation *> backward,
         int64_t count)
      : step(step), backward(backward), count(count) {}

  /// Returns the positions after which a stage ends.
  SmallVector<unsigned> run();

private:
  void measure();
  void findCuts();
  void
  forEachStage(unsigned last,
               function_ref<void(unsigned first, int64_t peak)> visit) const;
  SmallVector<unsigned> choose() const;

  const StepFunction &step;
  ArrayRef<Operation *> backward;
  int64_t count;
  /// The last position that reads a value.
  llvm::MapVector<Value, unsigned> lastUse;
  /// Bytes that each position passes on, reads of the forward after it, and
  /// has live while it runs.
  SmallVector<int64_t> passed, residuals, live;
  /// The last one is the end of the backward.
  SmallVector<Cut> cuts;
};
} // namespace

void Cutter::measure() {
  unsigned size = backward.size();
  DenseMap<Operation *, unsigned> positions;
  for (auto [index, op] : llvm::enumerate(backward))
    positions[op] = index;
  DenseSet<Value> gradients;
  for (const TrainedParameter &trained : step.trained)
    gradients.insert(trained.gradient);
  for (auto [index, op] : llvm::enumerate(backward)) {
    if (isReplicated(op))
      continue;
    llvm::SetVector<Value> roots;
    for (Value input : getInputs(op))
      collectRoots(input, roots);
    for (Value root : roots)
      lastUse[root] = index;
  }
  // Differences from one position to the next, then their sums.
  SmallVector<int64_t> passes(size + 1, 0), lives(size + 1, 0),
      reads(size + 1, 0);
  for (auto [value, last] : lastUse) {
    int64_t bytes = estimateBytes(value.getType());
    Operation *op = value.getDefiningOp();
    auto it = positions.find(op);
    if (it != positions.end()) {
      passes[it->second] += bytes;
      passes[last] -= bytes;
      lives[it->second] += bytes;
      lives[last + 1] -= bytes;
    } else if (op) {
      reads[0] += bytes;
      reads[last] -= bytes;
    }
  }
  for (auto [op, index] : positions)
    for (Value result : op->getResults())
      if (!lastUse.contains(result) && !isReplicated(op)) {
        lives[index] += estimateBytes(result.getType());
        lives[index + 1] -= estimateBytes(result.getType());
      }
  int64_t pass = 0, alive = 0, read = 0;
  for (unsigned index = 0; index < size; ++index) {
    residuals.push_back(read += reads[index]);
    passed.push_back(pass += passes[index]);
    live.push_back(alive += lives[index]);
  }
}

void Cutter::findCuts() {
  func::FuncOp function = step.function;
  std::map<unsigned, int64_t> sums;
  DenseMap<Operation *, unsigned> positions;
  for (auto [index, op] : llvm::enumerate(backward))
    positions[op] = index;
  for (const TrainedParameter &trained : step.trained) {
    auto it = positions.find(trained.gradient.getDefiningOp());
    auto type = cast<RankedTensorType>(trained.gradient.getType());
    if (it == positions.end())
      continue;
    // The sum is live until the old parameter is not read any more.
    auto read = lastUse.find(function.getArgument(trained.argument));
    unsigned position =
        read == lastUse.end() ? it->second : std::max(it->second, read->second);
    sums[position] +=
        estimateBytes(type.clone(opt::getComputeType(type.getElementType())));
  }
  unsigned begin = 0;
  for (auto it = sums.begin(); it != sums.end(); ++it) {
    auto next = std::next(it);
    unsigned end = next == sums.end() ? backward.size() : next->first;
    unsigned best = next == sums.end() ? end - 1 : it->first;
    for (unsigned at = it->first; at < end && next != sums.end(); ++at)
      if (passed[at] < passed[best])
        best = at;
    Cut cut{best, it->second, passed[best], residuals[best], 0};
    for (; begin <= best; ++begin)
      cut.live = std::max(cut.live, live[begin]);
    cuts.push_back(cut);
  }
}

/// Calls `visit` with each stage that ends at cut `last`, by its first cut, and
/// the most bytes that are live in it at once.
void Cutter::forEachStage(
    unsigned last,
    function_ref<void(unsigned first, int64_t peak)> visit) const {
  int64_t sums = 0, alive = 0;
  for (unsigned first = last + 1; first-- > 0;) {
    sums += cuts[first].sums;
    alive = std::max(alive, cuts[first].live);
    int64_t before = first == 0 ? 0 : cuts[first - 1].passed;
    int64_t residual =
        first == 0 ? residuals.front() : cuts[first - 1].residuals;
    visit(first,
          sums + alive + count * (before + cuts[last].passed + residual));
  }
}

/// The lowest peak first, then the fewest stages with it.
SmallVector<unsigned> Cutter::choose() const {
  unsigned size = cuts.size();
  SmallVector<int64_t> lowest(size + 1, std::numeric_limits<int64_t>::max());
  lowest[0] = 0;
  for (unsigned last = 0; last < size; ++last)
    forEachStage(last, [&](unsigned first, int64_t peak) {
      lowest[last + 1] =
          std::min(lowest[last + 1], std::max(lowest[first], peak));
    });
  SmallVector<unsigned> fewest(size + 1, size + 1), from(size + 1, 0);
  fewest[0] = 0;
  for (unsigned last = 0; last < size; ++last)
    forEachStage(last, [&](unsigned first, int64_t peak) {
      if (peak <= lowest[size] && fewest[first] + 1 < fewest[last + 1]) {
        fewest[last + 1] = fewest[first] + 1;
        from[last + 1] = first;
      }
    });
  SmallVector<unsigned> ends;
  for (unsigned at = size; at != 0; at = from[at])
    ends.push_back(cuts[at - 1].position);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

SmallVector<unsigned> Cutter::run() {
  measure();
  findCuts();
  return choose();
}

//===----------------------------------------------------------------------===//
// Results that are larger than what they are computed of
//===----------------------------------------------------------------------===//

namespace {
/// Orders operations so that those whose results are larger than what they read
/// run where their results are read: the product of a tied head, which waits
/// for the gradient of the embedding, is as large as the parameter.
class Sinker {
public:
  Sinker(const StepFunction &step, ArrayRef<Operation *> backward);

  SmallVector<Operation *> run();

private:
  Operation *findReader(Operation *op);
  bool isFixed(Operation *op) const;
  bool isData(Value value) const;
  bool savesBytes(Operation *op, Operation *reader);
  void emit(Operation *op);

  const StepFunction &step;
  ArrayRef<Operation *> backward;
  llvm::SetVector<Value> gradients;
  DenseMap<Operation *, llvm::SetVector<Value>> rootsOf;
  DenseMap<Value, SmallVector<Operation *>> readers;
  /// Where an operation runs among `backward`, and what runs before it.
  DenseMap<Operation *, unsigned> position;
  DenseMap<Operation *, SmallVector<Operation *>> sunk;
  SmallVector<Operation *> order;
};
} // namespace

Sinker::Sinker(const StepFunction &step, ArrayRef<Operation *> backward)
    : step(step), backward(backward) {
  for (auto [index, op] : llvm::enumerate(backward)) {
    position[op] = index;
    if (isReplicated(op))
      continue;
    llvm::SetVector<Value> &roots = rootsOf[op];
    for (Value input : getInputs(op))
      collectRoots(input, roots);
    for (Value root : roots)
      readers[root].push_back(op);
  }
  for (const TrainedParameter &trained : step.trained)
    collectRoots(trained.gradient, gradients);
}

/// Returns the first operation that reads a result of `op`; null if none does.
Operation *Sinker::findReader(Operation *op) {
  Operation *first = nullptr;
  for (Value result : op->getResults())
    for (Operation *reader : readers.lookup(result))
      if (!first || position[reader] < position[first])
        first = reader;
  return first;
}

bool Sinker::isData(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && llvm::is_contained(step.data, argument.getArgNumber());
}

/// Returns true if `op` makes a gradient, or reads a parameter, which is
/// updated after that, or a state.
bool Sinker::isFixed(Operation *op) const {
  return llvm::any_of(
             op->getResults(),
             [&](Value result) { return gradients.contains(result); }) ||
         llvm::any_of(rootsOf.lookup(op), [&](Value root) {
           return isa<BlockArgument>(root) && !isData(root);
         });
}

/// Returns true if what `op` reads, and is not read later anyway, takes fewer
/// bytes than what it computes.
bool Sinker::savesBytes(Operation *op, Operation *reader) {
  int64_t bytes = 0;
  for (Value result : op->getResults())
    bytes += estimateBytes(result.getType());
  for (Value root : rootsOf[op])
    if (!isData(root) && llvm::none_of(readers[root], [&](Operation *other) {
          return other != op && position[other] >= position[reader];
        }))
      bytes -= estimateBytes(root.getType());
  return bytes > 0;
}

void Sinker::emit(Operation *op) {
  for (Operation *before : llvm::reverse(sunk.lookup(op)))
    emit(before);
  order.push_back(op);
}

SmallVector<Operation *> Sinker::run() {
  DenseSet<Operation *> isSunk;
  // Users first, so that chains sink together.
  for (Operation *op : llvm::reverse(backward)) {
    if (isReplicated(op) || isFixed(op))
      continue;
    Operation *reader = findReader(op);
    if (reader && savesBytes(op, reader)) {
      position[op] = position[reader];
      sunk[reader].push_back(op);
      isSunk.insert(op);
    }
  }
  for (Operation *op : backward)
    if (!isSunk.contains(op))
      emit(op);
  return std::move(order);
}

DenseMap<Operation *, unsigned>
mlir::remat::assignStages(const StepFunction &step, int64_t count) {
  func::FuncOp function = step.function;
  DenseSet<Operation *> forward = findFirstStage(function);
  DenseMap<Operation *, unsigned> stages;
  SmallVector<Operation *> backward;
  for (Operation &op : function.front().without_terminator()) {
    if (isa<BeginBackwardOp>(op))
      continue;
    if (forward.contains(&op))
      stages[&op] = 0;
    else
      backward.push_back(&op);
  }
  backward = Sinker(step, backward).run();
  SmallVector<unsigned> ends = Cutter(step, backward, count).run();
  unsigned stage = 0;
  for (auto [index, op] : llvm::enumerate(backward)) {
    stages[op] = stage + 1;
    if (stage + 1 < ends.size() && index == ends[stage])
      ++stage;
  }
  return stages;
}
