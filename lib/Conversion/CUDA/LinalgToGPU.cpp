//===- LinalgToGPU.cpp - linalg on device memory to kernels ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's way (parallel loops, mapped to blocks and threads) gives a block
// of one thread for each iteration, and runs full reductions on the host.
//===----------------------------------------------------------------------===//

#include "../KernelTable.h"
#include "../Products.h"
#include "../RowGroups.h"
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

/// The kernel and the launch of an operation, or of several that go through the
/// same rows.
class Launch {
public:
  /// `parts` follow each other, the last one at `builder`.
  Launch(OpBuilder &builder, MutableArrayRef<KernelPart> parts,
         bool countsTraffic, bool keepsRows = false)
      : host(builder), parts(parts), countsTraffic(countsTraffic),
        keepsRows(keepsRows), launch(builder, parts.back().nest.op) {}

  void create(KernelTable<gpu::GPUFuncOp> &table);

private:
  void addOperands(KernelPart &part);
  Value addPointer(const KernelPart &part, unsigned number,
                   KernelLaunch::Access use);

  OpBuilder &host;
  MutableArrayRef<KernelPart> parts;
  /// An argument for memory.
  struct Memory {
    Value source;
    OpFoldResult offset, span;
    KernelLaunch::Access use;
    Value view;
  };

  bool countsTraffic;
  /// True if the cache still has what the parts before accessed.
  bool keepsRows;
  KernelLaunch launch;
  SmallVector<Memory> memories;
};

} // namespace

static bool isRead(const KernelPart &part, unsigned output) {
  if (!part.initialValues.empty() && part.initialValues[output])
    return false;
  return (part.nest.hasReduction() &&
          !llvm::is_contained(part.plan.mapped, output)) ||
         !part.nest.op.getRegionOutputArgs()[output].use_empty();
}

/// The operand's memory, from the lowest element that is accessed.
Value Launch::addPointer(const KernelPart &part, unsigned number,
                         KernelLaunch::Access use) {
  const Access &access = part.nest.accesses[number];
  Location loc = part.nest.op.getLoc();
  OpFoldResult offset = affine::makeComposedFoldedAffineApply(
      host, loc, host.getAffineSymbolExpr(0) - host.getAffineSymbolExpr(1),
      {access.offset, access.start});
  bool isKept = false;
  for (const Memory &other : memories) {
    if (other.source != access.source || other.offset != offset ||
        other.span != access.span)
      continue;
    if (other.use == use)
      return other.view;
    isKept |= keepsRows && use == KernelLaunch::Access::Read;
  }
  std::optional<int64_t> bytes;
  if (std::optional<int64_t> span = getConstantIntValue(access.span))
    bytes = multiplySizes({*span}, getBytesInMemory(access.elementType));
  std::optional<Traffic> traffic;
  if (countsTraffic)
    traffic = isKept ? Traffic() : countTraffic(part.nest, part.plan, number);
  Value view =
      launch.addMemory(createDevicePointer(host, loc, access.source, offset),
                       access.elementType, use, bytes, traffic);
  memories.push_back({access.source, offset, access.span, use, view});
  return view;
}

void Launch::addOperands(KernelPart &part) {
  for (auto [i, access] : llvm::enumerate(part.nest.accesses)) {
    using Use = KernelLaunch::Access;
    unsigned numInputs = part.nest.numInputs;
    Use use = i < numInputs                 ? Use::Read
              : isRead(part, i - numInputs) ? Use::ReadWrite
                                            : Use::Write;
    part.views.push_back(access.isScalar() ? launch.addScalar(access.source)
                                           : addPointer(part, i, use));
  }
}

