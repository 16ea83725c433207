//===- Chip.cpp - Open the device -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Chip.h"

#include "remat/Runtime/Runtime.h"

using namespace remat;
using namespace remat::cuda;

static std::string toVersion(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

Chip Chip::open(const Driver &driver) {
  constexpr int oldestVersion = 12000;
  Chip chip;
  CUresult started = driver.cuInit(0);
  if (started != CUDA_SUCCESS && started != CUDA_ERROR_NO_DEVICE)
    driver.fail(started, "cuInit", "");
  int version = 0, count = 0;
  driver.check(driver.cuDriverGetVersion(&version), "cuDriverGetVersion");
  chip.driverVersion = toVersion(version);
  if (version < oldestVersion)
    fail("the NVIDIA driver is for CUDA " + chip.driverVersion + ", but " +
         toVersion(oldestVersion) + " or newer is needed");
  if (started == CUDA_SUCCESS)
    driver.check(driver.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (count == 0)
    fail("no NVIDIA GPU: the driver finds no device (CUDA_VISIBLE_DEVICES "
         "may hide them)");

  driver.check(driver.cuDeviceGet(&chip.device, 0), "cuDeviceGet");
  char name[256] = {};
  driver.check(driver.cuDeviceGetName(name, sizeof(name) - 1, chip.device),
               "cuDeviceGetName");
  chip.name = name;
  auto getAttribute = [&](CUdevice_attribute attribute) {
    int value = 0;
    driver.check(driver.cuDeviceGetAttribute(&value, attribute, chip.device),
                 "cuDeviceGetAttribute");
    return value;
  };
  chip.architecture =
      "sm_" +
      std::to_string(
          10 * getAttribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
          getAttribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  chip.sharedBytes =
      getAttribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  driver.check(driver.cuDevicePrimaryCtxRetain(&chip.context, chip.device),
               "cuDevicePrimaryCtxRetain");
  driver.check(driver.cuCtxSetCurrent(chip.context), "cuCtxSetCurrent");
  return chip;
}
