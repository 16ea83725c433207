//===- Object.cpp - Machine code of a shipped step ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The step and the core of the runtime become one module before they are
// optimized, so that an object has only what it calls, and exports nothing but
// the functions of its header.
//===----------------------------------------------------------------------===//

#include "Object.h"

#include "../JIT.h"
#include "../Progress.h"
#include "Core/Panels.h"

#include "remat-c/Export.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

#include <dlfcn.h>
#include <mutex>

using namespace mlir;
using namespace mlir::remat;
using llvm::createStringError;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

static void initializeTargets() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeAllTargetInfos();
    llvm::InitializeAllTargets();
    llvm::InitializeAllTargetMCs();
    llvm::InitializeAllAsmPrinters();
  });
}

/// The core of the runtime for this kind of processor, which is beside this
/// library.
static Expected<std::unique_ptr<llvm::MemoryBuffer>>
readCore(const llvm::Triple &triple) {
  if (!triple.isOSLinux())
    return createStringError("steps are exported for Linux, not for '" +
                             triple.str() + "'");
  // Both instruction sets of ARM have one core.
  StringRef kind = llvm::Triple::getArchTypeName(
      triple.isThumb() ? llvm::Triple::arm : triple.getArch());
  Dl_info info;
  SmallString<128> path;
  if (dladdr(reinterpret_cast<void *>(&rematExport), &info))
    path = llvm::sys::path::parent_path(info.dli_fname);
  llvm::sys::path::append(path, "remat_core-" + kind + ".bc");
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return createStringError("there is no core of the runtime for " + kind +
                             " (" + path + ": " + file.getError().message() +
                             "); docs/ship.md lists those that a build has");
  return std::move(*file);
}

/// Returns the features of processors that Linux distributions are made for,
/// where these are more than LLVM's defaults.
static StringRef getLeastFeatures(const llvm::Triple &triple) {
  if (triple.isRISCV64())
    return "+m,+a,+f,+d,+c";
  bool hasRegisters = triple.getEnvironment() == llvm::Triple::GNUEABIHF ||
                      triple.getEnvironment() == llvm::Triple::MuslEABIHF;
  if (triple.isARM() && hasRegisters &&
      triple.getSubArch() == llvm::Triple::NoSubArch)
    return "+v7,+db,+aclass,+vfp3d16";
  return "";
}

/// Fails if LLVM would only print a warning about these and go on.
static llvm::Error checkProcessor(const llvm::Target &target,
                                  const llvm::Triple &triple,
                                  StringRef processor, StringRef features) {
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      target.createMCSubtargetInfo(triple, "", ""));
  if (!processor.empty() && !known->isCPUStringValid(processor))
    return createStringError(
        "'" + processor + "' is no processor of '" + triple.str() +
        "' that LLVM knows; `llc -mtriple=" + triple.str() +
        " -mcpu=help` lists them");
  SmallVector<StringRef> parts;
  features.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    StringRef name = part.drop_front();
    bool isKnown = llvm::any_of(known->getAllProcessorFeatures(),
                                [&](const llvm::SubtargetFeatureKV &feature) {
                                  return name == feature.Key;
                                });
    if ((part.front() != '+' && part.front() != '-') || !isKnown)
      return createStringError("'" + part +
                               "' is no feature of processors of '" +
                               triple.str() + "', such as +avx2 or -avx2");
  }
  return llvm::Error::success();
}

