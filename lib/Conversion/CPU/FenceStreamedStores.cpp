//===- FenceStreamedStores.cpp - Streamed results reach all threads -------===//
//
// Stores that bypass the cache wait in buffers of the processor, and the
// barrier at the end of a loop does not have to wait for them.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/CPU/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/OpenMP/OpenMPDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::remat {
#define GEN_PASS_DEF_FENCESTREAMEDSTORES
#include "remat/Conversion/CPU/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

static bool streams(Operation *loop) {
  return loop
      ->walk([](vector::StoreOp store) {
        return store.getNontemporal() ? WalkResult::interrupt()
                                      : WalkResult::advance();
      })
      .wasInterrupted();
}

namespace {
struct FenceStreamedStores
    : mlir::remat::impl::FenceStreamedStoresBase<FenceStreamedStores> {
  void runOnOperation() override {
    SmallVector<omp::WsloopOp> loops;
    getOperation()->walk([&](omp::WsloopOp loop) {
      if (streams(loop))
        loops.push_back(loop);
    });
    for (omp::WsloopOp loop : loops) {
      // Each thread, once, in front of the barrier.
      loop.setNowait(true);
      OpBuilder builder(loop->getContext());
      builder.setInsertionPointAfter(loop);
      LLVM::FenceOp::create(builder, loop.getLoc(),
                            LLVM::AtomicOrdering::seq_cst);
      omp::BarrierOp::create(builder, loop.getLoc());
    }
    if (loops.empty())
      markAllAnalysesPreserved();
  }
};
} // namespace
