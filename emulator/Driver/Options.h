//===- Options.h - The emulator's environment variables ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_DRIVER_OPTIONS_H
#define REMAT_EMULATOR_DRIVER_OPTIONS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace remat::cuda::emulator {

/// Order of the blocks of a launch and of the threads of a block.
enum class Order { forward, backward, random };

/// Read by each cuInit.
struct Options {
  /// REMAT_EMULATOR_MEMORY: the device's memory in bytes. Only the first cuInit
  /// reads it.
  size_t memory = size_t(8) << 30;
  /// REMAT_EMULATOR_SEED: of all random orders.
  uint64_t seed = 0;
  /// REMAT_EMULATOR_ORDER: forward, backward or random.
  Order order = Order::forward;
  /// REMAT_EMULATOR_THREADS: of the host, for kernels that are not
  /// instrumented; 0 for all cores.
  unsigned threads = 0;
  /// REMAT_EMULATOR_FATAL: whether the process ends (status 1) at the first
  /// error in a kernel.
  bool isFatal = true;
  /// REMAT_EMULATOR_FAIL=n or n:code: the n-th call fails, counted from 1.
  uint64_t failingCall = 0;
  std::optional<int> failure;
  /// REMAT_EMULATOR_REPORT: a file, or "-" or "1" for standard error.
  std::string report;

  static Options &get();
  void read();
};

} // namespace remat::cuda::emulator

#endif // REMAT_EMULATOR_DRIVER_OPTIONS_H
