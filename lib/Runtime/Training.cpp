//===- Training.cpp - The loop around a compiled step ---------------------===//
//
// Data, order, checkpoints and progress of a training program.
//
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Training.h"

#include "MemRef.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace remat;

namespace {
/// The arrays of a data file that the arguments of one function take their
/// batches from.
class Dataset {
public:
  /// Reads the arrays for those of `arguments` that have the role.
  void read(const std::string &path, const char *source,
            const std::vector<TrainArgument> &arguments, Role role);
  bool empty() const { return arrays.empty(); }
  /// 1 if no array has examples.
  int64_t numBatches() const { return batch ? examples / batch : 1; }
  int64_t numExamples() const { return examples; }
  int64_t batchSize() const { return batch; }
  /// Copies the rows, and what belongs to the `index`-th run of the function,
  /// into the arguments' buffers.
  void fill(const int64_t *rows, int64_t index,
            const std::vector<char *> &buffers) const;

private:
  struct Array {
    size_t argument;
    /// Of an example, or of the value of a step.
    size_t rowBytes;
    char *elements;
    /// How many steps have a value of their own; 0 if rows are examples.
    int64_t steps;
  };
  std::vector<Array> arrays;
  int64_t examples = 0, batch = 0;
};

class Training {
public:
  explicit Training(const std::string &text);

  char *buffer(int64_t index) const { return buffers.at(index); }
  bool needs(int64_t index) const { return isUnset.at(index); }
  int64_t next();
  int64_t done(double loss);
  void evalNext();
  void evalResult(int64_t index, double value);
  void end();

private:
  bool isSaved(const TrainArgument &argument) const;
  void allocateBuffers();
  void setInitialValues();
  bool resume();
  void openLog();
  void save();
  void log(double loss);
  void printEvaluation();

  TrainDescription description;
  std::vector<char *> buffers;
  /// Those that the program fills.
  std::vector<bool> isUnset;
  Dataset data, evalData;
  std::vector<int64_t> order;
  int64_t step = 0, epoch = -1, savedStep = -1;
  int64_t evalBatch = 0, evalBatches = 0;
  std::vector<double> evalSums;
  FILE *logFile = nullptr;
};
} // namespace

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// Reading checks type and shape; the elements stay in memory.
static char *load(ArrayFile &file, const std::string &name,
                  const ArrayType &type) {
  auto *elements =
      static_cast<char *>(allocate(MemoryClass::data, type.numBytes()));
  file.read(name, type, elements);
  return elements;
}

void Dataset::read(const std::string &path, const char *source,
                   const std::vector<TrainArgument> &arguments, Role role) {
  std::string keys;
  for (const TrainArgument &argument : arguments)
    if (argument.role == role)
      keys += (keys.empty() ? "'" : "', '") + argument.name;
  if (keys.empty())
    return;
  if (path.empty())
    fail("the model takes data (arrays " + keys +
         "'), but no file is named; "
         "set " +
         source + " or the attribute of remat.train_step");
  ArrayFile file(path);
  std::string first;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TrainArgument &argument = arguments[i];
    if (argument.role != role)
      continue;
    const ArrayType &found = file.get(argument.name);
    ArrayType expected = argument.type;
    if (found.shape.empty())
      fail(path + ": array '" + argument.name +
           "' is a scalar; its first dimension has to count examples, or steps "
           "if the model takes a scalar");
    if (expected.shape.empty() ||
        found.shape.size() == expected.shape.size() + 1) {
      if (found.shape[0] == 0)
        fail(path + ": array '" + argument.name + "' has a value for no step");
      size_t bytes = expected.numBytes();
      expected.shape.insert(expected.shape.begin(), found.shape[0]);
      arrays.push_back({i, bytes, load(file, argument.name, expected),
                        static_cast<int64_t>(found.shape[0])});
      continue;
    }
    if (expected.shape[0] == 0)
      fail("the model takes no examples of '" + argument.name + "'");
    if (batch == 0) {
      first = argument.name;
      examples = found.shape[0];
      batch = expected.shape[0];
    }
    if (expected.shape[0] != batch)
      fail("the model takes " + std::to_string(batch) + " examples of '" +
           first + "', but " + std::to_string(expected.shape[0]) + " of '" +
           argument.name + "'");
    if (found.shape[0] != examples)
      fail(path + ": array '" + argument.name + "' has " +
           std::to_string(found.shape[0]) + " examples, but '" + first +
           "' has " + std::to_string(examples));
    expected.shape[0] = examples;
    arrays.push_back({i, argument.type.numBytes() / batch,
                      load(file, argument.name, expected), 0});
  }
  if (examples < batch)
    fail(path + ": array '" + first + "' has " + std::to_string(examples) +
         " examples, fewer than one batch of " + std::to_string(batch));
}

