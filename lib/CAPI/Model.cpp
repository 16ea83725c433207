//===- Model.cpp - From text to a module that can be trained --------------===//

#include "Model.h"

#include "remat-c/Registration.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/OpenMP/OpenMPToLLVMIRTranslation.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::remat;

/// Made once: it is the same for all contexts.
static const DialectRegistry &getRegistry() {
  static const DialectRegistry *instance = [] {
    auto *registry = new DialectRegistry;
    rematRegisterAllDialects(wrap(registry));
    registerBuiltinDialectTranslation(*registry);
    registerLLVMDialectTranslation(*registry);
    registerOpenMPDialectTranslation(*registry);
    return registry;
  }();
  return *instance;
}

Model::Model(const RematStepOptions &options, RematDiagnosticCallback callback,
             void *userData)
    : options(options), context(getRegistry()),
      diagnostics(sources, &context, callback, userData) {
  rematRegisterAllPasses();
  context.printOpOnDiagnostic(false);
}

InFlightDiagnostic Model::emitError() {
  if (module)
    return mlir::emitError(module->getLoc());
  StringRef name = unwrap(options.fileName);
  return mlir::emitError(
      FileLineColLoc::get(&context, name.empty() ? "model" : name, 0, 0));
}

LogicalResult Model::load() {
  StringRef name = unwrap(options.fileName);
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(unwrap(options.text),
                                           name.empty() ? "model" : name),
      llvm::SMLoc());
  module = parseSourceFile<ModuleOp>(sources, ParserConfig(&context));
  if (!module)
    return failure();
  StringRef passes = unwrap(options.passes);
  if (passes.empty())
    return success();
  return run([&](OpPassManager &pm) -> LogicalResult {
    std::string message;
    llvm::raw_string_ostream os(message);
    if (succeeded(parsePassPipeline(passes, pm, os)))
      return success();
    return emitError() << "passes '" << passes
                       << "': " << StringRef(message).rtrim();
  });
}

LogicalResult
Model::run(llvm::function_ref<LogicalResult(OpPassManager &)> build) {
  PassManager pm(&context, ModuleOp::getOperationName());
  if (failed(build(pm)))
    return failure();
  return pm.run(*module);
}

//===----------------------------------------------------------------------===//
// How it is trained
//===----------------------------------------------------------------------===//

/// The name of the loss: as asked for, or the only public function's.
FailureOr<StringRef> Model::findLoss() {
  StringRef name = unwrap(options.function);
  SmallVector<func::FuncOp> candidates;
  for (auto function : module->getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      candidates.push_back(function);
  if (name.empty() && candidates.size() == 1)
    return candidates.front().getName();
  for (func::FuncOp function : candidates)
    if (function.getName() == name)
      return name;
  InFlightDiagnostic error = emitError();
  if (!name.empty())
    error << "the module has no public function @" << name << " with a body";
  else if (candidates.empty())
    error << "the module has no public function, so there is no loss";
  else
    error << "the module has " << candidates.size()
          << " public functions; name the one that is the loss";
  for (func::FuncOp function : candidates)
    error.attachNote(function.getLoc()) << "@" << function.getName();
  return failure();
}

/// `base`, or with a number behind it what no symbol is called.
static std::string getFreeName(ModuleOp module, StringRef base) {
  std::string name = base.str();
  for (int i = 0; SymbolTable::lookupSymbolIn(module, name); ++i)
    name = (base + "_" + Twine(i)).str();
  return name;
}

LogicalResult Model::addTrainStep() {
  StringRef optimizer = unwrap(options.optimizer);
  StringRef attributes = unwrap(options.trainAttributes);
  StringRef function = unwrap(options.function);
  auto trains = llvm::to_vector(module->getOps<TrainStepOp>());
  if (trains.size() > 1)
    return trains[1].emitOpError()
           << "is the second of this module, but one step is compiled";
  if (!trains.empty()) {
    if (!optimizer.empty() || !attributes.empty())
      return trains.front().emitOpError()
             << "says already how the model is trained; remove it, or name no "
                "optimizer and no attributes of the step";
    if (!function.empty() && function != trains.front().getLoss())
      return trains.front().emitOpError()
             << "trains @" << trains.front().getLoss() << ", not @" << function;
    return success();
  }
  if (optimizer.empty())
    return emitError() << "the module does not say how it is trained: name an "
                          "optimizer, or add a remat.train_step";
  FailureOr<StringRef> loss = findLoss();
  if (failed(loss))
    return failure();
  std::string rule = getFreeName(*module, "optimizer");
  std::string text;
  llvm::raw_string_ostream(text)
      << "opt.optimizer @" << rule << " = " << optimizer
      << "\nremat.train_step @" << getFreeName(*module, "step") << " for @"
      << *loss << " optimizer(@" << rule << ") {" << attributes << "}\n";
  Block block;
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  if (failed(parseSourceString(text, &block, config, "train step")))
    return failure();
  module->getBody()->getOperations().splice(module->getBody()->end(),
                                            block.getOperations());
  return verify(*module);
}
