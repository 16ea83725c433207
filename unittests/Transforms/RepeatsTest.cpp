//===- RepeatsTest.cpp - Tandem repeats -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Annotate/Repeats.h"

#include "gtest/gtest.h"

#include <random>
#include <set>
#include <tuple>

using namespace mlir::remat;

namespace {
using Found = std::set<std::tuple<size_t, size_t, size_t>>;

Found find(llvm::ArrayRef<unsigned> sequence) {
  Found found;
  for (const Repeat &repeat : findRepeats(sequence))
    found.insert({repeat.begin, repeat.end, repeat.period});
  return found;
}

/// By definition, in cubic time.
Found findSlowly(llvm::ArrayRef<unsigned> sequence) {
  Found found;
  size_t n = sequence.size();
  for (size_t period = 1; 2 * period <= n; ++period)
    for (size_t begin = 0; begin + period < n; ++begin) {
      if (begin > 0 && sequence[begin - 1] == sequence[begin - 1 + period])
        continue; // It begins earlier.
      size_t end = begin + period;
      while (end < n && sequence[end - period] == sequence[end])
        ++end;
      bool hasShorter = false;
      for (size_t shorter = 1; shorter < period; ++shorter)
        hasShorter |=
            period % shorter == 0 && found.count({begin, end, shorter}) != 0;
      if (end - begin >= 2 * period && !hasShorter)
        found.insert({begin, end, period});
    }
  return found;
}

TEST(Repeats, FindsWhatIsThere) {
  // xababaz: "ab" two and a half times, and nothing else.
  EXPECT_EQ(find({9, 1, 2, 1, 2, 1, 8}), (Found{{1, 6, 2}}));
  EXPECT_EQ(find({1, 2, 3}), Found());
  EXPECT_EQ(find({}), Found());
  EXPECT_EQ(find({7, 7, 7, 7}), (Found{{0, 4, 1}}));
}

TEST(Repeats, AreThoseByDefinition) {
  std::mt19937 random(1);
  for (unsigned trial = 0; trial < 300; ++trial) {
    llvm::SmallVector<unsigned> sequence;
    unsigned letters = 1 + random() % 3, length = random() % 40;
    for (unsigned i = 0; i < length; ++i)
      sequence.push_back(random() % letters);
    EXPECT_EQ(find(sequence), findSlowly(sequence));
  }
}
} // namespace