void Dataset::fill(const int64_t *rows, int64_t index,
                   const std::vector<char *> &buffers) const {
  for (const Array &array : arrays) {
    if (array.steps) {
      std::memcpy(buffers[array.argument],
                  array.elements + index % array.steps * array.rowBytes,
                  array.rowBytes);
      continue;
    }
    for (int64_t i = 0; i < batch; ++i)
      std::memcpy(buffers[array.argument] + i * array.rowBytes,
                  array.elements + rows[i] * array.rowBytes, array.rowBytes);
  }
}

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

static MemoryClass classOf(Role role) {
  switch (role) {
  case Role::parameter:
    return MemoryClass::parameter;
  case Role::optimizer:
    return MemoryClass::optimizerState;
  case Role::state:
  case Role::random:
  case Role::evalRandom:
    return MemoryClass::state;
  case Role::data:
  case Role::evalData:
    return MemoryClass::data;
  case Role::arena:
    return MemoryClass::arena;
  case Role::result:
    return MemoryClass::other;
  }
  return MemoryClass::other;
}

bool Training::isSaved(const TrainArgument &argument) const {
  return argument.role == Role::parameter || argument.role == Role::optimizer ||
         argument.role == Role::state || argument.role == Role::random;
}

void Training::allocateBuffers() {
  // The step and the evaluation never run at the same time: one arena is
  // enough.
  size_t arenaBytes = 0;
  for (const TrainArgument &argument : description.arguments)
    if (argument.role == Role::arena)
      arenaBytes = std::max(arenaBytes, argument.type.numBytes());
  void *arena = arenaBytes ? allocate(MemoryClass::arena, arenaBytes) : nullptr;
  for (const TrainArgument &argument : description.arguments)
    buffers.push_back(static_cast<char *>(
        argument.role == Role::arena
            ? arena
            : allocate(classOf(argument.role), argument.type.numBytes())));
}

void Training::setInitialValues() {
  isUnset.resize(buffers.size());
  std::unique_ptr<ArrayFile> file;
  if (!description.init.empty())
    file = std::make_unique<ArrayFile>(description.init);
  for (size_t i = 0; i < buffers.size(); ++i) {
    const TrainArgument &argument = description.arguments[i];
    bool isRandom =
        argument.role == Role::random || argument.role == Role::evalRandom;
    if (isRandom) {
      int64_t state[2] = {description.seed + argument.seed, 0};
      std::memcpy(buffers[i], state, sizeof(state));
    }
    if (argument.role != Role::parameter && argument.role != Role::state)
      continue;
    if (file && file->find(argument.name)) {
      file->read(argument.name, argument.type, buffers[i]);
      continue;
    }
    if (argument.initial && argument.initial->kind == Initial::program) {
      isUnset[i] = true;
      continue;
    }
    if (!argument.initial)
      fail("'" + argument.name + "' has no initial value: " +
           (file ? description.init + " has no array of this name, and "
                 : "no file is named (REMAT_INIT), and ") +
           "its argument has no 'opt.init'");
    initialize(*argument.initial, argument.type, argument.name,
               description.seed, buffers[i]);
  }
}

/// Loads the checkpoint, if there is one.
bool Training::resume() {
  const std::string &path = description.checkpoint;
  if (path.empty() || access(path.c_str(), F_OK) != 0)
    return false;
  ArrayFile file(path);
  ArrayType scalar{DType::i64, {}};
  int64_t seed;
  file.read("remat.seed", scalar, &seed);
  if (seed != description.seed)
    fail(path + ": the checkpoint's run has seed " + std::to_string(seed) +
         ", this one has " + std::to_string(description.seed) +
         "; use the same seed, or another file");
  file.read("remat.step", scalar, &step);
  for (size_t i = 0; i < buffers.size(); ++i)
    if (isSaved(description.arguments[i]))
      file.read(description.arguments[i].name, description.arguments[i].type,
                buffers[i]);
  isUnset.assign(buffers.size(), false);
  savedStep = step;
  std::printf("resumed from %s at step %lld\n", path.c_str(),
              static_cast<long long>(step));
  return true;
}

void Training::openLog() {
  if (description.log.empty())
    return;
  // A resumed run goes on where the checkpoint was made: later lines go.
  std::string kept;
  if (FILE *old =
          step > 0 ? std::fopen(description.log.c_str(), "r") : nullptr) {
    char line[256];
    while (std::fgets(line, sizeof(line), old))
      if (std::strtoll(line, nullptr, 10) <= step)
        kept += line;
    std::fclose(old);
  }
  logFile = std::fopen(description.log.c_str(), "w");
  if (!logFile)
    fail(description.log + ": cannot be written: " + std::strerror(errno));
  std::fputs(kept.c_str(), logFile);
}

