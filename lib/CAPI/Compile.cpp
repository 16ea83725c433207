//===- Compile.cpp - From text to a step ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only place that puts the parts of remat-train together with a host
// program's wishes.
//===----------------------------------------------------------------------===//

#include "Compile.h"

#include "Cache.h"
#include "InitialValues.h"
#include "Step.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Plan/Budget.h"
#include "remat/Transforms/Annotate/Annotate.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/CAPI/Support.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

static Step *getStatesOf(const RematStepOptions &request) {
  return static_cast<Step *>(request.statesOf.ptr);
}

/// Opens what the step is to run on: if it is missing, that is known before
/// anything is compiled.
static LogicalResult openTarget(Model &model, const TrainOptions &options,
                                Step *statesOf, Step &step) {
  StepTarget target = StepTarget::host;
  if (options.target == "cuda")
    target = options.emulate ? StepTarget::emulatedCUDA : StepTarget::cuda;
  else if (options.target != "cpu")
    return model.emitError()
           << "a step in this process runs on 'cpu' or 'cuda', but the options "
              "ask for target="
           << options.target.getValue()
           << "; compile a program for that with remat-opt";
  if (llvm::Error error = step.open(target, statesOf))
    return model.report(std::move(error));
  return success();
}

LogicalResult mlir::remat::describe(Model &model, TrainStepOp train,
                                    TrainDescription &description) {
  auto function = model.getModule().lookupSymbol<func::FuncOp>(train.getStep());
  if (!function || function.isExternal())
    return train.emitOpError()
           << "has no function " << train.getStepAttr() << " with a body";
  if (failed(description.addOptions()) ||
      failed(description.addStep(function)) ||
      failed(description.addEvaluation()))
    return failure();
  if (!findLoss(description.step.results))
    return function.emitError()
           << "the step returns no floating-point scalar, so there is no loss "
              "to report; mark one with 'remat.loss'";
  return description.addOutputs();
}

static LogicalResult allocate(Model &model, Step *statesOf, Step &step) {
  auto train = *model.getModule().getOps<TrainStepOp>().begin();
  TrainDescription description(train);
  if (failed(describe(model, train, description)))
    return failure();
  step.function = train.getStep().str();
  step.evaluation = train.getEval().value_or("").str();
  step.hasLearningRates = model.getModule().lookupSymbol(kLearningRatesName);
  auto getValue = [&](size_t argument, void *into, size_t numBytes) {
    return into &&
           copyElements(description.initialValues[argument], into, numBytes);
  };
  if (llvm::Error error = step.allocate(description.text, statesOf, getValue))
    return model.report(std::move(error));
  return success();
}

LogicalResult mlir::remat::pack(Model &model, TrainOptions &options,
                                raw_ostream &report) {
  options.reportStream = &report;
  return model.run([&](OpPassManager &pm) {
    buildPackedPipeline(pm, options);
    return success();
  });
}

LogicalResult mlir::remat::lower(Model &model, TrainOptions &options) {
  return model.run([&](OpPassManager &pm) {
    buildProgramPipeline(pm, options, /*asFunction=*/true);
    return success();
  });
}

static LogicalResult compile(Model &model, const RematStepOptions &request,
                             Step &step,
                             std::unique_ptr<llvm::MemoryBuffer> &object) {
  TrainOptions options;
  if (request.optimizationLevel < 0 || request.optimizationLevel > 3)
    return model.emitError() << "the optimization level must be 0, 1, 2 or 3, "
                                "but got "
                             << request.optimizationLevel;
  if (failed(parseOptions(model, unwrap(request.trainOptions), options)) ||
      failed(openTarget(model, options, getStatesOf(request), step)) ||
      failed(model.load()) || failed(model.addTrainStep()))
    return failure();
  llvm::raw_string_ostream report(step.memoryReport);
  if (failed(pack(model, options, report)) ||
      failed(allocate(model, getStatesOf(request), step)) ||
      failed(lower(model, options)))
    return failure();
  auto code = compileToObject(model.getModule(), request.optimizationLevel,
                              step.device ? step.device->getLibrary() : nullptr,
                              model.getProgress());
  if (failed(code))
    return failure();
  object = std::move(*code);
  if (llvm::Error error =
          step.link(llvm::MemoryBuffer::getMemBufferCopy(object->getBuffer())))
    return model.report(std::move(error));
  return success();
}

/// A warning that is about no place in the model.
static void warn(RematDiagnosticCallback callback, void *userData,
                 const Twine &message) {
  StoredDiagnostic warning{MlirDiagnosticWarning, message.str(), {}, {}, {}};
  warning.text = "warning: " + warning.message;
  warning.replay(callback, userData);
}

