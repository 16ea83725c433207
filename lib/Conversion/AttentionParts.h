//===- AttentionParts.h - Attention as structured operations ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels and products that an attention consists of, for all of its loops,
// on tensors, or on memrefs for a tile of them.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_ATTENTIONPARTS_H
#define REMAT_LIB_CONVERSION_ATTENTIONPARTS_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::remat {

/// A tensor or memref, and which loops of the attention index it.
struct Indexed {
  Value value;
  AffineMap map;
};

/// The operands of `op`, an attention or its backward, that its loops index.
template <typename Op> SmallVector<Indexed> getIndexedOperands(Op op) {
  SmallVector<Indexed> operands;
  for (auto [number, value] : llvm::enumerate(op.getIndexedValues()))
    operands.push_back({value, op.getMap(number)});
  return operands;
}

/// The memref, and its dimension, over which `loop` runs, one of static size if
/// there is any; none if no operand is indexed by it.
std::optional<std::pair<Value, unsigned>> findLoop(ArrayRef<Indexed> operands,
                                                   unsigned loop);
/// The size of `loop`, if static.
int64_t getStaticSize(ArrayRef<Indexed> operands, unsigned loop);

/// Emits structured operations on the loops of an attention.
class AttentionParts {
public:
  using Results = SmallVector<Value>;
  using EmitBody =
      function_ref<Results(OpBuilder &builder, ValueRange elements)>;

  /// `body` is the attention's, `dims` its loops.
  AttentionParts(OpBuilder &builder, Location loc, Block &body,
                 AttentionDims dims)
      : b(builder), loc(loc), body(body), dims(std::move(dims)) {}

  /// Sets the index of `loop` where no loop counts it, or the offset of the
  /// index where one does.
  void setStart(unsigned loop, Value start) { starts[loop] = start; }

  /// One linalg.generic over the loops that index an operand; loops that index
  /// no output are reductions. Returns its results, or the outputs if they are
  /// memrefs.
  Results emit(ArrayRef<Indexed> inputs, ArrayRef<Indexed> outputs,
               EmitBody emitBody);
  /// Adds products of a and b, extended to its type, to `sum`.
  Value multiply(Indexed a, Indexed b, Indexed sum);
  /// Adds `term` to `sum`, in the wider one of their types: over all loops that
  /// index only the first.
  Value accumulate(Indexed term, Indexed sum);
  /// `destination` with each element `number`.
  Value fill(Value destination, double number);

  /// The element that the attention's body computes as `value`. `elements` are
  /// those of its arguments after the indices; valid inside of `emit`.
  Value inlineBody(OpBuilder &builder, Value value, ValueRange elements);
  /// The same for several values.
  Results inlineBody(OpBuilder &builder, ValueRange values,
                     ValueRange elements);

private:
  Value getIndex(OpBuilder &builder, unsigned loop);

  OpBuilder &b;
  Location loc;
  Block &body;
  AttentionDims dims;
  DenseMap<unsigned, Value> starts;
  /// Of the operation that is being emitted.
  DenseMap<unsigned, unsigned> positions;
  IRMapping inlined;
};

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_ATTENTIONPARTS_H
