//===- BlockGraph.cpp - Operations of a block and their bytes -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The estimate that remat-schedule uses, and the dependences that its orders
// must keep.
//===----------------------------------------------------------------------===//

#include "BlockGraph.h"

#include "remat/Analysis/Effects.h"
#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Schedule/Destination.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

/// Only tensors become buffers.
static int64_t getBytes(Type type) {
  return isa<RankedTensorType>(type) ? estimateBytes(type) : 0;
}

/// Returns true if `op` is a destination that should stay with its only user.
static bool isDestinationOnly(Operation *op) {
  return (isEmptyTensor(op) || isa<linalg::FillOp>(op)) && op->hasOneUse();
}

SmallVector<Value> BlockGraph::getUsedValues(Operation *op) {
  // Operands in `after` are awaited, not read.
  if (auto barrier = dyn_cast<BarrierOp>(op))
    return SmallVector<Value>(barrier.getValues());
  return getInputs(op);
}

BlockGraph::BlockGraph(Block &block,
                       const DenseMap<Operation *, int64_t> &nestedPeaks) {
  makeNodes(block);
  writtenBuffers.resize(nodes.size());
  for (unsigned index = 0; index < nodes.size(); ++index) {
    for (Operation *op : nodes[index].ops) {
      nodes[index].nestedPeak =
          std::max(nodes[index].nestedPeak, nestedPeaks.lookup(op));
      if (auto bytes = op->getAttrOfType<IntegerAttr>(
              RematDialect::getWorkspaceBytesAttrName()))
        nodes[index].workspace = std::max(nodes[index].workspace,
                                          std::min(bytes.getInt(), kSizeLimit));
    }
    addBuffers(index);
  }
  addDependences();
}

void BlockGraph::disownResults() {
  for (unsigned buffer : nodes.back().buffers)
    buffers[buffer].bytes = 0;
}

void BlockGraph::makeNodes(Block &block) {
  DenseMap<Operation *, SmallVector<Operation *, 2>> waiting;
  for (Operation &op : block) {
    SmallVector<Operation *, 3> ops;
    for (Value operand : op.getOperands()) {
      auto it = waiting.find(operand.getDefiningOp());
      if (it == waiting.end())
        continue;
      llvm::append_range(ops, it->second);
      waiting.erase(it);
    }
    ops.push_back(&op);
    Operation *user = op.hasOneUse() ? *op.getUsers().begin() : nullptr;
    bool areAllDestinations = llvm::all_of(op.getOperands(), [&](Value value) {
      return !isa<TensorType>(value.getType()) ||
             llvm::is_contained(ops, value.getDefiningOp());
    });
    if (isDestinationOnly(&op) && areAllDestinations &&
        user->getBlock() == &block) {
      waiting[&op].assign(ops.begin(), ops.end());
      continue;
    }
    for (Operation *member : ops)
      nodeOf[member] = nodes.size();
    Node node;
    node.ops = std::move(ops);
    node.isPure =
        hasNoEffectButAllocation(&op) && !op.hasTrait<OpTrait::IsTerminator>();
    nodes.push_back(std::move(node));
  }
}

unsigned BlockGraph::getOrCreateBuffer(Value value) {
  auto [it, inserted] = bufferOf.try_emplace(value, buffers.size());
  if (inserted)
    buffers.emplace_back();
  return it->second;
}

void BlockGraph::use(unsigned node, Value value) {
  if (!isa<TensorType>(value.getType()) || isEmptyTensor(value))
    return;
  unsigned buffer = getOrCreateBuffer(value);
  if (!llvm::is_contained(nodes[node].buffers, buffer))
    nodes[node].buffers.push_back(buffer);
  SmallVector<unsigned> &users = buffers[buffer].users;
  if (users.empty() || users.back() != node)
    users.push_back(node);
}

