//===- JIT.cpp - Machine code in this process -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "JIT.h"

#include "Progress.h"

#include "remat-c/Step.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/SectionMemoryManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <dlfcn.h>
#include <mutex>

using namespace mlir;
using namespace mlir::remat;
using llvm::Expected;
using llvm::orc::JITTargetMachineBuilder;
using llvm::orc::LLJIT;

CompiledCode::CompiledCode() = default;
CompiledCode::CompiledCode(CompiledCode &&) = default;
CompiledCode &CompiledCode::operator=(CompiledCode &&) = default;
CompiledCode::~CompiledCode() = default;

static Expected<JITTargetMachineBuilder> detectTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  return JITTargetMachineBuilder::detectHost();
}

Expected<std::string> mlir::remat::describeTarget() {
  Expected<JITTargetMachineBuilder> target = detectTarget();
  if (!target)
    return target.takeError();
  return target->getTargetTriple().str() + " " + target->getCPU() + " " +
         target->getFeatures().getString();
}

namespace {
/// The library that this function is in, with those that it is linked with (the
/// runtime), however they were loaded. ORC would load it once more,
/// with RTLD_GLOBAL: a library with an LLVM of its own that is loaded
/// afterwards, such as another Python package's, would then get ours. Before
/// it, `first` is searched if there is one: another target's runtime.
class Libraries {
public:
  explicit Libraries(void *first) : first(first) {
    Dl_info info;
    if (dladdr(reinterpret_cast<void *>(&rematStepCompile), &info))
      handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }
  ~Libraries() {
    if (handle)
      dlclose(handle);
  }
  Libraries(const Libraries &) = delete;

  /// The function of this name; null if this process has none.
  void *find(const std::string &name) const {
    if (void *found = first ? dlsym(first, name.c_str()) : nullptr)
      return found;
    if (void *found = handle ? dlsym(handle, name.c_str()) : nullptr)
      return found;
    return dlsym(RTLD_DEFAULT, name.c_str());
  }

private:
  void *first;
  void *handle = nullptr;
};
} // namespace

/// Fails, where it is declared, if the module calls a function that this
/// process does not have: ORC would say so on the standard error.
static LogicalResult checkSymbols(ModuleOp module, const Libraries &libraries) {
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    std::string name = function.getName().str();
    if (!function.isExternal() || function.symbolKnownUseEmpty(module) ||
        StringRef(name).starts_with("llvm.") || libraries.find(name))
      continue;
    return function.emitError()
           << "the step calls '" << name
           << "', which has no body and is in no library of this process; give "
              "it a body, or load the library that has it with RTLD_GLOBAL";
  }
  return success();
}

//===----------------------------------------------------------------------===//
// To an object file
//===----------------------------------------------------------------------===//

void mlir::remat::optimize(llvm::Module &code, llvm::TargetMachine &machine,
                           int level, Progress &progress) {
  const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = true;
  tuning.LoopInterleaving = true;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback(
      [&](StringRef, llvm::Any) { return progress.begin("optimize"); });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(levels[level]).run(code, modules);
}

FailureOr<std::unique_ptr<llvm::MemoryBuffer>>
mlir::remat::compileToObject(ModuleOp module, int optimizationLevel,
                             void *library, Progress &progress) {
  auto fail = [&](const Twine &what, llvm::Error error) {
    return module.emitError() << what << ": " << toString(std::move(error));
  };
  Expected<JITTargetMachineBuilder> target = detectTarget();
  if (!target)
    return fail("this machine is not known to LLVM", target.takeError());
  auto machine = target->createTargetMachine();
  if (!machine)
    return fail("LLVM has no code for this machine", machine.takeError());
  if (failed(checkSymbols(module, Libraries(library))) ||
      !progress.begin("translate to LLVM"))
    return failure();
  // Linking looks for it by name.
  if (auto image = module.lookupSymbol<LLVM::GlobalOp>(kKernelImageName))
    image.setLinkage(LLVM::Linkage::External);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    return module.emitError() << "the step could not be translated to LLVM";
  ExecutionEngine::setupTargetTripleAndDataLayout(code.get(), machine->get());
  optimize(*code, **machine, optimizationLevel, progress);
  if (!progress.begin("generate machine code"))
    return failure();
  auto object = llvm::orc::SimpleCompiler(**machine)(*code);
  if (!object)
    return fail("LLVM could not compile the step", object.takeError());
  if (!progress.goesOn())
    return failure();
  return std::move(*object);
}

