//===- SerializeKernels.cpp - Kernels to one fatbin for all chips ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's `gpu-module-to-binary` makes an object for each target, of which
// the launch embeds the first; a program has to run on chips of several
// generations, those that came after it included.
//===----------------------------------------------------------------------===//

#include "DeviceCode.h"
#include "DeviceModule.h"
#include "KernelDump.h"
#include "KernelResources.h"
#include "remat/Conversion/CUDA/Passes.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SERIALIZEKERNELS
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

static std::string getImageName(gpu::GPUModuleOp module) {
  return (module.getName() + "_image").str();
}

/// Functions that the driver defines on every device.
static bool isDeviceRuntime(StringRef name) {
  return llvm::is_contained({"vprintf", "__assertfail", "malloc", "free"},
                            name);
}

/// Reports what the translation to LLVM IR would stumble over.
static LogicalResult checkIsLowered(gpu::GPUModuleOp module) {
  WalkResult result =
      module.getBodyRegion().walk<WalkOrder::PreOrder>(
          [](Operation *op) {
            if (isa<LLVM::LLVMDialect, NVVM::NVVMDialect>(op->getDialect()))
              return WalkResult::advance();
            op->emitError()
                << "'" << op->getName()
                << "' must be lowered to the LLVM and NVVM dialects before "
                   "kernels are serialized";
            return WalkResult::interrupt();
          });
  return failure(result.wasInterrupted());
}

