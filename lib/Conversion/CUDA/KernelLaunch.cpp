//===- KernelLaunch.cpp - A kernel, its arguments and its launch ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels take pointers and sizes only, so that a captured graph can replay
// them: whatever changes from step to step is in memory.
//===----------------------------------------------------------------------===//

#include "KernelLaunch.h"

#include "DevicePointers.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::remat;

static StringRef getName(KernelLaunch::Access access) {
  switch (access) {
  case KernelLaunch::Access::Read:
    return "read";
  case KernelLaunch::Access::Write:
    return "write";
  case KernelLaunch::Access::ReadWrite:
    return "read_write";
  }
  llvm_unreachable("every access has a name");
}

gpu::GPUModuleOp mlir::remat::getOrCreateKernelModule(ModuleOp module) {
  constexpr StringRef kName = "kernels";
  if (auto found = module.lookupSymbol<gpu::GPUModuleOp>(kName))
    return found;
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  auto kernels = gpu::GPUModuleOp::create(builder, module.getLoc(), kName);
  SymbolTable(module).insert(kernels);
  module->setAttr(gpu::GPUDialect::getContainerModuleAttrName(),
                  builder.getUnitAttr());
  return kernels;
}

void KernelLaunch::begin(int64_t size, ArrayRef<Type> workgroupTypes) {
  blockSize = size;
  MLIRContext *context = host.getContext();
  kernel = gpu::GPUFuncOp::create(device, loc, op->getName().stripDialect(),
                                  FunctionType::get(context, {}, {}),
                                  workgroupTypes);
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  UnitAttr::get(context));
  kernel.setKnownBlockSize(
      ArrayRef<int32_t>{static_cast<int32_t>(blockSize), 1, 1});
  device.setInsertionPointToStart(&kernel.getBody().front());
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

Value KernelLaunch::addArgument(Argument argument) {
  arguments.push_back(argument);
  return kernel.getBody().front().insertArgument(arguments.size() - 1,
                                                 argument.value.getType(), loc);
}

Value KernelLaunch::addMemory(Value pointer, Type elementType, Access access,
                              std::optional<int64_t> bytes,
                              std::optional<Traffic> traffic) {
  return createFlatMemRef(
      device, loc, addArgument({pointer, access, bytes, traffic}), elementType);
}

Value KernelLaunch::addNumber(OpFoldResult number) {
  if (std::optional<int64_t> constant = getConstantIntValue(number))
    return arith::ConstantIndexOp::create(device, loc, *constant);
  auto value = cast<Value>(number);
  if (!map.contains(value))
    map.map(value, addArgument({value}));
  return map.lookup(value);
}

/// By way of the step block.
Value KernelLaunch::addScalar(Value scalar) {
  if (Operation *constant = scalar.getDefiningOp();
      constant && constant->hasTrait<OpTrait::ConstantLike>())
    return device.clone(*constant)->getResult(0);
  Type type = scalar.getType();
  Argument argument{createStepScalar(host, loc, scalar), Access::Read,
                    getBytesInMemory(type)};
  return loadStepScalar(device, loc, addArgument(argument), type);
}

/// Memory that the body reads at positions which it computes.
Value KernelLaunch::addMemRef(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  StridedMetadata metadata = getStridedMetadata(host, loc, memref);
  Argument argument{createDevicePointer(host, loc, memref, metadata.offset),
                    Access::Read};
  if (type.hasStaticShape() && type.getLayout().isIdentity())
    argument.bytes =
        multiplySizes(type.getShape(), getBytesInMemory(type.getElementType()));
  Value flat = createFlatMemRef(device, loc, addArgument(argument),
                                type.getElementType(),
                                /*booleansAreBytes=*/false);
  auto toDevice = [&](OpFoldResult number) -> OpFoldResult {
    if (getConstantIntValue(number))
      return number;
    return addArgument({cast<Value>(number)});
  };
  SmallVector<OpFoldResult> sizes =
      llvm::map_to_vector(metadata.sizes, toDevice);
  SmallVector<OpFoldResult> strides =
      llvm::map_to_vector(metadata.strides, toDevice);
  return memref::ReinterpretCastOp::create(
      device, loc, flat, device.getIndexAttr(0), sizes, strides);
}

void KernelLaunch::addCaptures(const Captures &captures) {
  for (Value value : captures.values) {
    if (map.contains(value))
      continue;
    if (isa<MemRefType>(value.getType()))
      map.map(value, addMemRef(value));
    else if (value.getType().isIndex())
      // Sizes, strides and positions: the grid depends on them in any case.
      addNumber(value);
    else
      map.map(value, addScalar(value));
  }
  for (Operation *constant : captures.constants)
    device.clone(*constant, map);
}

//===----------------------------------------------------------------------===//
// Kernel and launch
//===----------------------------------------------------------------------===//

ValueRange KernelLaunch::beginCode() {
  // Workgroup memory follows the arguments of this type.
  kernel.setFunctionType(FunctionType::get(
      host.getContext(),
      llvm::map_to_vector(arguments,
                          [](const Argument &a) { return a.value.getType(); }),
      {}));
  return kernel.getWorkgroupAttributions();
}

gpu::GPUFuncOp KernelLaunch::finish() {
  gpu::ReturnOp::create(device, loc);
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (argument.access)
      kernel.setArgAttr(i, "remat.access",
                        device.getStringAttr(getName(*argument.access)));
    if (argument.bytes)
      kernel.setArgAttr(i, "remat.bytes",
                        device.getI64IntegerAttr(*argument.bytes));
    if (const auto &traffic = argument.traffic)
      kernel.setArgAttr(i, "remat.traffic",
                        device.getDenseI64ArrayAttr(
                            {traffic->least, traffic->accessed.value_or(-1),
                             traffic->moved}));
  }
  return kernel;
}

void KernelLaunch::createLaunch(gpu::GPUFuncOp kernel, OpFoldResult blocks,
                                int64_t dynamicBytes) {
  OpBuilder::InsertionGuard guard(host);
  if (!getConstantIntValue(blocks)) {
    Value zero = arith::ConstantIndexOp::create(host, loc, 0);
    Value some = arith::CmpIOp::create(host, loc, arith::CmpIPredicate::ne,
                                       cast<Value>(blocks), zero);
    auto branch = scf::IfOp::create(host, loc, some, /*withElse=*/false);
    host.setInsertionPointToStart(branch.thenBlock());
  }
  Value one = arith::ConstantIndexOp::create(host, loc, 1);
  Value threads = arith::ConstantIndexOp::create(host, loc, blockSize);
  gpu::KernelDim3 grid{getValueOrCreateConstantIndexOp(host, loc, blocks), one,
                       one};
  Value dynamic;
  if (dynamicBytes > 0)
    dynamic = arith::ConstantIntOp::create(host, loc, host.getI32Type(),
                                           dynamicBytes);
  auto launch = gpu::LaunchFuncOp::create(
      host, loc, kernel, grid, gpu::KernelDim3{threads, one, one}, dynamic,
      llvm::map_to_vector(arguments,
                          [](const Argument &a) { return a.value; }));
  copyPhase(op, launch);
}
