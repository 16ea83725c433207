//===- EmulateKernels.cpp - Kernels as functions of the host --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executes what the NVPTX backend would get: the functions of a gpu.module move
// to the host's module, where the few things that a host does not have are
// loads from the thread's record or calls of the emulator.
//===----------------------------------------------------------------------===//

#include "remat/Emulator/Passes.h"

#include "EmulatorCalls.h"
#include "InstrumentAccesses.h"
#include "KernelImage.h"
#include "LowerDeviceOps.h"
#include "MatrixOps.h"
#include "WorkgroupMemory.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::remat {
#define GEN_PASS_DEF_EMULATEKERNELS
#include "remat/Emulator/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat::emulator;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// The most threads that a block of `kernel` may have; 0 if it does not say.
static int64_t getMaxThreads(LLVM::LLVMFuncOp kernel) {
  for (StringRef name : {StringRef(NVVM::NVVMDialect::getReqntidAttrName()),
                         StringRef(NVVM::NVVMDialect::getMaxntidAttrName()),
                         StringRef("gpu.known_block_size")})
    if (auto sizes = kernel->getAttrOfType<DenseI32ArrayAttr>(name)) {
      int64_t threads = 1;
      for (int32_t size : sizes.asArrayRef())
        threads *= size;
      return threads;
    }
  return 0;
}

static bool isAnyCooperative(LLVM::LLVMFuncOp kernel,
                             const SymbolTable &device) {
  return llvm::any_of(getReachable(kernel, device),
                      [](LLVM::LLVMFuncOp function) {
                        return function
                            .walk([](Operation *op) {
                              return isCooperative(op) ? WalkResult::interrupt()
                                                       : WalkResult::advance();
                            })
                            .wasInterrupted();
                      });
}

static std::string getImageName(gpu::GPUModuleOp kernels) {
  return (kernels.getName() + "_image").str();
}

/// Returns what attributes say about the arguments of `kernel`: those of each
/// argument, or `remat.arguments` of the kernel (`convert-gpu-to-nvvm` keeps no
/// attributes of arguments).
static SmallVector<ArgumentInfo> getArguments(LLVM::LLVMFuncOp kernel) {
  auto list = kernel->getAttrOfType<ArrayAttr>("remat.arguments");
  SmallVector<ArgumentInfo> arguments;
  for (unsigned i = 0, e = kernel.getNumArguments(); i < e; ++i) {
    ArgumentInfo info{kernel.getArgAttrOfType<StringAttr>(i, "remat.access"),
                      kernel.getArgAttrOfType<IntegerAttr>(i, "remat.bytes")};
    if (list && i < list.size())
      if (auto entry = dyn_cast<DictionaryAttr>(list[i])) {
        info.access = entry.getAs<StringAttr>("access");
        info.bytes = entry.getAs<IntegerAttr>("bytes");
      }
    arguments.push_back(info);
  }
  return arguments;
}

static HostKernel describeKernel(LLVM::LLVMFuncOp function,
                                 const SymbolTable &device) {
  return {function.getName().str(),
          function,
          isAnyCooperative(function, device),
          /*sharedBytes=*/0,
          getMaxThreads(function),
          getArguments(function)};
}

/// Globals of the device that a program could write would need a copy there.
static LogicalResult checkGlobal(LLVM::GlobalOp global) {
  if (isWorkgroupMemory(global) || global.getConstant())
    return success();
  return global.emitError("a variable in device memory has no emulation");
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// Each function takes the record of its thread, and passes it on.
static void addThreadArguments(gpu::GPUModuleOp kernels,
                               const SymbolTable &device) {
  MLIRContext *context = kernels.getContext();
  auto pointer = LLVM::LLVMPointerType::get(context);
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>()) {
    if (function.isExternal())
      continue;
    LLVM::LLVMFunctionType type = function.getFunctionType();
    SmallVector<Type> inputs(type.getParams());
    inputs.push_back(pointer);
    function.setFunctionType(LLVM::LLVMFunctionType::get(
        type.getReturnType(), inputs, type.isVarArg()));
    function.getBody().addArgument(pointer, function.getLoc());
    if (auto attributes = function.getArgAttrsAttr()) {
      SmallVector<Attribute> list(attributes.getValue());
      list.push_back(DictionaryAttr::get(context));
      function.setArgAttrsAttr(ArrayAttr::get(context, list));
    }
    function.setArgAttr(function.getNumArguments() - 1,
                        LLVM::LLVMDialect::getNoAliasAttrName(),
                        UnitAttr::get(context));
  }
  kernels.walk([&](LLVM::CallOp call) {
    auto callee =
        device.lookup<LLVM::LLVMFuncOp>(call.getCallee().value_or(""));
    if (callee && !callee.isExternal())
      call.getCalleeOperandsMutable().append(getThread(call));
  });
}

/// A host has one address space.
static void eraseAddressSpaces(gpu::GPUModuleOp kernels) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([](LLVM::LLVMPointerType type) {
    return LLVM::LLVMPointerType::get(type.getContext());
  });
  replacer.recursivelyReplaceElementsIn(kernels, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  kernels.walk([](LLVM::AddrSpaceCastOp cast) {
    cast.replaceAllUsesWith(cast.getArg());
    cast.erase();
  });
}

