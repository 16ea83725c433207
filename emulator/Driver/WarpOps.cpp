//===- WarpOps.cpp - What threads do together -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that compiled kernels call. The formulas of shuffles are those
// of PTX's shfl.sync.
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Checks.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace remat::cuda;
using namespace remat::cuda::emulator;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The value of a lane that takes no part is undefined: NaN, or -1.
static constexpr uint32_t kUndefined = 0xFFFFFFFF;
static constexpr uint32_t kAllLanes = 0xFFFFFFFF;

static uint64_t shuffle(Thread *const (&lanes)[kWarpSize],
                        const Thread &thread) {
  int lane = thread.getLane();
  int segment = thread.maskAndClamp >> 8 & 31;
  int clamp = thread.maskAndClamp & 31;
  int offset = thread.offset & 31;
  int first = lane & segment;
  int last = first | (clamp & ~segment);
  int source = lane;
  bool isValid = false;
  switch (static_cast<EmulatedShuffle>(thread.kind)) {
  case EmulatedShuffle::up:
    source = lane - offset;
    isValid = source >= last;
    break;
  case EmulatedShuffle::down:
    source = lane + offset;
    isValid = source <= last;
    break;
  case EmulatedShuffle::bfly:
    source = lane ^ offset;
    isValid = source <= last;
    break;
  case EmulatedShuffle::idx:
    source = first | (offset & ~segment);
    isValid = source <= last;
    break;
  }
  if (!isValid)
    source = lane;
  uint32_t value = lanes[source] ? lanes[source]->value : kUndefined;
  return value | uint64_t(isValid) << 32;
}

static uint32_t vote(Thread *const (&lanes)[kWarpSize], int32_t kind) {
  uint32_t ballot = 0, participants = 0;
  for (const Thread *lane : lanes)
    if (lane) {
      participants |= 1U << lane->getLane();
      ballot |= uint32_t(lane->value & 1) << lane->getLane();
    }
  switch (static_cast<EmulatedVote>(kind)) {
  case EmulatedVote::any:
    return ballot != 0;
  case EmulatedVote::all:
    return ballot == participants;
  case EmulatedVote::ballot:
    return ballot;
  case EmulatedVote::uni:
    return ballot == 0 || ballot == participants;
  }
  return 0;
}

static uint32_t combine(EmulatedReduction kind, uint32_t a, uint32_t b) {
  switch (kind) {
  case EmulatedReduction::add:
    return a + b;
  case EmulatedReduction::bitAnd:
    return a & b;
  case EmulatedReduction::bitOr:
    return a | b;
  case EmulatedReduction::bitXor:
    return a ^ b;
  case EmulatedReduction::max:
    return std::max<int32_t>(a, b);
  case EmulatedReduction::min:
    return std::min<int32_t>(a, b);
  case EmulatedReduction::umax:
    return std::max(a, b);
  case EmulatedReduction::umin:
    return std::min(a, b);
  }
  return 0;
}

/// Bits of tf32 that multiplication leaves out of a word.
static constexpr uint32_t kIgnoredBits = 0x1fff;

static unsigned getFactorsPerRegister(EmulatedFactor type) {
  return type == EmulatedFactor::tf32 ? 1 : 2;
}

/// Element `index` of a register.
static float widen(uint32_t word, unsigned index, EmulatedFactor type) {
  if (type == EmulatedFactor::f16) {
    auto bits = uint16_t(word >> 16 * index);
    _Float16 half;
    std::memcpy(&half, &bits, sizeof(half));
    return static_cast<float>(half);
  }
  word = type == EmulatedFactor::tf32 ? word & ~kIgnoredBits
                                      : word >> 16 * index << 16;
  float number;
  std::memcpy(&number, &word, sizeof(number));
  return number;
}

/// Element `index` of a register; of a lane that takes no part NaN.
static float getFactor(const Thread *lane, unsigned number, unsigned index,
                       EmulatedFactor type) {
  return widen(lane ? lane->factors[number] : kUndefined, index, type);
}