/// Operands of an elementwise operation, or of an exchange between ranks, that
/// `result` of it can take over.
static SmallVector<Value> getElementwiseInputs(OpResult result) {
  SmallVector<Value> inputs;
  if (auto reduce = dyn_cast<AllReduceOp>(result.getOwner())) {
    Value first = reduce.getInputs().front();
    if (first.getType() == result.getType() &&
        !llvm::is_contained(reduce.getInputs().drop_front(), first))
      inputs.push_back(first);
    return inputs;
  }
  auto linalgOp = dyn_cast<linalg::LinalgOp>(result.getOwner());
  if (!linalgOp || linalgOp.getNumLoops() != linalgOp.getNumParallelLoops())
    return inputs;
  OpOperand *init = linalgOp.getTiedOpOperand(result);
  AffineMap map = linalgOp.getMatchingIndexingMap(init);
  for (OpOperand *input : linalgOp.getDpsInputOperands())
    if (map.isPermutation() && linalgOp.getMatchingIndexingMap(input) == map &&
        getBytes(input->get().getType()) == getBytes(init->get().getType()))
      inputs.push_back(input->get());
  return inputs;
}

void BlockGraph::addBuffers(unsigned index) {
  Node &node = nodes[index];
  for (Operation *op : node.ops) {
    for (Value value : getUsedValues(op))
      use(index, value);
    // A callee may update parameters in place.
    if (isa<func::CallOp>(op))
      for (Value operand : op->getOperands())
        if (isa<BlockArgument>(operand) && isa<TensorType>(operand.getType()))
          writtenBuffers[index].push_back(getOrCreateBuffer(operand));
    bool isConstant = op->hasTrait<OpTrait::ConstantLike>();
    for (OpResult result : op->getOpResults()) {
      if (!isa<TensorType>(result.getType()) || isEmptyTensor(op))
        continue;
      Value destination = getDestination(result);
      if (destination && isEmptyTensor(destination))
        destination = {};
      Value viewed = getViewedTensor(result);
      if (Value source = destination ? destination : viewed) {
        unsigned buffer = getOrCreateBuffer(source);
        bufferOf[result] = buffer;
        if (destination && !llvm::is_contained(node.created, buffer))
          writtenBuffers[index].push_back(buffer);
        continue;
      }
      unsigned buffer = getOrCreateBuffer(result);
      buffers[buffer].bytes = isConstant ? 0 : getBytes(result.getType());
      use(index, result);
      if (buffers[buffer].bytes == 0)
        continue;
      node.created.push_back(buffer);
      SmallVector<unsigned, 2> dying;
      for (Value input : getElementwiseInputs(result))
        if (auto it = bufferOf.find(input);
            it != bufferOf.end() &&
            buffers[it->second].bytes == buffers[buffer].bytes)
          dying.push_back(it->second);
      if (!dying.empty())
        node.takeOvers.emplace_back(buffer, std::move(dying));
    }
  }
  node.isUpdate = llvm::any_of(writtenBuffers[index], [&](unsigned buffer) {
    return buffers[buffer].bytes == 0;
  });
  node.isFree = node.isPure && node.created.empty() &&
                writtenBuffers[index].empty() && node.nestedPeak == 0;
}

void BlockGraph::addDependences() {
  auto depend = [&](unsigned later, unsigned earlier) {
    if (later == earlier ||
        llvm::is_contained(nodes[later].dependences, earlier))
      return;
    nodes[later].dependences.push_back(earlier);
    nodes[earlier].dependents.push_back(later);
  };
  struct Access {
    int64_t lastWrite = -1;
    SmallVector<unsigned> reads;
  };
  SmallVector<Access> accesses(buffers.size());
  int64_t lastEffect = -1;
  for (unsigned index = 0; index < nodes.size(); ++index) {
    Node &node = nodes[index];
    for (Operation *op : node.ops)
      for (Value input : getInputs(op))
        if (auto it = nodeOf.find(input.getDefiningOp()); it != nodeOf.end())
          depend(index, it->second);
    for (unsigned buffer : node.buffers) {
      Access &access = accesses[buffer];
      if (access.lastWrite >= 0)
        depend(index, access.lastWrite);
      if (!llvm::is_contained(writtenBuffers[index], buffer))
        access.reads.push_back(index);
    }
    for (unsigned buffer : writtenBuffers[index]) {
      Access &access = accesses[buffer];
      for (unsigned read : access.reads)
        depend(index, read);
      access.reads.clear();
      access.lastWrite = index;
    }
    if (!node.isPure) {
      if (lastEffect >= 0)
        depend(index, lastEffect);
      lastEffect = index;
    }
  }
  // The terminator stays last.
  for (unsigned index = 0; index + 1 < nodes.size(); ++index)
    if (nodes[index].dependents.empty())
      depend(nodes.size() - 1, index);
}

