//===- MPIRanks.cpp - Ranks that MPI started ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Open MPI or MPICH, whichever started this process, loaded when a program
// first asks for its ranks. Handles are those of their binary interfaces, which
// their versions keep:
//  - Open MPI (libmpi.so.40, versions 2 to 5): addresses of variables of the
//    library, `ompi_mpi_comm_world` and `ompi_mpi_byte` (its mpi.h).
//  - MPICH (libmpich.so.12, libmpi.so.12: since 3.1, and what keeps to the
//    MPICH ABI Compatibility Initiative, as Intel MPI and Cray MPICH do):
//    numbers, MPI_COMM_WORLD 0x44000000, MPI_BYTE 0x4c00010d (its mpi.h).
//===----------------------------------------------------------------------===//

#include "remat/Runtime/Ranks.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <sched.h>
#include <stdexcept>

using namespace remat;

namespace {

using Clock = std::chrono::steady_clock;

/// While it starts; the runtime prints it.
[[noreturn]] void fail(const std::string &message) {
  throw std::runtime_error(message);
}

/// Two binary interfaces: what handles are.
struct OpenMPI {
  using Handle = void *;
  static constexpr const char *name = "Open MPI";
  static Handle find(void *library, const char *variable, int) {
    return dlsym(library, variable);
  }
  static void *ignoreStatuses() { return nullptr; }
};
struct MPICH {
  using Handle = int;
  static constexpr const char *name = "MPICH";
  static Handle find(void *, const char *, int number) { return number; }
  static void *ignoreStatuses() { return reinterpret_cast<void *>(1); }
};

/// Which ranks there are, by who started them.
struct Launch {
  int64_t size = 1, ranksOfMachine = 1, rankOnMachine = 0;
  bool isOpenMPI = false;
};

constexpr int kSuccess = 0;
/// Only the thread that called it first calls MPI.
constexpr int kThreadFunneled = 1;
constexpr size_t kLongestText = 1024;
/// MPI counts bytes in an int.
constexpr size_t kLongestMessage = 1 << 30;

template <typename ABI> class MPIRanks final : public Ranks {
  using Handle = typename ABI::Handle;

public:
  MPIRanks(void *library, const std::string &path)
      : library(library), path(path) {
    load(initialized, "MPI_Initialized");
    load(finalized, "MPI_Finalized");
    load(initThread, "MPI_Init_thread");
    load(finalize, "MPI_Finalize");
    load(abortAll, "MPI_Abort");
    load(duplicate, "MPI_Comm_dup");
    load(setErrorHandler, "MPI_Comm_set_errhandler");
    load(getRank, "MPI_Comm_rank");
    load(getSize, "MPI_Comm_size");
    load(startSend, "MPI_Isend");
    load(startReceive, "MPI_Irecv");
    load(testAll, "MPI_Testall");
    load(getErrorString, "MPI_Error_string");
    byte = ABI::find(library, "ompi_mpi_byte", 0x4c00010d);
    Handle world = ABI::find(library, "ompi_mpi_comm_world", 0x44000000);
    Handle errorsReturn =
        ABI::find(library, "ompi_mpi_errors_return", 0x54000001);
    int isInitialized = 0;
    check(initialized(&isInitialized), "MPI_Initialized");
    if (!isInitialized) {
      int provided = 0;
      check(initThread(nullptr, nullptr, kThreadFunneled, &provided),
            "MPI_Init_thread");
      isOurs = true;
    }
    // Messages of a program that uses MPI itself are not mixed up with these.
    check(duplicate(world, &communicator), "MPI_Comm_dup");
    check(setErrorHandler(communicator, errorsReturn),
          "MPI_Comm_set_errhandler");
    int number = 0;
    check(getRank(communicator, &number), "MPI_Comm_rank");
    own = number;
    check(getSize(communicator, &number), "MPI_Comm_size");
    count = number;
    if (const char *text = std::getenv("REMAT_RANK_TIMEOUT")) {
      char *end;
      int64_t seconds = std::strtoll(text, &end, 10);
      if (!*text || *end || seconds < 1)
        fail(std::string("REMAT_RANK_TIMEOUT must be a number of seconds, but "
                         "got '") +
             text + "'");
      timeout = seconds;
    }
  }

  int64_t rank() const override { return own; }
  int64_t size() const override { return count; }

  std::string exchange(const std::vector<Outgoing> &out,
                       const std::vector<Incoming> &in) override {
    requests.clear();
    std::string error;
    auto start = [&](auto function, auto data, size_t bytes, int64_t peer) {
      for (size_t at = 0; at < bytes && error.empty();) {
        size_t some = std::min(bytes - at, kLongestMessage);
        Handle request{};
        int code =
            function(data + at, static_cast<int>(some), byte,
                     static_cast<int>(peer), /*tag=*/0, communicator, &request);
        if (code == kSuccess)
          requests.push_back(request);
        else
          error = describe(code);
        at += some;
      }
    };
    for (const Incoming &message : in)
      start(startReceive, static_cast<char *>(message.data), message.bytes,
            message.rank);
    for (const Outgoing &message : out)
      start(startSend, static_cast<const char *>(message.data), message.bytes,
            message.rank);
    return error.empty() ? wait() : error;
  }

  [[noreturn]] void abort() override {
    abortAll(communicator, 1);
    std::_Exit(1);
  }

  /// At the end of a program that has not failed.
  void end() {
    int isFinalized = 0;
    if (isOurs && finalized(&isFinalized) == kSuccess && !isFinalized)
      finalize();
  }

private:
  template <typename Function> void load(Function &function, const char *name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function)
      fail(path + ": has no " + name + "; is it a library of MPI?");
  }

