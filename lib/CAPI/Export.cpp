//===- Export.cpp - A step as an object file and a header -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The model is compiled twice: to a step of this process, which has the values
// and makes the numbers that the object is tested by, and to the object.
//===----------------------------------------------------------------------===//

#include "remat-c/Export.h"

#include "Compile.h"
#include "License.h"
#include "Ship/Object.h"
#include "Ship/Texts.h"
#include "Step.h"

#include "remat/Conversion/CPU/Passes.h"
#include "remat/Runtime/Hash.h"

#include "mlir/CAPI/Support.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace mlir::remat;
using ::remat::Role;

RematExportOptions rematExportOptionsGetDefault() {
  RematExportOptions options = {};
  options.kind = RematExportObject;
  return options;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

namespace {
/// The folder that files go to; the first one that cannot be written is an
/// error of the model.
class Folder {
public:
  Folder(Model &model, StringRef path) : model(model), path(path) {}

  LogicalResult create() {
    if (std::error_code error = llvm::sys::fs::create_directories(
            path, /*IgnoreExisting=*/true, llvm::sys::fs::all_all))
      return model.emitError() << "the folder '" << path
                               << "' cannot be made: " << error.message();
    return success();
  }
  std::string getPath(const Twine &file) const {
    SmallString<128> result(path);
    llvm::sys::path::append(result, file);
    return result.str().str();
  }
  LogicalResult write(const Twine &file, ArrayRef<StringRef> parts) {
    std::string name = getPath(file);
    std::error_code error;
    llvm::raw_fd_ostream os(name, error);
    if (!error) {
      for (StringRef part : parts)
        os << part;
      os.close();
      error = os.error();
      os.clear_error();
    }
    if (error)
      return model.emitError()
             << "'" << name << "' cannot be written: " << error.message();
    return success();
  }

private:
  Model &model;
  std::string path;
};
} // namespace

/// Appends the length and the text of a safetensors header.
static std::string frame(std::string text) {
  text.append(-text.size() % 8, ' ');
  uint64_t length = text.size();
  std::string result;
  for (int i = 0; i < 8; ++i)
    result += static_cast<char>(length >> (8 * i));
  return result + text;
}

static StringRef bytesOf(const void *data, size_t bytes) {
  return {static_cast<const char *>(data), bytes};
}

//===----------------------------------------------------------------------===//
// The step that the object is compared with
//===----------------------------------------------------------------------===//

namespace {
/// A step of this process, of the same model and with the values to export.
class Reference {
public:
  Reference(Model &model, const RematStepOptions &options,
            const RematExportOptions &request)
      : model(model), options(options), request(request) {}
  ~Reference() { rematStepDestroy(step); }
  Reference(const Reference &) = delete;

  LogicalResult compile(RematDiagnosticCallback callback, void *userData) {
    step = rematStepCompile(&options, callback, userData);
    return failure(rematStepIsNull(step) || failed(takeValues()));
  }

  Step &get() { return *static_cast<Step *>(step.ptr); }
  StringRef bytesOf(size_t argument) {
    StepBuffer &buffer = *get().buffers[argument];
    return ::bytesOf(buffer.getStart(), buffer.getNumBytes());
  }

  /// Trains on one batch, and keeps the loss of each step.
  LogicalResult train(ArrayRef<RematInput> batch, int64_t steps,
                      size_t lossArgument) {
    for (int64_t i = 0; i < steps; ++i) {
      std::string message;
      auto append = [](MlirStringRef text, void *to) {
        static_cast<std::string *>(to)->append(text.data, text.length);
      };
      if (mlirLogicalResultIsFailure(
              rematStepRun(step, batch.size(), batch.data(), append, &message)))
        return model.emitError()
               << "the step fails on the batch of the test: " << message
               << "; pass one of the model's own data";
      losses += this->bytesOf(lossArgument);
    }
    return success();
  }

  std::string losses;
  /// Those that a caller sets.
  std::vector<double> rates;

private:
  size_t getNumRates() const {
    SmallVector<StringRef> names;
    llvm::SplitString(unwrap(options.learningRates), names);
    return names.size();
  }
  LogicalResult takeValues() {
    Step *other = static_cast<Step *>(request.values.ptr);
    std::optional<RunningStep> running;
    if (other) {
      running.emplace(*other->progression);
      if (StringRef obstacle = running->getObstacle(); !obstacle.empty())
        return model.emitError() << obstacle;
      if (other->progression->isDamaged)
        return model.emitError() << "a step failed while it updated the values "
                                    "that are to be exported";
    }
    for (auto [i, argument] : llvm::enumerate(get().description.arguments)) {
      if (!argument.isSaved())
        continue;
      if (!other) {
        if (!get().buffers[i]->isInitialized)
          return model.emitError()
                 << "'" << argument.name
                 << "' has no initial value: give its argument an 'opt.init', "
                    "or export a step that has values";
        continue;
      }
      auto same = llvm::find_if(
          other->description.arguments,
          [name = StringRef(argument.name)](const auto &candidate) {
            return candidate.isSaved() && candidate.name == name;
          });
      if (same == other->description.arguments.end() ||
          !(same->type == argument.type))
        return model.emitError()
               << "'" << argument.name
               << "' is not in the step whose values are to be exported";
      size_t number = same - other->description.arguments.begin();
      if (llvm::Error error =
              other->buffers[number]->read(get().buffers[i]->getStart()))
        return model.report(std::move(error));
      get().buffers[i]->isInitialized = true;
    }
    if (!other)
      return success();
    get().progression->number = other->progression->number;
    rates.assign(getNumRates(), 0);
    if (const double *from = other->code->learningRates)
      std::copy_n(from, rates.size(), rates.begin());
    llvm::copy(rates, get().code->learningRates);
    return success();
  }

  Model &model;
  const RematStepOptions &options;
  const RematExportOptions &request;
  RematStep step = {nullptr};
};
} // namespace

/// A batch that fits any model: zeros are in every table.
static std::vector<std::string>
makeBatch(const ::remat::TrainDescription &description) {
  std::vector<std::string> batch;
  for (const ::remat::TrainArgument &argument : description.arguments) {
    if (argument.role != Role::data)
      continue;
    std::string bytes(argument.type.numBytes(), '\0');
    using ::remat::DType;
    DType type = argument.type.dtype;
    if (type == DType::f16 || type == DType::bf16 || type == DType::f32 ||
        type == DType::f64) {
      ::remat::TrainArgument random = argument;
      random.initial = ::remat::Initial{::remat::Initial::normal, 0, 1};
      ::remat::initialize(description, random, bytes.data(),
                          remat_parallel_for);
    }
    batch.push_back(std::move(bytes));
  }
  return batch;
}

//===----------------------------------------------------------------------===//
// Export
//===----------------------------------------------------------------------===//

namespace {
class Exporter {
public:
  Exporter(const RematStepOptions &options, const RematExportOptions &request,
           RematDiagnosticCallback callback, void *userData)
      : options(options), request(request), callback(callback),
        userData(userData), model(options, callback, userData),
        folder(model, unwrap(request.folder)),
        reference(model, options, request), name(unwrap(request.name).str()) {}

  LogicalResult run();

private:
  LogicalResult compileObject(const ShipTarget &target);
  LogicalResult writeObject(StringRef object, const ShipTarget &target);
  LogicalResult writeValues(const ShipLayout &layout);
  LogicalResult writeTest(const ShipLayout &layout);

  const RematStepOptions &options;
  const RematExportOptions &request;
  RematDiagnosticCallback callback;
  void *userData;
  Model model;
  Folder folder;
  Reference reference;
  std::string name, library;
};
} // namespace

LogicalResult Exporter::run() {
  if (!isIdentifier(name))
    return model.emitError()
           << "the name of an exported step begins the names of functions: it "
              "must be an identifier of C, but got '"
           << name << "'";
  auto target =
      ShipTarget::find(unwrap(request.triple), unwrap(request.processor),
                       unwrap(request.features));
  if (!target)
    return model.report(target.takeError());
  return compileObject(*target);
}

LogicalResult Exporter::compileObject(const ShipTarget &target) {
  TrainOptions trainOptions;
  if (failed(parseOptions(model, unwrap(options.trainOptions), trainOptions)))
    return failure();
  if (trainOptions.target != "cpu")
    return model.emitError() << "steps are exported for 'cpu', but the options "
                                "ask for target="
                             << trainOptions.target.getValue();
  if (failed(model.load()) || failed(model.addTrainStep()))
    return failure();
  auto rates = model.exposeLearningRates();
  if (failed(rates))
    return failure();
  std::string report;
  llvm::raw_string_ostream os(report);
  if (failed(pack(model, trainOptions, os)))
    return failure();
  TrainDescription described(*model.getModule().getOps<TrainStepOp>().begin());
  if (failed(describe(model, *model.getModule().getOps<TrainStepOp>().begin(),
                      described)) ||
      failed(lower(model, trainOptions)) ||
      failed(model.run([](OpPassManager &pm) {
        pm.addPass(createPassContext());
        return success();
      })))
    return failure();
  auto description = ::remat::TrainDescription::parse(described.text);
  ShipLayout layout(description, name, std::move(*rates),
                    ShipTarget::getWorkspace(model.getModule()),
                    target.getPointerBytes());
  layout.hasSchedules = options.learningRates.length == 0;
  auto object = target.compile(model.getModule(), layout,
                               options.optimizationLevel, model.getProgress());
  if (failed(object) || failed(reference.compile(callback, userData)) ||
      failed(folder.create()) ||
      failed(writeObject((*object)->getBuffer(), target)) ||
      failed(folder.write(name + ".h",
                          {printHeader(layout, unwrap(options.fileName),
                                       target.describe())})) ||
      failed(folder.write("Makefile", {printMakefile(layout, library,
                                                     target.getCompiler())})) ||
      failed(
          folder.write("CMakeLists.txt", {printCMakeLists(layout, library)})) ||
      failed(folder.write("LICENSE.txt", {kLicense})))
    return failure();
  return success(succeeded(writeValues(layout)) &&
                 succeeded(writeTest(layout)));
}

LogicalResult Exporter::writeObject(StringRef object,
                                    const ShipTarget &target) {
  std::string objectFile = name + ".o";
  library = request.kind == RematExportObject    ? objectFile
            : request.kind == RematExportArchive ? name + ".a"
                                                 : "lib" + name + ".so";
  if (request.kind != RematExportArchive &&
      failed(folder.write(objectFile, {object})))
    return failure();
  std::string path = folder.getPath(library);
  if (request.kind == RematExportArchive) {
    llvm::NewArchiveMember member(llvm::MemoryBufferRef(object, objectFile));
    if (llvm::Error error = llvm::writeArchive(
            path, std::move(member), llvm::SymtabWritingMode::NormalSymtab,
            llvm::object::Archive::K_GNU, /*Deterministic=*/true,
            /*Thin=*/false))
      return model.report(std::move(error));
  }
  if (request.kind != RematExportShared)
    return success();
  StringRef program = target.getCompiler();
  auto compiler = llvm::sys::findProgramByName(program);
  std::string problem = ("there is no program '" + program +
                         "'; an object or an archive needs none")
                            .str();
  std::string from = folder.getPath(objectFile);
  if (!compiler ||
      llvm::sys::ExecuteAndWait(
          *compiler,
          {program, "-shared", "-Wl,-z,defs", "-o", path, from, "-lm"},
          std::nullopt, {}, 0, 0, &problem) != 0)
    return model.emitError()
           << "'" << path << "' cannot be linked: "
           << (problem.empty() ? (program + " failed").str() : problem);
  llvm::sys::fs::remove(from);
  return success();
}

LogicalResult Exporter::writeValues(const ShipLayout &layout) {
  std::string text;
  for (char c : layout.getFileHeader())
    if (c == ::remat::kShipStepMark)
      text += std::to_string(reference.get().progression->number);
    else if (c == ::remat::kShipSeedMark)
      text += std::to_string(layout.description.seed);
    else
      text += c;
  std::string start = frame(text);
  SmallVector<StringRef> parts{start};
  for (size_t number : layout.saved)
    parts.push_back(reference.bytesOf(number));
  return folder.write(name + ".safetensors", parts);
}

LogicalResult Exporter::writeTest(const ShipLayout &layout) {
  std::vector<std::string> made;
  SmallVector<RematInput> batch(request.batch,
                                request.batch + request.numBatch);
  if (batch.empty()) {
    made = makeBatch(layout.description);
    for (const std::string &bytes : made)
      batch.push_back({bytes.data(), false});
  }
  size_t loss = 0;
  for (auto &[number, output] : layout.description.outputs)
    if (output == "loss")
      loss = number;
  if (failed(reference.train(batch, kTestSteps, loss)))
    return failure();
  uint64_t digest = ::remat::hash("");
  for (size_t number : layout.saved)
    digest = ::remat::hash(reference.bytesOf(number), digest);

  using ::remat::DType;
  std::vector<ShipTensor> tensors{
      {kTestLosses.str(),
       {layout.description.arguments[loss].type.dtype, {kTestSteps}},
       reference.losses.data()},
      {kTestDigest.str(), {DType::i64, {}}, &digest}};
  for (auto [field, input] : llvm::zip_equal(layout.batch, batch))
    tensors.push_back({(kTestBatch + layout.get(field).name).str(),
                       layout.get(field).type, input.data});
  // So that elements are aligned.
  llvm::sort(tensors, [](const ShipTensor &a, const ShipTensor &b) {
    return std::make_pair(byteWidth(b.type.dtype), StringRef(a.name)) <
           std::make_pair(byteWidth(a.type.dtype), StringRef(b.name));
  });
  std::string start =
      frame("{\"__metadata__\": {\"format\": \"remat.test.1\"}" +
            printTensors(tensors) + "}");
  SmallVector<StringRef> parts{start};
  for (const ShipTensor &tensor : tensors)
    parts.push_back(bytesOf(tensor.data, tensor.type.numBytes()));
  return success(
      succeeded(folder.write(name + "_test.safetensors", parts)) &&
      succeeded(folder.write(
          "example.c", {printExample(layout, tensors, reference.rates)})));
}

MlirLogicalResult rematExport(const RematStepOptions *options,
                              const RematExportOptions *exportOptions,
                              RematDiagnosticCallback callback,
                              void *userData) {
  return wrap(Exporter(*options, *exportOptions, callback, userData).run());
}