/// A row of the left matrix times a column of the right one. Of 16 elements
/// lane 4 * (row % 8) + c has columns 2 * c and 2 * c + 1 of the left one, and
/// 8 more; of 8 elements of tf32 column c and 4 more. The right one is held
/// likewise by columns.
static float multiplyRow(Thread *const (&lanes)[kWarpSize], unsigned row,
                         unsigned column, float sum, EmulatedFactor type) {
  unsigned count = getFactorsPerRegister(type), perHalf = 4 * count;
  for (unsigned k = 0; k < 2 * perHalf; ++k) {
    unsigned lane = k % perHalf / count, half = k / perHalf, index = k % count;
    float left =
        getFactor(lanes[4 * (row % 8) + lane], 2 * half + row / 8, index, type);
    float right =
        getFactor(lanes[4 * column + lane], kMmaLeft + half, index, type);
    sum = std::fma(left, right, sum);
  }
  return sum;
}

/// Sums 0 and 1 are neighbours in row lane / 4, the others 8 rows below.
static void multiply(Thread *const (&lanes)[kWarpSize], Thread &thread) {
  unsigned lane = thread.getLane();
  for (unsigned i = 0; i < kMmaSums; ++i)
    thread.sums[i] =
        multiplyRow(lanes, lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2,
                    thread.sums[i], static_cast<EmulatedFactor>(thread.kind));
}

/// Lane 8 * i + r says where row r of matrix i is. A matrix is held as the left
/// one of a product is, or transposed.
static void exchange(Thread *const (&lanes)[kWarpSize], Thread &thread) {
  unsigned lane = thread.getLane(), count = thread.value;
  bool isTransposed = thread.offset != 0;
  unsigned perMatrix = isTransposed ? 2 : 1;
  for (unsigned i = 0; i < count * perMatrix; ++i) {
    unsigned row = isTransposed ? lane % 4 * 2 + i % 2 : lane / 4;
    unsigned column = isTransposed ? lane / 4 : lane % 4 * 2;
    const Thread *source = lanes[8 * (i / perMatrix) + row];
    thread.addresses[i] =
        source ? static_cast<const uint16_t *>(source->row) + column : nullptr;
  }
}

void remat::cuda::emulator::computeWarpOp(Thread *const (&lanes)[kWarpSize],
                                          uint32_t mask) {
  const Thread *first = nullptr;
  uint32_t reduced = 0;
  for (const Thread *lane : lanes) {
    if (!lane)
      continue;
    reduced = first ? combine(static_cast<EmulatedReduction>(lane->kind),
                              reduced, lane->value)
                    : lane->value;
    first = first ? first : lane;
  }
  for (Thread *lane : lanes) {
    if (!lane)
      continue;
    switch (lane->op) {
    case WarpOp::barrier:
      ++lane->warpEpoch;
      break;
    case WarpOp::shuffle:
      lane->result = shuffle(lanes, *lane);
      break;
    case WarpOp::vote:
      lane->result = vote(lanes, lane->kind);
      break;
    case WarpOp::reduce:
      lane->result = reduced;
      break;
    case WarpOp::multiply:
      multiply(lanes, *lane);
      break;
    case WarpOp::exchange:
      exchange(lanes, *lane);
      break;
    }
  }
}

//===----------------------------------------------------------------------===//
// What kernels call
//===----------------------------------------------------------------------===//

static uint64_t waitForWarp(Thread &thread, WarpOp op, uint32_t mask,
                            const char *site) {
  if (!(mask >> thread.getLane() & 1))
    thread.owner->fail(thread, CUDA_ERROR_LAUNCH_FAILED,
                       describeThread(thread) + " is not in the mask of " +
                           site);
  thread.op = op;
  thread.mask = mask;
  thread.owner->wait(thread, Thread::State::atWarpOp, site);
  return thread.result;
}

#define REMAT_EMULATOR_EXPORT __attribute__((visibility("default")))

