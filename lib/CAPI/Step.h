//===- Step.h - A compiled step and its memory -----------------*- C++ -*-===//

#ifndef REMAT_LIB_CAPI_STEP_H
#define REMAT_LIB_CAPI_STEP_H

#include "JIT.h"
#include "remat-c/Step.h"
#include "remat/Runtime/Training.h"

#include <atomic>
#include <cstdlib>
#include <sys/types.h>
#include <vector>

namespace mlir::remat {

struct FreeMemory {
  void operator()(void *block) const { std::free(block); }
};

/// Zeroed memory, whose pages come into being when they are written.
struct StepBuffer {
  static constexpr size_t kAlignment = 64;

  /// Null if there is no memory for it.
  static std::shared_ptr<StepBuffer> allocate(size_t bytes);

  std::unique_ptr<void, FreeMemory> block;
  void *start = nullptr;
  size_t bytes = 0;
  bool isInitialized = true;
};

/// What steps have in common that share their states.
struct Progression {
  int64_t number = 0;
  bool isDamaged = false;
  /// The process in which a thread runs a step; 0 if none does. A process that
  /// is forked meanwhile has memory that nobody goes on to write.
  std::atomic<pid_t> runsIn{0};
};

/// Keeps other threads from using the memory of steps while it exists.
class RunningStep {
public:
  explicit RunningStep(Progression &progression);
  ~RunningStep();
  RunningStep(const RunningStep &) = delete;

  /// Why it does not; empty if it does.
  StringRef getObstacle() const { return obstacle; }

private:
  Progression &progression;
  StringRef obstacle;
};

/// What a `RematStep` points to.
struct Step {
  CompiledCode code;
  ::remat::TrainDescription description;
  /// What it was parsed from.
  std::string descriptionText;
  /// One for each argument of the description, null for data; all arenas are
  /// one.
  std::vector<std::shared_ptr<StepBuffer>> buffers;
  std::shared_ptr<Progression> progression = std::make_shared<Progression>();
  /// Numbers of the arguments that are data of the step and of the evaluation.
  std::vector<size_t> data, evaluationData;
  /// The names of the step's function and of the evaluation's, if there is one.
  std::string function, evaluation;
  std::string memoryReport;
  /// Whether assertions can fail after the first write of a parameter or state.
  bool assertsAfterWrites = false;
  bool isCached = false;
  /// Whether the caller sets learning rates.
  bool hasLearningRates = false;
  /// Whether another step's states are in the place of values that come from
  /// the program.
  bool hasOtherValues = false;

  /// Takes the description of the arguments, allocates their memory, and sets
  /// it to what they start from, or takes the states of `other` if that is not
  /// null. Writes values that come from the program by `getValue`, in order,
  /// which returns false where there is none; to null if they are not wanted.
  llvm::Error
  allocate(std::string text, Step *other,
           function_ref<bool(size_t argument, void *into, size_t numBytes)>
               getValue);
  /// Makes `arena` that of all arguments of this role.
  void setArena(std::shared_ptr<StepBuffer> arena);

  /// What arguments and results are called.
  StringRef getName(size_t argument) const;
};

} // namespace mlir::remat

#endif // REMAT_LIB_CAPI_STEP_H
