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
  /// Runs `count` iterations in at most `parts` parts, on all threads.
  void (*share)(Context &caller, int64_t count, int64_t parts, SharedBody body,
                void *captures) = nullptr;
};

/// One of them. Aligned, since it is followed by the thread's workspace.
struct alignas(64) Context {
  Team *team = nullptr;
  /// Memory for packed operands of products.
  void *workspace = nullptr;
  /// True within a shared loop, in which loops are not shared once more.
  bool isInSharedLoop = false;
};

} // namespace remat

/// A function that compiled code calls.
#define REMAT_CORE extern "C"

#endif // REMAT_RUNTIME_CORE_CONTEXT_H
