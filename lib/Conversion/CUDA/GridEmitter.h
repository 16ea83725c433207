//===- GridEmitter.h - What one thread of a kernel does ---------*- C++ -*-===//

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

/// Emits what a thread does. `views` are the kernel's arguments for the
/// accesses; `initialValues` are constants from which outputs are reduced, null
/// where memory holds them; `workgroup` is memory of the types above.
void emitThread(OpBuilder &builder, const LoopNest &nest, const GridPlan &plan,
                ArrayRef<Value> views, IRMapping &map,
                ArrayRef<TypedAttr> initialValues, ValueRange workgroup);

/// The same for a plan with a tile.
void emitTile(OpBuilder &builder, const LoopNest &nest, const GridPlan &plan,
              ArrayRef<Value> views, IRMapping &map, ValueRange workgroup);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_GRIDEMITTER_H
