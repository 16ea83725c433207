//===- WorkgroupMemory.cpp - A block's memory from its record -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On the device a global in address space 3 exists once for each block. Here
// each block brings memory along, in which every variable has an offset.
// Functions that several kernels call need offsets that hold in all of them:
// their variables come first, and a kernel's own after these.
//===----------------------------------------------------------------------===//

#include "WorkgroupMemory.h"
#include "EmulatorCalls.h"
#include "remat/Emulator/Thread.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"

using namespace mlir;
using namespace mlir::remat::emulator;
using ::remat::cuda::EmulatedThread;
using ::remat::cuda::kSharedAlignment;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

bool mlir::remat::emulator::isWorkgroupMemory(LLVM::GlobalOp global) {
  return global.getAddrSpace() == NVVM::NVVMMemorySpace::Shared;
}

bool mlir::remat::emulator::isKernel(LLVM::LLVMFuncOp function) {
  return function->hasAttr(gpu::GPUDialect::getKernelFuncAttrName()) ||
         function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName());
}

SmallVector<LLVM::LLVMFuncOp>
mlir::remat::emulator::getReachable(LLVM::LLVMFuncOp function,
                                    const SymbolTable &device) {
  llvm::SetVector<LLVM::LLVMFuncOp> reachable;
  reachable.insert(function);
  for (size_t next = 0; next < reachable.size(); ++next) {
    LLVM::LLVMFuncOp caller = reachable[next];
    caller.walk([&](LLVM::CallOp call) {
      auto callee =
          device.lookup<LLVM::LLVMFuncOp>(call.getCallee().value_or(""));
      if (callee && !callee.isExternal())
        reachable.insert(callee);
    });
  }
  return reachable.takeVector();
}

/// The part whose size the launch says.
static bool isDynamic(LLVM::GlobalOp global) {
  auto array = dyn_cast<LLVM::LLVMArrayType>(global.getGlobalType());
  return array && array.getNumElements() == 0;
}

static LogicalResult checkVariable(LLVM::GlobalOp global) {
  bool isUndefined = !global.getValueAttr() && !global.getInitializerBlock();
  if (Block *block = global.getInitializerBlock())
    isUndefined = isa<LLVM::UndefOp, LLVM::PoisonOp>(block->front());
  if (isUndefined)
    return success();
  return global.emitError("workgroup memory cannot have initial values");
}

using Users = llvm::MapVector<LLVM::GlobalOp, SmallVector<LLVM::AddressOfOp>>;

/// Variables of workgroup memory that `function` uses, and where.
static Users getVariables(LLVM::LLVMFuncOp function,
                          const SymbolTable &device) {
  Users users;
  function.walk([&](LLVM::AddressOfOp address) {
    auto global = device.lookup<LLVM::GlobalOp>(address.getGlobalName());
    if (global && isWorkgroupMemory(global))
      users[global].push_back(address);
  });
  return users;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

namespace {
/// Offsets of variables, one after the other.
struct Layout {
  llvm::MapVector<LLVM::GlobalOp, int64_t> offsets;
  int64_t bytes = 0;

  void add(LLVM::GlobalOp global, const DataLayout &layout) {
    if (isDynamic(global) || offsets.contains(global))
      return;
    int64_t alignment =
        std::max<int64_t>(global.getAlignment().value_or(1), kSharedAlignment);
    bytes = llvm::alignTo(bytes, alignment);
    offsets[global] = bytes;
    bytes += layout.getTypeSize(global.getGlobalType()).getFixedValue();
  }
};
} // namespace

static void replaceAddress(LLVM::AddressOfOp address, LLVM::GlobalOp global,
                           const Layout &layout) {
  OpBuilder builder(address);
  Location loc = address.getLoc();
  size_t field = isDynamic(global) ? offsetof(EmulatedThread, dynamicShared)
                                   : offsetof(EmulatedThread, shared);
  Value base =
      LLVM::LoadOp::create(builder, loc, address.getType(),
                           createOffset(builder, loc, getThread(address),
                                        static_cast<int64_t>(field)));
  if (!isDynamic(global))
    base = LLVM::GEPOp::create(builder, loc, address.getType(),
                               builder.getI8Type(), base,
                               ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(
                                   layout.offsets.lookup(global))});
  address.replaceAllUsesWith(base);
  address.erase();
}

FailureOr<SharedBytes>
mlir::remat::emulator::lowerWorkgroupMemory(gpu::GPUModuleOp kernels,
                                            SymbolTable &device) {
  DataLayout layout(kernels);
  for (auto global : kernels.getOps<LLVM::GlobalOp>())
    if (isWorkgroupMemory(global) && failed(checkVariable(global)))
      return failure();
  Layout common;
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>())
    if (!isKernel(function))
      for (auto &[global, addresses] : getVariables(function, device))
        common.add(global, layout);
  SharedBytes bytes;
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>()) {
    Users variables = getVariables(function, device);
    Layout own = common;
    for (auto &[global, addresses] : variables)
      own.add(global, layout);
    if (isKernel(function)) {
      bool hasCommon = llvm::any_of(
          getReachable(function, device),
          [](LLVM::LLVMFuncOp callee) { return !isKernel(callee); });
      bool hasOwn = own.bytes != common.bytes;
      bytes[function] =
          hasCommon || hasOwn || !variables.empty() ? own.bytes : 0;
    }
    for (auto &[global, addresses] : variables)
      for (LLVM::AddressOfOp address : addresses)
        replaceAddress(address, global, own);
  }
  for (auto global :
       llvm::make_early_inc_range(kernels.getOps<LLVM::GlobalOp>()))
    if (isWorkgroupMemory(global))
      device.erase(global);
  return bytes;
}
