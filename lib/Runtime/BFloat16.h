//===- BFloat16.h - Numbers of bf16 as their bits ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// By integers only: a conversion by the compiler may be a call of the function
// that Rounding.cpp defines with this.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_BFLOAT16_H
#define REMAT_RUNTIME_BFLOAT16_H

#include <cstdint>
#include <cstring>

namespace remat {

/// Rounds to nearest, ties to even. A NaN stays one.
inline uint16_t toBF16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000)
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float fromBF16(uint16_t upper) {
  uint32_t bits = uint32_t(upper) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

} // namespace remat

#endif // REMAT_RUNTIME_BFLOAT16_H
