//===- GrowWorkspace.h - Workspaces take what is free -----------*- C++ -*-===//

#ifndef REMAT_LIB_TRANSFORMS_PACKMEMORY_GROWWORKSPACE_H
#define REMAT_LIB_TRANSFORMS_PACKMEMORY_GROWWORKSPACE_H

#include "remat/Plan/Packing.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mlir::remat {

/// If `alloc`, which is packed as `intervals[index]`, can use more bytes than
/// it needs (`remat.useful_bytes`), gives it those that nobody else has
/// meanwhile: in its type and in the interval.
void growWorkspace(memref::AllocOp alloc,
                   std::vector<::remat::plan::Interval> &intervals,
                   const ::remat::plan::Packing &packing, size_t index);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_PACKMEMORY_GROWWORKSPACE_H
