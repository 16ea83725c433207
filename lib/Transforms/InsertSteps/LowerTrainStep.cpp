//===- LowerTrainStep.cpp - The program that trains -----------------------===//
//
// `mlir-runner -e main` runs a function without arguments: this one gets the
// step's arguments from the runtime and calls it until training is done.
//
//===----------------------------------------------------------------------===//

#include "StepFunction.h"

#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/InsertSteps/Passes.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"

namespace mlir::remat {
#define GEN_PASS_DEF_LOWERTRAINSTEP
#include "remat/Transforms/InsertSteps/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
using opt::OptDialect;

namespace {
/// What main knows of one function that it calls.
struct Callee {
  func::FuncOp function;
  /// For each argument, the buffer that holds it, or -1 for the step's number.
  SmallVector<int> buffers;
};

/// Collects the description that main hands to the runtime; the position of an
/// argument in it is the number of its buffer.
class Description {
public:
  explicit Description(TrainStepOp train);

  LogicalResult addStep(func::FuncOp step);
  LogicalResult addEvaluation(func::FuncOp function);

  Callee step, evaluation;
  /// Type of each buffer as the callee sees it: a memref, or a scalar.
  SmallVector<Type> types;
  /// The value (`remat.init`) that a buffer starts from, or null.
  SmallVector<ElementsAttr> initialValues;
  std::string text;

private:
  LogicalResult addArgument(Callee &callee, unsigned argument,
                            bool isEvaluation);
  LogicalResult addLine(func::FuncOp function, unsigned argument,
                        StringRef role, StringRef name, StringRef initial);
  LogicalResult addVariable(func::FuncOp function, unsigned argument,
                            StringRef role, StringRef name);
  std::string getDataKey(Callee &callee, unsigned argument);

