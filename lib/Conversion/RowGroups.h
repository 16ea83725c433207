//===- RowGroups.h - Operations that go through the same rows ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A norm or a softmax reads its rows two or three times. Operation by operation
// that is the whole array from memory each time; row by row it is the cache.
//
// This is found on memory, after it was packed: no buffer lives longer by it,
// and what depends on what is a question of bytes.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_ROWGROUPS_H
#define REMAT_LIB_CONVERSION_ROWGROUPS_H

#include "BufferParts.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

#include <functional>

namespace mlir::remat {

/// How an operation that iterates over rows accesses one of its operands.
struct RowAccess {
  BufferPart part;
  bool isWrite = false;
  /// Bytes from row to row, and those of one row; 0 if that is not known or all
  /// rows access the same.
  int64_t stride = 0, width = 0;
};

/// The requirements of a target on the operations of a group.
struct RowGroupOptions {
  /// There is no group without an array of as many bytes that two share.
  int64_t minSharedBytes = 0;
  int64_t minRows = 1;
  /// All that the operations of a group access.
  size_t maxAccesses = std::numeric_limits<size_t>::max();
  /// How many threads a row of `op` needs, of which the outermost `rowLoops`
  /// loops are the rows; 0 if any number will do, nothing if it cannot be in a
  /// group. Those of a group that need some need as many.
  std::function<std::optional<int64_t>(linalg::LinalgOp op, unsigned rowLoops)>
      countThreads = [](linalg::LinalgOp, unsigned) { return 0; };
};

/// Operations whose rows one loop can go through.
class RowGroup {
public:
  RowGroup(linalg::LinalgOp first, const RowGroupOptions &options);

  /// Adds `ops`, the last of which has to have rows in common with those
  /// before; false, and nothing is changed, if they cannot be one loop.
  bool add(ArrayRef<Operation *> ops, const RowGroupOptions &options);

  ArrayRef<Operation *> getMembers() const { return members; }
  int64_t getRows() const { return choices.back().rows; }
  /// Threads that a row needs; 0 if any number will do.
  int64_t getThreads() const { return choices.back().threads; }
  /// Returns the bytes that the members access in one row.
  int64_t getBytesPerRow() const;

private:
  /// A number of rows that all members can have.
  struct Choice {
    int64_t rows, threads;
    SmallVector<SmallVector<RowAccess>> accesses;
  };

  static bool addTo(Choice &choice, ArrayRef<Operation *> ops,
                    const RowGroupOptions &options);

  SmallVector<Operation *> members;
  /// From few large rows to many small ones.
  SmallVector<Choice> choices;
};

/// How many of its outermost loops are `rows`.
std::optional<unsigned> countRowLoops(linalg::LinalgOp op, int64_t rows);

/// Calls `visit` with each group of at least two operations of one block in
/// `root`, in their order. It returns true if it has put the members together,
/// or replaced them, where the first one stood: later groups may move past the
/// places that the others had. What threads share already is left out.
void findRowGroups(Operation *root, const RowGroupOptions &options,
                   function_ref<bool(const RowGroup &)> visit);

/// Moves the members after the first one, in their order; returns false, and
/// moves none, if definitions of their operands cannot be moved along.
bool moveTogether(RewriterBase &rewriter, const RowGroup &group);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_ROWGROUPS_H
