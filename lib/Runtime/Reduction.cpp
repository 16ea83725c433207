//===- Reduction.cpp - Parts added in the order of a tree -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order is that of the parts, and not that of the ranks which have them: so
// the number of ranks changes no bit. Each part is read once, in blocks whose
// sums stay in the cache.
//===----------------------------------------------------------------------===//

#include "Reduction.h"

#include "Core/Narrow.h"
#include "Threads.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

using namespace remat;

const char *remat::nameOf(ReductionKind kind) {
  static constexpr const char *names[numReductionKinds] = {
      "sum",  "prod", "maximum", "minimum", "maxnum", "minnum", "maxs",
      "mins", "maxu", "minu",    "and",     "or",     "xor"};
  return names[static_cast<int64_t>(kind)];
}

const char *remat::nameOf(ScalarKind kind) {
  static constexpr const char *names[numScalarKinds] = {
      "f32", "f64", "f16", "bf16", "i1", "i8", "i16", "i32", "i64"};
  return names[static_cast<int64_t>(kind)];
}

//===----------------------------------------------------------------------===//
// Two elements
//===----------------------------------------------------------------------===//

/// Every access is of the element of its own iteration.
template <typename T, typename Op>
static void combineWith(void *into, const void *left, const void *right,
                        int64_t count, Op op) {
  auto *result = static_cast<T *>(into);
  const auto *a = static_cast<const T *>(left);
  const auto *b = static_cast<const T *>(right);
#pragma clang loop vectorize(assume_safety)
  for (int64_t i = 0; i < count; ++i)
    result[i] = op(a[i], b[i]);
}

/// NaN if one is; of two zeros, -0 is the smaller one.
template <typename F> static F getMaximum(F a, F b) {
  if (std::isnan(a) || std::isnan(b))
    return a + b;
  if (a == b)
    return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

/// The other one if one is NaN.
template <typename F> static F getMaxNum(F a, F b) {
  if (std::isnan(a))
    return b;
  return std::isnan(b) ? a : getMaximum(a, b);
}

template <typename T, ReductionKind kind>
static void combineFloats(void *into, const void *left, const void *right,
                          int64_t count) {
  using F = SumOf<T>;
  combineWith<T>(into, left, right, count, [](T leftT, T rightT) {
    F a = leftT, b = rightT;
    switch (kind) {
    case ReductionKind::sum:
      return T(a + b);
    case ReductionKind::prod:
      return T(a * b);
    case ReductionKind::maximum:
      return T(getMaximum(a, b));
    case ReductionKind::minimum:
      return T(-getMaximum(-a, -b));
    case ReductionKind::maxnum:
      return T(getMaxNum(a, b));
    default:
      return T(-getMaxNum(-a, -b));
    }
  });
}

/// Sums and products wrap around.
template <typename T, ReductionKind kind>
static void combineIntegers(void *into, const void *left, const void *right,
                            int64_t count) {
  // Narrow types would become int, whose overflow is undefined.
  using Wide = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  using Signed = std::make_signed_t<T>;
  combineWith<T>(into, left, right, count, [](T a, T b) {
    switch (kind) {
    case ReductionKind::sum:
      return T(Wide(a) + Wide(b));
    case ReductionKind::prod:
      return T(Wide(a) * Wide(b));
    case ReductionKind::maxs:
      return T(std::max(Signed(a), Signed(b)));
    case ReductionKind::mins:
      return T(std::min(Signed(a), Signed(b)));
    case ReductionKind::maxu:
      return std::max(a, b);
    case ReductionKind::minu:
      return std::min(a, b);
    case ReductionKind::bitAnd:
      return T(a & b);
    case ReductionKind::bitOr:
      return T(a | b);
    default:
      return T(a ^ b);
    }
  });
}

template <typename T> static Combine getFloats(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::sum:
    return combineFloats<T, ReductionKind::sum>;
  case ReductionKind::prod:
    return combineFloats<T, ReductionKind::prod>;
  case ReductionKind::maximum:
    return combineFloats<T, ReductionKind::maximum>;
  case ReductionKind::minimum:
    return combineFloats<T, ReductionKind::minimum>;
  case ReductionKind::maxnum:
    return combineFloats<T, ReductionKind::maxnum>;
  case ReductionKind::minnum:
    return combineFloats<T, ReductionKind::minnum>;
  default:
    return nullptr;
  }
}

