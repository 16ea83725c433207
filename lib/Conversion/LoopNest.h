//===- LoopNest.h - A linalg op as loops over strided memory ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The normal form from which kernels are made: loops with sizes, and for each
// operand one stride per loop. Maps, ranks and layouts are gone, so that ops
// that do the same on memory look the same.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_LOOPNEST_H
#define REMAT_LIB_CONVERSION_LOOPNEST_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::remat {

/// An operand that a linalg op reads or writes. Sizes, strides and offsets are
/// numbers of elements: attributes if static, values at the call site if not.
struct Access {
  /// A memref, or a scalar operand that is passed by value.
  Value source;
  Type elementType;
  /// From the memref's aligned pointer to the element of iteration 0.
  OpFoldResult offset;
  /// Elements from the lowest to the highest one accessed, both included.
  OpFoldResult span;
  /// Elements from the lowest one to that of iteration 0; not 0 where a loop
  /// runs through memory from the end.
  OpFoldResult start;
  /// One for each loop.
  SmallVector<OpFoldResult> strides;

  bool isScalar() const { return !isa<MemRefType>(source.getType()); }
  bool isInvariantIn(unsigned loop) const {
    return isConstantIntValue(strides[loop], 0);
  }
  bool isContiguousIn(unsigned loop) const {
    return isConstantIntValue(strides[loop], 1);
  }
};

struct Loop {
  OpFoldResult size;
  utils::IteratorType kind;

  bool isParallel() const { return kind == utils::IteratorType::parallel; }
  int64_t sizeOr(int64_t dynamicSize) const {
    return getConstantIntValue(size).value_or(dynamicSize);
  }
};

struct LoopNest {
  // A handle: what it refers to does not change with the nest.
  mutable linalg::LinalgOp op;
  SmallVector<Loop> loops;
  /// Inputs, then outputs, in the order of the body's arguments.
  SmallVector<Access> accesses;
  unsigned numInputs = 0;
  /// The loop that stands for a dimension of the op; none where the dimension
  /// has one iteration. Dimensions that the body asks for with `linalg.index`
  /// are never merged.
  SmallVector<std::optional<unsigned>> loopOfDim;

  ArrayRef<Access> outputs() const {
    return ArrayRef(accesses).drop_front(numInputs);
  }
  bool hasReduction() const {
    return llvm::any_of(loops,
                        [](const Loop &loop) { return !loop.isParallel(); });
  }
  /// Returns true if one step of `outer` is, for every operand, as many steps
  /// of `inner` as that is long: the two can be one loop.
  bool stepsAlike(unsigned outer, unsigned inner) const;
};

/// The loop nest of an op on memrefs, with what it needs from the call site
/// (sizes, dynamic strides) created by `builder`. Adjacent parallel loops are
/// merged where every operand is contiguous, but none of the first `rowDims`
/// dimensions with a later one. Fails on index maps that are not linear
/// and on memrefs without a strided layout.
FailureOr<LoopNest> buildLoopNest(OpBuilder &builder, linalg::LinalgOp op,
                                  unsigned rowDims = 0);

/// Returns true if elements that follow each other in the loops follow each
/// other in the operand of `map`.
bool keepsOrder(AffineMap map);

/// Returns true if `operand` is a scalar or strided, as loop nests require.
bool isStrided(Value operand);

/// Copies between buffers become linalg.copy, and so kernels.
void convertCopiesToLinalg(Operation *root);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_LOOPNEST_H