extern "C" {
REMAT_EMULATOR_EXPORT void remat_emu_barrier(void *record, const char *site) {
  Thread &thread = Block::get(record);
  thread.mask = 0;
  thread.owner->wait(thread, Thread::State::atBarrier, site);
}

REMAT_EMULATOR_EXPORT void remat_emu_warp_barrier(void *record, uint32_t mask,
                                                  const char *site) {
  waitForWarp(Block::get(record), WarpOp::barrier, mask, site);
}

REMAT_EMULATOR_EXPORT uint64_t remat_emu_shuffle(void *record, int32_t kind,
                                                 uint32_t mask, uint32_t value,
                                                 uint32_t offset,
                                                 uint32_t maskAndClamp,
                                                 const char *site) {
  Thread &thread = Block::get(record);
  thread.kind = kind;
  thread.value = value;
  thread.offset = offset;
  thread.maskAndClamp = maskAndClamp;
  return waitForWarp(thread, WarpOp::shuffle, mask, site);
}

REMAT_EMULATOR_EXPORT uint32_t remat_emu_vote(void *record, int32_t kind,
                                              uint32_t mask, uint32_t predicate,
                                              const char *site) {
  Thread &thread = Block::get(record);
  thread.kind = kind;
  thread.value = predicate;
  return waitForWarp(thread, WarpOp::vote, mask, site);
}

REMAT_EMULATOR_EXPORT uint32_t remat_emu_reduce(void *record, int32_t kind,
                                                uint32_t mask, uint32_t value,
                                                const char *site) {
  Thread &thread = Block::get(record);
  thread.kind = kind;
  thread.value = value;
  return waitForWarp(thread, WarpOp::reduce, mask, site);
}

REMAT_EMULATOR_EXPORT void remat_emu_mma(void *record, int32_t type,
                                         const uint32_t *factors, float *sums,
                                         const char *site) {
  Thread &thread = Block::get(record);
  thread.kind = type;
  std::copy_n(factors, kMmaLeft + kMmaRight, thread.factors);
  std::copy_n(sums, kMmaSums, thread.sums);
  waitForWarp(thread, WarpOp::multiply, kAllLanes, site);
  std::copy_n(thread.sums, kMmaSums, sums);
}

REMAT_EMULATOR_EXPORT void remat_emu_ldmatrix(void *record, const void *row,
                                              int32_t count,
                                              int32_t isTransposed,
                                              const void **addresses,
                                              const char *site) {
  Thread &thread = Block::get(record);
  constexpr uintptr_t kRowBytes = 16;
  if (thread.getLane() < 8 * static_cast<uint32_t>(count) &&
      reinterpret_cast<uintptr_t>(row) % kRowBytes != 0)
    thread.owner->fail(thread, CUDA_ERROR_ILLEGAL_ADDRESS,
                       describeThread(thread) + " gives " + site +
                           " a row that is not aligned to 16 bytes");
  thread.row = row;
  thread.value = count;
  thread.offset = isTransposed;
  waitForWarp(thread, WarpOp::exchange, kAllLanes, site);
  std::copy_n(thread.addresses, count * (isTransposed ? 2 : 1), addresses);
}

REMAT_EMULATOR_EXPORT void
remat_emu_assert_fail(void *record, const char *message, const char *file,
                      uint32_t line, const char *function) {
  (void)function;
  reportAssertion(*static_cast<EmulatedThread *>(record), message, file, line);
}

REMAT_EMULATOR_EXPORT double remat_emu_rsqrt(double value) {
  return 1 / std::sqrt(value);
}
REMAT_EMULATOR_EXPORT float remat_emu_rsqrtf(float value) {
  return 1 / std::sqrt(value);
}
REMAT_EMULATOR_EXPORT double remat_emu_powi(double value, int32_t exponent) {
  return std::pow(value, exponent);
}
REMAT_EMULATOR_EXPORT float remat_emu_powif(float value, int32_t exponent) {
  return std::pow(value, static_cast<float>(exponent));
}
}