/// Compiles anew, and keeps the result in `file` if there is one.
static std::unique_ptr<Step> compileAnew(const RematStepOptions &request,
                                         const CacheFile *file,
                                         RematDiagnosticCallback callback,
                                         void *userData) {
  DiagnosticRecorder recorder{callback, userData, {}};
  Model model(request, DiagnosticRecorder::record, &recorder);
  auto step = std::make_unique<Step>();
  std::unique_ptr<llvm::MemoryBuffer> object;
  if (failed(compile(model, request, *step, object)))
    return nullptr;
  // Another step's states are no initial values.
  if (!file || step->hasOtherValues)
    return step;
  if (llvm::Error error =
          file->store(*step, object->getMemBufferRef(), recorder.stored))
    warn(callback, userData,
         "the compiled step could not be kept in " + file->getPath() + ": " +
             toString(std::move(error)));
  return step;
}

static std::unique_ptr<Step> compile(const RematStepOptions &request,
                                     RematDiagnosticCallback callback,
                                     void *userData) {
  if (!request.cacheFolder.length)
    return compileAnew(request, nullptr, callback, userData);
  llvm::Expected<CacheFile> file = CacheFile::find(request);
  if (!file) {
    warn(callback, userData,
         "the compiled step is not kept: " + toString(file.takeError()));
    return compileAnew(request, nullptr, callback, userData);
  }
  std::vector<StoredDiagnostic> diagnostics;
  llvm::Expected<std::unique_ptr<Step>> step =
      file->load(getStatesOf(request), diagnostics);
  if (!step)
    warn(callback, userData,
         file->getPath() +
             " cannot be used and is made anew: " + toString(step.takeError()));
  else if (*step) {
    for (const StoredDiagnostic &diagnostic : diagnostics)
      diagnostic.replay(callback, userData);
    return std::move(*step);
  }
  return compileAnew(request, &*file, callback, userData);
}

RematStepOptions rematStepOptionsGetDefault() {
  RematStepOptions options = {};
  options.optimizationLevel = 3;
  options.cachePolicy = wrap(StringRef("prune_after=720h:cache_size_bytes=2g"));
  return options;
}

RematStep rematStepCompile(const RematStepOptions *options,
                           RematDiagnosticCallback callback, void *userData) {
  return {compile(*options, callback, userData).release()};
}

MlirLogicalResult rematExplain(const RematStepOptions *request,
                               RematDiagnosticCallback callback, void *userData,
                               MlirStringCallback result, void *resultData) {
  Model model(*request, callback, userData);
  TrainOptions options;
  std::string table;
  llvm::raw_string_ostream os(table);
  if (failed(parseOptions(model, unwrap(request->trainOptions), options)))
    return mlirLogicalResultFailure();
  if (failed(model.load()) || failed(model.addTrainStep()) ||
      failed(model.run([&](OpPassManager &pm) {
        buildExplainPipeline(pm, options, os);
        return success();
      })))
    return mlirLogicalResultFailure();
  result(wrap(StringRef(table)), resultData);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult rematReportMemory(const RematStepOptions *request,
                                    RematDiagnosticCallback callback,
                                    void *userData, MlirStringCallback result,
                                    void *resultData) {
  Model model(*request, callback, userData);
  TrainOptions options;
  std::string report, text;
  llvm::raw_string_ostream reportStream(report), os(text);
  if (failed(parseOptions(model, unwrap(request->trainOptions), options)) ||
      failed(model.load()) || failed(model.addTrainStep()) ||
      failed(pack(model, options, reportStream)))
    return mlirLogicalResultFailure();
  auto train = *model.getModule().getOps<TrainStepOp>().begin();
  TrainDescription described(train);
  if (failed(describe(model, train, described)))
    return mlirLogicalResultFailure();
  auto description = ::remat::TrainDescription::parse(described.text);
  for (auto *outputs : {&description.outputs, &description.evalOutputs})
    for (auto &[index, name] : *outputs)
      description.arguments[index].name = name;
  llvm::json::OStream json(os);
  json.object([&] {
    json.attribute("step", train.getStep());
    json.attribute("evaluation", train.getEval().value_or(""));
    json.attributeArray("arguments", [&] {
      for (const ::remat::TrainArgument &argument : description.arguments)
        json.value(llvm::json::Array{::remat::nameOf(argument.role),
                                     argument.name,
                                     ::remat::nameOf(argument.type.dtype),
                                     llvm::json::Array(argument.type.shape),
                                     int64_t(argument.type.numBytes())});
    });
    json.attribute("memory", report);
  });
  result(wrap(StringRef(text)), resultData);
  return mlirLogicalResultSuccess();
}

MlirLogicalResult rematParseBytes(MlirStringRef text, int64_t *bytes,
                                  MlirStringCallback message, void *userData) {
  std::string error;
  std::optional<::remat::plan::Budget> budget =
      ::remat::plan::parseBudget(unwrap(text).str(), error);
  if (budget && budget->fraction == 0) {
    *bytes = budget->bytes;
    return mlirLogicalResultSuccess();
  }
  if (budget)
    error = "'" + unwrap(text).str() +
            "' is a fraction, but a number of bytes is needed, such as 4096, "
            "500MiB or 1.5GB";
  if (message)
    message(wrap(StringRef(error)), userData);
  return mlirLogicalResultFailure();
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
