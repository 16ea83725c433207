//===- Repeats.cpp - Tandem repeats of a sequence -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Annotate/Repeats.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <cstdint>

using namespace mlir::remat;

namespace {
/// Hashes of all prefixes modulo the prime 2^61 - 1.
class PrefixHashes {
public:
  explicit PrefixHashes(llvm::ArrayRef<unsigned> sequence)
      : hashes(sequence.size() + 1), powers(sequence.size() + 1) {
    powers[0] = 1;
    for (size_t i = 0; i < sequence.size(); ++i) {
      hashes[i + 1] = reduce(multiply(hashes[i], kBase) + sequence[i] + 1);
      powers[i + 1] = multiply(powers[i], kBase);
    }
  }

  bool areEqual(size_t first, size_t second, size_t length) const {
    return get(first, length) == get(second, length);
  }

private:
  static constexpr uint64_t kPrime = (uint64_t(1) << 61) - 1;
  static constexpr uint64_t kBase = 1315423911;

  static uint64_t reduce(uint64_t value) {
    return value >= kPrime ? value - kPrime : value;
  }
  static uint64_t multiply(uint64_t a, uint64_t b) {
    unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return reduce(static_cast<uint64_t>(product & kPrime) +
                  static_cast<uint64_t>(product >> 61));
  }
  uint64_t get(size_t begin, size_t length) const {
    return reduce(hashes[begin + length] + kPrime -
                  multiply(hashes[begin], powers[length]));
  }

  std::vector<uint64_t> hashes, powers;
};
} // namespace

/// The largest n up to `limit` for which `holds`, which is monotonous.
static size_t findLargest(size_t limit,
                          llvm::function_ref<bool(size_t)> holds) {
  size_t low = 0;
  while (low < limit) {
    size_t middle = low + (limit - low + 1) / 2;
    if (holds(middle))
      low = middle;
    else
      limit = middle - 1;
  }
  return low;
}

llvm::SmallVector<Repeat>
mlir::remat::findRepeats(llvm::ArrayRef<unsigned> sequence) {
  size_t n = sequence.size();
  PrefixHashes hashes(sequence);
  llvm::SmallVector<Repeat> repeats;
  llvm::DenseMap<std::pair<size_t, size_t>, size_t> shortestPeriod;
  for (size_t period = 1; 2 * period <= n; ++period) {
    size_t position = 0;
    while (position + period < n) {
      size_t other = position + period;
      size_t forward = findLargest(n - other, [&](size_t length) {
        return hashes.areEqual(position, other, length);
      });
      size_t backward = findLargest(position, [&](size_t length) {
        return hashes.areEqual(position - length, other - length, length);
      });
      Repeat repeat{position - backward, other + forward, period};
      position += period;
      if (forward + backward < period)
        continue;
      // The rest of this repeat would find it again.
      while (position + period < repeat.end)
        position += period;
      if (!sequence.slice(repeat.begin, repeat.size() - period)
               .equals(sequence.slice(repeat.begin + period,
                                      repeat.size() - period)))
        continue; // Equal hashes of different sequences.
      auto [it, isFirst] =
          shortestPeriod.try_emplace({repeat.begin, repeat.end}, period);
      if (isFirst || period % it->second != 0)
        repeats.push_back(repeat);
    }
  }
  return repeats;
}
