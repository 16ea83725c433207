//===- WarpOps.cpp - What threads do together -----------------------------===//
//
// The functions that compiled kernels call. The formulas of shuffles are those
// of PTX's shfl.sync.
//
//===----------------------------------------------------------------------===//

#include "Block.h"
#include "Checks.h"

#include <algorithm>
#include <cmath>

using namespace remat::cuda;
using namespace remat::cuda::emulator;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The value of a lane that takes no part is undefined: NaN, or -1.
static constexpr uint32_t kUndefined = 0xFFFFFFFF;

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
