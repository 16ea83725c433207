//===- JIT.cpp - Machine code in this process -----------------------------===//

#include "JIT.h"

#include "remat-c/Step.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/RuntimeLibcalls.h"
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

namespace {
/// The library that this function is in, with those that it is linked with (the
/// runtime, OpenMP), however they were loaded. ORC would load it once more,
/// with RTLD_GLOBAL: a library with an LLVM of its own that is loaded
/// afterwards, such as another Python package's, would then get ours.
class Libraries {
public:
  Libraries() {
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
    if (void *found = handle ? dlsym(handle, name.c_str()) : nullptr)
      return found;
    return dlsym(RTLD_DEFAULT, name.c_str());
  }

private:
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

/// Names of the functions that the code of `module` may call and does not have:
/// what it declares, and what LLVM calls for operations of its own.
static llvm::StringSet<> findCallees(llvm::Module &module) {
  llvm::StringSet<> names;
  for (llvm::RTLIB::LibcallImpl implementation : llvm::RTLIB::libcall_impls())
    names.insert(
        llvm::RTLIB::RuntimeLibcallsInfo::getLibcallImplName(implementation));
  for (llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic())
      names.insert(function.getName());
  for (llvm::GlobalValue &value : module.global_values())
    if (!value.isDeclaration())
      names.erase(value.getName());
  return names;
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
  llvm::StringSet<> callees;
  auto transform = [&](llvm::Module *code) {
    llvm::Error error = optimize(code);
    callees = findCallees(*code);
    return error;
  };
  options.transformer = transform;
  options.jitCodeGenOptLevel =
      static_cast<llvm::CodeGenOptLevel>(optimizationLevel);
  Libraries libraries;
  if (failed(checkSymbols(module, libraries)))
    return failure();
  auto engine =
      ExecutionEngine::create(module, options, std::move(machine.get()));
  if (!engine)
    return fail("LLVM could not compile the step", engine.takeError());
  CompiledCode code;
  code.engine = std::move(*engine);
  code.engine->registerSymbols([&](llvm::orc::MangleAndInterner intern) {
    llvm::orc::SymbolMap symbols;
    for (StringRef name : callees.keys())
      if (void *found = libraries.find(name.str()))
        symbols[intern(name)] = {llvm::orc::ExecutorAddr::fromPtr(found),
                                 llvm::JITSymbolFlags::Exported};
    return symbols;
  });
  code.engine->initialize();
  auto function = code.engine->lookup(kStepEntryName);
  if (!function)
    return fail("LLVM could not link the step", function.takeError());
  code.function = reinterpret_cast<RematStepFunction>(*function);
  return code;
}
