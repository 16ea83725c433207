//===- BlockGraph.h - Operations of a block and their bytes -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph that remat-schedule orders: nodes with dependences and the buffers
// that they create, use and free.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_SCHEDULE_BLOCKGRAPH_H
#define REMAT_TRANSFORMS_SCHEDULE_BLOCKGRAPH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <vector>

namespace mlir::remat {

/// Tensors that bufferization will put into one buffer.
struct TensorBuffer {
  /// 0 for a buffer that the block does not own.
  int64_t bytes = 0;
  /// Nodes that use it, ascending, without duplicates.
  SmallVector<unsigned> users;
};

struct Node {
  /// In order; the last one is the node's operation proper, the others are
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
  /// Bytes that its operations take only while they run.
  int64_t workspace = 0;
  bool isPure = false;
  /// It takes no bytes at all: views, barriers, scalars.
  bool isFree = false;
  /// It writes memory from outside of the block: an update.
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

  /// Returns the buffer that the block uses for `value`, if it uses it.
  std::optional<unsigned> getBuffer(Value value) const;
  /// Returns true if `node` writes in place into `buffer`.
  bool writes(unsigned node, unsigned buffer) const {
    return llvm::is_contained(writtenBuffers[node], buffer);
  }

  /// Returns earlier buffers that `node` writes in place.
  ArrayRef<unsigned> getWritten(unsigned node) const {
    return writtenBuffers[node];
  }
  /// Operands of `op` that it reads, and what its regions use from outside.
  static SmallVector<Value> getUsedValues(Operation *op);

  /// Returns the largest number of bytes that are live at once if nodes run in
  /// `order` and every buffer occupies a multiple of `alignment` bytes.
  int64_t estimatePeak(ArrayRef<unsigned> order, int64_t alignment) const;
  /// Returns the same for the order of the block, and at which node it is.
  std::pair<int64_t, unsigned> estimatePeak(int64_t alignment) const;
  /// Returns the bytes that are live while `node` runs. Updates `live` from the
  /// bytes that are live before it to those after it, and `remaining`, the
  /// number of nodes that have yet to use each buffer.
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

/// Emits an error if the option `alignment` is not an alignment.
LogicalResult checkAlignment(Operation *root, int64_t alignment);

/// Estimates the memory of nested operations: bodies of loops and branches, and
/// of called functions besides operands and results.
class NestedPeaks {
public:
  explicit NestedPeaks(int64_t alignment) : alignment(alignment) {}

  /// Returns the bytes for each operation of `block` that needs some.
  DenseMap<Operation *, int64_t> estimate(Block &block);
  /// Returns the bytes of the called function, which are cached at the first
  /// call.
  int64_t estimate(func::CallOp call);
  /// Drops the cached bytes of `function`, which has changed.
  void forget(func::FuncOp function) { functions.erase(function); }

private:
  int64_t alignment;
  SymbolTableCollection symbols;
  DenseMap<Operation *, int64_t> functions;
};

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_SCHEDULE_BLOCKGRAPH_H
