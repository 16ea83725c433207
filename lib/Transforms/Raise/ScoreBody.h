//===- ScoreBody.h - Elementwise kernels as one scalar body -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels between a product and a softmax (scale, bias, masks), and between the
// softmax and the next product (dropout), are inlined into the body of an
// attention.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_RAISE_SCOREBODY_H
#define REMAT_LIB_TRANSFORMS_RAISE_SCOREBODY_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Match/Copies.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// Returns true if `op` is an elementwise kernel whose body may become part of
/// that of an attention: it reads elements of its inputs and scalars, in any
/// order of dimensions.
bool isInlinableKernel(Operation *op);

/// Returns the map from the dimensions that `map` selects to those that it
/// selects from: 0 for those that it drops. `map` is a projected permutation,
/// perhaps with zeros.
AffineMap invertProjection(AffineMap map);

/// Builds the body of a `remat.attention`: maps are those of the dimensions of
/// the softmax, in its order.
class ScoreBody {
public:
  /// `product` has the scores, which are all read by `scoreMap`.
  ScoreBody(OpBuilder &builder, Location loc, Type scoreType,
            Operation *product, AffineMap scoreMap, linalg::SoftmaxOp softmax);
  /// For an attention in `around` that is there already.
  ScoreBody(OpBuilder &builder, Location loc, Type scoreType, unsigned rank,
            Block *around);
  ~ScoreBody();

  /// The number that the softmax reads, computed from the score.
  FailureOr<Value> buildModifiedScore();
  /// Returns the factor of the probability in `probabilities`, which is
  /// computed from the softmax and read by `map`: null if that is 1.
  FailureOr<Value> buildFactor(Value probabilities, AffineMap map);

  /// Returns what the body of `op` yields, whose operands of scores are read by
  /// `maps`.
  FailureOr<SmallVector<Value>> inlineBody(AttentionOp op,
                                           ArrayRef<AffineMap> maps);

  /// Returns the body that yields these two, which its caller owns. Arguments:
  /// an index for each of the dimensions `kept` (others are of size 1), the
  /// score, the operands' elements. With `widens`, all is computed in the
  /// score's type, without rounding to a narrower one in between.
  Block *finish(Value score, Value factor, ArrayRef<unsigned> kept,
                bool widens);
  /// Tensors whose elements are arguments of the body, and the maps by which
  /// they are read.
  ArrayRef<Value> getOperands() const { return operands; }
  ArrayRef<AffineMap> getMaps() const { return maps; }
  /// The kernels that are inlined and whose results depend on the score.
  ArrayRef<Operation *> getPath() const { return path.getArrayRef(); }

private:
  class InlinedKernel;

  bool dependsOn(Value value, Operation *source);
  int64_t getSourceBytes(Value value);
  bool shouldInline(Value value);
  FailureOr<Value> read(Value tensor, AffineMap map);
  FailureOr<Value> readOperand(Value tensor, AffineMap map);
  FailureOr<Value> inlineKernel(OpResult result, AffineMap map);
  FailureOr<Value> multiplyFactor(Operation *scalar, OpOperand &path,
                                  Value factor,
                                  function_ref<FailureOr<Value>(Value)> get);
  void widen(Type type);
  Value indexAt(AffineExpr expr);
  Value convert(Value value, Type type);

  OpBuilder builder;
  Location loc;
  unsigned rank;
  /// Where the attention is.
  Block *around;
  Operation *product = nullptr;
  AffineMap scoreMap;
  linalg::SoftmaxOp softmax;
  Block *block;
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  llvm::SetVector<Operation *> path;
  DenseMap<Operation *, DenseMap<Value, bool>> dependences;
  DenseMap<Value, int64_t> sourceBytes;
  DenseMap<std::pair<Value, AffineMap>, Value> known;
};

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_RAISE_SCOREBODY_H
