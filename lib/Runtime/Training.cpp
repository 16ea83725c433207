//===- Training.cpp - The loop around a compiled step ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Start, order of the examples, and progress of a training program.
//===----------------------------------------------------------------------===//

#include "Checkpoint.h"
#include "Collectives.h"
#include "Dataset.h"
#include "LossLog.h"
#include "MemRef.h"
#include "remat/Runtime/Device.h"
#include "remat/Runtime/Hash.h"
#include "remat/Runtime/Step.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <sstream>

using namespace remat;

namespace {
class Training {
public:
  explicit Training(const std::string &text);

  char *buffer(int64_t index) const { return buffers.at(index); }
  bool needs(int64_t index) const { return isUnset.at(index); }
  int64_t next();
  int64_t done(double loss);
  int64_t doneAt(const void *loss, ScalarKind kind);
  void fill(int64_t index, const void *from);
  void evalNext();
  void evalResult(int64_t index, double value);
  void evalResultAt(int64_t index, const void *value, ScalarKind kind);
  void end();

private:
  void allocateBuffers();
  void setInitialValues();
  void resume();
  void compareRanks(const std::string &text);
  void save();
  bool isLogged(int64_t step) const;
  bool isSaved(int64_t step) const;
  bool isEvaluated(int64_t step) const;
  void log(int64_t step, double loss);
  void takeLosses();
  int64_t finishStep();
  void addResult(int64_t index, double value);
  void takeResults();
  void finishResult(int64_t index, bool isFull);
  bool isLastResult(int64_t index) const {
    return index + 1 == int64_t(evalSums.size()) && evalBatch == evalBatches;
  }
  void printEvaluation();

  TrainDescription description;
  /// Prints, logs and saves.
  bool isFirstRank = true;
  std::vector<char *> buffers;
  /// Those that the program fills.
  std::vector<bool> isUnset;
  Dataset data, evalData;
  std::vector<int64_t> order;
  std::optional<Checkpoint> checkpoint;
  LossLog lossLog;
  bool wasFinite = true;
  double lastLoss = 0;
  int64_t step = 0, epoch = -1;
  /// Of the losses and results that the device keeps.
  std::vector<int64_t> keptSteps, keptResults;
  int64_t evalBatch = 0, evalBatches = 0;
  std::vector<double> evalSums;
};
} // namespace

//===----------------------------------------------------------------------===//
// Start
//===----------------------------------------------------------------------===//

static void *allocateBuffer(const TrainArgument &argument) {
  MemoryClass memoryClass = classOf(argument.role);
  size_t bytes = argument.type.numBytes();
  if (argument.isOnHost)
    return device().allocateOnHost(memoryClass, bytes);
  return device().allocate(memoryClass, bytes, "'" + argument.name + "'");
}

void Training::allocateBuffers() {
  // The step and the evaluation never run at the same time: one arena is
  // enough.
  size_t arenaBytes = 0, bytes = 0;
  for (const TrainArgument &argument : description.arguments)
    if (argument.role == Role::arena)
      arenaBytes = std::max(arenaBytes, argument.type.numBytes());
    else if (!argument.isOnHost)
      bytes +=
          argument.type.numBytes() *
          (classOf(argument.role) == MemoryClass::data ? device().dataSlots()
                                                       : 1);
  device().announce(arenaBytes + bytes);
  void *arena = arenaBytes ? device().allocate(MemoryClass::arena, arenaBytes,
                                               "the arena")
                           : nullptr;
  for (const TrainArgument &argument : description.arguments)
    buffers.push_back(static_cast<char *>(
        argument.role == Role::arena ? arena : allocateBuffer(argument)));
}

