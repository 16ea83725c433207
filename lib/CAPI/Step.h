//===- Step.h - A compiled step and its memory -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CAPI_STEP_H
#define REMAT_LIB_CAPI_STEP_H

#include "JIT.h"
#include "StepMemory.h"
#include "remat-c/Step.h"
#include "remat/Runtime/Training.h"

#include <atomic>
#include <sys/types.h>
#include <vector>

namespace mlir::remat {

/// The progress of all steps that share their states.
struct Progression {
  int64_t number = 0;
  bool isDamaged = false;
  /// The process in which a thread runs a step; 0 if none does. In a process
  /// that is forked meanwhile, no thread finishes the step.
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

/// The target of a step. The values are those of files in the cache.
enum class StepTarget { host, cuda, emulatedCUDA };

/// The object that a `RematStep` points to.
struct Step {
  std::shared_ptr<CompiledCode> code;
  ::remat::TrainDescription description;
  /// The text from which it was parsed.
  std::string descriptionText;
  /// The device that it runs on; null for the host.
  std::shared_ptr<StepDevice> device;
  /// One for each argument of the description, null for data on the host; all
  /// arenas are one.
  std::vector<std::shared_ptr<StepBuffer>> buffers;
  std::shared_ptr<Progression> progression = std::make_shared<Progression>();
  /// Numbers of the arguments that are data of the step and of the evaluation.
  std::vector<size_t> data, evaluationData;
  /// The names of the step's function and of the evaluation's, if there is one.
  std::string function, evaluation;
  std::string memoryReport;
  bool isCached = false;
  /// True if the caller sets learning rates.
  bool hasLearningRates = false;
  /// True if another step's states are in the place of values that come from
  /// the program.
  bool hasOtherValues = false;

  StepTarget getTarget() const {
    return !device                ? StepTarget::host
           : device->isEmulated() ? StepTarget::emulatedCUDA
                                  : StepTarget::cuda;
  }
  /// Opens what it runs on, or takes that of `other`, which has to be of the
  /// same kind, if that is not null. Comes first.
  llvm::Error open(StepTarget target, Step *other);
  /// Takes the description of the arguments, allocates their memory (on
  /// `device` if there is one), and sets it to what they start from, or takes
  /// the states of `other` if that is not null. Writes values that come from
  /// the program by `getValue`, in order, which returns false where there is
  /// none; to null if they are not wanted.
  llvm::Error
  allocate(std::string text, Step *other,
           function_ref<bool(size_t argument, void *into, size_t numBytes)>
               getValue);
  /// Tells the device how much memory will be allocated, for its messages.
  void announce(bool hasStates, StepBuffer *otherArena);
  /// Memory for all arguments of this role: `otherArena` if that is enough.
  llvm::Expected<std::shared_ptr<StepBuffer>>
  findArena(std::shared_ptr<StepBuffer> otherArena);
  /// Takes its code from an object file.
  llvm::Error link(std::unique_ptr<llvm::MemoryBuffer> object);
  /// Makes `arena` that of all arguments of this role.
  void setArena(std::shared_ptr<StepBuffer> arena);

  /// Returns true if the argument's values are the caller's, or a copy of them.
  bool isPassed(size_t argument) const {
    ::remat::Role role = description.arguments[argument].role;
    return role == ::remat::Role::data || role == ::remat::Role::evalData;
  }
  /// Returns true if all ranks share some data, so that they have no other
  /// axis.
  bool hasOneAxis() const;
  /// Returns the name of an argument or result.
  StringRef getName(size_t argument) const;
};

} // namespace mlir::remat

#endif // REMAT_LIB_CAPI_STEP_H