  TrainStepOp train;
  llvm::raw_string_ostream os;
  /// Buffers of parameters and model states, which the evaluation shares.
  llvm::StringMap<int> shared;
  /// Every key of a checkpoint, to see that no two are the same.
  llvm::StringMap<int> keys;
  int numRandom = 0, numData = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Description
//===----------------------------------------------------------------------===//

static bool isRandomState(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector && vector.getShape() == ArrayRef<int64_t>{2} &&
         vector.getElementType().isSignlessInteger(64);
}

/// A declaration has no arguments that could say where they are.
static Location getArgumentLoc(func::FuncOp function, unsigned argument) {
  return function.isExternal() ? function.getLoc()
                               : function.getArgument(argument).getLoc();
}

Description::Description(TrainStepOp train) : train(train), os(text) {
  os << "steps\t" << train.getSteps() << "\nseed\t" << train.getSeed()
     << "\nlog_every\t" << train.getLogEvery() << "\ncheckpoint_every\t"
     << train.getCheckpointEvery() << "\neval_every\t" << train.getEvalEvery()
     << "\nshuffle\t" << train.getShuffle() << "\n";
  auto path = [&](StringRef name, std::optional<StringRef> value) {
    if (value)
      os << name << "\t" << *value << "\n";
  };
  path("data", train.getData());
  path("init", train.getInit());
  path("checkpoint", train.getCheckpoint());
  path("eval_data", train.getEvalData());
}

LogicalResult Description::addLine(func::FuncOp function, unsigned argument,
                                   StringRef role, StringRef name,
                                   StringRef initial) {
  Type type = function.getArgumentTypes()[argument];
  Location loc = getArgumentLoc(function, argument);
  SmallVector<int64_t> shape;
  Type element = type;
  if (auto memref = dyn_cast<MemRefType>(type)) {
    if (!memref.hasStaticShape() || !memref.getLayout().isIdentity())
      return emitError(loc)
             << "argument " << argument << " ('" << name
             << "') needs a static shape and the identity layout, since main "
                "allocates it; got "
             << type;
    shape.assign(memref.getShape().begin(), memref.getShape().end());
    element = memref.getElementType();
  } else if (isRandomState(type)) {
    shape = {2};
    element = cast<VectorType>(type).getElementType();
  }
  bool isKnown = element.isSignlessInteger(1) || element.isSignlessInteger(8) ||
                 element.isSignlessInteger(16) ||
                 element.isSignlessInteger(32) ||
                 element.isSignlessInteger(64) || element.isF16() ||
                 element.isBF16() || element.isF32() || element.isF64();
  if (!isKnown)
    return emitError(loc)
           << "argument " << argument << " ('" << name << "') has type " << type
           << "; main knows i1, i8, i16, i32, i64, f16, bf16, f32, f64 and "
              "memrefs of them (bufferize first)";
  if (name.contains('\t') || name.contains('\n'))
    return emitError(loc) << "a name without tabs and newlines is needed, got '"
                          << name << "'";
  bool isSaved = role == "parameter" || role == "optimizer" ||
                 role == "state" || role == "random";
  if (isSaved && !keys.try_emplace(name, types.size()).second)
    return emitError(loc) << "argument " << argument << " would be called '"
                          << name
                          << "' in checkpoints, but another one is called that";
  os << "argument\t" << role << "\t" << element << "\t";
  llvm::interleave(shape, os, " ");
  os << "\t" << name << "\t" << initial << "\n";
  types.push_back(type);
  initialValues.emplace_back();
  return success();
}

std::string Description::getDataKey(Callee &callee, unsigned argument) {
  int position = numData++;
  if (auto key = callee.function.getArgAttrOfType<StringAttr>(
          argument, RematDialect::getDataAttrName()))
    return key.str();
  return "arr_" + std::to_string(position);
}

static std::string printInitializer(func::FuncOp function, unsigned argument) {
  auto text = function.getArgAttrOfType<StringAttr>(
      argument, OptDialect::getInitAttrName());
  if (!text)
    return {};
  FailureOr<opt::Initializer> initializer =
      opt::Initializer::parse(text.getValue());
  if (failed(initializer))
    return {};
  StringRef kinds[] = {"constant", "normal", "uniform"};
  std::string result;
  llvm::raw_string_ostream os(result);
  os << kinds[static_cast<int>(initializer->kind)]
     << llvm::format(" %.17g %.17g", initializer->first, initializer->second);
  return result;
}

/// `addLine` for what starts from an initializer or from a value of the module.
LogicalResult Description::addVariable(func::FuncOp function, unsigned argument,
                                       StringRef role, StringRef name) {
  Attribute initial =
      function.getArgAttr(argument, RematDialect::getInitAttrName());
  if (!initial)
    return addLine(function, argument, role, name,
                   printInitializer(function, argument));
  auto value = dyn_cast<ElementsAttr>(initial);
  auto memref = dyn_cast<MemRefType>(function.getArgumentTypes()[argument]);
  if (!value || !memref || value.getElementType() != memref.getElementType() ||
      value.getShapedType().getShape() != memref.getShape())
    return emitError(getArgumentLoc(function, argument))
           << "'remat.init' of argument " << argument << " ('" << name
           << "') is not a value of its type "
           << function.getArgumentTypes()[argument];
  if (failed(addLine(function, argument, role, name, "program")))
    return failure();
  initialValues.back() = value;
  return success();
}

/// Decides what an argument is and which buffer it gets.
LogicalResult Description::addArgument(Callee &callee, unsigned argument,
                                       bool isEvaluation) {
  func::FuncOp function = callee.function;
  Type type = function.getArgumentTypes()[argument];
  Location loc = getArgumentLoc(function, argument);
  auto has = [&](StringRef name) {
    return static_cast<bool>(function.getArgAttr(argument, name));
  };
  if (has(RematDialect::getStepAttrName())) {
    callee.buffers.push_back(-1);
    return success();
  }
  std::string name = getParameterName(function, argument);
  bool isParameter = !name.empty();
  auto state = function.getArgAttrOfType<StringAttr>(
      argument, RematDialect::getStateAttrName());
  if (isEvaluation && (isParameter || state)) {
    if (state)
      name = state.str();
    auto it = shared.find(name);
    if (it == shared.end())
      return emitError(loc) << "the evaluation needs '" << name << "', but "
                            << train.getStepAttr()
                            << " has no parameter or model state of this name";
    if (types[it->second] != type)
      return emitError(loc)
             << "'" << name << "' is a " << type << " here, but a "
             << types[it->second] << " in " << train.getStepAttr();
    callee.buffers.push_back(it->second);
    return success();
  }

  int buffer = types.size();
  callee.buffers.push_back(buffer);
  if (isParameter) {
    shared[name] = buffer;
    return addVariable(function, argument, "parameter", name);
  }
  if (state) {
    shared[state.getValue()] = buffer;
    return addVariable(function, argument, "state", state.getValue());
  }
  if (auto optimizerState = function.getArgAttrOfType<StringAttr>(
          argument, OptDialect::getStateAttrName())) {
    auto of = function.getArgAttrOfType<IntegerAttr>(
        argument, OptDialect::getStateOfAttrName());
    if (!of || of.getInt() < 0 || of.getInt() >= function.getNumArguments())
      return emitError(loc)
             << "argument " << argument
             << " has 'opt.state', but no 'opt.state_of = <argument>'";
    name = getParameterName(function, of.getInt()) + "." + optimizerState.str();
    return addLine(function, argument, "optimizer", name, "");
  }
  if (isRandomState(type)) {
    auto seed = function.getArgAttrOfType<IntegerAttr>(
        argument, RematDialect::getSeedAttrName());
    int position = numRandom++;
    std::string initial =
        "seed " + std::to_string(seed ? seed.getInt() : position);
    return addLine(function, argument, isEvaluation ? "eval_random" : "random",
                   "remat.random" + std::to_string(position), initial);
  }
  if (has("remat.result"))
    return addLine(function, argument, "result", "", "");
  if (has("remat.arena"))
    return addLine(function, argument, "arena", "", "");
  std::string key = getDataKey(callee, argument);
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref || memref.getRank() == 0)
    return emitError(loc)
           << "argument " << argument << " ('" << key
           << "') is data, so its first dimension counts examples, got " << type
           << "; a state has 'remat.state', a parameter 'opt.param'";
  return addLine(function, argument, isEvaluation ? "eval_data" : "data", key,
                 "");
}

LogicalResult Description::addStep(func::FuncOp function) {
  step.function = function;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(addArgument(step, i, /*isEvaluation=*/false)))
      return failure();
  return success();
}

LogicalResult Description::addEvaluation(func::FuncOp function) {
  evaluation.function = function;
  numData = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (failed(addArgument(evaluation, i, /*isEvaluation=*/true)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

namespace {
/// A result of a call, wherever it is: returned, or in a buffer of main's.
struct CallResult {
  DictionaryAttr attributes;
  Type type;
  /// Number among the results, or -1.
  int result = -1;
  int buffer = -1;
};
} // namespace

/// All results in the order of the function on tensors.
static SmallVector<CallResult> getResults(const Callee &callee) {
  func::FuncOp function = callee.function;
  Builder builder(function.getContext());
  SmallVector<std::pair<int64_t, CallResult>> placed;
  SmallVector<CallResult> returned;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto position =
            function.getArgAttrOfType<IntegerAttr>(i, "remat.result"))
      placed.emplace_back(position.getInt(),
                          CallResult{function.getArgAttrDict(i),
                                     function.getArgumentTypes()[i], -1,
                                     callee.buffers[i]});
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    DictionaryAttr attributes = function.getResultAttrDict(i);
    returned.push_back({attributes ? attributes : builder.getDictionaryAttr({}),
                        function.getResultTypes()[i], static_cast<int>(i), -1});
  }
  // What is returned fills the positions that arguments leave free.
  llvm::sort(placed, llvm::less_first());
  SmallVector<CallResult> results;
  auto next = returned.begin();
  for (auto &[position, result] : placed) {
    while (static_cast<int64_t>(results.size()) < position &&
           next != returned.end())
      results.push_back(*next++);
    results.push_back(result);
  }
  results.append(next, returned.end());
  return results;
}

/// The number type of a scalar result, null for others.
static Type getScalarType(Type type) {
  if (auto memref = dyn_cast<MemRefType>(type))
    type = memref.getRank() == 0 ? memref.getElementType() : Type();
  return type && (isa<FloatType>(type) || type.isSignlessInteger()) ? type
                                                                    : Type();
}

/// The result with `remat.loss`, else the first floating-point scalar.
static const CallResult *findLoss(ArrayRef<CallResult> results) {
  for (const CallResult &result : results)
    if (result.attributes.get(RematDialect::getLossAttrName()))
      return isa_and_nonnull<FloatType>(getScalarType(result.type)) ? &result
                                                                    : nullptr;
  for (const CallResult &result : results)
    if (isa_and_nonnull<FloatType>(getScalarType(result.type)))
      return &result;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// main
//===----------------------------------------------------------------------===//

namespace {
/// Builds main.
class MainBuilder {
public:
  MainBuilder(ModuleOp module, const Description &description, Location loc)
      : module(module), symbols(module), description(description),
        builder(loc, module) {}

  LogicalResult build();

private:
  func::CallOp callRuntime(StringRef name, ValueRange operands,
                           TypeRange results = {});
  Value emitDescription();
  void emitBuffers();
  void emitInitialValues();
  func::CallOp emitCall(const Callee &callee, Value step);
  Value emitScalar(const CallResult &result, func::CallOp call);
  void emitUpdates(ArrayRef<CallResult> results, func::CallOp call);
  void emitEvaluation(Value count);

  ModuleOp module;
  SymbolTable symbols;
  const Description &description;
  ImplicitLocOpBuilder builder;
  SmallVector<Value> buffers;
};
} // namespace

func::CallOp MainBuilder::callRuntime(StringRef name, ValueRange operands,
                                      TypeRange results) {
  return createRuntimeCall(builder, builder.getLoc(), symbols,
                           ("remat_rt_train_" + name).str(), operands, results);
}

Value MainBuilder::emitDescription() {
  return createTextOperand(builder, builder.getLoc(),
                           createTextGlobal(builder.getLoc(), symbols,
                                            "__remat_train_description",
                                            description.text));
}

/// A buffer of a scalar holds it as the single element.
static MemRefType getBufferType(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  return memref ? memref : MemRefType::get({}, type);
}

void MainBuilder::emitBuffers() {
  Type bytes = MemRefType::get({ShapedType::kDynamic}, builder.getI8Type());
  Value zero = arith::ConstantIndexOp::create(builder, 0);
  for (auto [index, type] : llvm::enumerate(description.types)) {
    Value number =
        arith::ConstantIntOp::create(builder, static_cast<int64_t>(index), 64);
    Value buffer = callRuntime("buffer", number, bytes).getResult(0);
    buffers.push_back(memref::ViewOp::create(builder, getBufferType(type),
                                             buffer, zero, ValueRange{}));
  }
}

/// Values of the module go where no file has one. They stay constants of the
/// program (a resource stays a handle), so that nothing prints or copies them
/// here.
void MainBuilder::emitInitialValues() {
  for (auto [index, value] : llvm::enumerate(description.initialValues)) {
    if (!value)
      continue;
    auto type = cast<MemRefType>(description.types[index]);
    std::string name = "__remat_init_" + std::to_string(index);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(module.getBody());
      memref::GlobalOp::create(builder, name, builder.getStringAttr("private"),
                               type, value, /*constant=*/true,
                               /*alignment=*/IntegerAttr());
    }
    Value number =
        arith::ConstantIntOp::create(builder, static_cast<int64_t>(index), 64);
    Value isNeeded =
        callRuntime("needs", number, builder.getI1Type()).getResult(0);
    auto branch =
        scf::IfOp::create(builder, isNeeded, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value global = memref::GetGlobalOp::create(builder, type, name);
    memref::CopyOp::create(builder, global, buffers[index]);
  }
}

func::CallOp MainBuilder::emitCall(const Callee &callee, Value step) {
  SmallVector<Value> arguments;
  for (int buffer : callee.buffers) {
    if (buffer < 0)
      arguments.push_back(step);
    else if (isa<MemRefType>(description.types[buffer]))
      arguments.push_back(buffers[buffer]);
    else
      arguments.push_back(memref::LoadOp::create(builder, buffers[buffer]));
  }
  return func::CallOp::create(builder, callee.function, arguments);
}

/// A scalar result as f64.
Value MainBuilder::emitScalar(const CallResult &result, func::CallOp call) {
  Value value = result.buffer >= 0 ? buffers[result.buffer]
                                   : call.getResult(result.result);
  if (isa<MemRefType>(value.getType()))
    value = memref::LoadOp::create(builder, value);
  Type f64 = builder.getF64Type();
  if (value.getType() == f64)
    return value;
  if (isa<FloatType>(value.getType()))
    return arith::ExtFOp::create(builder, f64, value);
  if (value.getType().isSignlessInteger(1))
    return arith::UIToFPOp::create(builder, f64, value);
  return arith::SIToFPOp::create(builder, f64, value);
}

/// Next values that were not written in place: scalars and random states.
void MainBuilder::emitUpdates(ArrayRef<CallResult> results, func::CallOp call) {
  func::FuncOp step = description.step.function;
  for (const CallResult &result : results) {
    auto updates = result.attributes.getAs<IntegerAttr>(
        RematDialect::getUpdatesAttrName());
    if (!updates)
      continue;
    Value old = buffers[description.step.buffers[updates.getInt()]];
    if (result.buffer >= 0) {
      memref::CopyOp::create(builder, buffers[result.buffer], old);
      continue;
    }
    Value next = call.getResult(result.result);
    if (!isa<MemRefType>(next.getType())) {
      memref::StoreOp::create(builder, next, old, ValueRange{});
      continue;
    }
    Value returned =
        step.isExternal()
            ? Value()
            : step.getBody().front().getTerminator()->getOperand(result.result);
    if (returned != (step.isExternal()
                         ? Value(old)
                         : Value(step.getArgument(updates.getInt()))))
      memref::CopyOp::create(builder, next, old);
  }
}

void MainBuilder::emitEvaluation(Value count) {
  const Callee &callee = description.evaluation;
  if (!callee.function)
    return;
  Value lower = arith::ConstantIndexOp::create(builder, 0);
  Value stride = arith::ConstantIndexOp::create(builder, 1);
  Value upper =
      arith::IndexCastOp::create(builder, builder.getIndexType(), count);
  auto loop = scf::ForOp::create(builder, lower, upper, stride);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  callRuntime("eval_next", {});
  func::CallOp call = emitCall(callee, Value());
  int64_t index = 0;
  for (const CallResult &result : getResults(callee)) {
    if (!getScalarType(result.type))
      continue;
    Value number = arith::ConstantIntOp::create(builder, index++, 64);
    callRuntime("eval_result", {number, emitScalar(result, call)});
  }
}

LogicalResult MainBuilder::build() {
  SmallVector<CallResult> results = getResults(description.step);
  const CallResult *loss = findLoss(results);
  func::FuncOp step = description.step.function;
  if (!loss)
    return step.emitError()
           << "the step returns no floating-point scalar, so there is no loss "
              "to report; mark one with 'remat.loss'";

  builder.setInsertionPointToEnd(module.getBody());
  auto main = func::FuncOp::create(builder, builder.getLoc(), "main",
                                   builder.getFunctionType({}, {}));
  builder.setInsertionPointToStart(main.addEntryBlock());
  callRuntime("begin", emitDescription());
  emitBuffers();
  emitInitialValues();

  Type i64 = builder.getI64Type();
  auto loop = scf::WhileOp::create(builder, TypeRange{i64}, ValueRange{});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&loop.getBefore());
    Value step = callRuntime("next", {}, i64).getResult(0);
    Value zero = arith::ConstantIntOp::create(builder, 0, 64);
    Value goesOn =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::sge, step, zero);
    scf::ConditionOp::create(builder, goesOn, step);

    builder.createBlock(&loop.getAfter(), {}, i64, builder.getLoc());
    func::CallOp call =
        emitCall(description.step, loop.getAfterArguments().front());
    emitUpdates(results, call);
    Value count =
        callRuntime("done", emitScalar(*loss, call), i64).getResult(0);
    emitEvaluation(count);
    scf::YieldOp::create(builder);
  }
  callRuntime("end", {});
  func::ReturnOp::create(builder);
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// The names of the evaluation's results, and a check that there are any.
static LogicalResult addMetrics(TrainStepOp train, Description &description) {
  int64_t count = 0;
  llvm::raw_string_ostream os(description.text);
  for (const CallResult &result : getResults(description.evaluation)) {
    if (!getScalarType(result.type))
      continue;
    auto name =
        result.attributes.getAs<StringAttr>(RematDialect::getMetricAttrName());
    os << "metric\t";
    if (name)
      os << name.getValue() << "\n";
    else
      os << train.getEval() << count << "\n";
    ++count;
  }
  if (count == 0)
    return train.emitOpError() << "evaluates by " << train.getEvalAttr()
                               << ", which returns no scalar";
  return success();
}

/// A random state that never changes would repeat itself at every step.
static void warnOfConstantStates(func::FuncOp step,
                                 ArrayRef<CallResult> results) {
  for (BlockArgument argument : step.getArguments()) {
    bool isUpdated = llvm::any_of(results, [&](const CallResult &result) {
      auto updates = result.attributes.getAs<IntegerAttr>(
          RematDialect::getUpdatesAttrName());
      return updates && updates.getInt() == argument.getArgNumber();
    });
    if (isRandomState(argument.getType()) && !isUpdated)
      emitWarning(argument.getLoc())
          << "random state " << argument.getArgNumber()
          << " draws the same numbers at every step; return its next value";
  }
}

static LogicalResult lowerTrainStep(ModuleOp module, TrainStepOp train) {
  auto step = module.lookupSymbol<func::FuncOp>(train.getStep());
  if (!step)
    return train.emitOpError() << "needs the function " << train.getStepAttr()
                               << "; run -remat-insert-steps first";
  if (module.lookupSymbol("main"))
    return train.emitOpError()
           << "becomes a function @main, but the module has one already";
  Description description(train);
  if (failed(description.addStep(step)))
    return failure();
  warnOfConstantStates(step, getResults(description.step));
  if (train.getEval()) {
    auto function = module.lookupSymbol<func::FuncOp>(*train.getEval());
    if (!function)
      return train.emitOpError() << "evaluates by " << train.getEvalAttr()
                                 << ", which is no func.func";
    if (failed(description.addEvaluation(function)) ||
        failed(addMetrics(train, description)))
      return failure();
  }
  return MainBuilder(module, description, train.getLoc()).build();
}

namespace {
struct LowerTrainStepPass
    : public remat::impl::LowerTrainStepBase<LowerTrainStepPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<TrainStepOp> trains(module.getOps<TrainStepOp>());
    if (trains.size() > 1) {
      trains[1].emitOpError()
          << "is the second of this module, but there is only one @main";
      return signalPassFailure();
    }
    for (TrainStepOp train : trains) {
      if (failed(lowerTrainStep(module, train)))
        return signalPassFailure();
      train.erase();
    }
    for (auto optimizer :
         llvm::make_early_inc_range(module.getOps<opt::OptimizerOp>()))
      if (SymbolTable::symbolKnownUseEmpty(optimizer, module))
        optimizer.erase();
  }
};
} // namespace
