//===- AttentionPlan.h - Tiles of an attention on a GPU ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_CUDA_ATTENTIONPLAN_H
#define REMAT_LIB_CONVERSION_CUDA_ATTENTIONPLAN_H

#include "../AttentionMask.h"
#include "../AttentionParts.h"
#include "KernelLaunch.h"
#include "WarpShuffle.h"

namespace mlir::remat {

/// Threads and warps of a block.
constexpr int64_t kAttentionThreads = 128,
                  kAttentionWarps = kAttentionThreads / kWarp;
/// Rows and columns of a product that a warp's tensor cores add up, and the
/// bytes of the elements that they add to each sum.
constexpr int64_t kMatrixRows = 16, kMatrixColumns = 8, kMatrixDepthBytes = 32;

/// Scores that a block has at once.
struct ScoreTile {
  int64_t queries = 0, keys = 0;
  /// True if tensor cores compute products: of the operands' own elements.
  bool usesMatrices = false;

  /// How many tiles of what a block reads one after the other have memory: with
  /// tensor cores one comes while another one is used.
  int64_t getStages() const { return usesMatrices ? 2 : 1; }
};

/// How threads share the rows of a tile and their scores and sums. A thread has
/// a slot, the same as its neighbours that it shares rows with, and among these
/// a lane.
struct ThreadLayout {
  /// The thread's rows are slot, slot + rowStep, ...
  int64_t rowStep = 0;
  /// Threads in a row.
  int64_t lanes = 0;
  /// Neighbouring scores, and sums, of a thread.
  int64_t perScore = 0, perSum = 0;

  int64_t countRows(int64_t rows) const {
    return rows * lanes / kAttentionThreads;
  }
  int64_t countScores(int64_t columns) const { return columns / lanes; }
  int64_t countSums(int64_t columns) const {
    return llvm::divideCeil(columns, lanes * perSum) * perSum;
  }
  /// The thread's score number `score` is so many columns from the first one of
  /// its lane.
  int64_t getColumn(int64_t score) const {
    return score / perScore * perScore * lanes + score % perScore;
  }
};

/// Elements of one row of a tile in workgroup memory: a multiple of `unit`, and
/// from row to row an odd number of vectors, so that threads that read
/// neighbouring rows read different banks.
struct TileWidth {
  TileWidth() = default;
  TileWidth(int64_t elements, int64_t perVector, int64_t unit)
      : elements(elements), padded(llvm::alignTo(elements, unit)),
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
  /// Elements of heads.
  int64_t depth = 0, columns = 0;
  /// The type of sums; that of factors of tensor cores, null if they have none.
  /// Those of f32 are two numbers of tf32 each.
  FloatType sumType, matrixType;
  /// True if scores are rounded as factors of tensor cores, as results are.
  bool roundsFactors = false;
  VisibleKeys visible;
  /// Of the forward; of the backward's kernels, which write gradients of
  /// queries, of keys and values, and of other operands.
  ScoreTile forward, byQueries, byKeys, byScores;

  /// How a kernel of such tiles keeps them in workgroup memory.
  FloatType getStoredType(ScoreTile tile) const {
    return tile.usesMatrices ? matrixType : sumType;
  }
  int64_t getPerVector(ScoreTile tile) const {
    return kVectorBytes * 8 / getStoredType(tile).getWidth();
  }
  TileWidth getWidth(ScoreTile tile, int64_t elements) const {
    int64_t perVector = getPerVector(tile);
    // Of two products side by side.
    return {elements, perVector,
            tile.usesMatrices ? 2 * kMatrixColumns : perVector};
  }
  /// Elements that tensor cores add to each sum.
  int64_t getMatrixDepth() const {
    return kMatrixDepthBytes * 8 / matrixType.getIntOrFloatBitWidth();
  }
  ThreadLayout getLayout(ScoreTile tile) const;
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
