// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A driver with what DRIVER says is wrong with it. Kernels do nothing; the rest is the emulator's.

#include <stdlib.h>
#include <string.h>

static int is(const char *fault) {
  const char *driver = getenv("DRIVER");
  return driver && strcmp(driver, fault) == 0;
}

int cuDriverGetVersion(int *version) {
  *version = is("old") ? 11080 : is("12.4") ? 12040 : 13000;
  return 0;
}
int cuDeviceGetCount(int *count) {
  *count = !is("no device");
  return 0;
}
int cuModuleLoadData(void **module, const void *image) {
  *module = (void *)8;
  return is("other chip") ? 209 : is("12.4") ? 200 : 0;
}
int cuModuleUnload(void *module) { return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = (void *)16;
  return 0;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
  *value = 0;
  return 0;
}
int cuLaunchKernel(void) { return is("lost") ? 719 : 0; }
