//===- Compile.cpp - From text to a step ----------------------------------===//
//
// The only place that puts the parts of remat-train together with a host
// program's wishes. What the arguments are is read between the two halves of
// the pipeline: the second one takes their attributes away.
//
//===----------------------------------------------------------------------===//

#include "InitialValues.h"
#include "Model.h"
#include "Step.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Pipelines/Train.h"
#include "remat/Transforms/TrainProgram/TrainDescription.h"

#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::remat;
using ::remat::Role;

//===----------------------------------------------------------------------===//
// Assertions and writes
//===----------------------------------------------------------------------===//

/// Memory that outlives a step, and values through which it may be reached.
static DenseSet<Value> findKeptMemory(func::FuncOp step) {
  DenseSet<Value> kept;
  for (BlockArgument argument : step.getArguments()) {
    DictionaryAttr attributes = step.getArgAttrDict(argument.getArgNumber());
    for (StringRef name : {"opt.param", "opt.state", "remat.state"})
      if (attributes && attributes.contains(name))
        kept.insert(argument);
  }
  auto keep = [&](ValueRange values) {
    for (Value value : values)
      if (isa<BaseMemRefType>(value.getType()))
        kept.insert(value);
  };
  // Loops hand on what they yield: what they got, or another kept value.
  for (size_t before = 0; before != kept.size();) {
    before = kept.size();
    step.walk([&](Operation *op) {
      if (!llvm::any_of(op->getOperands(),
                        [&](Value value) { return kept.contains(value); }))
        return;
      if (isa<ViewLikeOpInterface>(op) || op->getNumRegions() > 0 ||
          isa<CallOpInterface>(op))
        keep(op->getResults());
      for (Region &region : op->getRegions())
        for (Block &block : region)
          keep(block.getArguments());
      if (op->hasTrait<OpTrait::IsTerminator>())
        keep(op->getParentOp()->getResults());
    });
  }
  return kept;
}

/// Whether `op` itself writes kept memory; a call may. Of loops and branches,
/// the operations inside are asked.
static bool writesKept(Operation *op, const DenseSet<Value> &kept) {
  auto isKept = [&](Value value) { return kept.contains(value); };
  if (!llvm::any_of(op->getOperands(), isKept) ||
      op->hasTrait<OpTrait::IsTerminator>())
    return false;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  if (!effects)
    return !op->hasTrait<OpTrait::HasRecursiveMemoryEffects>();
  SmallVector<MemoryEffects::EffectInstance> instances;
  effects.getEffects(instances);
  return llvm::any_of(instances, [&](MemoryEffects::EffectInstance &instance) {
    return isa<MemoryEffects::Write>(instance.getEffect()) &&
           (!instance.getValue() || isKept(instance.getValue()));
  });
}

/// Whether `op` may fail: an assertion, or a call of a function that has one or
/// calls others.
static bool mayFail(Operation *op) {
  if (isa<cf::AssertOp>(op))
    return true;
  auto call = dyn_cast<func::CallOp>(op);
  if (!call)
    return false;
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      op, call.getCalleeAttr());
  auto find = [](Operation *inner) {
    return isa<cf::AssertOp, func::CallOp>(inner) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
  };
  return callee && callee.getBody().walk(find).wasInterrupted();
}

