//===- Threads.h - Loops that threads share ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pool that never waits for a thread that the system does not run: a thread
// without a part of a loop need not come for its end. On a machine that others
// use, too, loops then take the time that is left, not that of the thread which
// got least of it. OpenMP's and oneTBB's threads were measured and do not
// (benchmarks/README.md).
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_THREADS_H
#define REMAT_LIB_RUNTIME_THREADS_H

#include <cstdint>

namespace remat {

/// Threads that share loops, the calling one included: as many as
/// OMP_NUM_THREADS says, or as the process may run at a time.
int64_t countThreads();

/// Where OMP_NUM_THREADS does not say it: so many, and not one for each
/// processor. Before the first loop.
void setDefaultThreads(int64_t count);

/// Changes that; what is no number of threads leaves it to the environment. No
/// loop may run.
void setThreads(int64_t count);

/// Returns true if this thread runs a part of a loop of several threads.
bool isInSharedLoop();

/// Some iterations of a loop: those from `begin` to `end`.
using LoopBody = void (*)(void *context, int64_t begin, int64_t end);

/// Parts of a loop of many iterations: few enough to be long, many enough for
/// threads that are slower than others.
int64_t wantedParts();

/// Runs `count` iterations in `parts` of equal size, on all threads. A thread
/// begins with parts that are its own, the same ones whenever a loop is as
/// long, and then takes those of others. Inside of a shared loop, and beside
/// one of another caller, the calling thread runs all of them.
void shareLoop(int64_t count, int64_t parts, LoopBody body, void *context);

/// Makes each thread that is started run `starter` before its first part, and
/// the first loop wait until all have. For what is initialized before `main`.
bool atThreadStart(void (*starter)());

/// Calls `body(i)` for each i of [0, count), in `parts` at most.
template <typename Body>
void parallelFor(int64_t count, int64_t parts, const Body &body) {
  auto run = [](void *context, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      (*static_cast<const Body *>(context))(i);
  };
  shareLoop(count, parts, run, const_cast<Body *>(&body));
}
template <typename Body> void parallelFor(int64_t count, const Body &body) {
  parallelFor(count, wantedParts(), body);
}

} // namespace remat

#endif // REMAT_LIB_RUNTIME_THREADS_H
