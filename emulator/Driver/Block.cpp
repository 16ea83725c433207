//===- Block.cpp - The threads of one block -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that never wait run one after the other, in one call. Others are
// fibers: each runs until it waits, and goes on when all those that it waits
// for wait as well. Whoever waits for a thread that is done, or that waits
// somewhere else, is divergent.
//===----------------------------------------------------------------------===//

#include "Block.h"

#include "Checks.h"
#include "DeviceMemory.h"
#include "Errors.h"
#include "Options.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

using namespace remat::cuda;
using namespace remat::cuda::emulator;

/// Workgroup memory is in the middle of a range that is accessible up to its
/// page only: accesses out of bounds stay near it.
static constexpr size_t kSharedRoom = 4 << 20;
static constexpr size_t kPage = 4096;

static size_t getPages(size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

Block::Block(Launch &launch) : launch(launch), random(Options::get().seed) {
  size_t bytes = launch.getSharedBytes();
  if (bytes == 0)
    return;
  void *range = mmap(nullptr, kSharedRoom, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (range == MAP_FAILED)
    exitWithError("no memory for workgroup memory");
  shared = static_cast<char *>(range) + kSharedRoom / 2;
  mprotect(shared, getPages(bytes), PROT_READ | PROT_WRITE);
}

Block::~Block() {
  if (shared)
    munmap(shared - kSharedRoom / 2, kSharedRoom);
}

bool Block::isNearShared(uintptr_t address) const {
  auto begin = reinterpret_cast<uintptr_t>(shared) - kSharedRoom / 2;
  return shared && address - begin < kSharedRoom;
}

size_t Block::getLinearIndex() const {
  Dimensions grid = launch.getGrid();
  return index[0] + size_t(grid[0]) * (index[1] + size_t(grid[1]) * index[2]);
}

void Block::fillRecord(EmulatedThread &thread) const {
  for (int dim = 0; dim < 3; ++dim) {
    thread.threadIndex[dim] = 0;
    thread.blockSize[dim] = launch.getBlock()[dim];
    thread.blockIndex[dim] = index[dim];
    thread.gridSize[dim] = launch.getGrid()[dim];
  }
  thread.shared = shared;
  thread.dynamicShared = shared ? shared + launch.getDynamicOffset() : nullptr;
}

void Block::setThreadIndex(EmulatedThread &thread, size_t number) const {
  Dimensions block = launch.getBlock();
  thread.threadIndex[0] = number % block[0];
  thread.threadIndex[1] = number / block[0] % block[1];
  thread.threadIndex[2] = number / block[0] / block[1];
}

void Block::makeOrder() {
  order.resize(launch.getNumThreads());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  if (Options::get().order == Order::backward)
    std::reverse(order.begin(), order.end());
  if (Options::get().order == Order::random)
    std::shuffle(order.begin(), order.end(), random);
}

void Block::run(Dimensions newIndex) {
  index = newIndex;
  if (shared)
    std::memset(shared, kPoison, getPages(launch.getSharedBytes()));
  const CUfunc_st &function = launch.getFunction();
  if (function.kernel->runBlock && !function.isInstrumented)
    runWithoutFibers();
  else
    runFibers();
}

void Block::runWithoutFibers() {
  const EmulatedKernel &kernel = *launch.getFunction().kernel;
  EmulatedThread thread;
  fillRecord(thread);
  if (Options::get().order == Order::forward)
    return kernel.runBlock(launch.getArguments(), &thread);
  makeOrder();
  for (unsigned number : order) {
    setThreadIndex(thread, number);
    kernel.run(launch.getArguments(), &thread);
  }
}

//===----------------------------------------------------------------------===//
// Fibers
//===----------------------------------------------------------------------===//

static thread_local Thread *startedThread = nullptr;

void Block::runThread() {
  Thread &thread = *startedThread;
  Block &block = *thread.owner;
  block.launch.getFunction().kernel->run(
      block.launch.getArguments(), static_cast<EmulatedThread *>(&thread));
  block.wait(thread, Thread::State::done, nullptr);
}

void Block::wait(Thread &thread, Thread::State state, const char *site) {
  thread.state = state;
  thread.site = site;
  switchFiber(thread.context, scheduler);
}

void Block::fail(Thread &thread, CUresult error, const std::string &text) {
  launch.fail(error, text);
  wait(thread, Thread::State::done, nullptr);
  exitWithError("a thread that failed goes on");
}

void Block::resume(Thread &thread) {
  if (!thread.stack) {
    thread.stack = takeStack();
    startFiber(thread.context, thread.stack, runThread);
  }
  startedThread = &thread;
  switchFiber(scheduler, thread.context);
  if (thread.state == Thread::State::done) {
    giveStack(thread.stack);
    thread.stack = nullptr;
  }
}

/// If `last` was the last one of its mask to come, all of them go on.
void Block::completeWarpOp(Thread &last) {
  unsigned first = last.getWarp() * kWarpSize;
  size_t end = std::min<size_t>(first + kWarpSize, threads.size());
  ++numWaiting[last.getWarp()];
  Thread *lanes[kWarpSize] = {};
  unsigned numLanes = 0;
  for (size_t i = first; i < end; ++i)
    if (last.mask >> (i - first) & 1) {
      lanes[i - first] = &threads[i];
      ++numLanes;
    }
  if (numWaiting[last.getWarp()] < numLanes)
    return;
  for (Thread *lane : lanes)
    if (lane && (lane->state != Thread::State::atWarpOp ||
                 lane->site != last.site || lane->mask != last.mask))
      return;
  computeWarpOp(lanes, last.mask);
  numWaiting[last.getWarp()] -= numLanes;
  for (Thread *lane : lanes)
    if (lane)
      lane->state = Thread::State::ready;
}

/// Lets all threads go on if they are at the same barrier.
bool Block::completeBarrier() {
  for (const Thread &thread : threads)
    if (thread.state != Thread::State::atBarrier ||
        thread.site != threads.front().site)
      return false;
  ++epoch;
  for (Thread &thread : threads)
    thread.state = Thread::State::ready;
  return true;
}

void Block::runFibers() {
  threads.resize(launch.getNumThreads());
  for (size_t i = 0; i < threads.size(); ++i) {
    Thread &thread = threads[i];
    fillRecord(thread);
    setThreadIndex(thread, i);
    thread.owner = this;
    thread.index = i;
    thread.state = Thread::State::ready;
    thread.warpEpoch = 0;
    thread.copies.clear();
    thread.numCopyGroups = 0;
  }
  numWaiting.assign((threads.size() + kWarpSize - 1) / kWarpSize, 0);
  epoch = 0;
  if (launch.getFunction().isInstrumented)
    startBlockChecks();
  makeOrder();
  auto isDone = [](const Thread &thread) {
    return thread.state == Thread::State::done;
  };
  while (!launch.hasFailed()) {
    bool hasMoved = false;
    for (unsigned number : order) {
      Thread &thread = threads[number];
      if (thread.state != Thread::State::ready)
        continue;
      hasMoved = true;
      resume(thread);
      if (thread.state == Thread::State::atWarpOp)
        completeWarpOp(thread);
      if (launch.hasFailed())
        break;
    }
    if (hasMoved)
      continue;
    if (std::all_of(threads.begin(), threads.end(), isDone))
      break;
    if (!completeBarrier())
      launch.fail(CUDA_ERROR_LAUNCH_FAILED, describeDivergence());
    if (Options::get().order == Order::random)
      makeOrder();
  }
  for (Thread &thread : threads)
    if (thread.stack) {
      giveStack(thread.stack);
      thread.stack = nullptr;
    }
}

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

static std::string describeIndex(const uint32_t *index) {
  return "(" + std::to_string(index[0]) + ", " + std::to_string(index[1]) +
         ", " + std::to_string(index[2]) + ")";
}

std::string
remat::cuda::emulator::describeThread(const EmulatedThread &thread) {
  return "thread " + describeIndex(thread.threadIndex) + " of block " +
         describeIndex(thread.blockIndex);
}

/// Explains a deadlock: names the first thread that waits for others of its
/// warp or, without one, at a barrier, and a thread that it waits for.
std::string Block::describeDivergence() const {
  const Thread *waiting = nullptr;
  for (const Thread &thread : threads)
    if (thread.state == Thread::State::atWarpOp && !waiting)
      waiting = &thread;
  if (!waiting)
    for (const Thread &thread : threads)
      if (thread.state == Thread::State::atBarrier && !waiting)
        waiting = &thread;
  size_t numThere = 0, numDone = 0;
  const Thread *other = nullptr;
  for (const Thread &thread : threads) {
    bool isInMask = waiting->state == Thread::State::atBarrier ||
                    (thread.getWarp() == waiting->getWarp() &&
                     (waiting->mask >> thread.getLane() & 1));
    if (!isInMask)
      continue;
    if (thread.state == waiting->state && thread.site == waiting->site &&
        thread.mask == waiting->mask) {
      ++numThere;
      continue;
    }
    bool isDone = thread.state == Thread::State::done;
    numDone += isDone;
    if (!other || (other->state == Thread::State::done && !isDone))
      other = &thread;
  }
  bool isBarrier = waiting->state == Thread::State::atBarrier;
  std::string text = isBarrier ? "divergent barrier: " : "divergent warp: ";
  text += std::to_string(numThere) + " threads of " +
          (isBarrier ? "block " : "a warp of block ") +
          describeIndex(waiting->blockIndex) + " wait at " + waiting->site;
  if (!other)
    return text;
  text += ", but " + describeThread(*other);
  if (other->state == Thread::State::done)
    return text + " is done (" + std::to_string(numDone) + " threads are)";
  return text + " waits at " + other->site;
}
