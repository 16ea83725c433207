//===- Rounding.cpp - What code generation calls to round -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM keeps values of bf16 in f32 registers on processors without instructions
// for them, and calls a function of compiler-rt to have them back. libgcc has
// that from version 13 on.
//===----------------------------------------------------------------------===//

#include "BFloat16.h"
#include "MemRef.h"

#include <cstring>

#if defined(__x86_64__) && defined(__clang__)
REMAT_EXPORT __bf16 __truncsfbf2(float value) {
  uint16_t bits = remat::toBF16(value);
  __bf16 rounded;
  std::memcpy(&rounded, &bits, sizeof(rounded));
  return rounded;
}
#endif