void Launch::create(KernelTable<gpu::GPUFuncOp> &table) {
  SmallVector<Type> workgroupTypes;
  for (const KernelPart &part : parts)
    llvm::append_range(workgroupTypes, getWorkgroupTypes(part.nest, part.plan));
  const GridPlan &plan = parts.front().plan;
  launch.begin(plan.blockSize, workgroupTypes);
  for (KernelPart &part : parts)
    addOperands(part);
  for (const KernelPart &part : parts)
    launch.addCaptures(collectCaptures(part.nest));
  ValueRange workgroup = launch.beginCode();
  for (KernelPart &part : parts) {
    size_t count = getWorkgroupTypes(part.nest, part.plan).size();
    part.workgroup = workgroup.take_front(count);
    workgroup = workgroup.drop_front(count);
  }
  if (parts.size() > 1)
    emitRows(launch.device, parts, launch.map);
  else
    emitThread(launch.device, parts.front(), launch.map);
  gpu::GPUFuncOp kernel = table.getOrInsert(launch.finish());
  launch.createLaunch(kernel, countBlocks(host, parts.front().nest, plan));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Returns true if there is nothing to do: a grid of no points.
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
  if (!nest.hasReduction() || plan.isInOrder)
    return constants;
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

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Rows that are worth a kernel which goes through them.
static constexpr int64_t kMinRows = 32;
/// Of one kernel; a launch has 4 KiB for pointers.
static constexpr size_t kMaxAccesses = 64;
/// Threads that occupy a large chip, and what each may have to do where there
/// are fewer.
static constexpr int64_t kManyThreads = int64_t(1) << 16;
static constexpr int64_t kFewBytesPerThread = 1 << 10;

/// The callback of RowGroupOptions.
static std::optional<int64_t>
countThreads(linalg::LinalgOp op, unsigned rowLoops, int64_t blockSize) {
  // Sizes that are not constant would be computed by the host each time.
  for (Type type : op->getOperandTypes())
    if (auto memref = dyn_cast<MemRefType>(type)) {
      auto [strides, offset] = memref.getStridesAndOffset();
      if (ShapedType::isDynamic(offset) ||
          llvm::any_of(strides, ShapedType::isDynamic))
        return std::nullopt;
    }
  OpBuilder builder(op);
  FailureOr<LoopNest> nest = buildLoopNest(builder, op, rowLoops);
  if (failed(nest))
    return std::nullopt;
  std::optional<GridPlan> plan = planRows(*nest, rowLoops, blockSize);
  if (!plan)
    return std::nullopt;
  return nest->hasReduction() ? plan->lanes : 0;
}

/// Returns true if one kernel is faster than several: it has a reduction, and
/// threads enough for what has none.
static bool isWorthwhile(const RowGroup &group) {
  int64_t threads = group.getThreads();
  return threads > 0 &&
         (group.getRows() * threads >= kManyThreads ||
          group.getBytesPerRow() <= threads * kFewBytesPerThread);
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
      findGroups(function);
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
      else if (auto group = groups.find(op); group != groups.end())
        convertRows(builder, group->second, table);
      else if (!taken.contains(op))
        convert(builder, cast<linalg::LinalgOp>(op), table);
      op->erase();
    }
  }

  void findGroups(func::FuncOp function) {
    RowGroupOptions options;
    options.minRows = kMinRows;
    options.maxAccesses = kMaxAccesses;
    options.countThreads = [&](linalg::LinalgOp op, unsigned rowLoops) {
      return countThreads(op, rowLoops, blockSize);
    };
    IRRewriter rewriter(&getContext());
    findRowGroups(function, options, [&](const RowGroup &group) {
      if (!isWorthwhile(group) || !moveTogether(rewriter, group))
        return false;
      groups.insert({group.getMembers().back(), group});
      return true;
    });
  }

  void convert(OpBuilder &builder, linalg::LinalgOp op,
               KernelTable<gpu::GPUFuncOp> &table) {
    FailureOr<LoopNest> nest = buildLoopNest(builder, op);
    if (failed(nest))
      return launchFallback(builder, table, op, blockSize);
    KernelPart part{*nest, planGrid(*nest, blockSize), {}, {}, {}};
    if (isEmpty(part.nest, part.plan))
      return;
    part.initialValues = takeFills(part.nest, part.plan, taken);
    Launch(builder, part, traffic).create(table);
  }

  void convertRows(OpBuilder &builder, const RowGroup &group,
                   KernelTable<gpu::GPUFuncOp> &table) {
    SmallVector<KernelPart, 0> parts;
    for (Operation *op : llvm::reverse(group.getMembers())) {
      if (taken.contains(op))
        continue;
      auto linalg = cast<linalg::LinalgOp>(op);
      unsigned rowLoops = *countRowLoops(linalg, group.getRows());
      FailureOr<LoopNest> nest = buildLoopNest(builder, linalg, rowLoops);
      assert(succeeded(nest) && "members have linear maps");
      std::optional<GridPlan> plan = planRows(*nest, rowLoops, blockSize);
      assert(plan && "members have plans");
      plan->lanes = group.getThreads();
      plan->blockSize = std::max<int64_t>(blockSize, group.getThreads());
      parts.push_back({*nest, *plan, takeFills(*nest, *plan, taken), {}, {}});
    }
    std::reverse(parts.begin(), parts.end());
    if (parts.size() == 1)
      return convert(builder, parts.front().nest.op, table);
    int64_t rowsAtOnce = parts.front().plan.pointsPerBlock() * kManyBlocks;
    bool keepsRows =
        multiplySizes({group.getBytesPerRow(), rowsAtOnce}) <= Traffic::kCached;
    Launch(builder, parts, traffic, keepsRows).create(table);
    taken.insert_range(group.getMembers());
  }

  /// Operations that became part of the kernel of another one.
  DenseSet<Operation *> taken;
  /// By the last member.
  DenseMap<Operation *, RowGroup> groups;
};
} // namespace
