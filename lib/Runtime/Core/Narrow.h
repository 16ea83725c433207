//===- Narrow.h - Numbers of two bytes --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Factors of products may be bf16 or f16: they become f32, which is exact,
// where they are packed. Results may be rounded to them, to nearest, ties to
// even.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CORE_NARROW_H
#define REMAT_RUNTIME_CORE_NARROW_H

#include "BFloat16.h"

#include <type_traits>

namespace remat {

struct BF16 {
  uint16_t bits;

  BF16() = default;
  explicit BF16(float value) : bits(toBF16(value)) {}
  operator float() const { return fromBF16(bits); }
};

struct F16 {
  uint16_t bits;

  F16() = default;
  explicit F16(float value) {
    uint32_t from;
    std::memcpy(&from, &value, sizeof(from));
    uint32_t sign = from >> 16 & 0x8000;
    from &= 0x7fffffff;
    uint32_t to;
    if (from > 0x7f800000) {
      to = 0x7e00 | (from >> 13 & 0x3ff);
    } else if (from >= 0x477ff000) {
      // From 65520 on: infinity.
      to = 0x7c00;
    } else if (from < 0x38800000) {
      // Subnormal: a unit in the last place of a half is one of these.
      float shifted;
      std::memcpy(&shifted, &from, sizeof(shifted));
      shifted += 0.5f;
      std::memcpy(&to, &shifted, sizeof(to));
      to -= 0x3f000000;
    } else {
      to = (from + 0xfff + (from >> 13 & 1) - 0x38000000) >> 13;
    }
    bits = uint16_t(sign | to);
  }
  operator float() const {
    uint32_t to = uint32_t(bits & 0x7fff) << 13;
    float value;
    std::memcpy(&value, &to, sizeof(value));
    // The exponents have other biases.
    value *= 0x1p112f;
    std::memcpy(&to, &value, sizeof(to));
    if ((bits & 0x7c00) == 0x7c00)
      to = 0x7f800000 | uint32_t(bits & 0x3ff) << 13;
    to |= uint32_t(bits & 0x8000) << 16;
    std::memcpy(&value, &to, sizeof(value));
    return value;
  }
};

/// The type in which products of numbers of type `T` are added up.
template <typename T>
using SumOf = std::conditional_t<std::is_same_v<T, double>, double, float>;

} // namespace remat

#endif // REMAT_RUNTIME_CORE_NARROW_H
