//===- StepPlan.cpp - Schedules of a block that recompute -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph has a new value for each write in place: what reads the old one
// cannot run after it. So whatever order the planner finds is one that
// bufferization keeps without a copy.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Schedule/StepPlan.h"

#include "BlockGraph.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Schedule/Destination.h"
#include "remat/Transforms/Utils/Recompute.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::remat;
namespace plan = ::remat::plan;

namespace {
/// The computation of a block, as the planner sees it. Views, barriers, scalars
/// and constants take no bytes and are not nodes: they are placed at their
/// uses.
class StepPlan {
public:
  /// Sizes are rounded up to `alignment`.
  StepPlan(Block &block, int64_t alignment);

  const plan::Graph &getGraph() const { return graph; }

  /// Forbids to recompute what `value` is or shows.
  void runOnce(Value value);

  /// The operations of a node; the last one is its operation proper, the others
  /// are destinations that only it reads.
  ArrayRef<Operation *> getOps(unsigned node) const {
    return blockGraph.getNodes()[nodes[node]].ops;
  }

  /// Puts the block in the order of `schedule`. A recomputation is a clone that
  /// reads through a `remat.barrier` on the value that was computed before it,
  /// and later nodes read its results. This graph is of no use afterwards.
  void apply(const plan::Schedule &schedule);

private:
  void addNode(unsigned index);
  std::optional<unsigned> findValue(Value value);
  void addInput(unsigned node, Value value);
  void addOrder(unsigned node, Operation *before);
  bool hasContents(Value value) const;
  bool isFree(unsigned index) const;
  SetVector<Value> findRead(ArrayRef<Operation *> ops) const;
  bool canRunAgain(unsigned index) const;

  Value resolve(Value value);
  void emit(Operation *op);
  void runFirst(unsigned node);
  void runAgain(unsigned node);

  Block &block;
  int64_t alignment;
  BlockGraph blockGraph;
  plan::Graph graph;
  /// The node of `blockGraph` that a node of `graph` is, and back.
  SmallVector<unsigned> nodes;
  DenseMap<Operation *, unsigned> nodeOf;
  /// The value of the graph that each buffer holds now, while nodes are added.
  DenseMap<unsigned, unsigned> contents;
  /// The value of the graph that a tensor is, or is a view of.
  DenseMap<Value, unsigned> valueOf;
  /// The nodes that have to run before an operation that is no node.
  DenseMap<Operation *, SmallVector<unsigned, 2>> orderOf;

  /// While a schedule is applied: the copy of each result that is read now, the
  /// operations that stand where they will, views of copies, and the last
  /// tensor that was computed.
  DenseMap<Value, Value> latest;
  /// Of copies and of their views: what they are copies of.
  DenseMap<Value, Value> originalOf;
  DenseSet<Operation *> emitted;
  DenseMap<std::pair<Value, Value>, Value> viewsOf;
  Value last;
};
} // namespace

//===----------------------------------------------------------------------===//
// From a block to a graph
//===----------------------------------------------------------------------===//

/// Returns true if `op` is made where it is used: it computes nothing in memory
/// and reads nothing of it.
static bool isMadeAtUse(Operation *op) {
  if (isEmptyTensor(op))
    return true;
  if (!isMemoryEffectFree(op) || op->hasTrait<OpTrait::IsTerminator>() ||
      op->getNumRegions() != 0)
    return false;
  if (isa<BarrierOp>(op) || op->hasTrait<OpTrait::ConstantLike>())
    return true;
  bool readsTensor =
      llvm::any_of(op->getOperandTypes(), llvm::IsaPred<TensorType>);
  bool isView = op->getNumResults() == 1 && getViewedTensor(op->getResult(0)) &&
                !isa<TapeReadOp>(op);
  bool makesTensor =
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>);
  return isView || isa<tensor::DimOp>(op) || (!readsTensor && !makesTensor);
}

/// Returns true if `value` is, or shows, memory with something in it.
bool StepPlan::hasContents(Value value) const {
  auto it = originalOf.find(value);
  return valueOf.contains(it == originalOf.end() ? value : it->second);
}

bool StepPlan::isFree(unsigned index) const {
  const mlir::remat::Node &node = blockGraph.getNodes()[index];
  return node.ops.size() == 1 && isMadeAtUse(node.ops.back());
}

/// Returns the tensors from elsewhere that `ops` read: not those that they
/// write in place.
SetVector<Value> StepPlan::findRead(ArrayRef<Operation *> ops) const {
  SetVector<Value> read;
  for (Operation *op : ops) {
    SmallVector<Value> destinations;
    for (OpResult result : op->getResults())
      destinations.push_back(getDestination(result));
    for (Value value : getInputs(op))
      if (isa<TensorType>(value.getType()) && hasContents(value) &&
          !llvm::is_contained(ops, value.getDefiningOp()) &&
          !llvm::is_contained(destinations, value))
        read.insert(value);
  }
  return read;
}

