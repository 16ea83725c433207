//===- StepTimer.cpp - Times of steps, by events --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StepTimer.h"

using namespace remat;
using namespace remat::cuda;

StepTimer::~StepTimer() {
  auto destroy = [&](const Interval &interval) {
    if (interval.start)
      driver.cuEventDestroy_v2(interval.start);
    if (interval.stop)
      driver.cuEventDestroy_v2(interval.stop);
  };
  destroy(current);
  for (const Interval &interval : running)
    destroy(interval);
  for (const Interval &interval : unused)
    destroy(interval);
}

StepTimer::Interval StepTimer::makeInterval() {
  Interval interval;
  if (!unused.empty()) {
    interval = unused.back();
    unused.pop_back();
    return interval;
  }
  driver.check(driver.cuEventCreate(&interval.start, CU_EVENT_DEFAULT),
               "cuEventCreate");
  driver.check(driver.cuEventCreate(&interval.stop, CU_EVENT_DEFAULT),
               "cuEventCreate");
  return interval;
}

void StepTimer::begin() {
  if (!current.start)
    current = makeInterval();
  driver.check(driver.cuEventRecord(current.start, stream), "cuEventRecord");
}

void StepTimer::end() {
  if (!current.start)
    return;
  driver.check(driver.cuEventRecord(current.stop, stream), "cuEventRecord");
  running.push_back(current);
  current = {};
}

void StepTimer::collect(std::vector<double> &seconds) {
  while (!running.empty()) {
    const Interval &interval = running.front();
    CUresult result = driver.cuEventQuery(interval.stop);
    if (result == CUDA_ERROR_NOT_READY)
      return;
    driver.check(result, "cuEventQuery");
    float milliseconds = 0;
    driver.check(
        driver.cuEventElapsedTime(&milliseconds, interval.start, interval.stop),
        "cuEventElapsedTime");
    seconds.push_back(1e-3 * milliseconds);
    unused.push_back(interval);
    running.pop_front();
  }
}
