//===- Rounding.cpp - What code generation calls to round -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM keeps values of bf16 in f32 registers on processors without instructions
// for them, and calls a function of compiler-rt to have them back. libgcc has
// that from version 13 on.
//===----------------------------------------------------------------------===//

#include "MemRef.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__clang__)
/// Rounds to nearest, ties to even. A NaN stays one.
REMAT_EXPORT __bf16 __truncsfbf2(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  if ((bits & 0x7fffffff) > 0x7f800000)
    bits |= 0x00400000;
  else
    bits += 0x7fff + ((bits >> 16) & 1);
  auto upper = uint16_t(bits >> 16);
  __bf16 rounded;
  std::memcpy(&rounded, &upper, sizeof(rounded));
  return rounded;
}
#endif
