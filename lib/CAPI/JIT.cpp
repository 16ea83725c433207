//===- JIT.cpp - Machine code in this process -----------------------------===//

#include "JIT.h"

#include "remat-c/Step.h"
#include "remat/Transforms/TrainProgram/Passes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <dlfcn.h>
#include <mutex>

using namespace mlir;
using namespace mlir::remat;

CompiledCode::CompiledCode() = default;
CompiledCode::CompiledCode(CompiledCode &&) = default;
CompiledCode &CompiledCode::operator=(CompiledCode &&) = default;
CompiledCode::~CompiledCode() = default;

static void initializeTarget() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
}

/// The library that this function is in. What it is linked with (the runtime,
/// OpenMP) is looked up through it, wherever that was loaded from.
static std::string getOwnPath() {
  Dl_info info;
  return dladdr(reinterpret_cast<void *>(&rematStepCompile), &info)
             ? info.dli_fname
             : "";
}

/// Fails, where it is declared, if the module calls a function that this
/// process does not have: ORC would say so on the standard error.
static LogicalResult checkSymbols(ModuleOp module, const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  auto close = llvm::scope_exit([&] {
    if (library)
      dlclose(library);
  });
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    std::string name = function.getName().str();
    if (!function.isExternal() || function.symbolKnownUseEmpty(module) ||
        StringRef(name).starts_with("llvm.") ||
        dlsym(library ? library : RTLD_DEFAULT, name.c_str()) ||
        dlsym(RTLD_DEFAULT, name.c_str()))
      continue;
    return function.emitError()
           << "the step calls '" << name
           << "', which has no body and is in no library of this process; give "
              "it a body, or load the library that has it with RTLD_GLOBAL";
  }
  return success();
}

FailureOr<CompiledCode> mlir::remat::compileToMemory(ModuleOp module,
                                                     int optimizationLevel) {
  initializeTarget();
  auto fail = [&](const Twine &what, llvm::Error error) {
    return module.emitError() << what << ": " << toString(std::move(error));
  };
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return fail("this machine is not known to LLVM", builder.takeError());
  auto machine = builder->createTargetMachine();
  if (!machine)
    return fail("LLVM has no code for this machine", machine.takeError());

  ExecutionEngineOptions options;
  auto optimize = makeOptimizingTransformer(optimizationLevel, /*sizeLevel=*/0,
                                            machine->get());
  options.transformer = optimize;
  options.jitCodeGenOptLevel =
      static_cast<llvm::CodeGenOptLevel>(optimizationLevel);
  std::string path = getOwnPath();
  if (failed(checkSymbols(module, path)))
    return failure();
  StringRef libraries[] = {path};
  options.sharedLibPaths = libraries;
  auto engine =
      ExecutionEngine::create(module, options, std::move(machine.get()));
  if (!engine)
    return fail("LLVM could not compile the step", engine.takeError());
  CompiledCode code;
  code.engine = std::move(*engine);
  code.engine->initialize();
  auto function = code.engine->lookup(kStepEntryName);
  if (!function)
    return fail("LLVM could not link the step", function.takeError());
  code.function = reinterpret_cast<RematStepFunction>(*function);
  return code;
}