/// Returns true if the planner may run the node once more. What reads nothing
/// cannot be told from its first run, and what writes memory of others has had
/// its effect.
bool StepPlan::canRunAgain(unsigned index) const {
  const mlir::remat::Node &node = blockGraph.getNodes()[index];
  Operation *op = node.ops.back();
  auto isStatic = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  if (!node.isPure || node.isUpdate || op->getNumResults() == 0 ||
      !llvm::all_of(op->getResultTypes(), isStatic))
    return false;
  return !findRead(node.ops).empty();
}

StepPlan::StepPlan(Block &block, int64_t alignment)
    : block(block), alignment(alignment),
      blockGraph(block, NestedPeaks(alignment).estimate(block)) {
  blockGraph.disownResults();
  for (unsigned index = 0; index < blockGraph.getNodes().size(); ++index)
    addNode(index);
}

/// Returns the value that `value` is or shows; none if there is nothing in its
/// memory.
std::optional<unsigned> StepPlan::findValue(Value value) {
  if (auto it = valueOf.find(value); it != valueOf.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  if (!isa<TensorType>(value.getType()) || (op && op->getBlock() == &block))
    return std::nullopt;
  std::optional<unsigned> buffer = blockGraph.getBuffer(value);
  if (!buffer)
    return std::nullopt;
  // An argument, or something else from outside: it has memory of its own.
  auto [content, isNew] = contents.try_emplace(*buffer, 0);
  if (isNew)
    content->second = graph.addValue(plan::kNone, 0);
  valueOf[value] = content->second;
  return content->second;
}

void StepPlan::runOnce(Value value) {
  auto it = valueOf.find(value);
  if (it == valueOf.end())
    return;
  unsigned producer = graph.values[it->second].producer;
  if (producer != plan::kNone)
    graph.nodes[producer].runsOnce = true;
}

void StepPlan::addInput(unsigned node, Value value) {
  std::optional<unsigned> input = findValue(value);
  std::vector<unsigned> &inputs = graph.nodes[node].inputs;
  if (input && graph.values[*input].producer != node &&
      !llvm::is_contained(inputs, *input))
    inputs.push_back(*input);
}

void StepPlan::addOrder(unsigned node, Operation *before) {
  std::vector<unsigned> &after = graph.nodes[node].after;
  auto add = [&](unsigned other) {
    if (other != node && !llvm::is_contained(after, other))
      after.push_back(other);
  };
  if (auto it = nodeOf.find(before); it != nodeOf.end())
    add(it->second);
  if (auto it = orderOf.find(before); it != orderOf.end())
    for (unsigned other : it->second)
      add(other);
}

void StepPlan::addNode(unsigned index) {
  const mlir::remat::Node &source = blockGraph.getNodes()[index];
  if (isFree(index)) {
    Operation *op = source.ops.back();
    for (OpResult result : op->getResults())
      if (Value viewed = getViewedTensor(result))
        if (std::optional<unsigned> shown = findValue(viewed))
          valueOf[result] = *shown;
    SmallVector<unsigned, 2> before;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (auto it = nodeOf.find(producer); it != nodeOf.end())
        before.push_back(it->second);
      if (auto it = orderOf.find(producer); it != orderOf.end())
        llvm::append_range(before, it->second);
    }
    llvm::sort(before);
    before.erase(llvm::unique(before), before.end());
    orderOf[op] = std::move(before);
    return;
  }

  unsigned node = graph.nodes.size();
  graph.nodes.emplace_back();
  nodes.push_back(index);
  for (Operation *op : source.ops) {
    nodeOf[op] = node;
    graph.nodes[node].cost += estimateTime(op);
  }
  graph.nodes[node].workspace =
      source.nestedPeak + llvm::alignTo(source.workspace, alignment);
  graph.nodes[node].runsOnce = !canRunAgain(index);
  for (Operation *op : source.ops) {
    // A buffer that is written in place counts below as it is by now: a slice
    // may have been written since.
    SmallVector<Value> written;
    for (OpResult result : op->getResults())
      if (Value destination = getDestination(result))
        if (std::optional<unsigned> buffer = blockGraph.getBuffer(destination);
            buffer && contents.contains(*buffer) &&
            llvm::is_contained(blockGraph.getWritten(index), *buffer))
          written.push_back(destination);
    for (Value value : BlockGraph::getUsedValues(op))
      if (!llvm::is_contained(written, value))
        addInput(node, value);
    for (Value value : getInputs(op))
      if (Operation *before = value.getDefiningOp();
          before && before->getBlock() == &block)
        addOrder(node, before);
  }
  // Operations with effects keep their order.
  if (!source.isPure)
    for (unsigned before = node; before-- > 0;)
      if (!blockGraph.getNodes()[nodes[before]].isPure) {
        addOrder(node, getOps(before).back());
        break;
      }
  for (const auto &[result, candidates] : source.takeOvers) {
    std::vector<unsigned> inputs;
    for (unsigned buffer : candidates)
      if (auto it = contents.find(buffer);
          it != contents.end() &&
          llvm::is_contained(graph.nodes[node].inputs, it->second))
        inputs.push_back(it->second);
    graph.nodes[node].takeOvers.push_back(std::move(inputs));
  }
  for (unsigned buffer : blockGraph.getWritten(index)) {
    auto it = contents.find(buffer);
    if (it == contents.end()) {
      contents[buffer] = graph.addValue(node, 0);
      continue;
    }
    unsigned old = it->second;
    if (graph.values[old].producer == node)
      continue;
    if (!llvm::is_contained(graph.nodes[node].inputs, old))
      graph.nodes[node].inputs.push_back(old);
    contents[buffer] = graph.addValue(node, 0, old);
  }
  for (unsigned buffer : source.created)
    contents[buffer] = graph.addValue(
        node, llvm::alignTo(blockGraph.getBuffers()[buffer].bytes, alignment));
  for (Operation *op : source.ops)
    for (Value result : op->getResults())
      if (std::optional<unsigned> buffer = blockGraph.getBuffer(result))
        if (auto it = contents.find(*buffer); it != contents.end())
          valueOf[result] = it->second;
}

