//===- StepTimer.h - Times of steps, by events -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_RUNTIME_CUDA_STEPTIMER_H
#define REMAT_RUNTIME_CUDA_STEPTIMER_H

#include "DriverLibrary.h"

#include <deque>
#include <vector>

namespace remat::cuda {

/// The time between two points of the stream, known once the device has passed
/// them.
class StepTimer {
public:
  StepTimer(const Driver &driver, CUstream stream)
      : driver(driver), stream(stream) {}
  ~StepTimer();
  StepTimer(const StepTimer &) = delete;

  void begin();
  void end();
  /// Appends the seconds of the steps that the device has finished, in order.
  void collect(std::vector<double> &seconds);

private:
  struct Interval {
    CUevent start = nullptr, stop = nullptr;
  };
  Interval makeInterval();

  const Driver &driver;
  CUstream stream;
  Interval current;
  std::deque<Interval> running;
  std::vector<Interval> unused;
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_STEPTIMER_H
