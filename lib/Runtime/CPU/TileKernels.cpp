//===- TileKernels.cpp - Which kernels this processor can run -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Core/TileKernels.h"

using namespace remat;

#if defined(__x86_64__)
bool remat::hasAVX2() {
  static const bool result = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  }();
  return result;
}
bool remat::hasAVX512() {
  static const bool result = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
  }();
  return result;
}
#else
bool remat::hasAVX2() { return false; }
bool remat::hasAVX512() { return false; }
#endif