std::optional<unsigned> BlockGraph::getBuffer(Value value) const {
  auto it = bufferOf.find(value);
  return it == bufferOf.end() ? std::nullopt : std::optional(it->second);
}

int64_t BlockGraph::run(unsigned index, int64_t alignment, int64_t &live,
                        MutableArrayRef<unsigned> remaining) const {
  auto getSize = [&](unsigned buffer) -> int64_t {
    return llvm::alignTo(buffers[buffer].bytes, alignment);
  };
  const Node &node = nodes[index];
  int64_t created = 0, freed = 0;
  for (unsigned buffer : node.created)
    created += getSize(buffer);
  for (unsigned buffer : node.buffers)
    if (--remaining[buffer] == 0)
      freed += getSize(buffer);
  // Each result takes over the first operand that no other one has, as
  // remat-pack-memory does it.
  int64_t takenOver = 0;
  SmallVector<unsigned, 2> taken;
  for (const auto &[result, candidates] : node.takeOvers)
    for (unsigned buffer : candidates)
      if (remaining[buffer] == 0 && !llvm::is_contained(taken, buffer)) {
        taken.push_back(buffer);
        takenOver += getSize(result);
        break;
      }
  int64_t workspace = llvm::alignTo(node.workspace, alignment);
  int64_t now = live + created - takenOver + node.nestedPeak + workspace;
  live += created - freed;
  return now;
}

std::pair<int64_t, unsigned> BlockGraph::findPeak(ArrayRef<unsigned> order,
                                                  int64_t alignment) const {
  SmallVector<unsigned> remaining;
  for (const TensorBuffer &buffer : buffers)
    remaining.push_back(buffer.users.size());
  int64_t live = 0, peak = 0;
  unsigned at = 0;
  for (unsigned index : order) {
    int64_t now = run(index, alignment, live, remaining);
    if (now > peak) {
      peak = now;
      at = index;
    }
  }
  return {peak, at};
}

int64_t BlockGraph::estimatePeak(ArrayRef<unsigned> order,
                                 int64_t alignment) const {
  return findPeak(order, alignment).first;
}

std::pair<int64_t, unsigned> BlockGraph::estimatePeak(int64_t alignment) const {
  return findPeak(llvm::to_vector(llvm::seq<unsigned>(nodes.size())),
                  alignment);
}

LogicalResult mlir::remat::checkAlignment(Operation *root, int64_t alignment) {
  if (alignment >= 1)
    return success();
  return root->emitError("alignment must be at least 1, but got ") << alignment;
}

DenseMap<Operation *, int64_t>
mlir::remat::NestedPeaks::estimate(Block &block) {
  DenseMap<Operation *, int64_t> peaks;
  for (Operation &op : block) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      if (int64_t peak = estimate(call))
        peaks[&op] = peak;
    } else if (isa<scf::ForOp, scf::IfOp, scf::WhileOp, scf::ExecuteRegionOp>(
                   op)) {
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          peaks[&op] = std::max(
              peaks[&op],
              BlockGraph(inner, estimate(inner)).estimatePeak(alignment).first);
    }
  }
  return peaks;
}

int64_t mlir::remat::NestedPeaks::estimate(func::CallOp call) {
  auto callee =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  if (!callee || !callee.getBody().hasOneBlock())
    return 0;
  // Of a recursive function nothing is known while it is looked at.
  if (auto [it, isNew] = functions.try_emplace(callee, 0); !isNew)
    return it->second;
  Block &body = callee.front();
  BlockGraph graph(body, estimate(body));
  graph.disownResults();
  return functions[callee] = graph.estimatePeak(alignment).first;
}