/// Attributes that only the device's compiler reads.
static void dropDeviceAttributes(LLVM::LLVMFuncOp function) {
  auto isOfDevice = [](NamedAttribute attribute) {
    StringRef dialect = attribute.getName().strref().split('.').first;
    return dialect == "nvvm" || dialect == "gpu" || dialect == "remat";
  };
  for (NamedAttribute attribute :
       llvm::to_vector(function->getDiscardableAttrs()))
    if (isOfDevice(attribute))
      function->removeDiscardableAttr(attribute.getName());
  for (unsigned i = 0, e = function.getNumArguments(); i < e; ++i)
    for (NamedAttribute attribute :
         llvm::to_vector(function_interface_impl::getArgAttrs(function, i)))
      if (isOfDevice(attribute))
        function.removeArgAttr(i, attribute.getName());
  function.setCConv(LLVM::CConv::C);
  function.setLinkage(LLVM::Linkage::Internal);
  function.setVisibility_(LLVM::Visibility::Default);
}

/// Names what has a body, or a value, `<module>_<name>`: a kernel may be called
/// like a function of the C library.
static void renameSymbols(gpu::GPUModuleOp kernels,
                          const SymbolTable &symbols) {
  llvm::StringMap<StringAttr> names;
  llvm::StringSet<> taken;
  taken.insert(getImageName(kernels));
  for (Operation &op : *kernels.getBody()) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (function && function.isExternal())
      continue;
    StringRef old = SymbolTable::getSymbolName(&op).getValue();
    std::string base = (kernels.getName() + "_" + old).str(), name = base;
    for (unsigned i = 0; symbols.lookup(name) || !taken.insert(name).second;
         ++i)
      name = base + "_" + std::to_string(i);
    names[old] = StringAttr::get(op.getContext(), name);
    SymbolTable::setSymbolName(&op, name);
  }
  auto rename = [&](Operation *op, StringRef attribute, StringRef old) {
    auto found = names.find(old);
    if (found != names.end())
      op->setAttr(attribute, FlatSymbolRefAttr::get(found->second));
  };
  kernels.walk([&](Operation *op) {
    if (auto call = dyn_cast<LLVM::CallOp>(op))
      rename(op, call.getCalleeAttrName(), call.getCallee().value_or(""));
    else if (auto address = dyn_cast<LLVM::AddressOfOp>(op))
      rename(op, address.getGlobalNameAttrName(), address.getGlobalName());
  });
}

/// Moves functions and constants to the module of `symbols`.
static void moveToHost(gpu::GPUModuleOp kernels, SymbolTable &symbols) {
  for (Operation &op :
       llvm::make_early_inc_range(kernels.getBody()->getOperations())) {
    auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
    if (function && function.isExternal())
      continue;
    if (function)
      dropDeviceAttributes(function);
    else
      cast<LLVM::GlobalOp>(op).setAddrSpace(0);
    op.remove();
    symbols.insert(&op);
  }
}

static SmallVector<HostKernel> describeKernels(gpu::GPUModuleOp kernels,
                                               const SymbolTable &device) {
  SmallVector<HostKernel> table;
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>())
    if (isKernel(function) && !function.isExternal())
      table.push_back(describeKernel(function, device));
  return table;
}

static LogicalResult emulate(gpu::GPUModuleOp kernels, SymbolTable &symbols,
                             bool check) {
  SymbolTable originalSymbols(kernels);
  if (failed(checkDeviceOps(kernels, originalSymbols)))
    return failure();
  for (auto global : kernels.getOps<LLVM::GlobalOp>())
    if (failed(checkGlobal(global)))
      return failure();
  SmallVector<HostKernel> table = describeKernels(kernels, originalSymbols);
  renameSymbols(kernels, symbols);
  SymbolTable device(kernels);
  addThreadArguments(kernels, device);
  if (failed(expandMatrixOps(kernels, symbols)))
    return failure();
  if (check && failed(instrumentAccesses(kernels, device, symbols)))
    return failure();
  if (failed(lowerDeviceOps(kernels, symbols)))
    return failure();
  FailureOr<SharedBytes> sharedBytes = lowerWorkgroupMemory(kernels, device);
  if (failed(sharedBytes))
    return failure();
  for (HostKernel &kernel : table)
    kernel.sharedBytes = sharedBytes->lookup(kernel.function);
  eraseAddressSpaces(kernels);
  moveToHost(kernels, symbols);
  std::string image = (kernels.getName() + "_image").str();
  if (auto declared = symbols.lookup<LLVM::GlobalOp>(image);
      declared && declared.getLinkage() == LLVM::Linkage::External)
    symbols.erase(declared); // Launches refer to it already.
  if (failed(createImage(kernels.getLoc(), image, table, check, symbols)))
    return failure();
  symbols.erase(kernels);
  return success();
}

namespace {
struct EmulateKernels : mlir::remat::impl::EmulateKernelsBase<EmulateKernels> {
  using EmulateKernelsBase::EmulateKernelsBase;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto kernels :
         llvm::make_early_inc_range(getOperation().getOps<gpu::GPUModuleOp>()))
      if (failed(emulate(kernels, symbols, check)))
        return signalPassFailure();
    getOperation()->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
  }
};
} // namespace
