//===- HostContext.cpp - The context of a thread of this process ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Objects of shipped steps get all of this from their callers (Core/Step.cpp).
//===----------------------------------------------------------------------===//

#include "HostContext.h"

#include "Core/Panels.h"
#include "Threads.h"
#include "remat/Runtime/Runtime.h"

#include <cstdlib>
#include <unistd.h>

using namespace remat;

/// A quarter of the second-level cache, which rows and results share with them:
/// 0 where the system does not tell its size.
static int64_t getPanelBytes() {
  constexpr int64_t kMost = 512 << 10;
#ifdef _SC_LEVEL2_CACHE_SIZE
  return std::min<int64_t>(kMost, sysconf(_SC_LEVEL2_CACHE_SIZE) / 4);
#else
  return 0;
#endif
}

static void share(Context &, int64_t count, int64_t parts, SharedBody body,
                  void *captures) {
  struct Loop {
    SharedBody body;
    void *captures;
  } loop{body, captures};
  auto run = [](void *context, int64_t begin, int64_t end) {
    const Loop &loop = *static_cast<Loop *>(context);
    loop.body(&hostContext(), loop.captures, begin, end);
  };
  shareLoop(count, parts, run, &loop);
}

namespace {
/// A team that only this thread looks at: the number of threads may change
/// while others run loops.
struct ThreadState {
  Team team;
  Context context;

  ThreadState() {
    static const int64_t panelBytes = getPanelBytes();
    team.panelBytes = panelBytes;
    team.share = share;
    context.team = &team;
    // Those of f64 are enough for all types.
    int64_t panels = panelBufferSize<double>(team),
            left = leftBufferSize<double>(), sums = sumsBufferSize<double>();
    size_t bytes = (panels + left + sums) * sizeof(double);
    memory = static_cast<double *>(std::aligned_alloc(64, bytes));
    if (!memory)
      fail("a product found no memory for " + std::to_string(bytes) + " bytes");
    context.panels = memory;
    context.left = memory + panels;
    context.sums = memory + panels + left;
  }
  ~ThreadState() { std::free(memory); }
  ThreadState(const ThreadState &) = delete;

private:
  double *memory;
};
} // namespace

Context &remat::hostContext() {
  thread_local ThreadState state;
  state.team.threads = countThreads();
  return state.context;
}

// Otherwise threads would allocate in whichever step they get their first task.
[[maybe_unused]] static const bool isAllocated =
    atThreadStart([] { hostContext(); });
