//===- Shardings.h - Which dimensions are split -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_SPLIT_SHARDINGS_H
#define REMAT_LIB_TRANSFORMS_SPLIT_SHARDINGS_H

#include "Loops.h"

#include "remat/Transforms/Split/Mesh.h"

namespace mlir::remat {

/// The sharding of each value of a function, and the axis of each loop.
class Shardings {
public:
  /// How an operation is split.
  struct Split {
    IterationSpace loops;
    /// For each loop: the axis along which it is split, or -1.
    SmallVector<int> axes;

    Sharding get(const LoopOfDim &dims) const {
      return llvm::map_to_vector(
          dims, [&](int loop) { return loop < 0 ? -1 : axes[loop]; });
    }
  };

  /// Emits errors.
  static FailureOr<Shardings> compute(FunctionOpInterface function,
                                      const Mesh &mesh);

  Sharding get(Value value) const;
  /// Of a value that splitting has made.
  void set(Value value, Sharding sharding) {
    values[value] = std::move(sharding);
  }
  /// Null for operations without a rule.
  const Split *get(Operation *op) const;

private:
  DenseMap<Value, Sharding> values;
  DenseMap<Operation *, Split> splits;
};

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_SPLIT_SHARDINGS_H
