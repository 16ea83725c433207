//===- GrowWorkspace.cpp - Workspaces take what is free -------------------===//
//
// Memory for more threads must not raise the peak, and only a few buffers are
// alive where the peak is: elsewhere there is room for many threads.
//
//===----------------------------------------------------------------------===//

#include "GrowWorkspace.h"

#include "remat/Transforms/PackMemory/Workspace.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
namespace plan = ::remat::plan;

void mlir::remat::growWorkspace(memref::AllocOp alloc,
                                std::vector<plan::Interval> &intervals,
                                const plan::Packing &packing, size_t index) {
  auto useful = alloc->getAttrOfType<IntegerAttr>(kUsefulBytesAttrName);
  MemRefType type = alloc.getType();
  if (!useful || !useful.getType().isSignlessInteger(64) ||
      type.getRank() != 1 || !type.getElementType().isInteger(8) ||
      type.isDynamicDim(0) || useful.getInt() <= type.getDimSize(0))
    return;
  // A cast to a dynamic size takes any type.
  if (!llvm::all_of(alloc->getUsers(), llvm::IsaPred<memref::CastOp>))
    return;
  int64_t bytes =
      std::min(plan::getRoom(intervals, packing, index), useful.getInt());
  intervals[index].size = llvm::alignTo(bytes, intervals[index].alignment);
  alloc.getResult().setType(MemRefType::get({bytes}, type.getElementType()));
}
