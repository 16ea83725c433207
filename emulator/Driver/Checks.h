//===- Checks.h - What instrumented kernels are checked for -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_DRIVER_CHECKS_H
#define REMAT_EMULATOR_DRIVER_CHECKS_H

#include "Block.h"

namespace remat::cuda::emulator {

/// Before a launch: accesses of earlier ones are ordered before all of it.
void startChecks(Launch &launch);
/// Before a block: workgroup memory has no contents.
void startBlockChecks();

/// Reports a failed assertion in a kernel, and ends the process.
[[noreturn]] void reportAssertion(const EmulatedThread &thread,
                                  const char *message, const char *file,
                                  uint32_t line);

} // namespace remat::cuda::emulator

#endif // REMAT_EMULATOR_DRIVER_CHECKS_H