  std::string describe(int code) {
    char text[kLongestText] = {};
    int length = 0;
    if (getErrorString(code, text, &length) != kSuccess)
      return "error " + std::to_string(code) + " of " + ABI::name;
    std::string result = text;
    std::replace(result.begin(), result.end(), '\n', ' ');
    return result;
  }

  void check(int code, const char *name) {
    if (code != kSuccess)
      fail(std::string(name) + " of " + path + ": " + describe(code));
  }

  /// Asks instead of waiting: a rank that does not come is an error, and other
  /// ranks may need this core.
  std::string wait() {
    constexpr int kSpins = 1000;
    Clock::time_point start = Clock::now();
    for (int64_t spin = 0;; ++spin) {
      int isDone = 0;
      int code = testAll(static_cast<int>(requests.size()), requests.data(),
                         &isDone, ABI::ignoreStatuses());
      if (code != kSuccess)
        return describe(code);
      if (isDone)
        return "";
      if (spin < kSpins)
        continue;
      sched_yield();
      if (Clock::now() - start > std::chrono::seconds(timeout))
        return "other ranks did not come within " + std::to_string(timeout) +
               " s (REMAT_RANK_TIMEOUT)";
    }
  }

  void *library;
  std::string path;
  bool isOurs = false;
  int64_t own = 0, count = 1, timeout = 1800;
  Handle communicator{}, byte{};
  std::vector<Handle> requests;

  int (*initialized)(int *);
  int (*finalized)(int *);
  int (*initThread)(int *, char ***, int, int *);
  int (*finalize)();
  int (*abortAll)(Handle, int);
  int (*duplicate)(Handle, Handle *);
  int (*setErrorHandler)(Handle, Handle);
  int (*getRank)(Handle, int *);
  int (*getSize)(Handle, int *);
  int (*startSend)(const void *, int, Handle, int, int, Handle, Handle *);
  int (*startReceive)(void *, int, Handle, int, int, Handle, Handle *);
  int (*testAll)(int, Handle *, int *, void *);
  int (*getErrorString)(int, char *, int *);
};

} // namespace

//===----------------------------------------------------------------------===//
// The launcher and its library
//===----------------------------------------------------------------------===//

static int64_t readNumber(const char *variable, int64_t without) {
  const char *text = std::getenv(variable);
  return text ? std::strtoll(text, nullptr, 10) : without;
}