Expected<ShipTarget> ShipTarget::find(StringRef triple, StringRef processor,
                                      StringRef features) {
  initializeTargets();
  ShipTarget result;
  auto builder = triple.empty()
                     ? llvm::orc::JITTargetMachineBuilder::detectHost()
                     : llvm::orc::JITTargetMachineBuilder(
                           llvm::Triple(llvm::Triple::normalize(triple)));
  if (!builder)
    return builder.takeError();
  llvm::Triple &found = builder->getTargetTriple();
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(found, message);
  if (!target)
    return createStringError("LLVM has no code for the triple '" + triple +
                             "'");
  if (llvm::Error error = checkProcessor(*target, found, processor, features))
    return error;
  auto core = readCore(found);
  if (!core)
    return core.takeError();
  result.core = std::move(*core);
  if (!processor.empty()) {
    builder->setCPU(processor.str());
    builder->getFeatures() = llvm::SubtargetFeatures();
  } else if (!triple.empty()) {
    llvm::SubtargetFeatures least(getLeastFeatures(found));
    builder->addFeatures(least.getFeatures());
  }
  if (!triple.empty() &&
      found.getArch() != llvm::Triple(LLVM_HOST_TRIPLE).getArch())
    result.compiler = (triple + "-gcc").str();
  if (found.isRISCV64())
    builder->getOptions().MCOptions.ABIName = "lp64d";
  if (!features.empty()) {
    llvm::SubtargetFeatures wanted(features);
    builder->addFeatures(wanted.getFeatures());
  }
  builder->setRelocationModel(llvm::Reloc::PIC_);
  builder->setCodeModel(llvm::CodeModel::Small);
  auto machine = builder->createTargetMachine();
  if (!machine)
    return machine.takeError();
  result.machine = std::move(*machine);
  if (found.isRISCV64() &&
      !result.machine->getMCSubtargetInfo()->checkFeatures("+d"))
    return createStringError("the processor has no registers for f64 (+d), in "
                             "which programs of riscv64 Linux pass them");
  return result;
}

std::string ShipTarget::describe() const {
  return machine->getTargetTriple().str() + " " +
         (machine->getTargetCPU().empty() ? std::string("generic")
                                          : machine->getTargetCPU().str());
}

ShipWorkspace ShipTarget::getWorkspace(ModuleOp module) {
  ShipWorkspace workspace;
  auto need = [](int64_t &bytes, int64_t least) {
    bytes = std::max(bytes, least);
  };
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    StringRef name = function.getName();
    if (!name.consume_front("remat_core_"))
      continue;
    bool isProduct = name.consume_front("gemm_");
    if (!isProduct && !name.starts_with("conv_"))
      continue;
    int64_t width = name.ends_with("f64") ? 8 : 4;
    need(workspace.panels,
         std::max(::remat::kShipPanelBytes,
                  width * ::remat::kPanelDepth *
                      ::remat::TileShapes<float>::kMostColumns));
    need(workspace.left, width * ::remat::leftBufferSize<float>());
    // Products add up what they round.
    if (!isProduct || !name.ends_with(width == 8 ? "f64" : "f32"))
      need(workspace.sums, width * ::remat::sumsBufferSize<float>());
  }
  return workspace;
}

/// Returns the kernels of products that the processor can run.
static ::remat::ShipKernels getKernels(const llvm::TargetMachine &machine) {
  const llvm::MCSubtargetInfo &processor = *machine.getMCSubtargetInfo();
  const llvm::Triple &triple = machine.getTargetTriple();
  if ((triple.isARM() || triple.isThumb()) &&
      processor.checkFeatures("+vfp4d16sp"))
    return ::remat::ShipKernels::armFMA;
  if (triple.getArch() != llvm::Triple::x86_64)
    return ::remat::ShipKernels::anywhere;
  if (processor.checkFeatures("+avx512f,+avx512vl,+fma"))
    return ::remat::ShipKernels::avx512;
  return processor.checkFeatures("+avx2,+fma") ? ::remat::ShipKernels::avx2
                                               : ::remat::ShipKernels::anywhere;
}

//===----------------------------------------------------------------------===//
// The functions of the header
//===----------------------------------------------------------------------===//

namespace {
/// Adds functions that pass the constants of the model to the core.
class EntryPoints {
public:
  EntryPoints(llvm::Module &code, const ShipLayout &layout)
      : code(code), layout(layout), builder(code.getContext()) {}

