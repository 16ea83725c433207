//===- Model.cpp - From text to a module that can be trained --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Model.h"

#include "remat-c/Registration.h"
#include "remat/Dialect/DiagnosticCodes.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Init.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Transform/IR/Utils.h"
#include "mlir/IR/Action.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ADT/StringExtras.h"
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
    return registry;
  }();
  return *instance;
}

Model::Model(const RematStepOptions &options, RematDiagnosticCallback callback,
             void *userData)
    : options(options), progress(options), context(getRegistry()),
      diagnostics(sources, &context, callback, userData) {
  rematRegisterAllPasses();
  if (progress.isObserved())
    context.registerActionHandler(
        [this](function_ref<void()> run, const tracing::Action &action) {
          observe(run, action);
        });
  context.printOpOnDiagnostic(false);
}

/// Returns the argument of a pass, or its name if it has none.
static StringRef getStage(const Pass &pass) {
  return pass.getArgument().empty() ? pass.getName() : pass.getArgument();
}

/// Runs `action`, unless the compilation has been ended: then passes are left
/// out that no other one waits for, and the module is emptied, which would be
/// verified after each of them.
void Model::observe(llvm::function_ref<void()> run,
                    const tracing::Action &action) {
  auto *pass = dyn_cast<PassExecutionAction>(&action);
  if (pass && !progress.begin(getStage(pass->getPass())) &&
      runningPasses == 0) {
    if (auto whole = dyn_cast<ModuleOp>(pass->getOp()))
      whole.getBody()->clear();
    return;
  }
  ++runningPasses;
  run();
  --runningPasses;
}

InFlightDiagnostic Model::emitError() {
  if (module)
    return mlir::emitError(module->getLoc());
  StringRef name = unwrap(options.fileName);
  return mlir::emitError(
      FileLineColLoc::get(&context, name.empty() ? "model" : name, 0, 0));
}

LogicalResult Model::report(llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    InFlightDiagnostic diagnostic = emitError() << info.message();
    if (info.convertToErrorCode() == std::errc::not_enough_memory)
      setCode(diagnostic, kOutOfMemoryCode);
  });
  return failure();
}

OwningOpRef<ModuleOp> Model::parse(MlirStringRef text, MlirStringRef fileName,
                                   MlirStringRef passes) {
  StringRef name = fileName.length ? unwrap(fileName) : "model";
  // Diagnostics show lines of these buffers.
  unsigned buffer = sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(unwrap(text), name), llvm::SMLoc());
  OwningOpRef<ModuleOp> parsed =
      parseSourceString<ModuleOp>(sources.getMemoryBuffer(buffer)->getBuffer(),
                                  ParserConfig(&context), name);
  StringRef pipeline = unwrap(passes);
  if (!parsed || pipeline.empty())
    return parsed;
  auto build = [&](OpPassManager &pm) -> LogicalResult {
    std::string message;
    llvm::raw_string_ostream os(message);
    OptionErrors errors(os);
    if (succeeded(parsePassPipeline(pipeline, pm, os)))
      return success();
    return mlir::emitError(parsed->getLoc())
           << "passes '" << pipeline << "': " << StringRef(message).trim();
  };
  // Passes of others are verified one by one.
  return succeeded(run(*parsed, build, /*verifyEach=*/true))
             ? std::move(parsed)
             : OwningOpRef<ModuleOp>();
}

LogicalResult Model::load() {
  module = parse(options.text, options.fileName, options.passes);
  if (!module)
    return failure();
  evaluation = unwrap(options.evalFunction).str();
  if (!options.evalText.length)
    return success();
  OwningOpRef<ModuleOp> evaluated =
      parse(options.evalText, options.evalFileName, options.evalPasses);
  return success(evaluated && succeeded(addEvaluation(std::move(evaluated))));
}

LogicalResult
Model::run(llvm::function_ref<LogicalResult(OpPassManager &)> build) {
  bool verifyEach = verifiesAfterEachPass();
  return success(succeeded(run(*module, build, verifyEach)) &&
                 (verifyEach || succeeded(verify(*module))));
}

LogicalResult
Model::run(ModuleOp module,
           llvm::function_ref<LogicalResult(OpPassManager &)> build,
           bool verifyEach) {
  PassManager pm(&context, ModuleOp::getOperationName());
  pm.enableVerifier(verifyEach);
  if (failed(build(pm)))
    return failure();
  return success(succeeded(pm.run(module)) && progress.goesOn());
}

//===----------------------------------------------------------------------===//
// How it is trained
//===----------------------------------------------------------------------===//

