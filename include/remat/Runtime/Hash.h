//===- Hash.h - Streams of random bits by name ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler and the runtime draw from a seed and a name, in the same way.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_HASH_H
#define REMAT_RUNTIME_HASH_H

#include <cstdint>
#include <string_view>

namespace remat {

/// FNV-1a. `result`: the hash of the text before this one.
inline uint64_t hash(std::string_view text,
                     uint64_t result = 0xcbf29ce484222325) {
  for (unsigned char c : text)
    result = (result ^ c) * 0x100000001b3;
  return result;
}

/// The increment of the state of SplitMix64.
inline constexpr uint64_t kMixIncrement = 0x9e3779b97f4a7c15;

/// Returns the number after state `x` of SplitMix64 (Steele, Lea and Flood,
/// 2014).
inline uint64_t mix(uint64_t x) {
  x += kMixIncrement;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

} // namespace remat

#endif // REMAT_RUNTIME_HASH_H
