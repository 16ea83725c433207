//===- LinalgToGPU.cpp - linalg on device memory to kernels ---------------===//
//
// Upstream's way (parallel loops, mapped to blocks and threads) gives a block
// of one thread for each iteration, and runs full reductions on the host.
//
//===----------------------------------------------------------------------===//

#include "../KernelTable.h"
#include "../Products.h"
#include "DevicePointers.h"
#include "GridEmitter.h"
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

/// An argument of a kernel: what the host passes, and what it may be used for.
struct Argument {
  Value value;
  StringRef access = {};
  std::optional<int64_t> bytes = std::nullopt;
};

/// Makes one kernel and its launch.
class Launch {
public:
  Launch(OpBuilder &builder, const LoopNest &nest, const GridPlan &plan)
      : host(builder), nest(nest), plan(plan), loc(nest.op.getLoc()) {}

  /// Constants from which outputs are reduced, instead of what memory holds.
  SmallVector<TypedAttr> initialValues;

  gpu::GPUFuncOp createKernel();
  void createLaunch(gpu::GPUFuncOp kernel);

private:
  Value addArgument(Argument argument);
  Value addPointer(const Access &access, bool isOutput, unsigned output);
  Value addScalar(Value scalar);
  Value addMemRef(Value memref);
  Value addCapture(Value value);
  bool isRead(unsigned output) const;

  OpBuilder &host;
  const LoopNest &nest;
  const GridPlan &plan;
  Location loc;
  SmallVector<Argument> arguments;
  /// The kernel while it is built.
  gpu::GPUFuncOp kernel;
  OpBuilder device{host.getContext()};
  IRMapping map;
};

} // namespace

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Value Launch::addArgument(Argument argument) {
  arguments.push_back(argument);
  return kernel.getBody().front().insertArgument(arguments.size() - 1,
                                                 argument.value.getType(), loc);
}

bool Launch::isRead(unsigned output) const {
  if (!initialValues.empty() && initialValues[output])
    return false;
  return nest.hasReduction() ||
         !nest.op.getRegionOutputArgs()[output].use_empty();
}

/// The operand's memory, from the lowest element that is accessed.
Value Launch::addPointer(const Access &access, bool isOutput, unsigned output) {
  OpFoldResult offset = affine::makeComposedFoldedAffineApply(
      host, loc, host.getAffineSymbolExpr(0) - host.getAffineSymbolExpr(1),
      {access.offset, access.start});
  Argument argument{createDevicePointer(host, loc, access.source, offset)};
  argument.access = !isOutput        ? "read"
                    : isRead(output) ? "read_write"
                                     : "write";
  if (std::optional<int64_t> span = getConstantIntValue(access.span))
    argument.bytes = *span * getBytesInMemory(access.elementType);
  return createFlatMemRef(device, loc, addArgument(argument),
                          access.elementType);
}

/// A value that the host computes anew at every step, by way of the step block.
Value Launch::addScalar(Value scalar) {
  if (Operation *op = scalar.getDefiningOp();
      op && op->hasTrait<OpTrait::ConstantLike>())
    return device.clone(*op)->getResult(0);
  Type type = scalar.getType();
  Argument argument{createStepScalar(host, loc, scalar), "read",
                    getBytesInMemory(type)};
  return loadStepScalar(device, loc, addArgument(argument), type);
}

/// Memory that the body reads at positions which it computes.
Value Launch::addMemRef(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  SmallVector<OpFoldResult> sizes, strides;
  OpFoldResult offset = host.getIndexAttr(0);
  auto metadata = getStridedMetadata(host, loc, memref);
  offset = metadata.offset;
  Argument argument{createDevicePointer(host, loc, memref, offset), "read"};
  if (type.hasStaticShape() && type.getLayout().isIdentity())
    argument.bytes =
        type.getNumElements() * getBytesInMemory(type.getElementType());
  Value flat = createFlatMemRef(device, loc, addArgument(argument),
                                type.getElementType(),
                                /*booleansAreBytes=*/false);
  auto toDevice = [&](OpFoldResult number) -> OpFoldResult {
    if (getConstantIntValue(number))
      return number;
    return addArgument({cast<Value>(number)});
  };
  sizes = llvm::map_to_vector(metadata.sizes, toDevice);
  strides = llvm::map_to_vector(metadata.strides, toDevice);
  return memref::ReinterpretCastOp::create(
      device, loc, flat, device.getIndexAttr(0), sizes, strides);
}

Value Launch::addCapture(Value value) {
  if (isa<MemRefType>(value.getType()))
    return addMemRef(value);
  // Sizes, strides and positions: the grid depends on them in any case.
  if (value.getType().isIndex())
    return addArgument({value});
  return addScalar(value);
}

//===----------------------------------------------------------------------===//
// Kernel and launch
//===----------------------------------------------------------------------===//

