//===- Step.cpp - One step for a host program -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled code has no tables to unwind it by, so a failure leaves the step by
// a jump.
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Step.h"

#include "Failure.h"
#include "MemRef.h"
#include "Threads.h"

#include <atomic>
#include <csetjmp>
#include <cstring>
#include <mutex>

using namespace remat;

static thread_local std::jmp_buf *currentStep = nullptr;
static thread_local char *currentMessage = nullptr;
static thread_local bool currentHasWritten = false;

/// Steps that run on any thread.
static std::atomic<int> runningSteps{0};

namespace {
struct Noted {
  std::mutex mutex;
  std::string message;
};
} // namespace

static Noted &noted() {
  static Noted instance;
  return instance;
}

static void leaveStep(const std::string &message) {
  if (!currentStep || isInSharedLoop())
    return;
  currentMessage = strdup(message.c_str());
  std::longjmp(*currentStep, 1);
}

bool remat::noteFailure(const std::string &message) {
  if (runningSteps == 0 || (currentStep && !isInSharedLoop()))
    return false;
  std::lock_guard<std::mutex> lock(noted().mutex);
  if (noted().message.empty())
    noted().message = message;
  return true;
}

/// Returns the message noted since the last step ended.
static char *takeNoted() {
  std::lock_guard<std::mutex> lock(noted().mutex);
  if (noted().message.empty())
    return nullptr;
  char *message = strdup(noted().message.c_str());
  noted().message.clear();
  return message;
}

REMAT_EXPORT void _mlir_ciface_remat_rt_step_buffer(MemRef<char, 1> *result,
                                                    int64_t buffers,
                                                    int64_t index) {
  char *data = reinterpret_cast<char **>(buffers)[index];
  *result = {data, data, 0, {INT64_MAX}, {1}};
}

REMAT_EXPORT void _mlir_ciface_remat_rt_begin_writes() {
  currentHasWritten = true;
}

REMAT_EXPORT char *remat_rt_run_step(RematStepFunction function,
                                     void *const *buffers, int64_t step,
                                     bool *hasWritten) {
  std::jmp_buf environment;
  currentStep = &environment;
  failureHandler = leaveStep;
  ++runningSteps;
  currentMessage = nullptr;
  currentHasWritten = false;
  if (setjmp(environment) == 0)
    function(reinterpret_cast<int64_t>(buffers), step);
  --runningSteps;
  failureHandler = nullptr;
  currentStep = nullptr;
  // Where nothing left the step, it has run to its end.
  *hasWritten = currentHasWritten || !currentMessage;
  return currentMessage ? currentMessage : takeNoted();
}
