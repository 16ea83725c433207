//===- Threads.cpp - Loops that threads share -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Threads.h"

#include "MemRef.h"
#include "remat/Runtime/Runtime.h"
#include "remat/Runtime/Step.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <strings.h>
#include <system_error>
#include <thread>
#include <vector>

using namespace remat;

namespace {

constexpr size_t kLine = 64;

using Clock = std::chrono::steady_clock;

/// How long a thread waits awake: between the loops of a step none sleeps.
constexpr Clock::duration kAwake = std::chrono::milliseconds(20);
/// And how long before it gives its processor to what else could run there: a
/// loop begins without who waits for it.
constexpr Clock::duration kSpinning = std::chrono::microseconds(20);
/// For who waits for the end of parts that others have begun: those that take
/// much longer than parts do are of a thread that does not run.
constexpr Clock::duration kSpinningForOthers = std::chrono::microseconds(500);

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// `kAwake`, unless the user wants threads to sleep whenever they wait.
Clock::duration readAwakeTime() {
  const char *policy = std::getenv("OMP_WAIT_POLICY");
  bool isPassive = policy && strcasecmp(policy, "passive") == 0;
  return isPassive ? Clock::duration::zero() : kAwake;
}

/// Waits for `isOver`, but not for long; whether it is.
template <typename Condition>
bool waitAwake(const Condition &isOver, Clock::duration spinning) {
  static const Clock::duration awake = readAwakeTime();
  constexpr int kChecks = 64;
  Clock::time_point start = Clock::now();
  for (;;) {
    for (int check = 0; check < kChecks; ++check) {
      if (isOver())
        return true;
      pause();
    }
    Clock::duration waited = Clock::now() - start;
    if (waited > awake)
      return isOver();
    if (waited > spinning)
      std::this_thread::yield();
  }
}

/// The parts of a loop that are not begun, of those of one thread, in one
/// word with the loop's number: who comes late for a loop takes none of the
/// next one's.
class Share {
public:
  static constexpr int64_t kMostParts = UINT16_MAX;

  void set(uint32_t loop, int64_t first, int64_t end) {
    word.store(static_cast<uint64_t>(loop) << 32 |
                   static_cast<uint64_t>(first) << 16 |
                   static_cast<uint64_t>(end),
               std::memory_order_release);
  }
  /// The first part, for the thread whose parts these are, or the last one, for
  /// others; -1 if there is none.
  int64_t take(bool isOwn) {
    uint64_t now = word.load(std::memory_order_acquire);
    for (;;) {
      uint64_t first = now >> 16 & UINT16_MAX, end = now & UINT16_MAX;
      if (first == end)
        return -1;
      uint64_t next = isOwn ? now + (1 << 16) : now - 1;
      if (word.compare_exchange_weak(now, next, std::memory_order_acq_rel,
                                     std::memory_order_acquire))
        return static_cast<int64_t>(isOwn ? first : end - 1);
    }
  }

private:
  alignas(kLine) std::atomic<uint64_t> word{0};
};

/// The loop that threads share. It is written while none has a part of it.
struct Loop {
  LoopBody body;
  void *context;
  int64_t count, parts;

  void run(int64_t part) const {
    int64_t size = count / parts, rest = count % parts;
    int64_t begin = part * size + std::min(part, rest);
    body(context, begin, begin + size + (part < rest));
  }
};

thread_local bool runsPart = false;

/// Returns the functions that each thread of a pool calls first.
std::vector<void (*)()> &getStarters() {
  static std::vector<void (*)()> starters;
  return starters;
}

class Pool {
public:
  explicit Pool(int64_t threads) : shares(threads) {
    try {
      for (int64_t thread = 1; thread < threads; ++thread)
        workers.emplace_back([this, thread] { serve(thread); });
    } catch (const std::system_error &) {
      // Others take the parts of those that the system does not give.
    }
    while (!waitAwake([&] { return started == workers.size(); }, kSpinning))
      ;
  }
  ~Pool() {
    stops = true;
    announce();
    for (std::thread &worker : workers)
      worker.join();
  }
  Pool(const Pool &) = delete;

  int64_t size() const { return static_cast<int64_t>(shares.size()); }

  /// Runs a loop, whose parts are as many as a share can count.
  void run(const Loop &next) {
    loop = next;
    unfinished = loop.parts;
    uint32_t following = number + 1;
    for (int64_t thread = 0; thread < size(); ++thread)
      shares[thread].set(following, thread * loop.parts / size(),
                         (thread + 1) * loop.parts / size());
    announce();
    work(0);
    auto isOver = [&] { return unfinished == 0; };
    if (waitAwake(isOver, kSpinningForOthers))
      return;
    std::unique_lock<std::mutex> lock(mutex);
    isAwaited = true;
    ended.wait(lock, isOver);
    isAwaited = false;
  }

private:
  /// Begins the loop of the next number, or the end.
  void announce() {
    ++number;
    if (sleepers == 0)
      return;
    // Who is about to sleep has seen the number, or sleeps.
    std::lock_guard<std::mutex> lock(mutex);
    begun.notify_all();
  }

