//===- Ranks.cpp - The ranks of this process ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The engine that was registered, and what compiled programs call.
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Ranks.h"

#include "Collectives.h"
#include "Failure.h"
#include "MemRef.h"
#include "Threads.h"

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>

using namespace remat;

//===----------------------------------------------------------------------===//
// Engines
//===----------------------------------------------------------------------===//

namespace {
class OneRank final : public Ranks {
public:
  int64_t rank() const override { return 0; }
  int64_t size() const override { return 1; }
  std::string exchange(const std::vector<Outgoing> &,
                       const std::vector<Incoming> &) override {
    return "there is no other rank";
  }
  [[noreturn]] void abort() override { std::_Exit(1); }
};

/// A variable of those who start several ranks.
struct Launcher {
  const char *size, *rank;
};
} // namespace

static constexpr Launcher launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"}, {"PMI_SIZE", "PMI_RANK"}};

/// By the environment, whether an engine is there or not.
static int64_t readLauncher(const char *Launcher::*variable, int64_t without) {
  for (const Launcher &launcher : launchers)
    if (const char *text = std::getenv(launcher.*variable))
      return std::strtoll(text, nullptr, 10);
  return without;
}

static StartRanks registered = nullptr;

static void abortRanks() { ranks().abort(); }

static Ranks *started = nullptr;

std::string remat::startRanks() {
  if (started)
    return "";
  std::string error;
  Ranks *engine = registered ? registered(error) : nullptr;
  if (!error.empty())
    return error;
  if (engine) {
    rankInMessages = engine->rank();
    endOtherRanks = abortRanks;
  }
  started = engine ? engine : new OneRank;
  return "";
}

Ranks &remat::ranks() {
  static std::once_flag once;
  std::call_once(once, [] {
    std::string error = startRanks();
    if (!error.empty())
      failOnAllRanks(error);
  });
  return *started;
}

int64_t remat::countStarted() { return readLauncher(&Launcher::size, 1); }

bool remat::hasEngine() { return registered != nullptr; }

REMAT_EXPORT void remat_rt_register_ranks(StartRanks start, int64_t threads) {
  registered = start;
  setDefaultThreads(threads);
}

void remat::failOnAllRanks(const std::string &message) {
  // The first rank ends the others, or whoever started them does.
  int64_t rank = rankInMessages;
  if (rank < 0)
    rank = readLauncher(&Launcher::rank, 0);
  if (rank != 0) {
    std::this_thread::sleep_for(std::chrono::seconds(5));
    std::_Exit(1);
  }
  fail(message);
}

static std::string countRanks(int64_t count) {
  return std::to_string(count) + (count == 1 ? " rank" : " ranks");
}

void remat::expectRanks(int64_t count) {
  int64_t started = readLauncher(&Launcher::size, 1);
  if (!registered && started > 1)
    failOnAllRanks(countRanks(started) +
                   " were started, but no library connects them; load "
                   "libremat_mpi.so beside the runtime");
  int64_t found = ranks().size();
  if (found != count)
    failOnAllRanks("the program is for " + countRanks(count) +
                   ", but this is " + std::to_string(found) +
                   "; start it with mpirun -n " + std::to_string(count));
}

Collectives &remat::collectives() {
  // Never destroyed: other threads may be in a collective when one ends.
  static auto *instance = new Collectives(ranks());
  return *instance;
}

//===----------------------------------------------------------------------===//
// From MLIR
//===----------------------------------------------------------------------===//

template <typename T> static T toPointer(int64_t address) {
  return reinterpret_cast<T>(address);
}

/// An axis of one rank needs no engine.
static Axis checkAxis(int64_t stride, int64_t size) {
  if (size > 1)
    if (int64_t started = readLauncher(&Launcher::size, 1);
        !registered && started > 1)
      expectRanks(started);
  return {stride, size};
}

REMAT_EXPORT int64_t remat_rank(int64_t stride, int64_t size) {
  if (size == 1)
    return 0;
  return collectives().getCoordinate(checkAxis(stride, size));
}

REMAT_EXPORT void remat_all_reduce(int64_t kind, int64_t type, int64_t stride,
                                   int64_t size, int64_t parts, int64_t n,
                                   int64_t into, int64_t count) {
  if (kind < 0 || kind >= numReductionKinds || type < 0 ||
      type >= numScalarKinds || n < 1)
    fail("an all_reduce of an unknown kind; was the program compiled by "
         "another version?");
  auto *addresses = toPointer<const char *const *>(parts);
  std::vector<const char *> pointers(addresses, addresses + n);
  auto reduction = ReductionKind(kind);
  auto scalar = ScalarKind(type);
  if (size == 1)
    return reduceParts(reduction, scalar, pointers, toPointer<char *>(into),
                       count);
  collectives().allReduce(reduction, scalar, checkAxis(stride, size), pointers,
                          toPointer<char *>(into), count);
}

REMAT_EXPORT void remat_all_gather(int64_t stride, int64_t size, int64_t outer,
                                   int64_t bytes, int64_t from, int64_t into) {
  if (size == 1) {
    device().upload(toPointer<void *>(into), toPointer<const void *>(from),
                    outer * bytes);
    return;
  }
  collectives().allGather(checkAxis(stride, size), outer, bytes,
                          toPointer<const char *>(from),
                          toPointer<char *>(into));
}
