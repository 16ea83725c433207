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

#include "remat/Analysis/AssertsAfterWrites.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Pipelines/Train.h"
#include "remat/Transforms/Annotate/Annotate.h"
#include "remat/Transforms/TrainProgram/TrainDescription.h"

#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::remat;
using ::remat::Role;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Sets the argument to what the model says it starts from; false if it says
/// nothing.
static bool initialize(const ::remat::TrainDescription &description,
                       const ::remat::TrainArgument &argument,
                       ElementsAttr value, void *into) {
  if (value)
    return copyElements(value, into, argument.type.numBytes());
  return ::remat::initialize(description, argument, into) ||
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

MlirLogicalResult rematListOperations(const RematStepOptions *request,
                                      RematDiagnosticCallback callback,
                                      void *userData, MlirStringCallback result,
                                      void *resultData) {
  Model model(*request, callback, userData);
  if (failed(model.load()))
    return mlirLogicalResultFailure();
  std::string list;
  llvm::raw_string_ostream os(list);
  printOperations(os, model.getModule());
  result(wrap(StringRef(list)), resultData);
  return mlirLogicalResultSuccess();
}
