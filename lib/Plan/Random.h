//===- Random.h - Numbers for randomized searches ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The standard library's distributions differ between platforms; plans do not.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLAN_RANDOM_H
#define REMAT_LIB_PLAN_RANDOM_H

#include <cstddef>
#include <cstdint>

namespace remat::plan {

/// xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift
/// generators, scrambled", 2016).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 2 + 1) {}

  size_t below(size_t bound) { return (next() >> 33) % bound; }
  /// In [0, 1).
  double fraction() { return double(next() >> 11) * 0x1p-53; }

private:
  uint64_t next() {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545F4914F6CDD1DULL;
  }

  uint64_t state;
};

} // namespace remat::plan

#endif // REMAT_LIB_PLAN_RANDOM_H