/// Reports calls that no code will answer. Sets `usesLibdevice`.
static LogicalResult checkCalls(gpu::GPUModuleOp module, const Toolkit &toolkit,
                                bool &usesLibdevice) {
  SymbolTable symbols(module);
  std::optional<llvm::StringSet<>> libdevice;
  WalkResult result = module.walk([&](LLVM::CallOp call) {
    auto name = call.getCallee();
    auto callee = name ? symbols.lookup<LLVM::LLVMFuncOp>(*name) : nullptr;
    if (!callee || !callee.isExternal() || name->starts_with("llvm.") ||
        isDeviceRuntime(*name))
      return WalkResult::advance();
    auto caller = call->getParentOfType<LLVM::LLVMFuncOp>();
    if (name->starts_with("__nv_")) {
      usesLibdevice = true;
      if (toolkit.getLibdevice().empty()) {
        call.emitError() << "kernel '" << caller.getSymName() << "' calls '"
                         << *name << "' of libdevice, which "
                         << toolkit.getRoot()
                         << " does not have; install CUDA 13, or run `"
                         << kInstallToolkit
                         << "` in a virtual environment, and activate it";
        return WalkResult::interrupt();
      }
      if (!libdevice) {
        auto names = getLibdeviceFunctions(toolkit.getLibdevice());
        if (!names) {
          call.emitError(llvm::toString(names.takeError()));
          return WalkResult::interrupt();
        }
        libdevice = std::move(*names);
      }
      if (libdevice->contains(*name))
        return WalkResult::advance();
    }
    call.emitError() << "kernel '" << caller.getSymName() << "' calls '"
                     << *name << "', which is defined nowhere";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Runs in several threads at once; MLIR stays outside.
static void compile(DeviceModule &module, ChipCode &code, StringRef name,
                    const Toolkit &toolkit) {
  auto ptx = translateToPTX(module.bitcode, code.chip, module.libdevice);
  if (!ptx) {
    code.error = llvm::toString(ptx.takeError());
    return;
  }
  code.ptx = std::move(*ptx);
  auto cubin = toolkit.assemble(code.ptx, code.chip, name);
  if (cubin)
    code.cubin = std::move(*cubin);
  else
    code.error = llvm::toString(cubin.takeError());
}

/// Reports why there is no code, at the kernels that are to blame.
static void reportErrors(gpu::GPUModuleOp module, const ChipCode &code,
                         const Toolkit &toolkit) {
  if (code.ptx.empty()) {
    module.emitError() << "cannot be compiled for " << code.chip << ": "
                       << code.error;
    return;
  }
  if (StringRef(code.error).contains("is not defined for option 'gpu-name'")) {
    module.emitError() << "cannot be assembled for " << code.chip
                       << ", which the ptxas in " << toolkit.getRoot()
                       << " does not know; choose other 'chips', or another "
                          "'toolkit'";
    return;
  }
  for (const AssemblerError &error :
       parseAssemblerErrors(code.error, code.ptx)) {
    Operation *kernel = error.kernel.empty()
                            ? nullptr
                            : SymbolTable::lookupSymbolIn(module, error.kernel);
    if (kernel)
      kernel->emitError() << "kernel '" << error.kernel
                          << "' cannot be assembled for " << code.chip << ": "
                          << error.message;
    else
      module.emitError() << "cannot be assembled for " << code.chip << ": "
                         << error.message;
  }
}

/// The global that takes the image: a new one, or one without a value.
static FailureOr<LLVM::GlobalOp>
createImage(OpBuilder &builder, DeviceModule &module, SymbolTable &symbols) {
  std::string name = getImageName(module.op);
  auto type =
      LLVM::LLVMArrayType::get(builder.getI8Type(), module.image.size());
  builder.setInsertionPoint(module.op);
  auto image = LLVM::GlobalOp::create(
      builder, module.op.getLoc(), type, /*isConstant=*/true,
      LLVM::Linkage::Internal, name, builder.getStringAttr(module.image),
      /*alignment=*/16);
  if (Operation *other = symbols.lookup(name)) {
    auto declaration = dyn_cast<LLVM::GlobalOp>(other);
    if (!declaration || declaration.getValueOrNull() ||
        declaration.getInitializerBlock()) {
      other->emitError() << "has the name that the image of the kernels in '"
                         << module.op.getName() << "' needs";
      image.erase();
      return failure();
    }
    symbols.erase(declaration);
  }
  symbols.insert(image);
  return image;
}

/// `remat.access` and `remat.bytes` are for checks of accesses; LLVM has
/// nothing of the kind.
static void dropCheckedAccess(gpu::GPUModuleOp module) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      function.removeArgAttr(i, "remat.access");
      function.removeArgAttr(i, "remat.bytes");
    }
}

namespace {
struct SerializeKernels : remat::impl::SerializeKernelsBase<SerializeKernels> {
  using SerializeKernelsBase::SerializeKernelsBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    SerializeKernelsBase::getDependentDialects(registry);
    registerBuiltinDialectTranslation(registry);
    registerGPUDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    registerNVVMDialectTranslation(registry);
  }

  void runOnOperation() override {
    if (failed(serialize()))
      signalPassFailure();
  }

  LogicalResult serialize() {
    ModuleOp module = getOperation();
    SmallVector<DeviceModule> devices;
    for (auto op :
         llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>()))
      if (getKernels(op).empty() && !module.lookupSymbol(getImageName(op)))
        op.erase();
      else
        devices.emplace_back().op = op;
    if (!devices.empty() && failed(serialize(devices)))
      return failure();
    module->removeAttr(gpu::GPUDialect::getContainerModuleAttrName());
    return success();
  }

  LogicalResult serialize(MutableArrayRef<DeviceModule> devices) {
    ModuleOp module = getOperation();
    FailureOr<SmallVector<StringRef>> chips = getChips();
    if (failed(chips))
      return failure();
    auto found = Toolkit::find(this->toolkit);
    if (!found)
      return devices.front().op.emitError()
             << "needs a CUDA toolkit to be compiled: "
             << llvm::toString(found.takeError());
    Toolkit toolkit = std::move(*found);

    for (DeviceModule &device : devices)
      if (failed(translate(device, toolkit, *chips)))
        return failure();
    size_t numChips = chips->size();
    parallelFor(&getContext(), 0, devices.size() * numChips, [&](size_t i) {
      DeviceModule &device = devices[i / numChips];
      ChipCode &code = device.chips[i % numChips];
      std::string name = (device.op.getName() + "." + code.chip + ".ptx").str();
      compile(device, code, name, toolkit);
    });
    for (DeviceModule &device : devices)
      for (ChipCode &code : device.chips)
        if (!code.error.empty()) {
          reportErrors(device.op, code, toolkit);
          return failure();
        }

    SymbolTable symbols(module);
    OpBuilder builder(module);
    for (DeviceModule &device : devices)
      if (failed(combine(device, toolkit)) ||
          failed(createImage(builder, device, symbols)))
        return failure();
    if (!dump.empty() && failed(writeDump(devices, toolkit)))
      return failure();
    for (DeviceModule &device : devices)
      symbols.erase(device.op);
    return success();
  }

  /// The chips, each once.
  FailureOr<SmallVector<StringRef>> getChips() {
    llvm::SetVector<StringRef> names;
    for (const std::string &chip : chips)
      names.insert(chip);
    if (names.empty())
      names.insert_range(ArrayRef<StringRef>{"sm_80", "sm_90", "sm_100"});
    for (StringRef name : names)
      if (!name.starts_with("sm_") || !isKnownChip(name))
        return getOperation().emitError()
               << "'chips' has '" << name
               << "', which is no chip that LLVM compiles for; chips are named "
                  "like sm_80, sm_90 or sm_100";
    return llvm::to_vector(names);
  }

  LogicalResult translate(DeviceModule &device, const Toolkit &toolkit,
                          ArrayRef<StringRef> chips) {
    if (auto uses = SymbolTable::getSymbolUses(device.op, getOperation());
        uses && !uses->empty())
      return uses->begin()->getUser()->emitError()
             << "refers to a kernel of '" << device.op.getName()
             << "'; launches must be lowered before kernels are serialized";
    bool usesLibdevice = false;
    if (failed(checkIsLowered(device.op)) ||
        failed(checkCalls(device.op, toolkit, usesLibdevice)))
      return failure();
    if (usesLibdevice)
      device.libdevice = toolkit.getLibdevice();
    dropCheckedAccess(device.op);
    device.op->setAttr(
        LLVM::LLVMDialect::getDataLayoutAttrName(),
        StringAttr::get(device.op->getContext(), getDeviceDataLayout()));
    llvm::LLVMContext context;
    auto translated =
        translateModuleToLLVMIR(device.op, context, device.op.getName());
    if (!translated)
      return failure();
    llvm::raw_string_ostream stream(device.bitcode);
    llvm::WriteBitcodeToFile(*translated, stream);
    for (StringRef chip : chips)
      device.chips.emplace_back().chip = chip;
    return success();
  }

  LogicalResult combine(DeviceModule &device, const Toolkit &toolkit) {
    SmallVector<FatbinMember> members;
    StringRef newest = getNewest(device.chips);
    for (const ChipCode &code : device.chips) {
      members.push_back(
          {FatbinMember::Kind::Cubin, code.chip, code.cubin.contents});
      if (code.chip == newest)
        members.push_back({FatbinMember::Kind::PTX, code.chip, code.ptx});
    }
    auto image = toolkit.combine(members);
    if (!image)
      return device.op.emitError() << "cannot be put into one file: "
                                   << llvm::toString(image.takeError());
    device.image = std::move(*image);
    return success();
  }

  LogicalResult writeDump(ArrayRef<DeviceModule> devices,
                          const Toolkit &toolkit) {
    auto version = toolkit.getVersion();
    if (!version)
      return getOperation().emitError(llvm::toString(version.takeError()));
    return dumpKernels(getOperation(), dump, devices, *version);
  }
};
} // namespace
