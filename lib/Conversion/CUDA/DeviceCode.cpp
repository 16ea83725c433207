//===- DeviceCode.cpp - LLVM IR of kernels to PTX -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's `gpu-module-to-binary` is not used: it warns about a toolkit that
// is not needed, takes approximate square roots from libdevice, and embeds the
// first of several chips only.
//===----------------------------------------------------------------------===//

#include "DeviceCode.h"

#include "mlir/Target/LLVM/NVVM/Utils.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace llvm;
using namespace mlir::remat;

static Expected<std::unique_ptr<TargetMachine>>
createTargetMachine(StringRef chip) {
  mlir::NVVM::SerializeGPUModuleBase::init();
  Triple triple("nvptx64-nvidia-cuda");
  std::string reason;
  const Target *target = TargetRegistry::lookupTarget(triple, reason);
  if (!target)
    return createStringError("this LLVM was built without the target NVPTX");
  TargetOptions options;
  options.AllowFPOpFusion = FPOpFusion::Strict;
  // Without features, the PTX version is the oldest one that has the chip.
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      triple, chip, /*Features=*/"", options, Reloc::PIC_, std::nullopt,
      CodeGenOptLevel::Aggressive));
}

bool mlir::remat::isKnownChip(StringRef chip) {
  // A chip that is not known would be reported on stderr, and compiled as
  // sm_30.
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine("");
  if (!machine) {
    consumeError(machine.takeError());
    return false;
  }
  return (*machine)->getMCSubtargetInfo()->isCPUStringValid(chip);
}

std::string mlir::remat::getDeviceDataLayout() {
  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine("");
  if (!machine) {
    consumeError(machine.takeError());
    return {}; // Translation to PTX says why.
  }
  return (*machine)->createDataLayout().getStringRepresentation();
}

static Expected<std::unique_ptr<Module>> readModule(MemoryBufferRef buffer,
                                                    LLVMContext &context) {
  Expected<std::unique_ptr<Module>> module = parseBitcodeFile(buffer, context);
  if (!module)
    return createStringError(buffer.getBufferIdentifier() + ": " +
                             toString(module.takeError()));
  return module;
}

static Expected<std::unique_ptr<Module>> readFile(StringRef path,
                                                  LLVMContext &context) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(buffer.getError(),
                             "cannot read " + path + ": " +
                                 buffer.getError().message());
  return readModule(**buffer, context);
}

Expected<StringSet<>> mlir::remat::getLibdeviceFunctions(StringRef libdevice) {
  LLVMContext context;
  Expected<std::unique_ptr<Module>> module = readFile(libdevice, context);
  if (!module)
    return module.takeError();
  StringSet<> names;
  for (Function &function : **module)
    if (!function.isDeclaration())
      names.insert(function.getName());
  return names;
}

/// libdevice asks the compiler whether a square root has to be exact; LLVM
/// answers no, whatever was asked for.
static void requireExactRoots(Module &module) {
  Function *reflect = module.getFunction("__nvvm_reflect");
  if (!reflect)
    return;
  for (User *user : make_early_inc_range(reflect->users())) {
    auto *call = dyn_cast<CallInst>(user);
    StringRef question;
    if (!call || !getConstantStringInfo(call->getArgOperand(0), question) ||
        !question.starts_with("__CUDA_PREC_"))
      continue;
    call->replaceAllUsesWith(ConstantInt::get(call->getType(), 1));
    call->eraseFromParent();
  }
}

static Error linkLibdevice(Module &module, StringRef path) {
  Expected<std::unique_ptr<Module>> library =
      readFile(path, module.getContext());
  if (!library)
    return library.takeError();
  // Its own ones ("gpulibs") mean the same.
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  requireExactRoots(**library);
  auto internalize = [](Module &linked, const StringSet<> &names) {
    internalizeModule(linked, [&](const GlobalValue &value) {
      return !value.hasName() || !names.contains(value.getName());
    });
  };
  if (Linker::linkModules(module, std::move(*library), Linker::LinkOnlyNeeded,
                          internalize))
    return createStringError("cannot link " + path);
  return Error::success();
}

static void optimize(Module &module, TargetMachine &machine) {
  PipelineTuningOptions tuning;
  tuning.LoopUnrolling = true;
  tuning.LoopInterleaving = true;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  PassBuilder builder(&machine, tuning);
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O3)
      .run(module, modules);
}

Expected<std::string> mlir::remat::translateToPTX(StringRef bitcode,
                                                  StringRef chip,
                                                  StringRef libdevice) {
  LLVMContext context;
  // By default LLVM prints an error and ends the process.
  std::string message;
  context.setDiagnosticHandlerCallBack(
      [](const DiagnosticInfo *info, void *target) {
        auto &message = *static_cast<std::string *>(target);
        if (info->getSeverity() != DS_Error || !message.empty())
          return;
        raw_string_ostream stream(message);
        DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
      },
      &message);

  Expected<std::unique_ptr<TargetMachine>> machine = createTargetMachine(chip);
  if (!machine)
    return machine.takeError();
  Expected<std::unique_ptr<Module>> module =
      readModule(MemoryBufferRef(bitcode, "kernels"), context);
  if (!module)
    return module.takeError();
  (*module)->setTargetTriple((*machine)->getTargetTriple());
  (*module)->setDataLayout((*machine)->createDataLayout());
  // Denormals are numbers, in libdevice too.
  (*module)->setModuleFlag(Module::Override, "nvvm-reflect-ftz", uint32_t(0));
  if (!libdevice.empty())
    if (Error error = linkLibdevice(**module, libdevice))
      return error;
  optimize(**module, **machine);

  SmallString<0> ptx;
  raw_svector_ostream stream(ptx);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      CodeGenFileType::AssemblyFile))
    return createStringError("this LLVM cannot print PTX");
  passes.run(**module);
  if (!message.empty())
    return createStringError(message);
  return std::string(ptx);
}
