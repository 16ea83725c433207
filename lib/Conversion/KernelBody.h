//===- KernelBody.h - One iteration, or one vector of them ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Emits the loads, the body and the stores of a kernel at a point of the
// iteration space. Loops are KernelEmitter's.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_KERNELBODY_H
#define REMAT_LIB_CONVERSION_KERNELBODY_H

#include "LoopNest.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::remat {

/// Bytes of one, on all common processors.
inline constexpr int64_t kCacheLine = 64;

/// A point of the iteration space while code is emitted.
struct Point {
  /// The iteration of each loop (its first lane's for the vectorized loop).
  SmallVector<Value> iterations;
  /// Where each operand's element is, from the start of its view.
  SmallVector<Value> offsets;
  /// The lanes that exist; null if all do.
  Value mask;
  /// The elements of operands there that are loaded already; null, or empty,
  /// where they are not.
  SmallVector<Value> loaded;
};

/// Iterations of one loop that the body takes at once.
struct Lanes {
  /// 1 if the body has no vector form, or there is no such loop.
  int64_t count = 1;
  std::optional<unsigned> loop;
  /// True if contiguous vectors in memory are aligned to their size.
  bool isAligned = false;
};

/// The values that a kernel captures besides the operands of its operation.
struct Captures {
  /// Dynamic sizes and strides, and values that the body uses.
  llvm::SetVector<Value> values;
  /// Constants that the body uses; a kernel has copies.
  llvm::SetVector<Operation *> constants;

  void insert(Value value);
};

Captures collectCaptures(const LoopNest &nest);
/// Those of `regions` alone.
Captures collectCaptures(MutableArrayRef<Region> regions);

/// Returns true if the body may be computed on vectors of iterations, of which
/// some do not exist.
bool canVectorizeBody(linalg::LinalgOp op);

class KernelBody {
public:
  /// `views` are the kernel's arguments for the accesses: one-dimensional
  /// memrefs with unit stride (of i8 for booleans), or scalars. `map` takes
  /// what the body captures and dynamic strides from the call site to the
  /// kernel.
  KernelBody(const LoopNest &nest, const Lanes &lanes, ArrayRef<Value> views,
             IRMapping &map)
      : nest(nest), lanes(lanes), views(views.begin(), views.end()),
        captured(map) {}

  /// Lets vectors of these outputs bypass the cache: they begin with a cache
  /// line, or at a multiple of their size.
  void stream(ArrayRef<unsigned> accesses) { streamed.insert_range(accesses); }

  /// The operand's element or vector at `point`; a scalar where it is the same
  /// for all lanes.
  Value load(OpBuilder &builder, unsigned access, const Point &point);
  /// The same as it is in memory, where a boolean is a byte.
  Value loadStored(OpBuilder &builder, unsigned access, const Point &point);
  void store(OpBuilder &builder, unsigned access, Value value,
             const Point &point);

  /// Returns true if the operand has an element of its own for each lane, which
  /// do not follow each other in memory.
  bool isScattered(unsigned access) const;
  /// As many elements as there are lanes that follow each other in memory from
  /// `offset` on, as they are there.
  Value loadRow(OpBuilder &builder, unsigned access, Value offset);
  void storeRow(OpBuilder &builder, unsigned access, Value row, Value offset);
  /// The vector of what the lanes of `value` are in memory.
  Value toStored(OpBuilder &builder, Value value) const;

  /// The inputs' elements, null for those that the body does not read.
  SmallVector<Value> loadInputs(OpBuilder &builder, const Point &point);
  /// The values that the body yields for these, and the outputs' values
  /// `accumulators`.
  SmallVector<Value> compute(OpBuilder &builder, const Point &point,
                             ArrayRef<Value> inputs, ValueRange accumulators);
  SmallVector<Value> compute(OpBuilder &builder, const Point &point,
                             ValueRange accumulators) {
    return compute(builder, point, loadInputs(builder, point), accumulators);
  }

  /// A size or stride as a value in the kernel.
  Value materialize(OpBuilder &builder, OpFoldResult number);
  Type vectorOf(Type element) const;
  Value broadcast(OpBuilder &builder, Value value) const;

private:
  Value gatherFromMemRef(OpBuilder &builder, memref::LoadOp load,
                         IRMapping &values, const Point &point);
  Value index(OpBuilder &builder, unsigned dim, const Point &point);
  /// The first lane's value of an index whose lanes are consecutive, or null.
  Value firstOfConsecutive(Value index, const Point &point);
  bool isVectorized(unsigned access) const;
  Value laneOffsets(OpBuilder &builder, unsigned access);
  Value maskOrAll(OpBuilder &builder, const Point &point);
  llvm::MaybeAlign getAlignment(VectorType type) const;

  const LoopNest &nest;
  const Lanes lanes;
  SmallVector<Value> views;
  IRMapping &captured;
  llvm::SmallDenseSet<unsigned, 2> streamed;
};

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_KERNELBODY_H