gpu::GPUFuncOp Launch::createKernel() {
  MLIRContext *context = host.getContext();
  kernel = gpu::GPUFuncOp::create(
      device, loc, nest.op->getName().stripDialect(),
      FunctionType::get(context, {}, {}), getWorkgroupTypes(plan, context));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  UnitAttr::get(context));
  kernel.setKnownBlockSize(
      ArrayRef<int32_t>{static_cast<int32_t>(plan.blockSize), 1, 1});
  device.setInsertionPointToStart(&kernel.getBody().front());
  SmallVector<Value> views;
  for (auto [i, access] : llvm::enumerate(nest.accesses))
    views.push_back(access.isScalar() ? addScalar(access.source)
                                      : addPointer(access, i >= nest.numInputs,
                                                   i - nest.numInputs));
  Captures captures = collectCaptures(nest);
  for (Value value : captures.values)
    map.map(value, addCapture(value));
  for (Operation *constant : captures.constants)
    device.clone(*constant, map);

  // Workgroup memory stands behind the arguments of this type.
  kernel.setFunctionType(FunctionType::get(
      context,
      llvm::map_to_vector(arguments,
                          [](const Argument &a) { return a.value.getType(); }),
      {}));
  KernelBody body(nest, plan.vector, views, map);
  emitThread(device, nest, plan, body, initialValues,
             kernel.getWorkgroupAttributions());
  gpu::ReturnOp::create(device, loc);
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (!argument.access.empty())
      kernel.setArgAttr(i, "remat.access",
                        StringAttr::get(context, argument.access));
    if (argument.bytes)
      kernel.setArgAttr(i, "remat.bytes",
                        device.getI64IntegerAttr(*argument.bytes));
  }
  return kernel;
}

void Launch::createLaunch(gpu::GPUFuncOp kernel) {
  OpFoldResult points = countGridPoints(host, nest, plan);
  OpFoldResult blocks = affine::makeComposedFoldedAffineApply(
      host, loc,
      AffineMap::get(
          0, 1, host.getAffineSymbolExpr(0).ceilDiv(plan.pointsPerBlock())),
      {points});
  OpBuilder::InsertionGuard guard(host);
  if (!getConstantIntValue(blocks)) {
    Value zero = arith::ConstantIndexOp::create(host, loc, 0);
    Value some = arith::CmpIOp::create(host, loc, arith::CmpIPredicate::ne,
                                       cast<Value>(blocks), zero);
    auto branch = scf::IfOp::create(host, loc, some, /*withElse=*/false);
    host.setInsertionPointToStart(branch.thenBlock());
  }
  Value one = arith::ConstantIndexOp::create(host, loc, 1);
  Value threads = arith::ConstantIndexOp::create(host, loc, plan.blockSize);
  gpu::KernelDim3 grid{getValueOrCreateConstantIndexOp(host, loc, blocks), one,
                       one};
  auto launch = gpu::LaunchFuncOp::create(
      host, loc, kernel, grid, gpu::KernelDim3{threads, one, one},
      /*dynamicSharedMemorySize=*/Value(),
      llvm::map_to_vector(arguments,
                          [](const Argument &a) { return a.value; }));
  copyPhase(nest.op, launch);
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
                                        DenseSet<Operation *> &taken) {
  SmallVector<TypedAttr> constants;
  for (unsigned output = 0; output < nest.outputs().size(); ++output) {
    linalg::FillOp fill = findFill(nest.op, output);
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
          << blockSize;
      return signalPassFailure();
    }
    SmallVector<linalg::LinalgOp> ops;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      convertCopiesToLinalg(function);
      function.walk([&](linalg::LinalgOp op) {
        if (op.hasPureBufferSemantics())
          ops.push_back(op);
      });
    }
    if (ops.empty())
      return;
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    auto builder = OpBuilder::atBlockEnd(module.getBody());
    auto kernels =
        gpu::GPUModuleOp::create(builder, module.getLoc(), "kernels");
    symbols.insert(kernels);
    module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                    builder.getUnitAttr());
    KernelTable<gpu::GPUFuncOp> table(kernels);
    // From the end: a fill is met after the reduction that takes it over.
    for (linalg::LinalgOp op : llvm::reverse(ops)) {
      if (!taken.contains(op) && failed(convert(op, table)))
        return signalPassFailure();
      op->erase();
    }
  }

  LogicalResult convert(linalg::LinalgOp op,
                        KernelTable<gpu::GPUFuncOp> &table) {
    OpBuilder builder(op);
    FailureOr<LoopNest> nest = buildLoopNest(builder, op);
    if (failed(nest))
      return op->emitError("has index maps or layouts that are not linear, "
                           "which kernels for CUDA do not take");
    GridPlan plan = planGrid(*nest, blockSize);
    if (!isEmpty(*nest, plan)) {
      Launch launch(builder, *nest, plan);
      if (nest->hasReduction() && !plan.isInOrder)
        launch.initialValues = takeFills(*nest, taken);
      launch.createLaunch(table.getOrInsert(launch.createKernel()));
    }
    return success();
  }

  /// Fills that became part of a kernel.
  DenseSet<Operation *> taken;
};
} // namespace
