//===- LinalgToGPU.cpp - linalg on device memory to kernels ---------------===//
//
// Upstream's way (parallel loops, mapped to blocks and threads) gives a block
// of one thread for each iteration, and runs full reductions on the host.
//
//===----------------------------------------------------------------------===//

#include "../KernelTable.h"
#include "../Products.h"
#include "DevicePointers.h"
#include "FallbackKernel.h"
#include "GridEmitter.h"
#include "KernelLaunch.h"
#include "ScatterAddKernel.h"
#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTLINALGTOGPU
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {

/// The kernel and the launch of a loop nest.
class Launch {
public:
  Launch(OpBuilder &builder, const LoopNest &nest, const GridPlan &plan,
         bool countsTraffic)
      : host(builder), nest(nest), plan(plan), countsTraffic(countsTraffic),
        launch(builder, nest.op) {}

  /// Constants from which outputs are reduced, instead of what memory holds.
  SmallVector<TypedAttr> initialValues;

  void create(KernelTable<gpu::GPUFuncOp> &table);

private:
  Value addPointer(unsigned number, KernelLaunch::Access use);
  bool isRead(unsigned output) const;

  OpBuilder &host;
  const LoopNest &nest;
  const GridPlan &plan;
  bool countsTraffic;
  KernelLaunch launch;
};

} // namespace

bool Launch::isRead(unsigned output) const {
  if (!initialValues.empty() && initialValues[output])
    return false;
  return (nest.hasReduction() && !llvm::is_contained(plan.mapped, output)) ||
         !nest.op.getRegionOutputArgs()[output].use_empty();
}

/// The operand's memory, from the lowest element that is accessed.
Value Launch::addPointer(unsigned number, KernelLaunch::Access use) {
  const Access &access = nest.accesses[number];
  Location loc = nest.op.getLoc();
  OpFoldResult offset = affine::makeComposedFoldedAffineApply(
      host, loc, host.getAffineSymbolExpr(0) - host.getAffineSymbolExpr(1),
      {access.offset, access.start});
  std::optional<int64_t> bytes;
  if (std::optional<int64_t> span = getConstantIntValue(access.span))
    bytes = multiplySizes({*span}, getBytesInMemory(access.elementType));
  return launch.addMemory(createDevicePointer(host, loc, access.source, offset),
                          access.elementType, use, bytes,
                          countsTraffic ? countTraffic(nest, plan, number)
                                        : std::nullopt);
}

void Launch::create(KernelTable<gpu::GPUFuncOp> &table) {
  launch.begin(plan.blockSize, getWorkgroupTypes(nest, plan));
  SmallVector<Value> views;
  for (auto [i, access] : llvm::enumerate(nest.accesses)) {
    using Use = KernelLaunch::Access;
    Use use = i < nest.numInputs           ? Use::Read
              : isRead(i - nest.numInputs) ? Use::ReadWrite
                                           : Use::Write;
    views.push_back(access.isScalar() ? launch.addScalar(access.source)
                                      : addPointer(i, use));
  }
  launch.addCaptures(collectCaptures(nest));
  ValueRange workgroup = launch.beginCode();
  emitThread(launch.device, nest, plan, views, launch.map, initialValues,
             workgroup);
  gpu::GPUFuncOp kernel = table.getOrInsert(launch.finish());
  launch.createLaunch(kernel, countBlocks(host, nest, plan));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Whether there is nothing to do: a grid of no points.
static bool isEmpty(const LoopNest &nest, const GridPlan &plan) {
  return llvm::any_of(plan.gridLoops, [&](unsigned loop) {
    return isConstantIntValue(nest.loops[loop].size, 0);
  });
}

/// Constants that fill the outputs of a reduction; the fills are added to
/// `taken`.
static SmallVector<TypedAttr> takeFills(const LoopNest &nest,
                                        const GridPlan &plan,
                                        DenseSet<Operation *> &taken) {
  SmallVector<TypedAttr> constants;
  for (unsigned output = 0; output < nest.outputs().size(); ++output) {
    linalg::FillOp fill;
    if (!llvm::is_contained(plan.mapped, output))
      fill = findFill(nest.op, output);
    TypedAttr constant;
    if (fill && matchPattern(fill.getInputs()[0], m_Constant(&constant)) &&
        constant.getType() == nest.outputs()[output].elementType)
      taken.insert(fill);
    else
      constant = {};
    constants.push_back(constant);
  }
  return constants;
}

namespace {
struct ConvertLinalgToGPU
    : remat::impl::ConvertLinalgToGPUBase<ConvertLinalgToGPU> {
  using ConvertLinalgToGPUBase::ConvertLinalgToGPUBase;

  void runOnOperation() override {
    if (blockSize < 32 || blockSize > 1024 || !llvm::isPowerOf2_64(blockSize)) {
      getOperation().emitError()
          << "'block-size' must be a power of two from 32 to 1024, but got "
          << blockSize.getValue();
      return signalPassFailure();
    }
    SmallVector<Operation *> ops;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      convertCopiesToLinalg(function);
      function.walk([&](DestinationStyleOpInterface op) {
        if (isa<linalg::LinalgOp, ScatterAddOp>(*op) &&
            op.hasPureBufferSemantics())
          ops.push_back(op);
      });
    }
    if (ops.empty())
      return;
    KernelTable<gpu::GPUFuncOp> table(getOrCreateKernelModule(getOperation()));
    // From the end: a fill is met after the reduction that takes it over.
    for (Operation *op : llvm::reverse(ops)) {
      OpBuilder builder(op);
      if (auto scatter = dyn_cast<ScatterAddOp>(op))
        launchScatterAdd(builder, table, scatter, blockSize);
      else if (!taken.contains(op))
        convert(builder, cast<linalg::LinalgOp>(op), table);
      op->erase();
    }
  }

  void convert(OpBuilder &builder, linalg::LinalgOp op,
               KernelTable<gpu::GPUFuncOp> &table) {
    FailureOr<LoopNest> nest = buildLoopNest(builder, op);
    if (failed(nest))
      return launchFallback(builder, table, op, blockSize);
    GridPlan plan = planGrid(*nest, blockSize);
    if (!isEmpty(*nest, plan)) {
      Launch launch(builder, *nest, plan, traffic);
      if (nest->hasReduction() && !plan.isInOrder)
        launch.initialValues = takeFills(*nest, plan, taken);
      launch.create(table);
    }
  }

  /// Fills that became part of a kernel.
  DenseSet<Operation *> taken;
};
} // namespace
