//===- EmulatorLaunch.cpp - Launches kernels of tests ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests of the emulator call from their `main`: a kernel of two pointers,
// input and output, of as many elements each.
//===----------------------------------------------------------------------===//

#include "remat/CUDA/Driver.h"
#include "remat/CUDA/EmulatedImage.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

using namespace remat::cuda;

#define REMAT_DECLARE(name, parameters) extern "C" CUresult name parameters;
REMAT_CUDA_DRIVER_FUNCTIONS(REMAT_DECLARE)
#undef REMAT_DECLARE

static void check(CUresult result, const char *call) {
  if (result == CUDA_SUCCESS)
    return;
  const char *name = nullptr;
  cuGetErrorName(result, &name);
  std::fprintf(stderr, "%s: %s\n", call, name ? name : "?");
  std::exit(1);
}
#define CHECK(call) check(call, #call)

/// Multiples of 1/8 between -6 and 6.5: sums of them are exact.
template <typename T> static std::vector<T> makeInput(int64_t n) {
  std::vector<T> values(n);
  for (int64_t i = 0; i < n; ++i)
    values[i] = static_cast<T>(i * 37 % 101) / 8 - 6;
  return values;
}

struct Dimensions {
  unsigned x, y = 1, z = 1;
};

static uint64_t hash(const void *data, size_t bytes) {
  uint64_t value = 0xCBF29CE484222325;
  for (size_t i = 0; i < bytes; ++i)
    value =
        (value ^ static_cast<const unsigned char *>(data)[i]) * 0x100000001B3;
  return value;
}

template <typename T>
static void launch(const void *image, int64_t number, Dimensions grid,
                   Dimensions block, int64_t dynamicBytes, int64_t n) {
  CHECK(cuInit(0));
  CUmodule module;
  CHECK(cuModuleLoadData(&module, image));
  const char *name =
      static_cast<const EmulatedImage *>(image)->kernels[number].name;
  CUfunction function;
  CHECK(cuModuleGetFunction(&function, module, name));
  std::vector<T> x = makeInput<T>(n), y(n);
  size_t bytes = n * sizeof(T);
  CUdeviceptr from, to;
  CHECK(cuMemAlloc_v2(&from, bytes));
  CHECK(cuMemAlloc_v2(&to, bytes));
  CHECK(cuMemcpyHtoDAsync_v2(from, x.data(), bytes, nullptr));
  void *arguments[] = {&from, &to};
  CHECK(cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y,
                       block.z, dynamicBytes, nullptr, arguments, nullptr));
  CHECK(cuMemcpyDtoHAsync_v2(y.data(), to, bytes, nullptr));
  CHECK(cuStreamSynchronize(nullptr));
  double sum = 0;
  for (T value : y)
    sum += value;
  std::printf("%s: y = %.17g, %.17g, ... %.17g, sum %.17g, bits %016llx\n",
              name, double(y[0]), double(y[1]), double(y[n - 1]), sum,
              static_cast<unsigned long long>(hash(y.data(), bytes)));
  CHECK(cuMemFree_v2(from));
  CHECK(cuMemFree_v2(to));
  CHECK(cuModuleUnload(module));
}

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT void emulator_launch_f32(const void *image, int64_t number, int64_t grid,
                                int64_t block, int64_t dynamicBytes,
                                int64_t n) {
  launch<float>(image, number, {unsigned(grid)}, {unsigned(block)},
                dynamicBytes, n);
}

EXPORT void emulator_launch_f64(const void *image, int64_t number, int64_t grid,
                                int64_t block, int64_t dynamicBytes,
                                int64_t n) {
  launch<double>(image, number, {unsigned(grid)}, {unsigned(block)},
                 dynamicBytes, n);
}

/// The kernel that the environment variable KERNEL names.
EXPORT void emulator_launch_selected(const void *image, int64_t grid,
                                     int64_t block, int64_t dynamicBytes,
                                     int64_t n) {
  const auto *kernels = static_cast<const EmulatedImage *>(image);
  const char *name = std::getenv("KERNEL");
  for (int64_t i = 0; i < kernels->numKernels; ++i)
    if (name && std::strcmp(kernels->kernels[i].name, name) == 0)
      return launch<float>(image, i, {unsigned(grid)}, {unsigned(block)},
                           dynamicBytes, n);
  std::fprintf(stderr, "no kernel '%s'\n", name ? name : "");
  std::exit(1);
}

/// 2 x 3 x 2 blocks of 8 x 4 x 2 threads, an element for each.
EXPORT void emulator_launch_cube(const void *image, int64_t number) {
  launch<float>(image, number, {2, 3, 2}, {8, 4, 2}, 0, 12 * 64);
}

/// Reads memory of the device as if it were the host's.
EXPORT void emulator_touch_device_memory() {
  CHECK(cuInit(0));
  CUdeviceptr first, second;
  CHECK(cuMemAlloc_v2(&first, 64));
  CHECK(cuMemAlloc_v2(&second, 1000));
  std::printf("%d\n", reinterpret_cast<const volatile char *>(second)[12]);
}
