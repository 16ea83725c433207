//===- Mesh.h - The ranks of a program --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_SPLIT_MESH_H
#define REMAT_TRANSFORMS_SPLIT_MESH_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::remat {

/// One axis of a grid of ranks, which are numbered in row-major order.
struct MeshAxis {
  StringRef name;
  /// Ranks along it.
  int64_t ranks;
  /// Number of a rank minus that of its neighbour along the axis.
  int64_t stride;
  /// Parts of a split dimension that are added up on their own; a multiple of
  /// the ranks.
  int64_t parts;
};

/// The grid of ranks that a module's program is for.
struct Mesh {
  SmallVector<MeshAxis> axes;

  int64_t countRanks() const;

  /// Returns the mesh of the module's `shard.grid`, or nothing if it has no
  /// grid with `remat.axes`. Emits errors.
  static FailureOr<std::optional<Mesh>> get(ModuleOp module);
  /// Erases that grid, of which nothing lowers.
  static void erase(ModuleOp module);
};

/// An axis for each dimension of a tensor, or -1 where it is whole.
using Sharding = SmallVector<int>;

/// Returns the argument's sharding by its `remat.shard`; all dimensions are
/// whole without one. Emits errors.
FailureOr<Sharding> getSharding(FunctionOpInterface function, unsigned argument,
                                const Mesh &mesh);

/// Returns of which part of it the argument is, by its `remat.local`.
Sharding getLocalSharding(FunctionOpInterface function, unsigned argument,
                          const Mesh &mesh);

/// Returns true if some argument of `function` has a `remat.shard`.
bool hasShards(FunctionOpInterface function);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_SPLIT_MESH_H