//===----------------------------------------------------------------------===//
// To this process
//===----------------------------------------------------------------------===//

/// The addresses of everything that the object file needs and this process
/// has; what is missing, linking tells. Notes in `program` what is called.
static Expected<llvm::orc::SymbolMap>
resolve(llvm::MemoryBufferRef buffer, const Libraries &libraries, LLJIT &jit,
        ::remat::HostedDevice::Program &program) {
  auto object = llvm::object::ObjectFile::createObjectFile(buffer);
  if (!object)
    return object.takeError();
  llvm::orc::SymbolMap addresses;
  for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
    auto flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    auto name = symbol.getName();
    if (!name)
      return name.takeError();
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined) || name->empty())
      continue;
    program.multiplies |= name->starts_with("_mlir_ciface_remat_gemm");
    program.convolves |= name->starts_with("_mlir_ciface_remat_conv");
    if (void *address = libraries.find(name->str()))
      addresses[jit.mangleAndIntern(*name)] = {
          llvm::orc::ExecutorAddr::fromPtr(address),
          llvm::JITSymbolFlags::Exported};
  }
  return addresses;
}

template <typename T>
static llvm::Error lookUp(LLJIT &jit, StringRef name, T &result) {
  auto address = jit.lookup(name);
  // ORC's errors refer to strings of the session, which may be gone.
  if (!address)
    return llvm::createStringError(toString(address.takeError()));
  result = address->toPtr<T>();
  return llvm::Error::success();
}

Expected<CompiledCode>
mlir::remat::linkObject(std::unique_ptr<llvm::MemoryBuffer> object,
                        void *library, bool hasEvaluation,
                        bool hasLearningRates) {
  Expected<JITTargetMachineBuilder> target = detectTarget();
  if (!target)
    return target.takeError();
  // The layer that `mlir-runner` links with.
  auto createLayer = [](llvm::orc::ExecutionSession &session) {
    return std::make_unique<llvm::orc::RTDyldObjectLinkingLayer>(
        session, [](const llvm::MemoryBuffer &) {
          return std::make_unique<llvm::SectionMemoryManager>();
        });
  };
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(std::move(*target))
                 .setObjectLinkingLayerCreator(createLayer)
                 .create();
  if (!jit)
    return jit.takeError();
  // It would print them.
  (*jit)->getExecutionSession().setErrorReporter(llvm::consumeError);
  CompiledCode code;
  auto symbols = resolve(object->getMemBufferRef(), Libraries(library), **jit,
                         code.program);
  if (!symbols)
    return symbols.takeError();
  if (llvm::Error error = (*jit)->getMainJITDylib().define(
          llvm::orc::absoluteSymbols(std::move(*symbols))))
    return error;
  if (llvm::Error error = (*jit)->addObjectFile(std::move(object)))
    return error;
  code.jit = std::move(*jit);
  if (llvm::Error error = lookUp(*code.jit, kStepEntryName, code.function))
    return error;
  if (hasEvaluation)
    if (llvm::Error error =
            lookUp(*code.jit, kEvaluationEntryName, code.evaluation))
      return error;
  if (hasLearningRates)
    if (llvm::Error error =
            lookUp(*code.jit, kLearningRatesName, code.learningRates))
      return error;
  // A program without kernels has none.
  llvm::consumeError(lookUp(*code.jit, kKernelImageName, code.program.kernels));
  return code;
}
