//===- AttentionPlan.h - Tiles of an attention on a GPU ---------*- C++ -*-===//

#ifndef REMAT_LIB_CONVERSION_CUDA_ATTENTIONPLAN_H
#define REMAT_LIB_CONVERSION_CUDA_ATTENTIONPLAN_H

#include "../AttentionMask.h"
#include "../AttentionParts.h"

namespace mlir::remat {

/// Threads of a block: a number of them along the rows of a tile, neighbours
/// along its columns. Thread (s, l) computes the rows s, s + kSlots, ... and of
/// scores the columns l, l + kLanes, ...
constexpr int64_t kSlots = 16, kLanes = 8, kAttentionThreads = kSlots * kLanes;
/// Of loads and stores.
constexpr int64_t kVectorBytes = 16;

/// Scores that a block has at once.
struct ScoreTile {
  int64_t queries = 0, keys = 0;
  int64_t rowsPerThread() const { return queries / kSlots; }
  int64_t keysPerThread() const { return keys / kLanes; }
};

/// Elements of one row of a tile in workgroup memory: a multiple of vectors,
/// and from row to row an odd number of them, so that threads that read
/// neighbouring rows read different banks.
struct TileWidth {
  TileWidth() = default;
  TileWidth(int64_t elements, int64_t perVector)
      : elements(elements), padded(llvm::alignTo(elements, perVector)),
        stride(perVector * ((padded / perVector) | 1)) {}
  int64_t elements = 0, padded = 0, stride = 0;
};

/// How an attention is divided among blocks: a function of the operation alone,
/// as the order of its sums depends on it.
struct AttentionPlan {
  AttentionDims dims;
  /// The loop of queries in a tile; the number of loops if all rows have keys
  /// of their own.
  unsigned queryLoop = 0;
  /// The other rows.
  SmallVector<unsigned> outer;
  TileWidth depth, columns;
  /// Elements in `kVectorBytes`.
  int64_t perVector = 0;
  VisibleKeys visible;
  /// Of the forward; of the backward's kernels, which write gradients of
  /// queries, of keys and values, and of other operands.
  ScoreTile forward, byQueries, byKeys;
};

/// The plan for `op` on tensors or memrefs; fails if there is no kernel for it,
/// and says why.
FailureOr<AttentionPlan> planAttention(AttentionOp op, std::string &reason);
FailureOr<AttentionPlan> planAttention(AttentionBackwardOp op,
                                       std::string &reason);

/// Elements in workgroup memory between rows of scores, which are stored one by
/// one, and read as vectors.
int64_t getScoreStride(int64_t columns, int64_t perVector);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_ATTENTIONPLAN_H
