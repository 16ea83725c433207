//===- Report.h - What was run and moved ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_DRIVER_REPORT_H
#define REMAT_EMULATOR_DRIVER_REPORT_H

#include <cstdint>
#include <string>

namespace remat::cuda::emulator {

struct KernelCounts {
  uint64_t launches = 0;
  /// Bytes of device memory that instrumented threads accessed.
  uint64_t bytesRead = 0;
  uint64_t bytesWritten = 0;
};

/// The counts of the kernel called `name`.
KernelCounts &getCounts(const std::string &name);

/// Counts of the driver's calls that move data or replay graphs.
struct DriverCounts {
  uint64_t graphLaunches = 0;
  uint64_t bytesToDevice = 0;
  uint64_t bytesToHost = 0;
  uint64_t bytesOnDevice = 0;
};
DriverCounts &getDriverCounts();

std::string getReport();

/// Once for each process, where REMAT_EMULATOR_REPORT says.
void writeReport();

} // namespace remat::cuda::emulator

#endif // REMAT_EMULATOR_DRIVER_REPORT_H