/// The function called `name`, or the only public one besides the evaluation.
FailureOr<func::FuncOp> Model::findFunction(ModuleOp module, StringRef name,
                                            StringRef what) {
  SmallVector<func::FuncOp> candidates;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      candidates.push_back(function);
  for (func::FuncOp function : candidates)
    if (function.getName() == name)
      return function;
  if (name.empty() && candidates.size() > 1)
    llvm::erase_if(candidates, [&](func::FuncOp function) {
      return function.getName() == evaluation;
    });
  if (name.empty() && candidates.size() == 1)
    return candidates.front();
  InFlightDiagnostic error = mlir::emitError(module.getLoc());
  if (!name.empty())
    error << "the module has no public function @" << name << " with a body";
  else if (candidates.empty())
    error << "the module has no public function, so there is no " << what;
  else
    error << "the module has " << candidates.size()
          << " public functions; name the one that is the " << what;
  for (func::FuncOp function : candidates)
    error.attachNote(function.getLoc()) << "@" << function.getName();
  return failure();
}

/// Returns `base`, with a number appended if there is such a symbol.
static std::string getFreeName(ModuleOp module, StringRef base) {
  auto isTaken = [&](StringRef name) {
    return SymbolTable::lookupSymbolIn(module, name) != nullptr;
  };
  unsigned counter = 0;
  return isTaken(base)
             ? SymbolTable::generateSymbolName<32>(base, isTaken, counter)
                   .str()
                   .str()
             : base.str();
}

/// Takes the next values of states out of the results: an evaluation has none.
static void eraseNextValues(func::FuncOp function) {
  llvm::BitVector erased(function.getNumResults());
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, RematDialect::getStateAttrName()))
      erased.set(i);
  function.front().getTerminator()->eraseOperands(erased);
  (void)function.eraseResults(erased);
}

LogicalResult Model::addEvaluation(OwningOpRef<ModuleOp> evaluated) {
  FailureOr<func::FuncOp> function =
      findFunction(*evaluated, std::exchange(evaluation, {}), "evaluation");
  if (failed(function))
    return failure();
  for (auto other : evaluated->getOps<func::FuncOp>())
    other.setPrivate();
  eraseNextValues(*function);
  function->setPublic();
  SymbolTable symbols(*module);
  if (failed(SymbolTable(*evaluated).renameToUnique(*function, {&symbols})))
    return failure();
  evaluation = function->getName().str();
  return transform::detail::mergeSymbolsInto(
      *module, OwningOpRef<Operation *>(evaluated.release()));
}

/// The array of learning rates, which the caller writes to.
void Model::createRatesArray(int64_t count) {
  auto builder = OpBuilder::atBlockEnd(module->getBody());
  auto type = MemRefType::get(count, builder.getF64Type());
  auto zeros = DenseElementsAttr::get(
      RankedTensorType::get(type.getShape(), type.getElementType()), 0.0);
  memref::GlobalOp::create(builder, module->getLoc(), kLearningRatesName,
                           /*sym_visibility=*/StringAttr(), type, zeros,
                           /*constant=*/false, /*alignment=*/IntegerAttr());
}

/// A function of the step, which an optimizer may name.
static void createRateFunction(
    ModuleOp module, StringRef name,
    llvm::function_ref<Value(OpBuilder &body, Value step)> emit) {
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  Type f64 = builder.getF64Type(), i64 = builder.getI64Type();
  auto function = func::FuncOp::create(builder, module.getLoc(), name,
                                       builder.getFunctionType(i64, f64));
  function.setPrivate();
  OpBuilder body = OpBuilder::atBlockBegin(function.addEntryBlock());
  Value rate = emit(body, function.getArgument(0));
  func::ReturnOp::create(body, module.getLoc(), rate);
}

static Value loadRate(OpBuilder &builder, ModuleOp module, int64_t index) {
  Location loc = module.getLoc();
  auto global = module.lookupSymbol<memref::GlobalOp>(kLearningRatesName);
  Value array = memref::GetGlobalOp::create(builder, loc, global.getType(),
                                            kLearningRatesName);
  Value place = arith::ConstantIndexOp::create(builder, loc, index);
  return memref::LoadOp::create(builder, loc, array, place);
}

/// Each is a function of the step that returns an element of the array.
LogicalResult Model::addLearningRates() {
  SmallVector<StringRef> names;
  llvm::SplitString(unwrap(options.learningRates), names);
  if (names.empty())
    return success();
  SmallVector<StringRef> symbols(names);
  symbols.push_back(kLearningRatesName);
  for (StringRef name : symbols)
    if (module->lookupSymbol(name) || llvm::count(symbols, name) != 1)
      return emitError() << "a learning rate needs a name of its own, but @"
                         << name << " is there already";
  createRatesArray(names.size());
  for (int64_t index = 0, e = names.size(); index < e; ++index)
    createRateFunction(*module, names[index], [&](OpBuilder &body, Value) {
      return loadRate(body, *module, index);
    });
  return success();
}

