//===- Initialize.cpp - Initial values and orders from a seed -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counter-based: every number depends on the seed, a name and a position, so
// that a parameter that is added to a model changes no other one's start.
//===----------------------------------------------------------------------===//

#include "BFloat16.h"

#include "remat/Runtime/Hash.h"
#include "remat/Runtime/Training.h"

#include <cmath>
#include <cstring>
#include <numeric>

using namespace remat;

/// Uniform in (0, 1), never 0: its logarithm is taken.
static double toUnit(uint64_t bits) {
  return (double(bits >> 11) + 0.5) * 0x1p-53;
}

std::vector<int64_t> remat::permutation(int64_t count, int64_t seed,
                                        int64_t epoch) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  uint64_t stream = mix(mix(uint64_t(seed)) + uint64_t(epoch));
  for (int64_t i = count - 1; i > 0; --i) {
    // A bias of at most count / 2^64 in the choice is of no concern here.
    auto j = int64_t(mix(stream + uint64_t(i)) % uint64_t(i + 1));
    std::swap(order[i], order[j]);
  }
  return order;
}

/// Rounds to nearest, ties to even; for finite numbers.
static uint16_t toF16(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  if (magnitude >= 65520)
    return sign | 0x7c00;
  if (magnitude < 0x1p-14) // Subnormal: multiples of 2^-24.
    return sign | uint16_t(std::nearbyint(magnitude * 0x1p24));
  int exponent = std::ilogb(magnitude);
  double mantissa = std::nearbyint(std::ldexp(magnitude, 10 - exponent));
  // A mantissa that rounds up to 2^11 carries into the exponent by itself.
  return sign |
         uint16_t((uint32_t(exponent + 15) << 10) + uint32_t(mantissa) - 1024);
}

static void store(double value, DType type, int64_t index, void *into) {
  switch (type) {
  case DType::f64:
    static_cast<double *>(into)[index] = value;
    return;
  case DType::f32:
    static_cast<float *>(into)[index] = float(value);
    return;
  case DType::bf16:
    static_cast<uint16_t *>(into)[index] = toBF16(float(value));
    return;
  case DType::f16:
    static_cast<uint16_t *>(into)[index] = toF16(value);
    return;
  case DType::i64:
    static_cast<int64_t *>(into)[index] = int64_t(value);
    return;
  case DType::i32:
    static_cast<int32_t *>(into)[index] = int32_t(value);
    return;
  case DType::i16:
    static_cast<int16_t *>(into)[index] = int16_t(value);
    return;
  case DType::i8:
  case DType::u8:
  case DType::i1:
    static_cast<int8_t *>(into)[index] = int8_t(value);
    return;
  }
}

namespace {
/// An argument in the making.
struct Filling {
  const Initial &initial;
  uint64_t stream;
  DType type;
  void *into;

  void fill(int64_t begin, int64_t end) const;
};
} // namespace

void Filling::fill(int64_t begin, int64_t end) const {
  for (int64_t i = begin; i < end; ++i) {
    double u = toUnit(mix(stream + 2 * uint64_t(i)));
    double v = toUnit(mix(stream + 2 * uint64_t(i) + 1));
    double value = initial.first;
    if (initial.kind == Initial::normal) // Box and Muller.
      value += initial.second * std::sqrt(-2 * std::log(u)) *
               std::cos(6.283185307179586 * v);
    else if (initial.kind == Initial::uniform)
      value += (initial.second - initial.first) * u;
    store(value, type, i, into);
  }
}

bool remat::initialize(const TrainDescription &description,
                       const TrainArgument &argument, void *into,
                       ShareLoop share) {
  if (argument.isRandom()) {
    int64_t state[2] = {description.seed + argument.seed, 0};
    std::memcpy(into, state, sizeof(state));
    return true;
  }
  if (!argument.initial)
    return false;
  Filling filling{*argument.initial,
                  mix(mix(uint64_t(description.seed)) ^ hash(argument.name)),
                  argument.type.dtype, into};
  auto body = [](void *context, int64_t begin, int64_t end) {
    static_cast<const Filling *>(context)->fill(begin, end);
  };
  share(argument.type.numElements(), body, &filling);
  return true;
}