template <typename T> static Combine getIntegers(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::sum:
    return combineIntegers<T, ReductionKind::sum>;
  case ReductionKind::prod:
    return combineIntegers<T, ReductionKind::prod>;
  case ReductionKind::maxs:
    return combineIntegers<T, ReductionKind::maxs>;
  case ReductionKind::mins:
    return combineIntegers<T, ReductionKind::mins>;
  case ReductionKind::maxu:
    return combineIntegers<T, ReductionKind::maxu>;
  case ReductionKind::minu:
    return combineIntegers<T, ReductionKind::minu>;
  case ReductionKind::bitAnd:
    return combineIntegers<T, ReductionKind::bitAnd>;
  case ReductionKind::bitOr:
    return combineIntegers<T, ReductionKind::bitOr>;
  case ReductionKind::bitXor:
    return combineIntegers<T, ReductionKind::bitXor>;
  default:
    return nullptr;
  }
}

/// A bit in a byte: by its sign, true is -1.
static Combine getBits(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::sum:
    return getIntegers<uint8_t>(ReductionKind::bitXor);
  case ReductionKind::prod:
  case ReductionKind::maxs:
  case ReductionKind::minu:
    return getIntegers<uint8_t>(ReductionKind::bitAnd);
  case ReductionKind::mins:
  case ReductionKind::maxu:
    return getIntegers<uint8_t>(ReductionKind::bitOr);
  default:
    return getIntegers<uint8_t>(kind);
  }
}

Combine remat::getCombine(ReductionKind kind, ScalarKind type) {
  switch (type) {
  case ScalarKind::f32:
    return getFloats<float>(kind);
  case ScalarKind::f64:
    return getFloats<double>(kind);
  case ScalarKind::f16:
    return getFloats<F16>(kind);
  case ScalarKind::bf16:
    return getFloats<BF16>(kind);
  case ScalarKind::i1:
    return getBits(kind);
  case ScalarKind::i8:
    return getIntegers<uint8_t>(kind);
  case ScalarKind::i16:
    return getIntegers<uint16_t>(kind);
  case ScalarKind::i32:
    return getIntegers<uint32_t>(kind);
  case ScalarKind::i64:
    return getIntegers<uint64_t>(kind);
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// All parts
//===----------------------------------------------------------------------===//

/// Elements of a block, and levels of the tree: more parts than a program has.
static constexpr int64_t kBlock = 512;
static constexpr int64_t kLevels = 24;

/// Part by part: what is complete on a level is put together with its
/// neighbour. `count` is `kBlock` at most.
static void reduceBlock(Combine combine, size_t width,
                        const std::vector<const char *> &parts, size_t offset,
                        char *into, int64_t count) {
  alignas(64) char sums[kLevels][kBlock * sizeof(double)];
  const char *complete[kLevels];
  int64_t levels = 0, left = static_cast<int64_t>(parts.size()) - 1;
  auto pair = [&](int64_t level, const char *a, const char *b) {
    char *sum = --left == 0 ? into : sums[level];
    combine(sum, a, b, count);
    return sum;
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    const char *next = parts[i] + offset;
    for (size_t bits = i; bits & 1; bits >>= 1) {
      --levels;
      next = pair(levels, complete[levels], next);
    }
    complete[levels++] = next;
  }
  for (; levels > 1; --levels)
    complete[levels - 2] =
        pair(levels - 2, complete[levels - 2], complete[levels - 1]);
  if (parts.size() == 1 && complete[0] != into)
    std::memcpy(into, complete[0], count * width);
}

void remat::reduceParts(ReductionKind kind, ScalarKind type,
                        const std::vector<const char *> &parts, char *into,
                        int64_t count) {
  Combine combine = getCombine(kind, type);
  if (!combine)
    fail(std::string("elements of ") + nameOf(type) + " have no " +
         nameOf(kind));
  if (parts.size() > size_t(1) << (kLevels - 1))
    fail("a reduction has " + std::to_string(parts.size()) + " parts");
  size_t width = byteWidth(type);
  int64_t blocks = (count + kBlock - 1) / kBlock;
  auto reduce = [&](int64_t block) {
    int64_t first = block * kBlock;
    reduceBlock(combine, width, parts, first * width, into + first * width,
                std::min(kBlock, count - first));
  };
  // Less is done before another thread begins.
  constexpr int64_t kSharedBlocks = 64;
  parallelFor(blocks, blocks < kSharedBlocks ? 1 : wantedParts(), reduce);
}