FlatSymbolRefAttr Model::exposeLearningRate(Attribute rate, int64_t index) {
  std::string name = getFreeName(*module, "learning_rate");
  createRateFunction(*module, name, [&](OpBuilder &body, Value step) -> Value {
    Location loc = module->getLoc();
    Value scheduled = opt::emitLearningRate(body, loc, rate, step);
    Value given = loadRate(body, *module, index);
    Value isNaN = arith::CmpFOp::create(body, loc, arith::CmpFPredicate::UNO,
                                        given, given);
    return arith::SelectOp::create(body, loc, isNaN, scheduled, given);
  });
  return FlatSymbolRefAttr::get(&context, name);
}

/// Replaces the learning rates of the optimizer and of its groups, which
/// `visit` gets with a name.
static void changeLearningRates(
    opt::OptimizerOp optimizer,
    llvm::function_ref<Attribute(Attribute rate, StringRef name)> visit) {
  MLIRContext *context = optimizer.getContext();
  auto changeRule = [&](Attribute attribute, StringRef name) {
    auto rule = cast<opt::UpdateRuleAttrInterface>(attribute);
    if (!rule.getLearningRate())
      return attribute;
    NamedAttribute rate(StringAttr::get(context, "lr"),
                        visit(rule.getLearningRate(), name));
    return rule.withOverrides([&] { return optimizer.emitOpError(); },
                              DictionaryAttr::get(context, rate));
  };
  optimizer.setRuleAttr(changeRule(optimizer.getRule(), "optimizer"));
  std::optional<ArrayAttr> groups = optimizer.getGroups();
  if (!groups)
    return;
  SmallVector<Attribute> changed;
  for (auto group : groups->getAsRange<opt::GroupAttr>()) {
    NamedAttrList overrides(group.getOverrides());
    StringRef pattern = group.getPattern().getValue();
    if (Attribute rule = overrides.get("rule"))
      overrides.set("rule", changeRule(rule, pattern));
    if (Attribute rate = overrides.get("lr"))
      overrides.set("lr", visit(rate, pattern));
    changed.push_back(opt::GroupAttr::get(context, group.getPattern(),
                                          group.getFrozen(),
                                          overrides.getDictionary(context)));
  }
  optimizer.setGroupsAttr(ArrayAttr::get(context, changed));
}

FailureOr<std::vector<std::string>> Model::exposeLearningRates() {
  std::vector<std::string> names;
  if (options.learningRates.length) {
    SmallVector<StringRef> given;
    llvm::SplitString(unwrap(options.learningRates), given);
    names.assign(given.begin(), given.end());
    return names;
  }
  auto train = *module->getOps<TrainStepOp>().begin();
  auto optimizer = SymbolTable::lookupNearestSymbolFrom<opt::OptimizerOp>(
      train, train.getOptimizerAttr());
  if (!optimizer)
    return names;
  changeLearningRates(optimizer, [&](Attribute rate, StringRef name) {
    names.push_back(name.str());
    return rate;
  });
  if (names.empty())
    return names;
  context.loadDialect<math::MathDialect>();
  createRatesArray(names.size());
  int64_t index = 0;
  changeLearningRates(optimizer, [&](Attribute rate, StringRef) -> Attribute {
    return exposeLearningRate(rate, index++);
  });
  if (failed(verify(*module)))
    return failure();
  return names;
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
    if (!optimizer.empty() || !attributes.empty() ||
        options.learningRates.length)
      return trains.front().emitOpError()
             << "says already how the model is trained; remove it, or name no "
                "optimizer and no attributes of the step";
    if (!function.empty() && function != trains.front().getLoss())
      return trains.front().emitOpError()
             << "trains @" << trains.front().getLoss() << ", not @" << function;
    if (evaluation.empty())
      return success();
    if (trains.front().getEval())
      return trains.front().emitOpError()
             << "says already how the model is evaluated; remove its eval(@"
             << *trains.front().getEval() << "), or give no other evaluation";
    trains.front().setEval(evaluation);
    return verify(*module);
  }
  if (optimizer.empty())
    return emitError() << "the module does not say how it is trained: name an "
                          "optimizer, or add a remat.train_step";
  FailureOr<func::FuncOp> loss = findFunction(*module, function, "loss");
  if (failed(loss))
    return failure();
  if (failed(addLearningRates()))
    return failure();
  std::string rule = getFreeName(*module, "optimizer");
  std::string text;
  llvm::raw_string_ostream(text)
      << "opt.optimizer @" << rule << " = " << optimizer
      << "\nremat.train_step @" << getFreeName(*module, "step") << " for @"
      << loss->getName() << " optimizer(@" << rule << ") "
      << (evaluation.empty() ? "" : "eval(@" + evaluation + ") ") << "{"
      << attributes << "}\n";
  Block block;
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  if (failed(parseSourceString(text, &block, config, "train step")))
    return failure();
  module->getBody()->getOperations().splice(module->getBody()->end(),
                                            block.getOperations());
  return verify(*module);
}