void Training::setInitialValues() {
  isUnset.resize(buffers.size());
  std::unique_ptr<ArrayFile> file;
  if (!description.init.empty())
    file = std::make_unique<ArrayFile>(description.init);
  auto setTo = [&](size_t i, auto write) {
    HostView view(buffers[i], description.arguments[i].type.numBytes(),
                  HostView::overwrite);
    write(view.data());
    view.commit();
  };
  for (size_t i = 0; i < buffers.size(); ++i) {
    const TrainArgument &argument = description.arguments[i];
    auto writeInitial = [&](char *into) {
      initialize(description, argument, into, remat_parallel_for);
    };
    if (argument.isRandom() ||
        (argument.role == Role::optimizer && argument.initial))
      setTo(i, writeInitial);
    if (argument.role != Role::parameter && argument.role != Role::state)
      continue;
    if (file && file->contains(argument.name)) {
      setTo(i, [&](char *into) {
        file->read(argument.name, argument.type, into);
      });
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
    setTo(i, writeInitial);
  }
}

void Training::fill(int64_t index, const void *from) {
  device().upload(buffers.at(index), from,
                  description.arguments[index].type.numBytes());
}

/// Goes on from the checkpoint, if there is one.
void Training::resume() {
  checkpoint.emplace(description, buffers, data.batchSize(), isFirstRank);
  std::optional<int64_t> saved = checkpoint->load();
  if (saved) {
    step = *saved;
    isUnset.assign(buffers.size(), false);
  }
  if (isFirstRank && !description.log.empty())
    lossLog.open(description.log, step);
}

/// Ranks that differ would wait for each other, or train different models.
void Training::compareRanks(const std::string &text) {
  if (description.ranks == 1)
    return;
  auto every = [](int64_t steps) {
    return "every " + std::to_string(steps) + " steps";
  };
  std::ostringstream mine;
  mine << "program " << hash(text) << "\n"
       << description.steps << " steps\n"
       << "seed " << description.seed << "\n"
       << (description.shuffle ? "shuffled" : "ordered") << " data\n"
       << (checkpoint->isWanted() ? every(description.checkpointEvery) : "no")
       << " checkpoint\n"
       << every(description.evalEvery) << " an evaluation\n"
       << every(description.logEvery) << " a line\n"
       << data.numExamples() << " and " << evalData.numExamples()
       << " examples\n"
       << "step " << step << " to begin with\n";
  std::istringstream first(collectives().gatherTexts(mine.str())[0]),
      own(mine.str());
  for (std::string firstLine, line;
       std::getline(first, firstLine) && std::getline(own, line);)
    if (line != firstLine)
      fail("this rank has " + line + ", but rank 0 has " + firstLine +
           "; all ranks need the same program, environment and files");
}

Training::Training(const std::string &text)
    : description(TrainDescription::parse(text)) {
  expectRanks(description.ranks);
  isFirstRank = ranks().rank() == 0;
  description.readEnvironment();
  data.read(description.data, "REMAT_DATA", description.arguments, Role::data);
  evalData.read(description.evalData, "REMAT_EVAL_DATA", description.arguments,
                Role::evalData);
  allocateBuffers();
  setInitialValues();
  resume();
  compareRanks(text);
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

bool Training::isLogged(int64_t step) const {
  int64_t every = description.logEvery;
  return every != 0 && (step % every == 0 || step == description.steps);
}

bool Training::isSaved(int64_t step) const {
  return step == description.steps || step % description.checkpointEvery == 0;
}

bool Training::isEvaluated(int64_t step) const {
  bool isDue = step == description.steps ||
               (description.evalEvery > 0 && step % description.evalEvery == 0);
  return isDue && !description.metrics.empty();
}

void Training::log(int64_t step, double loss) {
  if (isFirstRank && isLogged(step)) {
    printProgress(step, description.steps, loss);
    lossLog.add(step, loss);
  }
  if (wasFinite && !std::isfinite(loss))
    warn("step " + std::to_string(step) + ": the loss is " +
         std::to_string(loss));
  wasFinite = wasFinite && std::isfinite(loss);
  lastLoss = loss;
}

/// No rank goes on while that may fail.
void Training::save() {
  if (isFirstRank)
    checkpoint->save(step, lastLoss);
  if (description.ranks > 1 && checkpoint->isWanted())
    collectives().barrier();
}

/// Saves after a step whose loss is known; returns the batches to evaluate.
int64_t Training::finishStep() {
  if (isSaved(step))
    save();
  if (!isEvaluated(step))
    return 0;
  evalBatch = 0;
  evalBatches = evalData.empty() ? 1 : evalData.numBatches();
  std::fill(evalSums.begin(), evalSums.end(), 0);
  return evalBatches;
}

int64_t Training::done(double loss) {
  endStep();
  takeLosses();
  ++step;
  log(step, loss);
  return finishStep();
}

void Training::takeLosses() {
  std::vector<double> losses = device().takeScalars();
  for (size_t i = 0; i < losses.size(); ++i)
    log(keptSteps[i], losses[i]);
  keptSteps.clear();
}

/// The host waits for the device only where it needs the loss.
int64_t Training::doneAt(const void *loss, ScalarKind kind) {
  endStep();
  ++step;
  keptSteps.push_back(step);
  bool isFull = device().keepScalar(loss, kind);
  bool isNeeded = isLogged(step) || isEvaluated(step) ||
                  (isSaved(step) && checkpoint->isWanted()) ||
                  step == description.steps;
  if (!isFull && !isNeeded)
    return 0;
  takeLosses();
  return finishStep();
}

void Training::evalNext() {
  device().beginEvaluation();
  if (!evalData.empty()) {
    std::vector<int64_t> rows(evalData.batchSize());
    for (size_t i = 0; i < rows.size(); ++i)
      rows[i] = evalBatch * evalData.batchSize() + i;
    evalData.fill(rows.data(), evalBatch, buffers);
  }
  ++evalBatch;
}

void Training::printEvaluation() {
  if (!isFirstRank)
    return;
  std::printf("eval %lld/%lld", static_cast<long long>(step),
              static_cast<long long>(description.steps));
  for (size_t i = 0; i < evalSums.size(); ++i)
    std::printf("  %s %.6g", description.metrics[i].c_str(),
                evalSums[i] / double(evalBatches));
  std::printf("\n");
  std::fflush(stdout);
}

void Training::addResult(int64_t index, double value) {
  evalSums.at(index) += value;
}

void Training::takeResults() {
  std::vector<double> values = device().takeScalars();
  for (size_t i = 0; i < values.size(); ++i)
    addResult(keptResults[i], values[i]);
  keptResults.clear();
}

/// Some results may be the host's and others the device's.
void Training::finishResult(int64_t index, bool isFull) {
  if (isFull || isLastResult(index))
    takeResults();
  if (isLastResult(index))
    printEvaluation();
}

void Training::evalResult(int64_t index, double value) {
  addResult(index, value);
  finishResult(index, /*isFull=*/false);
}

void Training::evalResultAt(int64_t index, const void *value, ScalarKind kind) {
  keptResults.push_back(index);
  bool isFull = device().keepScalar(value, kind);
  finishResult(index, isFull);
}

void Training::end() {
  takeLosses();
  lossLog.close();
  if (isFirstRank)
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

static ScalarKind toScalarKind(int64_t kind) {
  if (kind < 0 || kind >= numScalarKinds)
    fail("unknown kind of scalar " + std::to_string(kind));
  return static_cast<ScalarKind>(kind);
}

REMAT_EXPORT int64_t _mlir_ciface_remat_rt_train_done_at(int64_t pointer,
                                                         int64_t kind) {
  return training().doneAt(reinterpret_cast<void *>(pointer),
                           toScalarKind(kind));
}

REMAT_EXPORT void _mlir_ciface_remat_rt_train_fill(int64_t index,
                                                   int64_t from) {
  training().fill(index, reinterpret_cast<const void *>(from));
}

REMAT_EXPORT void _mlir_ciface_remat_rt_train_eval_result_at(int64_t index,
                                                             int64_t pointer,
                                                             int64_t kind) {
  training().evalResultAt(index, reinterpret_cast<void *>(pointer),
                          toScalarKind(kind));
}

REMAT_EXPORT void _mlir_ciface_remat_rt_train_eval_next() {
  training().evalNext();
}

REMAT_EXPORT void _mlir_ciface_remat_rt_train_eval_result(int64_t index,
                                                          double value) {
  training().evalResult(index, value);
}

REMAT_EXPORT void _mlir_ciface_remat_rt_train_end() { training().end(); }
