//===- Training.cpp - The loop around a compiled step ---------------------===//
//
// Start, order of the examples, and progress of a training program.
//
//===----------------------------------------------------------------------===//

#include "Checkpoint.h"
#include "Dataset.h"
#include "LossLog.h"
#include "MemRef.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace remat;

namespace {
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
  void allocateBuffers();
  void setInitialValues();
  void resume();
  void log(double loss);
  void printEvaluation();

  TrainDescription description;
  std::vector<char *> buffers;
  /// Those that the program fills.
  std::vector<bool> isUnset;
  Dataset data, evalData;
  std::vector<int64_t> order;
  std::optional<Checkpoint> checkpoint;
  LossLog lossLog;
  bool wasFinite = true;
  int64_t step = 0, epoch = -1;
  int64_t evalBatch = 0, evalBatches = 0;
  std::vector<double> evalSums;
};
} // namespace

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
    if (file && file->contains(argument.name)) {
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

/// Goes on from the checkpoint, if there is one.
void Training::resume() {
  checkpoint.emplace(description, buffers, data.batchSize());
  std::optional<int64_t> saved = checkpoint->load();
  if (saved) {
    step = *saved;
    isUnset.assign(buffers.size(), false);
  }
  if (!description.log.empty())
    lossLog.open(description.log, step);
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
  lossLog.add(step, loss);
}

int64_t Training::done(double loss) {
  endStep();
  ++step;
  log(loss);
  if (wasFinite && !std::isfinite(loss))
    warn("step " + std::to_string(step) + ": the loss is " +
         std::to_string(loss));
  wasFinite = wasFinite && std::isfinite(loss);
  bool isLast = step == description.steps;
  if (isLast || step % description.checkpointEvery == 0)
    checkpoint->save(step, loss);
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
  lossLog.close();
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
