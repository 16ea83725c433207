//===- Report.cpp - What was run and moved --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"

#include "DeviceMemory.h"
#include "Options.h"

#include <cstdio>
#include <map>

using namespace remat::cuda::emulator;

static std::map<std::string, KernelCounts> &getKernels() {
  static auto *kernels = new std::map<std::string, KernelCounts>;
  return *kernels; // Never destroyed: the report is written at exit.
}

KernelCounts &remat::cuda::emulator::getCounts(const std::string &name) {
  return getKernels()[name];
}

DriverCounts &remat::cuda::emulator::getDriverCounts() {
  static DriverCounts counts;
  return counts;
}

std::string remat::cuda::emulator::getReport() {
  std::string kernels;
  uint64_t launches = 0;
  for (const auto &[name, counts] : getKernels()) {
    launches += counts.launches;
    kernels += std::string(kernels.empty() ? "" : ", ") + "\"" + name +
               "\": {\"launches\": " + std::to_string(counts.launches) +
               ", \"read\": " + std::to_string(counts.bytesRead) +
               ", \"written\": " + std::to_string(counts.bytesWritten) + "}";
  }
  const DriverCounts &driver = getDriverCounts();
  const DeviceMemory &memory = DeviceMemory::get();
  return "{\"launches\": " + std::to_string(launches) +
         ", \"graph_launches\": " + std::to_string(driver.graphLaunches) +
         ", \"to_device\": " + std::to_string(driver.bytesToDevice) +
         ", \"to_host\": " + std::to_string(driver.bytesToHost) +
         ", \"on_device\": " + std::to_string(driver.bytesOnDevice) +
         ", \"current_bytes\": " + std::to_string(memory.getCurrentBytes()) +
         ", \"peak_bytes\": " + std::to_string(memory.getPeakBytes()) +
         ", \"kernels\": {" + kernels + "}}\n";
}

void remat::cuda::emulator::writeReport() {
  static bool isWritten = false;
  const std::string &path = Options::get().report;
  if (isWritten || path.empty())
    return;
  isWritten = true;
  bool isStderr = path == "-" || path == "1";
  std::FILE *file = isStderr ? stderr : std::fopen(path.c_str(), "w");
  if (!file) {
    std::fprintf(stderr, "remat: error: emulator: cannot write '%s'\n",
                 path.c_str());
    return;
  }
  std::fputs(getReport().c_str(), file);
  if (!isStderr)
    std::fclose(file);
}
