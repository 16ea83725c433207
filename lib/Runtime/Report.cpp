//===- Report.cpp - Progress and figures ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run tells its user, and the JSON that scripts read.
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Device.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace remat;

//===----------------------------------------------------------------------===//
// Time
//===----------------------------------------------------------------------===//

namespace {
struct Timer {
  bool running = false;
  std::vector<double> seconds;
};
} // namespace

static Timer &timer() {
  static Timer instance;
  return instance;
}

void remat::beginStep() {
  timer().running = true;
  device().beginStep();
}

void remat::endStep() {
  device().endStep();
  if (!timer().running)
    fail("a step ends that has not begun");
  timer().running = false;
}

const std::vector<double> &remat::stepTimes() {
  device().appendStepTimes(timer().seconds);
  return timer().seconds;
}

static double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  double upper = values[middle];
  if (values.size() % 2 == 1)
    return upper;
  return (*std::max_element(values.begin(), values.begin() + middle) + upper) /
         2;
}

double remat::medianStepTime() {
  const std::vector<double> &all = stepTimes();
  if (all.size() <= 1)
    return median(all);
  return median({all.begin() + 1, all.end()});
}

//===----------------------------------------------------------------------===//
// Progress and report
//===----------------------------------------------------------------------===//

void remat::printProgress(int64_t step, int64_t steps, double loss) {
  std::printf("step %lld/%lld  loss %.4f  %.1f ms/step\n",
              static_cast<long long>(step), static_cast<long long>(steps), loss,
              1e3 * medianStepTime());
  std::fflush(stdout);
}

static MemoryClass memoryClassAt(int index) {
  return static_cast<MemoryClass>(index);
}

/// Descriptions are made of what drivers print: no quotes, no control
/// characters.
static void writeDeviceFigures(FILE *file) {
  DeviceReport report = device().report();
  if (report.description.empty())
    return;
  std::fprintf(file, ",\n \"device\": {\"description\": \"%s\"",
               report.description.c_str());
  for (const auto &[name, value] : report.figures)
    std::fprintf(file, ", \"%s\": %.12g", name.c_str(), value);
  std::fprintf(file, "}");
}

static void writeJSON(const char *path) {
  FILE *file = std::fopen(path, "w");
  if (!file)
    fail(std::string(path) + ": cannot be written: " + std::strerror(errno));
  std::fprintf(file,
               "{\"steps\": %zu, \"median_step_s\": %.9g,\n \"step_s\": [",
               stepTimes().size(), medianStepTime());
  for (size_t i = 0; i < stepTimes().size(); ++i)
    std::fprintf(file, "%s%.9g", i ? ", " : "", stepTimes()[i]);
  std::fprintf(file, "],\n \"peak_bytes\": %lld, \"peak_bytes_by_class\": {",
               static_cast<long long>(peakMemory()));
  for (int i = 0; i < numMemoryClasses; ++i)
    std::fprintf(file, "%s\"%s\": %lld", i ? ", " : "",
                 nameOf(memoryClassAt(i)),
                 static_cast<long long>(peakMemory(memoryClassAt(i))));
  std::fprintf(file, "}");
  writeDeviceFigures(file);
  std::fprintf(file, "}\n");
  bool failed = std::ferror(file);
  if (std::fclose(file) != 0 || failed)
    fail(std::string(path) + ": cannot be written: " + std::strerror(errno));
}

void remat::printReport() {
  device().synchronize();
  std::printf("%zu steps, median %.2f ms\n", stepTimes().size(),
              1e3 * medianStepTime());
  std::printf("peak memory: %lld bytes\n",
              static_cast<long long>(peakMemory()));
  for (int i = 0; i < numMemoryClasses; ++i)
    if (int64_t bytes = peakMemory(memoryClassAt(i)))
      std::printf("  %-16s %12lld\n", nameOf(memoryClassAt(i)),
                  static_cast<long long>(bytes));
  DeviceReport report = device().report();
  if (!report.description.empty())
    std::printf("%s\n", report.description.c_str());
  for (const auto &[name, value] : report.figures)
    std::printf("  %-24s %12.12g\n", name.c_str(), value);
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    fail(std::string("standard output: cannot be written: ") +
         std::strerror(errno));
  if (const char *path = std::getenv("REMAT_REPORT"))
    writeJSON(path);
}
