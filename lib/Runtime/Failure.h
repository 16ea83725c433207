//===- Failure.h - Where errors go -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_RUNTIME_FAILURE_H
#define REMAT_LIB_RUNTIME_FAILURE_H

#include <atomic>
#include <cstdint>
#include <string>

namespace remat {

/// If set, `fail` calls it on this thread instead of ending the process; it may
/// leave by a jump, or return.
extern thread_local void (*failureHandler)(const std::string &message);

/// True if an assertion of the program was the last failure on this thread.
extern thread_local bool assertionFailed;

/// This rank, which messages begin with where there are several; else -1.
/// Warnings are of all ranks, and the first one prints them.
extern std::atomic<int64_t> rankInMessages;

/// If set, `fail` calls it in the end, since others wait for this rank.
extern std::atomic<void (*)()> endOtherRanks;

/// Notes a failure of the step that a host program runs and returns true where
/// the step cannot be left: on other threads than its own, and inside of
/// parallel loops.
bool noteFailure(const std::string &message);

} // namespace remat

#endif // REMAT_LIB_RUNTIME_FAILURE_H
