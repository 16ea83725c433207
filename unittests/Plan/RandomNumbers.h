//===- RandomNumbers.h - Numbers that are the same on each machine --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_UNITTESTS_PLAN_RANDOMNUMBERS_H
#define REMAT_UNITTESTS_PLAN_RANDOMNUMBERS_H

#include <cstdint>

namespace remat::plan {

/// The distributions of the standard library differ from one to the next.
class RandomNumbers {
public:
  explicit RandomNumbers(uint64_t seed) : state(seed) {}

  /// Returns a number from 0 to `bound` - 1.
  int64_t below(int64_t bound) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return int64_t((state >> 33) % uint64_t(bound));
  }

private:
  uint64_t state;
};

} // namespace remat::plan

#endif // REMAT_UNITTESTS_PLAN_RANDOMNUMBERS_H
