//===- Lifetimes.h - Live ranges of a function's buffers --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The analysis of remat-pack-memory. It changes nothing; the pass rewrites.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PACKMEMORY_LIFETIMES_H
#define REMAT_TRANSFORMS_PACKMEMORY_LIFETIMES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir {
class BufferViewFlowAnalysis;
namespace remat {

enum class Phase : uint8_t { forward, backward, recompute, update };

/// The closed range of program positions in which a buffer is used.
struct Lifetime {
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = -1;
  void cover(int64_t from, int64_t to) {
    first = std::min(first, from);
    last = std::max(last, to);
  }
};

struct Buffer {
  memref::AllocOp alloc;
  Lifetime lifetime;
  /// Bytes, not rounded; -1 if not static.
  int64_t size = -1;
  /// Phases of the operations that read or write it, as a bit set.
  uint8_t phases = 0;
  /// If not empty: the reason why the buffer has no place in an arena.
  std::string escape;
  void setEscape(StringRef why) {
    if (escape.empty() || why < escape)
      escape = why.str();
  }
  /// Operations in the allocation's block with the first and the last use.
  Operation *firstUser = nullptr;
  Operation *lastUser = nullptr;
  /// It has uses outside of the allocation's block.
  bool leavesBlock = false;
  SmallVector<memref::DeallocOp, 1> deallocs;
  bool wasIn(Phase phase) const { return phases & (1 << unsigned(phase)); }
};

/// The time at which memory that the caller provides is in use.
struct ArgumentUse {
  /// From the first access to the last one; empty if there is none.
  Lifetime lifetime;
  /// It may have accesses that are not seen.
  bool escapes = false;
};

class Lifetimes {
public:
  explicit Lifetimes(func::FuncOp function);

  MutableArrayRef<Buffer> getBuffers() { return buffers; }
  /// One for each argument of a private function: callers of others are not
  /// known.
  ArrayRef<ArgumentUse> getArgumentUses() const { return argumentUses; }
  /// Program position of an operation. Nested operations of structured control
  /// flow stand between its own first and last position.
  std::pair<int64_t, int64_t> getPositions(Operation *op) const {
    return positions.lookup(op);
  }
  static constexpr int noBuffer = -1;
  static constexpr int severalBuffers = -2;
  /// Index of the buffer that `value` is a view of, or one of the above.
  int getBuffer(Value value) const;
  /// Returns true if `op` uses buffer `index` from inside its regions.
  bool isCaptured(unsigned index, Operation *op) const {
    return captures.contains({op, index});
  }
  Phase getPhase(Operation *op) const;
  /// Returns the number of positions of the function.
  int64_t getEnd() const { return next; }
  /// Position of the backward's first operation on memory; not less than
  /// `getEnd` if there is none.
  int64_t getFirstBackward() const { return firstBackward; }

private:
  void number(Operation *op);
  void addUses(unsigned index, BufferViewFlowAnalysis &views);
  void addUse(unsigned index, OpOperand &use);
  ArgumentUse findUse(BlockArgument argument,
                      BufferViewFlowAnalysis &views) const;

  SmallVector<Buffer> buffers;
  SmallVector<ArgumentUse> argumentUses;
  DenseMap<Operation *, std::pair<int64_t, int64_t>> positions;
  DenseMap<Value, int> bufferOf;
  DenseSet<std::pair<Operation *, unsigned>> captures;
  int64_t next = 0;
  int64_t firstBackward = std::numeric_limits<int64_t>::max();
};

/// Bytes of a static memref, -1 for others.
int64_t getByteSize(Type type, Operation *scope);

} // namespace remat
} // namespace mlir

#endif // REMAT_TRANSFORMS_PACKMEMORY_LIFETIMES_H
