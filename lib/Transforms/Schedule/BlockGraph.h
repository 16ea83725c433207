//===- BlockGraph.h - Operations of a block and their bytes -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What remat-schedule orders: nodes with dependences and the buffers that they
// create, use and free.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_SCHEDULE_BLOCKGRAPH_H
#define REMAT_TRANSFORMS_SCHEDULE_BLOCKGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace mlir::remat {

/// Tensors that bufferization will put into one buffer.
struct TensorBuffer {
  /// 0 for what the block does not own.
  int64_t bytes = 0;
  /// Nodes that use it, ascending, without duplicates.
  SmallVector<unsigned> users;
};

struct Node {
  /// In order; the last one is what the node is about, the others are
  /// destinations that only it reads.
  SmallVector<Operation *, 3> ops;
  SmallVector<unsigned> dependences;
  SmallVector<unsigned> dependents;
  SmallVector<unsigned> buffers;
  SmallVector<unsigned, 2> created;
  /// Created buffers, each with the buffers whose bytes it can take over if
  /// they die here.
  SmallVector<std::pair<unsigned, SmallVector<unsigned, 2>>, 2> takeOvers;
  /// Peak of nested blocks, or of a called function.
  int64_t nestedPeak = 0;
  /// What its operations take only while they run.
  int64_t workspace = 0;
  bool isPure = false;
  /// Whether it costs no bytes at all: views, barriers, scalars.
  bool isFree = false;
  /// Whether it writes memory from outside of the block: an update.
  bool isUpdate = false;
};

class BlockGraph {
public:
  /// `nestedPeaks` are the estimates of blocks inside operations of this one.
  BlockGraph(Block &block, const DenseMap<Operation *, int64_t> &nestedPeaks);

  /// Counts what the terminator returns as the caller's memory.
  void disownResults();

  ArrayRef<Node> getNodes() const { return nodes; }
  ArrayRef<TensorBuffer> getBuffers() const { return buffers; }

  /// The buffer that the block uses for `value`; none if it does not use it.
  std::optional<unsigned> getBuffer(Value value) const;
  /// Whether `node` writes into `buffer` what others read after it.
  bool writes(unsigned node, unsigned buffer) const {
    return llvm::is_contained(writtenBuffers[node], buffer);
  }

  /// Buffers from in front of `node` that it writes in place.
  ArrayRef<unsigned> getWritten(unsigned node) const {
    return writtenBuffers[node];
  }
  /// Operands of `op` that it reads, and what its regions use from outside.
  static SmallVector<Value> getUsedValues(Operation *op);

  /// The largest number of bytes alive at once if nodes run in `order` and
  /// every buffer occupies a multiple of `alignment` bytes.
  int64_t estimatePeak(ArrayRef<unsigned> order, int64_t alignment) const;
  /// The same for the order of the block, and at which node it is.
  std::pair<int64_t, unsigned> estimatePeak(int64_t alignment) const;
  /// The bytes alive while `node` runs. `live` is what is alive in front of it,
  /// and then behind it; `remaining` counts the nodes that have yet to use each
  /// buffer.
  int64_t run(unsigned node, int64_t alignment, int64_t &live,
              MutableArrayRef<unsigned> remaining) const;

private:
  std::pair<int64_t, unsigned> findPeak(ArrayRef<unsigned> order,
                                        int64_t alignment) const;
  void makeNodes(Block &block);
  void addBuffers(unsigned index);
  void addDependences();
  unsigned getOrCreateBuffer(Value value);
  void use(unsigned node, Value value);

  std::vector<Node> nodes;
  SmallVector<TensorBuffer> buffers;
  DenseMap<Value, unsigned> bufferOf;
  DenseMap<Operation *, unsigned> nodeOf;
  /// Buffers that a node writes in place.
  SmallVector<SmallVector<unsigned, 2>> writtenBuffers;
};

/// Refuses an option `alignment` that is none.
LogicalResult checkAlignment(Operation *root, int64_t alignment);

/// What is inside of operations takes: bodies of loops and branches, and what
/// functions need besides operands and results.
class NestedPeaks {
public:
  explicit NestedPeaks(int64_t alignment) : alignment(alignment) {}

  /// Of the operations of `block` that need something, in their order.
  DenseMap<Operation *, int64_t> estimate(Block &block);
  /// Of the function that is called, as it is when asked for the first time.
  int64_t estimate(func::CallOp call);
  /// Says that `function` has changed.
  void forget(func::FuncOp function) { functions.erase(function); }

private:
  int64_t alignment;
  SymbolTableCollection symbols;
  DenseMap<Operation *, int64_t> functions;
};

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_SCHEDULE_BLOCKGRAPH_H