  void add() {
    llvm::Value *model = addConstant(layout.getModel());
    std::string text = layout.getFileHeader();
    llvm::Value *header = addConstant(text);
    llvm::Value *headerBytes = builder.getInt64(text.size());
    add("init", "init", {model}, 1);
    add("set_seed", "set_seed", {model}, 2);
    add("set_parallel_for", "set_parallel_for", {model}, 4);
    add("load", "load", {model, header, headerBytes}, 3);
    add("save", "save", {model, header, headerBytes}, 3);
    add("digest", "digest", {model}, 1);
    add("step", "run",
        {model, code.getFunction(kStepEntryName), builder.getFalse()}, 4);
    if (layout.hasEvaluation)
      add("eval", "run",
          {model, code.getFunction(kEvaluationEntryName), builder.getTrue()},
          4);
  }

  bool isExported(StringRef name) const { return names.contains(name); }

private:
  llvm::Value *addConstant(StringRef bytes) {
    auto *value = llvm::ConstantDataArray::getString(code.getContext(), bytes,
                                                     /*AddNull=*/false);
    auto *global = new llvm::GlobalVariable(
        code, value->getType(), /*isConstant=*/true,
        llvm::GlobalValue::PrivateLinkage, value, "constants");
    global->setAlignment(llvm::Align(8));
    return global;
  }

  /// A function of `numArguments` that passes them on after `constants`.
  void add(StringRef name, StringRef coreName,
           ArrayRef<llvm::Value *> constants, unsigned numArguments) {
    llvm::Function *callee = code.getFunction(("remat_core_" + coreName).str());
    llvm::FunctionType *type = callee->getFunctionType();
    auto *function = llvm::Function::Create(
        llvm::FunctionType::get(type->getReturnType(),
                                type->params().take_back(numArguments),
                                /*isVarArg=*/false),
        llvm::GlobalValue::ExternalLinkage, layout.name + "_" + name.str(),
        code);
    names.insert(function->getName());
    builder.SetInsertPoint(
        llvm::BasicBlock::Create(code.getContext(), "", function));
    SmallVector<llvm::Value *> operands(constants);
    for (llvm::Argument &argument : function->args())
      operands.push_back(&argument);
    llvm::CallInst *call = builder.CreateCall(callee, operands);
    // As a boolean is passed, and the code is returned.
    call->setAttributes(callee->getAttributes());
    function->addRetAttrs(llvm::AttrBuilder(
        code.getContext(), callee->getAttributes().getRetAttrs()));
    builder.CreateRet(call);
  }

  llvm::Module &code;
  const ShipLayout &layout;
  llvm::IRBuilder<> builder;
  llvm::StringSet<> names;
};
} // namespace

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

/// Code of the core is for the same processor as that of the step, and nothing
/// unwinds it.
static void setAttributes(llvm::Module &code) {
  for (llvm::Function &function : code) {
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    function.removeFnAttr("tune-cpu");
    function.setDoesNotThrow();
    function.setUWTableKind(llvm::UWTableKind::None);
  }
}

static llvm::Error linkCore(llvm::Module &code, llvm::MemoryBufferRef bitcode) {
  auto core = llvm::parseBitcodeFile(bitcode, code.getContext());
  if (!core)
    return core.takeError();
  if ((*core)->getDataLayout().getPointerSize() !=
      code.getDataLayout().getPointerSize())
    return createStringError("the core of the runtime for '" +
                             code.getTargetTriple().str() +
                             "' has pointers of another size");
  (*core)->setTargetTriple(code.getTargetTriple());
  (*core)->setDataLayout(code.getDataLayout());
  if (llvm::Linker::linkModules(code, std::move(*core)))
    return createStringError("the core of the runtime does not fit the step");
  for (llvm::Function &function : code)
    if (function.isDeclaration() &&
        function.getName().starts_with("remat_core_") && !function.use_empty())
      return createStringError(
          "the step calls '" + function.getName().drop_front(11) +
          "', which the core of the runtime does not have: it cannot be "
          "shipped");
  return llvm::Error::success();
}