  void serve(int64_t self) {
    for (void (*starter)() : getStarters())
      starter();
    ++started;
    for (uint32_t seen = 0; !stops;) {
      auto isNew = [&] { return number != seen; };
      if (!waitAwake(isNew, kSpinning)) {
        ++sleepers;
        std::unique_lock<std::mutex> lock(mutex);
        begun.wait(lock, isNew);
        --sleepers;
      }
      seen = number;
      work(self);
    }
  }

  /// Runs parts until none is left: those of this thread, then others.
  void work(int64_t self) {
    runsPart = true;
    for (int64_t i = 0; i < size(); ++i)
      for (int64_t part;
           (part = shares[(self + i) % size()].take(i == 0)) >= 0;)
        finish(part);
    runsPart = false;
  }

  void finish(int64_t part) {
    loop.run(part);
    if (--unfinished != 0 || !isAwaited)
      return;
    std::lock_guard<std::mutex> lock(mutex);
    ended.notify_one();
  }

  Loop loop;
  std::vector<Share> shares;
  alignas(kLine) std::atomic<int64_t> unfinished{0};
  std::atomic<bool> isAwaited{false};
  /// Of the loop.
  alignas(kLine) std::atomic<uint32_t> number{0};
  std::atomic<int64_t> sleepers{0};
  std::atomic<size_t> started{0};
  std::atomic<bool> stops{false};
  std::mutex mutex;
  std::condition_variable begun, ended;
  std::vector<std::thread> workers;
};

/// Guarded by `isPoolTaken`, which its user holds.
Pool *pool = nullptr;
std::atomic<bool> isPoolTaken{false};
std::atomic<int64_t> wantedThreads{0};

/// The pool for one loop of one caller.
class TakenPool {
public:
  TakenPool() : isTaken(!isPoolTaken.exchange(true)) {
    if (!isTaken || pool)
      return;
    static const int handler = pthread_atfork(nullptr, nullptr, [] {
      // Threads are not copied, and who held it may have been one of them.
      pool = nullptr;
      isPoolTaken = false;
    });
    (void)handler;
    pool = new Pool(countThreads());
  }
  ~TakenPool() {
    if (isTaken)
      isPoolTaken = false;
  }
  TakenPool(const TakenPool &) = delete;
  explicit operator bool() const { return isTaken; }

private:
  bool isTaken;
};

std::atomic<int64_t> defaultThreads{0};

int64_t readThreads() {
  if (const char *value = std::getenv("OMP_NUM_THREADS"); value && *value) {
    // Behind a comma it says how many loops inside of others have.
    char *end;
    int64_t threads = std::strtoll(value, &end, 10);
    if (threads > 0 && (*end == '\0' || *end == ','))
      return threads;
    warn(std::string("OMP_NUM_THREADS is '") + value +
         "', which is no number of threads: there is one for each processor");
  }
  if (int64_t threads = defaultThreads)
    return threads;
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof(processors), &processors) == 0)
    return CPU_COUNT(&processors);
  return std::max(1u, std::thread::hardware_concurrency());
}

} // namespace

int64_t remat::wantedParts() {
  constexpr int64_t kPartsOfThread = 8;
  return kPartsOfThread * countThreads();
}

int64_t remat::countThreads() {
  int64_t threads = wantedThreads;
  if (threads == 0)
    wantedThreads = threads = readThreads();
  return threads;
}

void remat::setDefaultThreads(int64_t count) { defaultThreads = count; }

void remat::setThreads(int64_t count) {
  wantedThreads = std::max<int64_t>(count, 0);
  TakenPool taken;
  if (!taken || pool->size() == countThreads())
    return;
  delete pool;
  pool = nullptr;
}

bool remat::isInSharedLoop() { return runsPart; }

void remat::shareLoop(int64_t count, int64_t parts, LoopBody body,
                      void *context) {
  parts = std::min({count, parts, Share::kMostParts});
  if (count <= 0)
    return;
  if (parts > 1 && countThreads() > 1)
    if (TakenPool taken; taken)
      return pool->run({body, context, count, parts});
  body(context, 0, count);
}

bool remat::atThreadStart(void (*starter)()) {
  getStarters().push_back(starter);
  return true;
}

/// Called by compiled loops, see `convert-parallel-to-runtime`.
REMAT_EXPORT void remat_parallel_for(int64_t count, LoopBody body,
                                     void *context) {
  shareLoop(count, wantedParts(), body, context);
}

/// For programs that cannot set OMP_NUM_THREADS before they begin.
REMAT_EXPORT void remat_set_threads(int64_t count) { setThreads(count); }
