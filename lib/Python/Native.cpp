//===- Native.cpp - The C interface in Python -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No more than a way to call remat-c, and to have the runtime write files and
// quantize: names, checks of arrays and messages are written in Python
// (python/remat).
//===----------------------------------------------------------------------===//

#include "remat-c/Dialects.h"
#include "remat-c/Export.h"
#include "remat-c/Step.h"
#include "remat-c/Toolkit.h"
#include "remat-c/Version.h"
#include "remat/Runtime/Step.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace nb = nanobind;

static std::string toString(MlirStringRef text) {
  return std::string(text.data, text.length);
}

static MlirStringRef toRef(const std::string &text) {
  return {text.data(), text.size()};
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

namespace {
struct Diagnostic {
  std::string severity, message, file;
  int64_t line, column;
  std::string text, code;
};

/// The strings of `RematStepOptions`, so that they outlive the call.
struct Options {
  std::string text, fileName, passes, function, optimizer, trainAttributes,
      trainOptions, evalText, evalFileName, evalPasses, evalFunction,
      cacheFolder, cachePolicy, learningRates;
  int optimizationLevel;

  RematStepOptions get() const {
    RematStepOptions options = rematStepOptionsGetDefault();
    options.text = toRef(text);
    options.fileName = toRef(fileName);
    options.passes = toRef(passes);
    options.function = toRef(function);
    options.optimizer = toRef(optimizer);
    options.trainAttributes = toRef(trainAttributes);
    options.trainOptions = toRef(trainOptions);
    options.evalText = toRef(evalText);
    options.evalFileName = toRef(evalFileName);
    options.evalPasses = toRef(evalPasses);
    options.evalFunction = toRef(evalFunction);
    options.optimizationLevel = optimizationLevel;
    options.cacheFolder = toRef(cacheFolder);
    options.learningRates = toRef(learningRates);
    if (!cachePolicy.empty())
      options.cachePolicy = toRef(cachePolicy);
    return options;
  }
};
} // namespace

static const char *getName(MlirDiagnosticSeverity severity) {
  switch (severity) {
  case MlirDiagnosticError:
    return "error";
  case MlirDiagnosticWarning:
    return "warning";
  case MlirDiagnosticNote:
    return "note";
  case MlirDiagnosticRemark:
    return "remark";
  }
  return "error";
}

static void collect(const RematDiagnostic *diagnostic, void *userData) {
  static_cast<std::vector<Diagnostic> *>(userData)->push_back(
      {getName(diagnostic->severity), toString(diagnostic->message),
       toString(diagnostic->file), diagnostic->line, diagnostic->column,
       toString(diagnostic->text), toString(diagnostic->code)});
}

static void append(MlirStringRef text, void *userData) {
  static_cast<std::string *>(userData)->append(text.data, text.length);
}

static nb::list convert(const std::vector<Diagnostic> &diagnostics) {
  nb::list result;
  for (const Diagnostic &diagnostic : diagnostics)
    result.append(nb::make_tuple(
        diagnostic.severity, diagnostic.message, diagnostic.file,
        diagnostic.line, diagnostic.column, diagnostic.text, diagnostic.code));
  return result;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static const char *getName(RematRole role) {
  constexpr const char *kNames[] = {"parameter", "optimizer", "state",
                                    "random",    "data",      "result",
                                    "arena",     "eval_data", "eval_random"};
  return kNames[role];
}

static const char *getName(RematElementType type) {
  constexpr const char *kNames[] = {"i1",  "i8",   "i16", "i32", "i64",
                                    "f16", "bf16", "f32", "f64"};
  return kNames[type];
}

namespace {
class Step {
public:
  explicit Step(RematStep step) : step(step) {}
  ~Step() { rematStepDestroy(step); }
  Step(const Step &) = delete;
  Step &operator=(const Step &) = delete;

  RematStep get() const { return step; }

private:
  RematStep step;
};
} // namespace

/// The argument at `index`, or an IndexError.
static RematArgument getArgument(const Step &step, intptr_t index) {
  if (index < 0 || index >= rematStepGetNumArguments(step.get()))
    throw nb::index_error("the step has no argument of this number");
  return rematStepGetArgument(step.get(), index);
}

namespace {
/// Work on a thread of its own, for which the caller's thread waits: that one
/// can be Python's main thread, the only one that is told of Ctrl-C.
class WatchedWork {
public:
  /// Makes `request` report to this.
  explicit WatchedWork(RematStepOptions &request) {
    request.progress = [](MlirStringRef stage, void *self) {
      return static_cast<WatchedWork *>(self)->begin(stage);
    };
    request.progressData = this;
  }

  /// Does `work`. Calls `poll` with the stage that it is in, and how many there
  /// have been, several times a second. What that raises, as well as what a
  /// signal's handler does, ends the work first.
  template <typename Work> void run(Work work, const nb::callable &poll) {
    std::thread worker([&] {
      work();
      std::lock_guard<std::mutex> lock(mutex);
      isDone = true;
      changed.notify_all();
    });
    std::exception_ptr error;
    try {
      while (!wait())
        report(poll);
    } catch (...) {
      error = std::current_exception();
      isCancelled = true;
    }
    {
      nb::gil_scoped_release released;
      worker.join();
    }
    if (error)
      std::rethrow_exception(error);
  }

private:
  bool begin(MlirStringRef name) {
    std::lock_guard<std::mutex> lock(mutex);
    stage.assign(name.data, name.length);
    ++count;
    return !isCancelled;
  }

  /// Returns true if the work is done, after a while at most.
  bool wait() {
    nb::gil_scoped_release released;
    std::unique_lock<std::mutex> lock(mutex);
    return changed.wait_for(lock, std::chrono::milliseconds(100),
                            [&] { return isDone; });
  }

  void report(const nb::callable &poll) {
    if (PyErr_CheckSignals())
      throw nb::python_error();
    std::string name;
    size_t number;
    {
      std::lock_guard<std::mutex> lock(mutex);
      name = stage;
      number = count;
    }
    poll(name, number);
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::string stage;
  size_t count = 0;
  bool isDone = false;
  std::atomic<bool> isCancelled{false};
};
} // namespace

/// (step or None, diagnostics)
static nb::tuple compile(const Options &options, const nb::callable &poll,
                         const Step *statesOf) {
  std::vector<Diagnostic> diagnostics;
  RematStepOptions request = options.get();
  if (statesOf)
    request.statesOf = statesOf->get();
  RematStep step = {nullptr};
  try {
    WatchedWork(request).run(
        [&] { step = rematStepCompile(&request, collect, &diagnostics); },
        poll);
  } catch (...) {
    rematStepDestroy(step);
    throw;
  }
  nb::object result = nb::none();
  if (!rematStepIsNull(step))
    result = nb::cast(new Step(step), nb::rv_policy::take_ownership);
  return nb::make_tuple(result, convert(diagnostics));
}

/// (whether the files were written, diagnostics). `kind` counts from 0 as
/// `RematExportKind`, `batch` has the addresses of arrays.
static nb::tuple exportFiles(const Options &options, const nb::callable &poll,
                             const Step &values, const std::string &folder,
                             const std::string &name, int kind,
                             const std::string &triple,
                             const std::string &processor,
                             const std::string &features,
                             const std::vector<uintptr_t> &batch) {
  std::vector<RematInput> inputs;
  for (uintptr_t address : batch)
    inputs.push_back({reinterpret_cast<const void *>(address), false});
  RematExportOptions request = rematExportOptionsGetDefault();
  request.folder = toRef(folder);
  request.name = toRef(name);
  request.kind = static_cast<RematExportKind>(kind);
  request.triple = toRef(triple);
  request.processor = toRef(processor);
  request.features = toRef(features);
  request.values = values.get();
  request.batch = inputs.data();
  request.numBatch = static_cast<intptr_t>(inputs.size());
  std::vector<Diagnostic> diagnostics;
  RematStepOptions model = options.get();
  bool isDone = false;
  WatchedWork(model).run(
      [&] {
        isDone = mlirLogicalResultIsSuccess(
            rematExport(&model, &request, collect, &diagnostics));
      },
      poll);
  return nb::make_tuple(isDone, convert(diagnostics));
}

using TextFunction = MlirLogicalResult(const RematStepOptions *,
                                       RematDiagnosticCallback, void *,
                                       MlirStringCallback, void *);

/// (what `function` says of a model or None, diagnostics)
template <TextFunction *function>
nb::tuple getText(const Options &options, const nb::callable &poll) {
  std::vector<Diagnostic> diagnostics;
  RematStepOptions request = options.get();
  std::string text;
  bool isDone = false;
  WatchedWork(request).run(
      [&] {
        isDone = mlirLogicalResultIsSuccess(
            function(&request, collect, &diagnostics, append, &text));
      },
      poll);
  nb::object result = nb::none();
  if (isDone)
    result = nb::cast(text);
  return nb::make_tuple(result, convert(diagnostics));
}

/// (role, name, type, shape, bytes, (bits, elements of a block, signed,
/// elements) or None, (ranks, stride) that share a dimension, for each)
static nb::tuple describe(const Step &step, intptr_t index) {
  RematArgument argument = rematStepGetArgument(step.get(), index);
  nb::list shape;
  for (intptr_t i = 0; i < argument.rank; ++i)
    shape.append(argument.shape[i]);
  nb::object stored = nb::none();
  if (argument.storedBits != 0)
    stored = nb::make_tuple(argument.storedBits, argument.storedBlock,
                            argument.storedIsSigned, argument.storedCount);
  nb::list shards;
  for (intptr_t i = 0; i < argument.rank; ++i) {
    RematShard shard = rematStepGetShard(step.get(), index, i);
    shards.append(nb::make_tuple(shard.size, shard.stride));
  }
  return nb::make_tuple(getName(argument.role), toString(argument.name),
                        getName(argument.type), nb::tuple(shape),
                        argument.numBytes, stored, nb::tuple(shards));
}

static nb::list describeArguments(const Step &step) {
  nb::list result;
  for (intptr_t i = 0; i < rematStepGetNumArguments(step.get()); ++i)
    result.append(describe(step, i));
  return result;
}

/// The numbers of the arguments that hold results of the step, or of its
/// evaluation, in order.
template <auto getCount, auto getResult>
static nb::list getResults(const Step &step) {
  nb::list result;
  for (intptr_t i = 0; i < getCount(step.get()); ++i)
    result.append(getResult(step.get(), i));
  return result;
}

/// The argument at `index`, which the step owns, or an IndexError.
static RematArgument getOwned(const Step &step, intptr_t index) {
  RematArgument argument = getArgument(step, index);
  if (!argument.data && argument.numBytes > 0)
    throw nb::value_error("data is not the step's own");
  return argument;
}

using Bytes = nb::ndarray<nb::numpy, uint8_t, nb::ndim<1>>;

/// The bytes of an argument on the host, which keep the step alive; None if
/// they are on a device.
static nb::object view(nb::handle_t<Step> self, intptr_t index) {
  RematArgument argument = getOwned(nb::cast<Step &>(self), index);
  if (argument.isOnDevice)
    return nb::none();
  return nb::cast(Bytes(argument.data, {argument.numBytes}, self));
}

static nb::dlpack::dtype getDLPackType(RematElementType type) {
  using nb::dlpack::dtype_code;
  auto make = [](dtype_code code, uint8_t bits) {
    return nb::dlpack::dtype{static_cast<uint8_t>(code), bits, 1};
  };
  switch (type) {
  case RematI1:
    return make(dtype_code::Bool, 8);
  case RematI8:
    return make(dtype_code::Int, 8);
  case RematI16:
    return make(dtype_code::Int, 16);
  case RematI32:
    return make(dtype_code::Int, 32);
  case RematI64:
    return make(dtype_code::Int, 64);
  case RematF16:
    return make(dtype_code::Float, 16);
  case RematBF16:
    return make(dtype_code::Bfloat, 16);
  case RematF32:
    return make(dtype_code::Float, 32);
  case RematF64:
    return make(dtype_code::Float, 64);
  }
  return make(dtype_code::Int, 8);
}

/// The memory of an argument, wherever it is, as an object with DLPack.
static nb::ndarray<> exportArray(nb::handle_t<Step> self, intptr_t index) {
  Step &step = nb::cast<Step &>(self);
  RematArgument argument = getOwned(step, index);
  RematDevice device = rematStepGetDevice(step.get());
  std::vector<size_t> shape(argument.shape, argument.shape + argument.rank);
  return nb::ndarray<>(argument.data, shape.size(), shape.data(), self,
                       /*strides=*/nullptr, getDLPackType(argument.type),
                       argument.isOnDevice ? device.kind : RematCPU,
                       argument.isOnDevice ? device.number : 0);
}

/// (kind, number, the stream's address or None, whether it is emulated, what it
/// is)
static nb::tuple getDevice(const Step &step) {
  RematDevice device = rematStepGetDevice(step.get());
  std::string text;
  rematStepDescribeDevice(step.get(), append, &text);
  nb::object stream = nb::none();
  if (device.stream)
    stream = nb::cast(reinterpret_cast<uintptr_t>(device.stream));
  return nb::make_tuple(device.kind == RematCUDA ? "cuda" : "cpu",
                        device.number, stream, device.isEmulated, text);
}

/// Copies an argument's values to or from an address of the host; returns what
/// is wrong, or None.
template <auto function, typename Pointer>
static nb::object access(Step &step, intptr_t index, uintptr_t address) {
  getOwned(step, index);
  std::string message;
  bool isDone;
  {
    nb::gil_scoped_release released;
    isDone = mlirLogicalResultIsSuccess(
        function(step.get(), index, reinterpret_cast<Pointer>(address), append,
                 &message));
  }
  return isDone ? nb::none() : nb::object(nb::cast(message));
}

/// Runs a step, or its evaluation, on the arrays at these addresses, each with
/// whether it is on the device; returns what is wrong, or None.
template <auto function>
static nb::object run(Step &step,
                      const std::vector<std::pair<uintptr_t, bool>> &arrays) {
  std::vector<RematInput> data;
  for (auto [address, isOnDevice] : arrays)
    data.push_back({reinterpret_cast<const void *>(address), isOnDevice});
  std::string message;
  bool isDone;
  {
    nb::gil_scoped_release released;
    isDone = mlirLogicalResultIsSuccess(
        function(step.get(), data.size(), data.data(), append, &message));
  }
  return isDone ? nb::none() : nb::object(nb::cast(message));
}

/// Describes an object with DLPack or the buffer protocol:
/// (address, type, shape, whether it is contiguous, device, what keeps it
/// alive)
static nb::tuple describeArray(const nb::ndarray<nb::ro> &array) {
  using Array = nb::ndarray<nb::ro>;
  auto *owner = new Array(array);
  nb::list shape;
  bool isContiguous = true;
  int64_t stride = 1;
  for (size_t i = array.ndim(); i-- > 0; stride *= array.shape(i))
    isContiguous &= array.shape(i) == 1 || array.stride(i) == stride;
  for (size_t i = 0; i < array.ndim(); ++i)
    shape.append(array.shape(i));
  nb::dlpack::dtype type = array.dtype();
  constexpr const char *kKinds[] = {"int",    "uint",    "float", "",
                                    "bfloat", "complex", "bool"};
  std::string kind = type.code < std::size(kKinds) ? kKinds[type.code] : "";
  return nb::make_tuple(reinterpret_cast<uintptr_t>(array.data()),
                        kind + std::to_string(type.bits), nb::tuple(shape),
                        isContiguous || array.size() == 0,
                        nb::make_tuple(array.device_type(), array.device_id()),
                        nb::capsule(owner, [](void *pointer) noexcept {
                          delete static_cast<Array *>(pointer);
                        }));
}

/// (whether it was found, where or what is missing)
static nb::tuple findCUDAToolkit() {
  std::string text;
  bool isFound =
      mlirLogicalResultIsSuccess(rematFindCUDAToolkit(append, &text));
  return nb::make_tuple(isFound, text);
}

/// Returns (the bytes that `text` says or None, what is wrong)
static nb::tuple parseBytes(const std::string &text) {
  int64_t bytes = 0;
  std::string message;
  nb::object result = nb::none();
  if (mlirLogicalResultIsSuccess(
          rematParseBytes(toRef(text), &bytes, append, &message)))
    result = nb::cast(bytes);
  return nb::make_tuple(result, message);
}

/// Replaces the file called `path` by what `write` writes to the file whose
/// name it gets; returns what is wrong, or None.
static nb::object replaceFile(const std::string &path,
                              const nb::callable &write) {
  struct Call {
    const nb::callable &write;
    std::exception_ptr error;
  } call{write, nullptr};
  auto run = [](const char *temporary, void *userData) {
    auto *call = static_cast<Call *>(userData);
    nb::gil_scoped_acquire acquired;
    try {
      call->write(temporary);
    } catch (...) {
      call->error = std::current_exception();
    }
    return !call->error;
  };
  char *problem;
  {
    nb::gil_scoped_release released;
    problem = remat_rt_replace_file(path.c_str(), run, &call);
  }
  if (call.error)
    std::rethrow_exception(call.error);
  nb::object result =
      problem ? nb::object(nb::str(problem)) : nb::object(nb::none());
  std::free(problem);
  return result;
}

/// Calls `function` of the runtime, which returns what is wrong or null;
/// returns that as a string, or None.
template <typename Function> static nb::object callRuntime(Function function) {
  char *problem;
  {
    nb::gil_scoped_release released;
    problem = function();
  }
  nb::object result =
      problem ? nb::object(nb::str(problem)) : nb::object(nb::none());
  std::free(problem);
  return result;
}

/// Starts the ranks of this process: (what is wrong or None, rank, how many
/// there are).
static nb::tuple startRanks() {
  int64_t rank = 0, size = 1;
  nb::object problem =
      callRuntime([&] { return remat_rt_start_ranks(&rank, &size); });
  return nb::make_tuple(problem, rank, size);
}

/// (what is wrong or None, the texts of all ranks)
static nb::tuple exchangeTexts(const nb::bytes &text) {
  std::vector<std::string> texts;
  auto receive = [](const char *data, size_t bytes, void *into) {
    static_cast<std::vector<std::string> *>(into)->emplace_back(data, bytes);
  };
  std::string mine(text.c_str(), text.size());
  nb::object problem = callRuntime([&] {
    return remat_rt_exchange_texts(mine.data(), mine.size(), receive, &texts);
  });
  nb::list result;
  for (const std::string &other : texts)
    result.append(nb::bytes(other.data(), other.size()));
  return nb::make_tuple(problem, result);
}

/// Fails the step that other ranks run: what is wrong, or None.
static nb::object failStep(const std::string &message) {
  return callRuntime([&] { return remat_rt_fail_step(message.c_str()); });
}

/// Gives an argument that the step owns the first rank's values: what is wrong,
/// or None.
static nb::object broadcast(Step &step, intptr_t index) {
  RematArgument argument = getOwned(step, index);
  if (argument.isOnDevice)
    return nb::str("values on a device are not sent to other ranks yet");
  rematStepSetInitialized(step.get(), index);
  return callRuntime(
      [&] { return remat_rt_broadcast(argument.data, argument.numBytes); });
}

/// (bits, elements of a block, signed, elements)
using Blocks = std::tuple<int64_t, int64_t, bool, int64_t>;

static RematBlocks toBlocks(const Blocks &blocks) {
  auto [bits, size, isSigned, count] = blocks;
  return {bits, size, isSigned, count};
}

template <typename T, int rank>
using Array = nb::ndarray<T, nb::ndim<rank>, nb::c_contig, nb::device::cpu>;

static void dequantize(const Blocks &blocks,
                       const Array<const uint8_t, 2> &codes,
                       const Array<const float, 1> &scales,
                       const Array<float, 1> &numbers) {
  RematBlocks of = toBlocks(blocks);
  nb::gil_scoped_release released;
  remat_rt_dequantize(&of, codes.data(), scales.data(), numbers.data());
}

static void quantize(const Blocks &blocks, const Array<const float, 1> &numbers,
                     const Array<uint8_t, 2> &codes,
                     const Array<float, 1> &scales) {
  RematBlocks of = toBlocks(blocks);
  nb::gil_scoped_release released;
  remat_rt_quantize(&of, numbers.data(), codes.data(), scales.data());
}

/// Sets the learning rates, as many as the options named.
static void setLearningRates(Step &step, const std::vector<double> &rates) {
  double *into = rematStepGetLearningRates(step.get());
  for (double rate : rates)
    *into++ = rate;
}

NB_MODULE(_native, m) {
  m.doc() = "The compiler and compiled steps; use remat.mlir instead.";
  // Objects in JAX's caches live up to the end of the process: no leaks here.
  nb::set_leak_warnings(false);

  nb::class_<Options>(m, "Options")
      .def(
          "__init__",
          [](Options *self, nb::bytes text, std::string fileName,
             std::string passes, std::string function, std::string optimizer,
             std::string trainAttributes, std::string trainOptions,
             int optimizationLevel, nb::bytes evalText,
             std::string evalFileName, std::string evalPasses,
             std::string evalFunction, std::string cacheFolder,
             std::string cachePolicy, std::string learningRates) {
            new (self) Options{std::string(text.c_str(), text.size()),
                               std::move(fileName),
                               std::move(passes),
                               std::move(function),
                               std::move(optimizer),
                               std::move(trainAttributes),
                               std::move(trainOptions),
                               std::string(evalText.c_str(), evalText.size()),
                               std::move(evalFileName),
                               std::move(evalPasses),
                               std::move(evalFunction),
                               std::move(cacheFolder),
                               std::move(cachePolicy),
                               std::move(learningRates),
                               optimizationLevel};
          },
          nb::arg("text"), nb::arg("file_name"), nb::arg("passes"),
          nb::arg("function"), nb::arg("optimizer"),
          nb::arg("train_attributes"), nb::arg("train_options"),
          nb::arg("optimization_level"),
          nb::arg("eval_text") = nb::bytes("", 0),
          nb::arg("eval_file_name") = "", nb::arg("eval_passes") = "",
          nb::arg("eval_function") = "", nb::arg("cache_folder") = "",
          nb::arg("cache_policy") = "", nb::arg("learning_rates") = "")
      .def_ro("file_name", &Options::fileName)
      .def_prop_ro("pipeline", [](const Options &self) {
        return "builtin.module(" + self.passes +
               (self.passes.empty() ? "" : ",") + "remat-train{" +
               self.trainOptions + "})";
      });

  nb::class_<Step>(m, "Step")
      .def("arguments", describeArguments)
      .def("results", getResults<rematStepGetNumResults, rematStepGetResult>)
      .def("evaluation_results", getResults<rematStepGetNumEvaluationResults,
                                            rematStepGetEvaluationResult>)
      .def("view", view)
      .def("export", exportArray)
      .def("broadcast", broadcast)
      .def_prop_ro("num_ranks",
                   [](Step &self) { return rematStepGetNumRanks(self.get()); })
      .def_prop_ro("device", getDevice)
      .def_prop_ro("device_bytes",
                   [](Step &self) {
                     RematDevice device = rematStepGetDevice(self.get());
                     return std::make_pair(device.runtimeBytes,
                                           device.heldBytes);
                   })
      .def("read", access<rematStepRead, void *>)
      .def("write", access<rematStepWrite, const void *>)
      .def("run", run<rematStepRun>)
      .def("set_learning_rates", setLearningRates)
      .def("evaluate", run<rematStepEvaluate>)
      .def_prop_rw(
          "number", [](Step &self) { return rematStepGetNumber(self.get()); },
          [](Step &self, int64_t number) {
            rematStepSetNumber(self.get(), number);
          })
      .def_prop_ro("is_cached",
                   [](Step &self) { return rematStepIsCached(self.get()); })
      .def_prop_ro("seed",
                   [](Step &self) { return rematStepGetSeed(self.get()); })
      .def_prop_ro(
          "function",
          [](Step &self) { return toString(rematStepGetFunction(self.get())); })
      .def_prop_ro("evaluation",
                   [](Step &self) {
                     return toString(rematStepGetEvaluation(self.get()));
                   })
      .def_prop_ro("optimizer",
                   [](Step &self) {
                     return toString(rematStepGetOptimizer(self.get()));
                   })
      .def_prop_ro("memory_report",
                   [](Step &self) {
                     return toString(rematStepGetMemoryReport(self.get()));
                   })
      .def_prop_ro("is_damaged",
                   [](Step &self) { return rematStepIsDamaged(self.get()); })
      .def("set_repaired", [](Step &self) { rematStepSetRepaired(self.get()); })
      .def("is_initialized",
           [](Step &self, intptr_t index) {
             getArgument(self, index);
             return rematStepIsInitialized(self.get(), index);
           })
      .def("set_initialized", [](Step &self, intptr_t index) {
        getArgument(self, index);
        rematStepSetInitialized(self.get(), index);
      });

  m.def("compile", compile, nb::arg("options"), nb::arg("poll"),
        nb::arg("states_of") = nb::none());
  m.def("export", exportFiles);
  m.def("explain", getText<rematExplain>);
  m.def("report_memory", getText<rematReportMemory>);
  m.def("parse_bytes", parseBytes);
  m.def("list_operations", getText<rematListOperations>);
  m.def("describe_array", describeArray);
  m.def("find_cuda_toolkit", findCUDAToolkit);
  m.def("replace_file", replaceFile);
  m.def("start_ranks", startRanks);
  m.def("exchange_texts", exchangeTexts);
  m.def("fail_step", failStep);
  m.def("dequantize", dequantize, nb::arg(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().noconvert());
  m.def("quantize", quantize, nb::arg(), nb::arg().noconvert(),
        nb::arg().noconvert(), nb::arg().noconvert());
  m.def("describe_dialects", [] {
    std::string text;
    rematDescribeDialects(append, &text);
    return text;
  });
  m.attr("version") = toString(rematGetVersion());
}