//===----------------------------------------------------------------------===//
// From a schedule to a block
//===----------------------------------------------------------------------===//

/// Puts `op`, which is no node, and what it is made of after what stands
/// already.
void StepPlan::emit(Operation *op) {
  if (!op || op->getBlock() != &block || nodeOf.contains(op) ||
      !emitted.insert(op).second)
    return;
  for (Value operand : op->getOperands())
    emit(operand.getDefiningOp());
  op->moveBefore(&block, block.end());
}

/// Returns what `value` is called now: itself, what was recomputed last, or a
/// view of that.
Value StepPlan::resolve(Value value) {
  if (auto it = originalOf.find(value); it != originalOf.end())
    value = it->second;
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != &block)
    return value;
  if (nodeOf.contains(op)) {
    auto it = latest.find(value);
    return it == latest.end() ? value : it->second;
  }
  Value viewed = getViewedTensor(cast<OpResult>(value));
  Value source = viewed ? resolve(viewed) : Value();
  if (source == viewed) {
    emit(op);
    return value;
  }
  if (isa<BarrierOp>(op))
    return source;
  Value &view = viewsOf[{value, source}];
  if (!view) {
    IRMapping mapping;
    for (Value operand : op->getOperands())
      mapping.map(operand, resolve(operand));
    view = OpBuilder::atBlockEnd(&block).clone(*op, mapping)->getResult(0);
    originalOf[view] = value;
  }
  return view;
}

void StepPlan::runFirst(unsigned node) {
  for (Operation *op : getOps(node)) {
    op->walk([&](Operation *nested) {
      for (OpOperand &operand : nested->getOpOperands())
        operand.set(resolve(operand.get()));
    });
    op->moveBefore(&block, block.end());
    emitted.insert(op);
    for (Value result : op->getResults())
      latest[result] = result;
  }
}

void StepPlan::runAgain(unsigned node) {
  ArrayRef<Operation *> ops = getOps(node);
  IRMapping mapping;
  for (Operation *op : ops)
    for (Value value : getInputs(op))
      if (!llvm::is_contained(ops, value.getDefiningOp()))
        mapping.map(value, resolve(value));
  SetVector<Value> read = findRead(ops);
  OpBuilder builder = OpBuilder::atBlockEnd(&block);
  createGuard(builder, ops.back()->getLoc(), read.getArrayRef(),
              ValueRange(last), mapping, /*repeated=*/true);
  for (Operation *op : ops) {
    // Destinations are of no phase.
    Operation *clone =
        cloneRecompute(builder, op, mapping,
                       op == ops.back() ? StringRef(kRecomputePhase) : "");
    for (auto [result, copy] :
         llvm::zip_equal(op->getResults(), clone->getResults())) {
      latest[result] = copy;
      originalOf[copy] = result;
    }
  }
}

void StepPlan::apply(const plan::Schedule &schedule) {
  llvm::BitVector hasRun(graph.nodes.size());
  for (unsigned node : schedule) {
    if (hasRun.test(node))
      runAgain(node);
    else
      runFirst(node);
    hasRun.set(node);
    for (Value result : getOps(node).back()->getResults())
      if (isa<TensorType>(result.getType()))
        last = latest.lookup(result);
  }
  // Operations without uses are still at the front of the block.
  SmallVector<Operation *> rest;
  for (Operation &op : block)
    if (!emitted.contains(&op) && isMadeAtUse(&op) && orderOf.contains(&op))
      rest.push_back(&op);
  for (Operation *op : llvm::reverse(rest))
    if (op->use_empty())
      op->erase();
}

StepGraph mlir::remat::buildStepGraph(Block &block, int64_t alignment,
                                      ArrayRef<Value> kept) {
  StepPlan step(block, alignment);
  for (Value value : kept)
    step.runOnce(value);
  StepGraph result;
  result.graph = step.getGraph();
  for (unsigned node = 0; node < result.graph.nodes.size(); ++node)
    result.ops.push_back(step.getOps(node).back());
  return result;
}

void mlir::remat::applySchedule(Block &block, int64_t alignment,
                                const plan::Schedule &schedule) {
  StepPlan(block, alignment).apply(schedule);
}
