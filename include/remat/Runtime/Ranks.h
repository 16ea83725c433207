//===- Ranks.h - The processes of one program ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program that is split runs as several processes, its ranks, which are
// numbered from 0. What they exchange are messages: sums are the runtime's
// own, in an order that does not depend on how many ranks there are, as MPI's
// and NCCL's do. An engine is a library that is loaded beside the runtime.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_RANKS_H
#define REMAT_RUNTIME_RANKS_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace remat {

struct Outgoing {
  int64_t rank;
  const void *data;
  size_t bytes;
};
struct Incoming {
  int64_t rank;
  void *data;
  size_t bytes;
};

/// An engine. One thread at a time calls it, but for `abort`.
class Ranks {
public:
  virtual ~Ranks() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t size() const = 0;
  /// Sends and receives all of these. Messages between two ranks arrive in the
  /// order in which they are listed, in this call and from call to call.
  /// Returns when the memory may be used, or with the reason why that failed:
  /// messages of other sizes, a rank that does not come in time.
  virtual std::string exchange(const std::vector<Outgoing> &out,
                               const std::vector<Incoming> &in) = 0;
  /// Ends all ranks, this one included.
  [[noreturn]] virtual void abort() = 0;
};

/// Starts an engine: null where the process is the only rank, and was not
/// started as one of several, or with an `error`.
using StartRanks = Ranks *(*)(std::string & error);

/// Starts the ranks of this process unless they are. Returns why that failed,
/// or nothing.
std::string startRanks();

/// The number of processes that were started together, by the environment.
int64_t countStarted();

/// True if an engine was registered.
bool hasEngine();

/// The ranks of this process: those of the engine that was registered, which is
/// started at the first call, or one.
Ranks &ranks();

/// `message` of all ranks: the first one prints it, and all end with 1.
[[noreturn]] void failOnAllRanks(const std::string &message);

/// Fails unless there are so many ranks as the program is for.
void expectRanks(int64_t count);

} // namespace remat

extern "C" {

/// Registers an engine, before the first call of `ranks`. `threads`: how many
/// of each rank run loops, where OMP_NUM_THREADS does not say it.
__attribute__((visibility("default"))) void
remat_rt_register_ranks(remat::StartRanks start, int64_t threads);

} // extern "C"

//===----------------------------------------------------------------------===//
// From MLIR
//===----------------------------------------------------------------------===//
//
// All operands are i64; memory is passed as the address of its first element.
// See remat.rank, remat.all_reduce and remat.all_gather for what they compute.
//
//   @remat_rank(stride, size) -> i64
//   @remat_all_reduce(kind, type, stride, size, parts, n, into, count)
//   @remat_all_gather(stride, size, outer, bytes, from, into)
//
// `kind` counts the kinds of remat.all_reduce, `type` ScalarKind (Device.h).
// `parts`: the address of n addresses, of `count` elements each. `from` has
// `outer` rows of `bytes`, of which each is a part of one of `into`.

#endif // REMAT_RUNTIME_RANKS_H
