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

/// Zeroed memory. Its pages come into being when they are written.
class AlignedMemory {
public:
  static constexpr size_t kAlignment = 64;

  /// Null if there is none.
  static AlignedMemory allocate(size_t bytes);
  void *data() const { return start; }

private:
  std::unique_ptr<void, FreeMemory> block;
  void *start = nullptr;
};

/// What a `RematStep` points to.
struct Step {
  CompiledCode code;
  ::remat::TrainDescription description;
  /// What it was parsed from.
  std::string descriptionText;
  /// One for each argument of the description, null for data.
  std::vector<void *> buffers;
  std::vector<AlignedMemory> memory;
  /// Numbers of the arguments that are data of the step and of the evaluation.
  std::vector<size_t> data, evaluationData;
  std::vector<bool> isInitialized;
  /// The names of the step's function and of the evaluation's, if there is one.
  std::string function, evaluation;
  std::string memoryReport;
  int64_t number = 0;
  /// Whether assertions can fail after the first write of a parameter or state.
  bool assertsAfterWrites = false;
  bool isDamaged = false;
  bool isCached = false;
  /// Whether the caller sets learning rates.
  bool hasLearningRates = false;
  /// The process in which a thread runs the step; 0 if none does. A process
  /// that is forked meanwhile has memory that nobody goes on to write.
  std::atomic<pid_t> runsIn{0};

  /// Takes the description of the arguments, allocates their memory, and sets
  /// it to what they start from. Writes values that come from the program by
  /// `getValue`, which returns false where there is none.
  llvm::Error
  allocate(std::string text,
           function_ref<bool(size_t argument, void *into, size_t numBytes)>
               getValue);

  /// What arguments and results are called.
  StringRef getName(size_t argument) const;
};

} // namespace mlir::remat

#endif // REMAT_LIB_CAPI_STEP_H
