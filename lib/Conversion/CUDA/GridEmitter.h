//===- GridEmitter.h - What one thread of a kernel does ---------*- C++ -*-===//

#ifndef REMAT_LIB_CONVERSION_CUDA_GRIDEMITTER_H
#define REMAT_LIB_CONVERSION_CUDA_GRIDEMITTER_H

#include "../LoopEmitter.h"
#include "GridPlan.h"

namespace mlir::remat {

/// Types of workgroup memory that a kernel of `plan` needs, one buffer for each
/// partial result that threads exchange.
SmallVector<Type> getWorkgroupTypes(const GridPlan &plan, MLIRContext *context);

/// How many points the grid has, in terms of the call site: results, or
/// vectors of them.
OpFoldResult countGridPoints(OpBuilder &builder, const LoopNest &nest,
                             const GridPlan &plan);

/// Emits what a thread does. `initialValues` are constants from which outputs
/// are reduced, null where memory holds them; `workgroup` is memory of the
/// types above.
void emitThread(OpBuilder &builder, const LoopNest &nest, const GridPlan &plan,
                KernelBody &body, ArrayRef<TypedAttr> initialValues,
                ValueRange workgroup);

} // namespace mlir::remat

#endif // REMAT_LIB_CONVERSION_CUDA_GRIDEMITTER_H