static Launch readLaunch() {
  Launch launch;
  launch.isOpenMPI = std::getenv("OMPI_COMM_WORLD_SIZE");
  launch.size =
      readNumber(launch.isOpenMPI ? "OMPI_COMM_WORLD_SIZE" : "PMI_SIZE", 1);
  launch.ranksOfMachine = readNumber(
      launch.isOpenMPI ? "OMPI_COMM_WORLD_LOCAL_SIZE" : "MPI_LOCALNRANKS",
      launch.size);
  launch.rankOnMachine = readNumber(
      launch.isOpenMPI ? "OMPI_COMM_WORLD_LOCAL_RANK" : "MPI_LOCALRANKID", 0);
  return launch;
}

template <typename ABI>
static Ranks *start(void *library, const std::string &path) {
  static MPIRanks<ABI> *instance = nullptr;
  instance = new MPIRanks<ABI>(library, path);
  std::atexit([] { instance->end(); });
  return instance;
}

static Ranks *startMPI(const Launch &launch) {
  std::vector<std::string> paths;
  if (const char *path = std::getenv("REMAT_MPI_LIBRARY"))
    paths = {path};
  else if (launch.isOpenMPI)
    paths = {"libmpi.so.40"};
  else
    paths = {"libmpich.so.12", "libmpi.so.12"};
  std::string reasons;
  for (const std::string &path : paths) {
    // Its own plug-ins look for its functions.
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
      const char *text = dlerror();
      reasons += (reasons.empty() ? "" : "; ") +
                 std::string(text ? text : "unknown error");
      continue;
    }
    if (!dlsym(library, "MPI_Init_thread"))
      fail(path + ": has no MPI_Init_thread; is it a library of MPI?");
    bool isOpenMPI = dlsym(library, "ompi_mpi_comm_world");
    if (isOpenMPI != launch.isOpenMPI)
      fail(path + ": is a library of " +
           (isOpenMPI ? OpenMPI::name : MPICH::name) + ", but " +
           (isOpenMPI ? MPICH::name : OpenMPI::name) +
           " started this process; use the mpirun of the same MPI");
    return isOpenMPI ? start<OpenMPI>(library, path)
                     : start<MPICH>(library, path);
  }
  fail(std::string("the library of ") +
       (launch.isOpenMPI ? OpenMPI::name : MPICH::name) +
       ", which started this process, cannot be loaded (" + reasons +
       "); install it, or name it in REMAT_MPI_LIBRARY");
}

//===----------------------------------------------------------------------===//
// Cores
//===----------------------------------------------------------------------===//

static std::vector<int> listCores() {
  cpu_set_t cores;
  std::vector<int> result;
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &cores))
        result.push_back(core);
  return result;
}

static bool useCores(const std::vector<int> &cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores)
    CPU_SET(core, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

/// Gives each rank the machine's cores divided by its ranks there, whatever
/// mpirun has bound it to. Returns how many.
static int64_t takeCores(const Launch &launch) {
  std::vector<int> bound = listCores(), all;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    all.push_back(core);
  // Of all, the system leaves those that this process may use.
  if (useCores(all))
    all = listCores();
  else
    all = bound;
  int64_t ranks = std::max<int64_t>(launch.ranksOfMachine, 1);
  int64_t cores = all.size(), own = std::max<int64_t>(cores / ranks, 1);
  int64_t first = launch.rankOnMachine * own;
  if (first + own <= cores)
    useCores({all.begin() + first, all.begin() + first + own});
  return own;
}

/// A thread is not started here, and MPI neither: libraries are still loaded.
[[maybe_unused]] static const bool isRegistered = [] {
  static const Launch launch = readLaunch();
  int64_t threads = 0;
  if (launch.size > 1 && !std::getenv("OMP_NUM_THREADS"))
    threads = takeCores(launch);
  auto startRanks = [](std::string &error) -> Ranks * {
    try {
      return launch.size > 1 ? startMPI(launch) : nullptr;
    } catch (const std::runtime_error &failure) {
      error = failure.what();
      return nullptr;
    }
  };
  remat_rt_register_ranks(startRanks, threads);
  return true;
}();
