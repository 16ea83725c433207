//===- Errors.h - What the emulator reports ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_DRIVER_ERRORS_H
#define REMAT_EMULATOR_DRIVER_ERRORS_H

#include <string>

namespace remat::cuda::emulator {

/// Prints `remat: error: emulator: ` and `text` on standard error.
void printError(const std::string &text);

/// The same, and ends the process with status 1: no destructor runs, since
/// kernels may be running on other stacks.
[[noreturn]] void exitWithError(const std::string &text);

/// The same without a text.
[[noreturn]] void exitNow();

/// Ends the process with a message if the host, or a kernel, touches memory
/// that it must not touch. Other faults go to the handler that was there
/// before.
void installFaultHandler();

/// Gives this thread of the host a stack for the handler, so that it also runs
/// when a fiber's stack is full.
void prepareFaultStack();

/// The kernel that this thread of the host runs, for faults in it; null for
/// none.
void setRunningKernel(const char *name);
const char *getRunningKernel();

} // namespace remat::cuda::emulator

#endif // REMAT_EMULATOR_DRIVER_ERRORS_H
