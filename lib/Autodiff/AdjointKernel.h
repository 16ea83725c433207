//===- AdjointKernel.h - Adjoint kernels of structured ops ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The adjoints of one structured operation share its iteration space and its
// recomputed scalar body. They are written once, in a scratch block, from which
// a linalg.generic for each cotangent is cut with only the inputs it reads.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_ADJOINTKERNEL_H
#define REMAT_LIB_AUTODIFF_ADJOINTKERNEL_H

#include "ScalarAdjoint.h"
#include "remat/Autodiff/DifferentiableOpInterface.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::remat {

/// A scratch block over the iteration space of a structured operation.
class AdjointKernel {
public:
  explicit AdjointKernel(linalg::LinalgOp op);

  /// A new block argument that reads `tensor` (or a scalar) through `map`.
  BlockArgument addInput(Value tensor, AffineMap map);
  /// The same for a tensor that is made only if the argument turns out to be
  /// read; `setInput` names it before `cut`.
  BlockArgument addDeferredInput(Type type, AffineMap map);
  /// A new block argument that is an output's running value.
  BlockArgument addAccumulator(Type type);
  void setInput(BlockArgument argument, Value tensor);

  /// One output of a kernel: `value` is written through `map` over `init`.
  /// `accumulator` is the block argument for the running value, if it is read.
  struct Output {
    Value init;
    AffineMap map;
    Value value;
    BlockArgument accumulator = {};
  };
  /// Makes a linalg.generic from the part of the block that `outputs` need.
  SmallVector<Value> cut(OpBuilder &builder, ArrayRef<Output> outputs) const;
  /// The inputs that `values` are computed from.
  llvm::SetVector<Value> inputsRead(ArrayRef<Value> values) const;
  /// The tensor and map of a block argument added by `addInput`.
  Value tensorOf(Value argument) const;
  AffineMap mapOf(Value argument) const;

  /// An uninitialized tensor in the shape of operand `index`, less the
  /// dimensions of `dropped`.
  Value emptyLike(OpBuilder &builder, unsigned index, Type elementType,
                  ArrayRef<unsigned> dropped = {});
  /// An uninitialized tensor over the whole iteration space.
  Value emptyOverLoops(OpBuilder &builder, Type elementType);
  /// The size of loop `dim`.
  OpFoldResult loopSize(OpBuilder &builder, unsigned dim);
  /// Prefers `tensor` over the operation's own operands for dynamic sizes, so
  /// that no forward value is kept for its shape.
  void addShapeSource(Value tensor, AffineMap map);

  /// Runs `loops` from their end: every input that was added so far, and every
  /// loop index in the body, is read in reverse.
  void reverse(OpBuilder &builder, ArrayRef<unsigned> loops);
  /// The map that takes an iteration to its place in the reverse order. Symbol
  /// k is the last index of loop k, where that is dynamic.
  AffineMap reversal(ArrayRef<unsigned> loops);

  AffineMap identity() const;

  linalg::LinalgOp op;
  Block block;
  OpBuilder builder;
  /// From the operation's body to the block: its arguments for `inputs`,
  /// and whatever else is known without recomputation.
  IRMapping primals;

private:
  /// The size of loop `dim`, less one.
  Value lastIndex(OpBuilder &builder, unsigned dim);
  llvm::SetVector<Operation *> slice(ArrayRef<Value> values) const;

  /// linalg does not accept a map with symbols: such an input is read by
  /// position in the body.
  struct Input {
    Value tensor;
    AffineMap map;
  };
  DenseMap<Value, Input> inputs;
  SmallVector<Input> shapeSources;
};

/// `tensor` filled with zeros.
Value fillZeros(OpBuilder &builder, Location loc, Value tensor);
/// The type to add up many terms of `type` in: half precision is too narrow.
Type accumulationType(Type type);
/// `value` of the kernel in the wider type: unrounded where it was rounded
/// last, and a product as the exact product of its factors, which is what
/// product kernels compute.
Value widen(AdjointKernel &kernel, Value value, Type type);

/// Adds to `vjp` the cotangents of the inputs of the kernel's operation (and of
/// its initial values where they are read like inputs), as `adjoint` found
/// them. `skip` holds operands that the caller deals with.
void emitOperandCotangents(AdjointKernel &kernel, const ScalarAdjoint &adjoint,
                           VJPContext &vjp, ArrayRef<unsigned> skip);
/// The same for the values that the operation's body captures: scalars, and
/// tensors that it gathers from.
LogicalResult emitCapturedCotangents(AdjointKernel &kernel,
                                     const ScalarAdjoint &adjoint,
                                     VJPContext &vjp);
/// Adds the scatter of `adjoint`'s gathers to captured tensors.
LogicalResult emitGatherCotangents(AdjointKernel &kernel,
                                   const ScalarAdjoint &adjoint,
                                   VJPContext &vjp);

/// Returns values whose cotangents the body of `op` may contribute to: block
/// arguments of wanted operands other than `skip`, and wanted captured tensors.
SmallVector<Value> wantedSources(linalg::LinalgOp op, VJPContext &vjp,
                                 ArrayRef<unsigned> skip);

/// Returns true if output `index` is an accumulator: some loop does not appear
/// in its map, so that one element is written by many iterations.
bool isAccumulated(linalg::LinalgOp op, unsigned index);

/// The rule for outputs that are the maximum or minimum of their terms.
/// Failure means that the operation has another form; nothing was built then.
FailureOr<bool> buildExtremumVJP(linalg::LinalgOp op, VJPContext &vjp);
/// The rule for any reduction: replays it forwards and runs back through it.
LogicalResult buildReplayVJP(linalg::LinalgOp op, VJPContext &vjp);

} // namespace mlir::remat

#endif // REMAT_LIB_AUTODIFF_ADJOINTKERNEL_H
