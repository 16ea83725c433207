//===- HostedRanks.cpp - Ranks that are host programs ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A training program ends all ranks where one fails. A host program goes on, as
// far as it may: all ranks leave a step together.
//===----------------------------------------------------------------------===//

#include "Collectives.h"
#include "Failure.h"
#include "MemRef.h"
#include "remat/Runtime/Ranks.h"
#include "remat/Runtime/Step.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace remat;

static char *copy(const std::string &message) {
  return strdup(message.c_str());
}

/// Does `work`; returns the failure that it leaves by, which the caller frees,
/// or null.
template <typename Work> static char *guard(Work work) {
  auto run = [](int64_t pointer, int64_t) {
    (*reinterpret_cast<Work *>(pointer))();
  };
  bool hasWritten;
  return remat_rt_run_step(run, reinterpret_cast<void *const *>(&work),
                           /*step=*/0, &hasWritten);
}

/// Loads what connects several ranks, from beside this library.
static std::string loadEngine() {
  Dl_info info;
  std::string path = "libremat_mpi.so";
  if (dladdr(reinterpret_cast<void *>(&remat_rt_start_ranks), &info)) {
    std::string own = info.dli_fname;
    path = own.substr(0, own.rfind('/') + 1) + path;
  }
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
    return "";
  const char *text = dlerror();
  return std::string("the library that connects ranks cannot be loaded: ") +
         (text ? text : "unknown error");
}

REMAT_EXPORT char *remat_rt_start_ranks(int64_t *rank, int64_t *size) {
  std::string problem;
  if (countStarted() > 1 && !hasEngine())
    problem = loadEngine();
  if (problem.empty())
    problem = startRanks();
  if (!problem.empty())
    return copy(problem);
  collectives().setHosted();
  *rank = ranks().rank();
  *size = ranks().size();
  return nullptr;
}

REMAT_EXPORT char *remat_rt_run_step_on_ranks(RematStepFunction function,
                                              void *const *buffers,
                                              int64_t step, bool *hasWritten,
                                              bool isOneAxis) {
  *hasWritten = false;
  char *problem =
      guard([&] { collectives().beginStep(/*comparesFirst=*/!isOneAxis); });
  if (!problem) {
    problem = remat_rt_run_step(function, buffers, step, hasWritten);
    // Before others begin another step, they know that this one has not failed.
    if (!problem)
      problem = guard([] { collectives().finishStep(); });
    else if (!isOneAxis && !collectives().doOthersKnow())
      fail(problem);
  }
  if (problem)
    collectives().reportFailure(problem);
  return problem;
}

REMAT_EXPORT char *remat_rt_fail_step(const char *message) {
  collectives().beginStep(/*comparesFirst=*/false);
  return collectives().reportFailure(message)
             ? nullptr
             : copy("other ranks are not told of this failure");
}

REMAT_EXPORT char *remat_rt_exchange_texts(const char *text, size_t bytes,
                                           void (*receive)(const char *text,
                                                           size_t bytes,
                                                           void *userData),
                                           void *userData) {
  std::vector<std::string> texts;
  char *problem = guard(
      [&] { texts = collectives().gatherTexts(std::string(text, bytes)); });
  for (const std::string &other : texts)
    receive(other.data(), other.size(), userData);
  return problem;
}

REMAT_EXPORT char *remat_rt_broadcast(void *data, size_t bytes) {
  return guard(
      [&] { collectives().broadcast(static_cast<char *>(data), bytes); });
}