/// Whether an assertion follows a write of memory that outlives the step. Where
/// none does, a step that fails has changed nothing.
static bool hasAssertAfterWrite(func::FuncOp step) {
  DenseSet<Value> kept = findKeptMemory(step);
  auto writes = [&](Operation *op) { return writesKept(op, kept); };
  bool hasWrite = false, result = false;
  step.walk<WalkOrder::PreOrder>([&](Operation *op) {
    hasWrite |= writes(op);
    if (!mayFail(op))
      return;
    result |= hasWrite;
    // In a loop, one iteration's writes precede the next one's assertions.
    for (Operation *loop = op->getParentOp(); loop != step;
         loop = loop->getParentOp())
      result |= loop->walk([&](Operation *inner) {
                      return writes(inner) ? WalkResult::interrupt()
                                           : WalkResult::advance();
                    })
                    .wasInterrupted();
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static bool isRandom(Role role) {
  return role == Role::random || role == Role::evalRandom;
}

/// Sets the argument to what the model says it starts from; false if it says
/// nothing.
static bool initialize(const ::remat::TrainDescription &description,
                       const ::remat::TrainArgument &argument,
                       ElementsAttr value, void *into) {
  if (isRandom(argument.role)) {
    int64_t state[2] = {description.seed + argument.seed, 0};
    std::copy(state, state + 2, static_cast<int64_t *>(into));
    return true;
  }
  if (value)
    return copyElements(value, into, argument.type.numBytes());
  if (argument.initial)
    ::remat::initialize(*argument.initial, argument.type, argument.name,
                        description.seed, into);
  return argument.initial ||
         (argument.role != Role::parameter && argument.role != Role::state);
}

static LogicalResult allocate(Model &model, Step &step,
                              const TrainDescription &compiled) {
  const std::vector<::remat::TrainArgument> &arguments =
      step.description.arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ::remat::TrainArgument &argument = arguments[i];
    step.buffers.emplace_back();
    if (argument.role == Role::data) {
      step.data.push_back(i);
      step.isInitialized.push_back(true);
      continue;
    }
    size_t bytes = argument.type.numBytes();
    step.buffers.back() = AlignedMemory::allocate(bytes);
    void *memory = step.buffers.back().data();
    if (!memory)
      return model.emitError()
             << "there is no memory for the " << bytes << " bytes of "
             << (argument.name.empty() ? std::string("the step's arena")
                                       : "'" + argument.name + "'");
    step.isInitialized.push_back(initialize(step.description, argument,
                                            compiled.initialValues[i], memory));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static LogicalResult checkTarget(Model &model, const TrainOptions &options) {
  if (options.target == "cpu")
    return success();
  return model.emitError()
         << "a step in this process runs on the CPU, but the options ask for "
            "target="
         << options.target.getValue()
         << "; compile a program for that with remat-opt";
}

static LogicalResult describe(Model &model, Step &step) {
  auto train = *model.getModule().getOps<TrainStepOp>().begin();
  auto function = model.getModule().lookupSymbol<func::FuncOp>(train.getStep());
  if (!function || function.isExternal())
    return train.emitOpError()
           << "has no function " << train.getStepAttr() << " with a body";
  TrainDescription description(train);
  if (failed(description.addOptions()) || failed(description.addStep(function)))
    return failure();
  if (!findLoss(description.step.results))
    return function.emitError()
           << "the step returns no floating-point scalar, so there is no loss "
              "to report; mark one with 'remat.loss'";
  if (failed(description.addOutputs()))
    return failure();
  step.description = ::remat::TrainDescription::parse(description.text);
  step.function = function.getName().str();
  step.assertsAfterWrites = hasAssertAfterWrite(function);
  return allocate(model, step, description);
}

static FailureOr<std::unique_ptr<Step>>
compile(const RematStepOptions &request, RematDiagnosticCallback callback,
        void *userData) {
  Model model(request, callback, userData);
  TrainOptions options;
  if (request.optimizationLevel < 0 || request.optimizationLevel > 3)
    return model.emitError() << "the optimization level must be 0, 1, 2 or 3, "
                                "but got "
                             << request.optimizationLevel;
  if (failed(parseOptions(model, unwrap(request.trainOptions), options)) ||
      failed(checkTarget(model, options)) || failed(model.load()) ||
      failed(model.addTrainStep()))
    return failure();
  auto step = std::make_unique<Step>();
  llvm::raw_string_ostream report(step->memoryReport);
  options.reportStream = &report;
  if (failed(model.run([&](OpPassManager &pm) {
        buildPackedPipeline(pm, options);
        return success();
      })) ||
      failed(describe(model, *step)) ||
      failed(model.run([&](OpPassManager &pm) {
        buildProgramPipeline(pm, options, /*asFunction=*/true);
        return success();
      })))
    return failure();
  FailureOr<CompiledCode> code =
      compileToMemory(model.getModule(), request.optimizationLevel);
  if (failed(code))
    return failure();
  step->code = std::move(*code);
  return step;
}

RematStepOptions rematStepOptionsGetDefault() {
  RematStepOptions options = {};
  options.optimizationLevel = 3;
  return options;
}

RematStep rematStepCompile(const RematStepOptions *options,
                           RematDiagnosticCallback callback, void *userData) {
  FailureOr<std::unique_ptr<Step>> step = compile(*options, callback, userData);
  return {failed(step) ? nullptr : step->release()};
}

MlirLogicalResult rematExplain(const RematStepOptions *request,
                               RematDiagnosticCallback callback, void *userData,
                               MlirStringCallback result, void *resultData) {
  Model model(*request, callback, userData);
  ToTensorsOptions options;
  std::string table;
  llvm::raw_string_ostream os(table);
  if (failed(parseOptions(model, unwrap(request->trainOptions), options)) ||
      failed(model.load()) || failed(model.addTrainStep()) ||
      failed(model.run([&](OpPassManager &pm) {
        buildExplainPipeline(pm, options, os);
        return success();
      })))
    return mlirLogicalResultFailure();
  result(wrap(StringRef(table)), resultData);
  return mlirLogicalResultSuccess();
}
