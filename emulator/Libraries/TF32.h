//===- TF32.h - Factors that tensor cores round ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_LIBRARIES_TF32_H
#define REMAT_EMULATOR_LIBRARIES_TF32_H

#include <cmath>
#include <cstdint>
#include <cstring>

namespace remat::cuda {

/// Rounds to the nearest number with 10 bits after the leading one, ties to
/// even.
inline float roundToTF32(float value) {
  if (!std::isfinite(value))
    return value;
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~uint32_t(0x1fff);
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

} // namespace remat::cuda

#endif // REMAT_EMULATOR_LIBRARIES_TF32_H
