//===- GridEmitter.h - What one thread of a kernel does ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CONVERSION_CUDA_GRIDEMITTER_H
#define REMAT_LIB_CONVERSION_CUDA_GRIDEMITTER_H

#include "../LoopEmitter.h"
#include "GridPlan.h"

namespace mlir::remat {

/// Types of workgroup memory that a kernel of `plan` needs: one buffer for each
/// partial result that threads exchange, or each input that they transpose.
SmallVector<Type> getWorkgroupTypes(const LoopNest &nest, const GridPlan &plan);

/// How many blocks the grid has, in terms of the call site.
OpFoldResult countBlocks(OpBuilder &builder, const LoopNest &nest,
                         const GridPlan &plan);

/// An operation in a kernel.
struct KernelPart {
  LoopNest nest;
  GridPlan plan;
  /// Constants from which outputs are reduced; null where memory holds them,
  /// and empty if it holds all of them.
  SmallVector<TypedAttr> initialValues;
  /// The kernel's arguments for the accesses.
  SmallVector<Value> views;
  /// Memory of the types above.
  ValueRange workgroup;
};

/// Emits what a thread does for `part`.
void emitThread(OpBuilder &builder, const KernelPart &part, IRMapping &map);

/// The same for a plan with a tile.
void emitTile(OpBuilder &builder, const KernelPart &part, IRMapping &map);

/// Emits the work of a thread for several operations on the points of one grid,
/// which have as many lanes: a value that one of them stores at a point is read
/// there by later ones.
void emitRows(OpBuilder &builder, ArrayRef<KernelPart> parts, IRMapping &map);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_GRIDEMITTER_H
