//===- LaunchesToRuntime.cpp - gpu.launch_func to calls of the runtime ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream creates, synchronizes and destroys a stream for each launch.
//===----------------------------------------------------------------------===//

#include "DevicePointers.h"
#include "RuntimeFunctions.h"
#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Transforms/Utils/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTLAUNCHESTORUNTIME
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
class LaunchLowering {
public:
  explicit LaunchLowering(ModuleOp module)
      : module(module), symbols(module), texts(symbols),
        pointer(LLVM::LLVMPointerType::get(module.getContext())) {}

  LogicalResult lower(gpu::LaunchFuncOp launch);
  /// Loads the kernels before anything asks for memory: they say which driver.
  void loadIn(func::FuncOp main);

private:
  Value getImage(OpBuilder &builder, Location loc, StringAttr kernelModule);
  Value createWord(OpBuilder &builder, Location loc, Value argument);
  Value storeArguments(OpBuilder &builder, gpu::LaunchFuncOp launch);

  ModuleOp module;
  SymbolTable symbols;
  TextTable texts;
  Type pointer;
  /// Room for the arguments of a launch, for each function.
  DenseMap<func::FuncOp, std::pair<Value, size_t>> stacks;
};
} // namespace

/// The constant with the kernels, which a later pass makes of `kernelModule`.
Value LaunchLowering::getImage(OpBuilder &builder, Location loc,
                               StringAttr kernelModule) {
  std::string name = (kernelModule.getValue() + "_image").str();
  if (!symbols.lookup(name)) {
    auto atStart = OpBuilder::atBlockBegin(module.getBody());
    symbols.insert(LLVM::GlobalOp::create(
        atStart, module.getLoc(),
        LLVM::LLVMArrayType::get(builder.getI8Type(), 0), /*isConstant=*/true,
        LLVM::Linkage::External, name, Attribute()));
  }
  return LLVM::AddressOfOp::create(builder, loc, pointer, name);
}

void LaunchLowering::loadIn(func::FuncOp main) {
  auto builder = OpBuilder::atBlockBegin(&main.getBody().front());
  for (auto kernels : module.getOps<gpu::GPUModuleOp>())
    callCUDARuntime(builder, main.getLoc(), symbols, "remat_cuda_module",
                    getImage(builder, main.getLoc(), kernels.getNameAttr()),
                    pointer);
}

/// Returns the kind of an argument of `remat_cuda_launch`: p, a value of 8
/// bytes; s, a scalar for the step block; v, the address of one of 16 bytes.
static char getKind(Value argument) {
  Value scalar = getStepScalar(argument);
  if (!scalar)
    return 'p';
  return isa<VectorType>(scalar.getType()) ? 'v' : 's';
}

Value LaunchLowering::createWord(OpBuilder &builder, Location loc,
                                 Value argument) {
  Type i64 = builder.getI64Type();
  if (argument.getType().isIndex())
    return arith::IndexCastOp::create(builder, loc, i64, argument);
  Value scalar = getStepScalar(argument);
  if (!scalar)
    return argument;
  Type type = scalar.getType();
  if (isa<VectorType>(type)) {
    Value copy = allocateOnStack(builder, loc, getBytesInMemory(type) / 8);
    LLVM::StoreOp::create(builder, loc, scalar, copy);
    return copy;
  }
  if (isa<FloatType>(type))
    scalar = arith::BitcastOp::create(
        builder, loc, builder.getIntegerType(type.getIntOrFloatBitWidth()),
        scalar);
  if (scalar.getType() == i64)
    return scalar;
  return arith::ExtUIOp::create(builder, loc, i64, scalar);
}

Value LaunchLowering::storeArguments(OpBuilder &builder,
                                     gpu::LaunchFuncOp launch) {
  Location loc = launch.getLoc();
  auto function = launch->getParentOfType<func::FuncOp>();
  auto &[memory, size] = stacks[function];
  size_t needed = launch.getKernelOperands().size();
  if (!memory || size < needed) {
    // Launches come in the order of the function: earlier ones keep theirs.
    size = std::max(needed, 2 * size);
    memory = allocateOnStack(builder, loc, size);
  }
  for (auto [i, value] : llvm::enumerate(launch.getKernelOperands())) {
    Value slot =
        LLVM::GEPOp::create(builder, loc, pointer, builder.getI64Type(), memory,
                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    LLVM::StoreOp::create(builder, loc, createWord(builder, loc, value), slot);
  }
  return memory;
}

LogicalResult LaunchLowering::lower(gpu::LaunchFuncOp launch) {
  for (Value value : launch.getKernelOperands())
    if (!value.getType().isIndex() &&
        !isa<LLVM::LLVMPointerType>(value.getType()))
      return launch->emitError("passes a ")
             << value.getType()
             << ", but launches pass pointers and 'index' values only";
  OpBuilder builder(launch);
  Location loc = launch.getLoc();
  Type i64 = builder.getI64Type();
  auto toWord = [&](Value value) -> Value {
    if (value.getType().isIndex())
      return arith::IndexCastOp::create(builder, loc, i64, value);
    return arith::ExtUIOp::create(builder, loc, i64, value);
  };
  auto constant = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(builder, loc, i64, value);
  };
  gpu::KernelDim3 grid = launch.getGridSizeOperandValues(),
                  block = launch.getBlockSizeOperandValues();
  SmallVector<Value> operands{
      getImage(builder, loc, launch.getKernelModuleName()),
      texts.get(builder, loc, launch.getKernelName().getValue()),
      texts.get(builder, loc, describeFilePosition(loc).value_or(""))};
  for (Value size : {grid.x, grid.y, grid.z, block.x, block.y, block.z})
    operands.push_back(toWord(size));
  Value shared = launch.getDynamicSharedMemorySize();
  operands.push_back(shared ? toWord(shared) : constant(0));
  operands.push_back(constant(launch.getKernelOperands().size()));
  std::string kinds;
  for (Value argument : launch.getKernelOperands())
    kinds.push_back(getKind(argument));
  operands.push_back(texts.get(builder, loc, kinds));
  operands.push_back(storeArguments(builder, launch));
  callCUDARuntime(builder, loc, symbols, "remat_cuda_launch", operands);
  SmallVector<Value> arguments(launch.getKernelOperands());
  launch.erase();
  for (Value argument : arguments)
    if (getStepScalar(argument) && argument.use_empty())
      argument.getDefiningOp()->erase();
  return success();
}

namespace {
struct ConvertLaunchesToRuntime
    : remat::impl::ConvertLaunchesToRuntimeBase<ConvertLaunchesToRuntime> {
  void runOnOperation() override {
    SmallVector<gpu::LaunchFuncOp> launches;
    getOperation().walk(
        [&](gpu::LaunchFuncOp launch) { launches.push_back(launch); });
    LaunchLowering lowering(getOperation());
    for (gpu::LaunchFuncOp launch : launches)
      if (failed(lowering.lower(launch)))
        return signalPassFailure();
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (main && !main.isExternal())
      lowering.loadIn(main);
  }
};
} // namespace
