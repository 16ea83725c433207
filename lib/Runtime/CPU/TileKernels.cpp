//===- TileKernels.cpp - Which kernels this processor can run -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileKernels.h"

using namespace remat;

#if defined(__x86_64__)
bool remat::hasAVX2() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
bool remat::hasAVX512() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
}
#else
bool remat::hasAVX2() { return false; }
bool remat::hasAVX512() { return false; }
#endif

template <typename T> static TileShapes<T> choose() {
  TileShapes<T> shapes;
#if defined(__x86_64__)
  if (hasAVX512())
    addTilesAVX512(shapes);
  else if (hasAVX2())
    addTilesAVX2(shapes);
  else
#endif
    addTilesAnywhere(shapes);
  return shapes;
}

template <typename T> const TileShapes<T> &remat::getTileShapes() {
  static const TileShapes<T> shapes = choose<T>();
  return shapes;
}

template const TileShapes<float> &remat::getTileShapes();
template const TileShapes<double> &remat::getTileShapes();