Training::Training(const std::string &text)
    : description(TrainDescription::parse(text)) {
  description.readEnvironment();
  data.read(description.data, "REMAT_DATA", description.arguments, Role::data);
  evalData.read(description.evalData, "REMAT_EVAL_DATA", description.arguments,
                Role::evalData);
  allocateBuffers();
  setInitialValues();
  resume();
  openLog();
  evalSums.resize(description.metrics.size());
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

int64_t Training::next() {
  if (step >= description.steps)
    return -1;
  if (!data.empty()) {
    int64_t current = step / data.numBatches();
    if (current != epoch) {
      epoch = current;
      // Without shuffling, every epoch has the order of epoch "none".
      order = description.shuffle
                  ? permutation(data.numExamples(), description.seed, epoch)
                  : std::vector<int64_t>();
      for (int64_t i = order.size(); i < data.numExamples(); ++i)
        order.push_back(i);
    }
    data.fill(order.data() + step % data.numBatches() * data.batchSize(), step,
              buffers);
  }
  beginStep();
  return step;
}

void Training::log(double loss) {
  int64_t every = description.logEvery;
  bool isLast = step == description.steps;
  if (every == 0 || (step % every != 0 && !isLast))
    return;
  printProgress(step, description.steps, loss);
  if (!logFile)
    return;
  std::fprintf(logFile, "%lld\t%.17g\n", static_cast<long long>(step), loss);
  std::fflush(logFile);
}

void Training::save() {
  if (description.checkpoint.empty() || savedStep == step)
    return;
  ArrayWriter writer(description.checkpoint);
  ArrayType scalar{DType::i64, {}};
  writer.add("remat.step", scalar, &step);
  writer.add("remat.seed", scalar, &description.seed);
  for (size_t i = 0; i < buffers.size(); ++i)
    if (isSaved(description.arguments[i]))
      writer.add(description.arguments[i].name, description.arguments[i].type,
                 buffers[i]);
  writer.commit();
  savedStep = step;
}

int64_t Training::done(double loss) {
  endStep();
  ++step;
  log(loss);
  bool isLast = step == description.steps;
  if (isLast || step % description.checkpointEvery == 0)
    save();
  bool isDue = isLast ||
               (description.evalEvery > 0 && step % description.evalEvery == 0);
  if (description.metrics.empty() || !isDue)
    return 0;
  evalBatch = 0;
  evalBatches = evalData.empty() ? 1 : evalData.numBatches();
  std::fill(evalSums.begin(), evalSums.end(), 0);
  return evalBatches;
}

void Training::evalNext() {
  if (!evalData.empty()) {
    std::vector<int64_t> rows(evalData.batchSize());
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = evalBatch * evalData.batchSize() + i;
    evalData.fill(rows.data(), evalBatch, buffers);
  }
  ++evalBatch;
}

void Training::printEvaluation() {
  std::printf("eval %lld/%lld", static_cast<long long>(step),
              static_cast<long long>(description.steps));
  for (size_t i = 0; i < evalSums.size(); ++i)
    std::printf("  %s %.6g", description.metrics[i].c_str(),
                evalSums[i] / double(evalBatches));
  std::printf("\n");
  std::fflush(stdout);
}

void Training::evalResult(int64_t index, double value) {
  evalSums.at(index) += value;
  bool isLastResult = index + 1 == int64_t(evalSums.size());
  if (isLastResult && evalBatch == evalBatches)
    printEvaluation();
}

void Training::end() {
  if (logFile)
    std::fclose(logFile);
  logFile = nullptr;
  printReport();
}

//===----------------------------------------------------------------------===//
// From MLIR
//===----------------------------------------------------------------------===//

static std::unique_ptr<Training> &instance() {
  static std::unique_ptr<Training> training;
  return training;
}

static Training &training() {
  if (!instance())
    fail("remat_rt_train_begin was not called");
  return *instance();
}

REMAT_EXPORT void
_mlir_ciface_remat_rt_train_begin(const MemRef<char, 1> *description) {
  instance() = std::make_unique<Training>(
      std::string(description->data(), description->sizes[0]));
}

REMAT_EXPORT void _mlir_ciface_remat_rt_train_buffer(MemRef<char, 1> *result,
                                                     int64_t index) {
  char *data = training().buffer(index);
  *result = {data, data, 0, {INT64_MAX}, {1}};
}

REMAT_EXPORT bool _mlir_ciface_remat_rt_train_needs(int64_t index) {
  return training().needs(index);
}

REMAT_EXPORT int64_t _mlir_ciface_remat_rt_train_next() {
  return training().next();
}

REMAT_EXPORT int64_t _mlir_ciface_remat_rt_train_done(double loss) {
  return training().done(loss);
}

REMAT_EXPORT void _mlir_ciface_remat_rt_train_eval_next() {
  training().evalNext();
}

REMAT_EXPORT void _mlir_ciface_remat_rt_train_eval_result(int64_t index,
                                                          double value) {
  training().evalResult(index, value);
}

REMAT_EXPORT void _mlir_ciface_remat_rt_train_end() { training().end(); }
