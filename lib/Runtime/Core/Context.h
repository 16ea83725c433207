//===- Context.h - What a thread of a step knows ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled code and everything that it calls gets this as an argument, so that
// the core of the runtime needs no variables: neither of the process nor of a
// thread. The core is plain C++ without exceptions and allocations; it becomes
// a part of objects that are shipped (docs/ship.md).
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CORE_CONTEXT_H
#define REMAT_RUNTIME_CORE_CONTEXT_H

#include <cstdint>

namespace remat {

struct Context;

/// Iterations `begin` to `end` of a loop, on the thread that `context` is of.
using SharedBody = void (*)(Context *context, void *captures, int64_t begin,
                            int64_t end);

/// The threads that run a step.
struct Team {
  int64_t threads = 1;
  /// Of packed panels that stay in a thread's cache beside what else is read.
  int64_t panelBytes = 0;
  /// Runs `count` iterations in at most `parts` parts, on all threads.
  void (*share)(Context &caller, int64_t count, int64_t parts, SharedBody body,
                void *captures) = nullptr;
};

/// One of them. Aligned, since its memory may follow.
struct alignas(64) Context {
  Team *team = nullptr;
  /// Memory for operands and sums of products, see Panels.h; null if there are
  /// none.
  void *panels = nullptr, *left = nullptr, *sums = nullptr;
  /// True within a shared loop, in which loops are not shared once more.
  bool isInSharedLoop = false;
};

/// Calls `body(context, i)` for each i of [0, count), in `parts` at most, with
/// the context of the thread that it runs on.
template <typename Body>
void parallelFor(Context &context, int64_t count, int64_t parts,
                 const Body &body) {
  auto run = [](Context *thread, void *captures, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      (*static_cast<const Body *>(captures))(*thread, i);
  };
  context.team->share(context, count, parts, run, const_cast<Body *>(&body));
}

/// Parts of a loop of many iterations: few enough to be long, many enough for
/// threads that are slower than others.
inline int64_t wantedParts(const Team &team) {
  constexpr int64_t kPartsOfThread = 8;
  return kPartsOfThread * team.threads;
}

} // namespace remat

/// A function that compiled code calls.
#define REMAT_CORE extern "C"

#endif // REMAT_RUNTIME_CORE_CONTEXT_H
