//===- ScoreBody.h - Elementwise kernels as one scalar body -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands between a product and a softmax (scale, bias, masks) and between
// the softmax and the next product (dropout), inlined into the body of an
// attention.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_RAISE_SCOREBODY_H
#define REMAT_LIB_TRANSFORMS_RAISE_SCOREBODY_H

#include "remat/Transforms/Match/Copies.h"

#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// Whether `op` computes each element of its results from elements of its
/// inputs and scalars from around, in any order of dimensions.
bool isElementwiseKernel(Operation *op);
/// From the dimensions that `map` selects to those that it selects from: 0 for
/// what it leaves out. `map` is a projected permutation, perhaps with zeros.
AffineMap invertProjection(AffineMap map);

/// Builds the body of a `remat.attention`: maps are those of the dimensions of
/// the softmax, in its order.
class ScoreBody {
public:
  /// `product` has the scores, which are all read by `scoreMap`.
  ScoreBody(OpBuilder &builder, Location loc, Type scoreType,
            Operation *product, AffineMap scoreMap, linalg::SoftmaxOp softmax);
  ~ScoreBody();

  /// The number that the softmax reads, computed from the score.
  FailureOr<Value> buildModifiedScore();
  /// What the probability is multiplied by where `probabilities`, computed from
  /// them, is read by `map`: null if that is 1.
  FailureOr<Value> buildFactor(Value probabilities, AffineMap map);

  /// The body that yields these two, which its caller owns. Arguments: an index
  /// for each of the dimensions `kept` (others are of size 1), the score, the
  /// operands' elements.
  /// `widens`: computed in the score's type, without rounding to a narrower one
  /// in between.
  Block *finish(Value score, Value factor, ArrayRef<unsigned> kept,
                bool widens);
  /// Tensors of which the body gets elements, and by which maps.
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
  Operation *product;
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
