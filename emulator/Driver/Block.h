//===- Block.h - The threads of one block -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_EMULATOR_DRIVER_BLOCK_H
#define REMAT_EMULATOR_DRIVER_BLOCK_H

#include "Fiber.h"
#include "Launch.h"
#include "remat/Emulator/Thread.h"

#include <random>

namespace remat::cuda::emulator {

class Block;

/// Operations that the lanes of a warp execute together.
enum class WarpOp { barrier, shuffle, vote, reduce, multiply, exchange };

/// A copy to workgroup memory that is not done.
struct AsyncCopy {
  void *to;
  const void *from;
  size_t bytes, sourceBytes;
  /// Of the thread's groups of copies.
  uint32_t group;
  const char *site;
};

/// A thread that runs as a fiber. Kernels get it as an EmulatedThread.
struct Thread : EmulatedThread {
  enum class State { ready, atBarrier, atWarpOp, done };

  Block *owner = nullptr;
  unsigned index = 0;
  State state = State::ready;
  /// Warp barriers passed.
  unsigned warpEpoch = 0;
  FiberContext context;
  char *stack = nullptr;
  /// Where it waits.
  const char *site = nullptr;
  WarpOp op = WarpOp::barrier;
  int32_t kind = 0;
  uint32_t mask = 0, value = 0, offset = 0, maskAndClamp = 0;
  uint64_t result = 0;
  /// Of a product of matrices, as registers of PTX hold them.
  uint32_t factors[kMmaLeft + kMmaRight] = {};
  float sums[kMmaSums] = {};
  /// A row of a matrix, and where the lane's elements are.
  const void *row = nullptr;
  const void *addresses[8] = {};
  /// Copies that it did not wait for, and groups of them that are complete.
  std::vector<AsyncCopy> copies;
  uint32_t numCopyGroups = 0;

  unsigned getWarp() const { return index / kWarpSize; }
  unsigned getLane() const { return index % kWarpSize; }
  bool isOnStack(const void *pointer) const {
    auto *address = static_cast<const char *>(pointer);
    return stack && address >= stack && address < stack + kStackBytes;
  }
};

/// Runs blocks of one launch, one after the other, on one thread of the host.
class Block {
public:
  explicit Block(Launch &launch);
  ~Block();
  Block(const Block &) = delete;
  Block &operator=(const Block &) = delete;

  void run(Dimensions index);

  Launch &getLaunch() { return launch; }
  Dimensions getIndex() const { return index; }
  /// x + grid.x * (y + grid.y * z).
  size_t getLinearIndex() const;
  /// Barriers passed.
  unsigned getEpoch() const { return epoch; }
  const char *getShared() const { return shared; }
  /// Returns true if `address` is in the room around workgroup memory.
  bool isNearShared(uintptr_t address) const;

  /// Lets `thread` wait until others came.
  void wait(Thread &thread, Thread::State state, const char *site);
  /// Reports an error that `thread` made, and does not come back.
  [[noreturn]] void fail(Thread &thread, CUresult error,
                         const std::string &text);

  static Thread &get(void *thread) {
    return *static_cast<Thread *>(static_cast<EmulatedThread *>(thread));
  }

private:
  void fillRecord(EmulatedThread &thread) const;
  void setThreadIndex(EmulatedThread &thread, size_t number) const;
  void runWithoutFibers();
  void runFibers();
  void makeOrder();
  void resume(Thread &thread);
  void completeWarpOp(Thread &last);
  bool completeBarrier();
  std::string describeDivergence() const;
  static void runThread();

  Launch &launch;
  Dimensions index = {};
  char *shared = nullptr;
  unsigned epoch = 0;
  std::vector<Thread> threads;
  std::vector<unsigned> order;
  /// Threads of each warp that wait for a warp operation.
  std::vector<unsigned> numWaiting;
  FiberContext scheduler;
  std::mt19937_64 random;
};

/// "thread (x, y, z) of block (x, y, z)".
std::string describeThread(const EmulatedThread &thread);
/// Fills in the results of the lanes in `lanes` (null where there is none).
void computeWarpOp(Thread *const (&lanes)[kWarpSize], uint32_t mask);

} // namespace remat::cuda::emulator

#endif // REMAT_EMULATOR_DRIVER_BLOCK_H