/// Makes lengths of copies as wide as pointers, which code generation takes for
/// granted. MLIR's are of 64 bits.
static void narrowLengths(llvm::Module &code) {
  llvm::Type *type = code.getDataLayout().getIntPtrType(code.getContext());
  SmallVector<llvm::MemIntrinsic *> wide;
  for (llvm::Function &function : code)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *copy = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction);
          copy && copy->getLength()->getType() != type)
        wide.push_back(copy);
  for (llvm::MemIntrinsic *copy : wide) {
    llvm::IRBuilder<> builder(copy);
    SmallVector<llvm::Value *> operands(copy->args());
    operands[2] = builder.CreateZExtOrTrunc(operands[2], type);
    SmallVector<llvm::Type *> types{operands[0]->getType()};
    if (llvm::isa<llvm::MemTransferInst>(copy))
      types.push_back(operands[1]->getType());
    types.push_back(type);
    llvm::CallInst *narrow =
        builder.CreateIntrinsic(copy->getIntrinsicID(), types, operands);
    narrow->setAttributes(copy->getAttributes());
    copy->eraseFromParent();
  }
}

/// Defines the constant by which the core chooses kernels.
static void defineKernels(llvm::Module &code, ::remat::ShipKernels kernels) {
  llvm::GlobalVariable *known = code.getGlobalVariable("remat_core_kernels");
  known->setInitializer(llvm::ConstantInt::get(known->getValueType(),
                                               static_cast<int64_t>(kernels)));
  known->setConstant(true);
}

/// Fails if the object needs what not every C library has. What ARM's run-time
/// ABI asks for, compilers bring along.
static llvm::Error checkSymbols(llvm::MemoryBufferRef buffer) {
  auto object = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!object)
    return object.takeError();
  for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name)
      return llvm::joinErrors(flags.takeError(), name.takeError());
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) &&
        name->starts_with("__") && !name->starts_with("__aeabi_"))
      return createStringError(
          "for this processor, the step calls '" + *name +
          "', which not every C library has; name a processor or features "
          "that need no such function");
  }
  return llvm::Error::success();
}

FailureOr<std::unique_ptr<llvm::MemoryBuffer>>
ShipTarget::compile(ModuleOp module, const ShipLayout &layout,
                    int optimizationLevel, Progress &progress) const {
  auto fail = [&](const Twine &message) {
    return module.emitError() << message;
  };
  if (!progress.begin("translate to LLVM"))
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    return fail("the step could not be translated to LLVM");
  ExecutionEngine::setupTargetTripleAndDataLayout(code.get(), machine.get());
  if (llvm::Error error = linkCore(*code, core->getMemBufferRef()))
    return fail(toString(std::move(error)));
  narrowLengths(*code);
  defineKernels(*code, getKernels(*machine));
  EntryPoints entryPoints(*code, layout);
  entryPoints.add();
  setAttributes(*code);
  for (llvm::GlobalValue &value : code->global_values())
    if (!value.isDeclaration() && !entryPoints.isExported(value.getName())) {
      value.setLinkage(llvm::GlobalValue::InternalLinkage);
      value.setVisibility(llvm::GlobalValue::DefaultVisibility);
    }
  std::string message;
  llvm::raw_string_ostream os(message);
  if (llvm::verifyModule(*code, &os))
    return fail("the object is not valid: " + message);
  optimize(*code, *machine, optimizationLevel, progress);
  if (!progress.begin("generate machine code"))
    return failure();
  SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr,
                                   llvm::CodeGenFileType::ObjectFile))
    return fail("LLVM writes no object files for this processor");
  passes.run(*code);
  auto object = std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(bytes), /*RequiresNullTerminator=*/false);
  if (llvm::Error error = checkSymbols(object->getMemBufferRef()))
    return fail(toString(std::move(error)));
  if (!progress.goesOn())
    return failure();
  return std::unique_ptr<llvm::MemoryBuffer>(std::move(object));
}
