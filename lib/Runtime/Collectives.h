//===- Collectives.h - Sums and gathers by messages -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_RUNTIME_COLLECTIVES_H
#define REMAT_LIB_RUNTIME_COLLECTIVES_H

#include "Reduction.h"
#include "remat/Runtime/Ranks.h"

namespace remat {

/// An axis of the grid: `size` ranks, `stride` from one to the next.
struct Axis {
  int64_t stride, size;
};

/// A collective, as the ranks of a group compare it before they exchange
/// anything else.
struct CollectiveCall {
  enum Operation : int64_t {
    reduce,
    gather,
    barrier,
    compare,
    broadcast,
    /// Of a host program: a step begins or has ended; this rank has failed.
    begin,
    finish,
    failure
  };
  Operation operation;
  /// Of a reduction: kind, type and parts of a rank. Of a gather: bytes of a
  /// row.
  int64_t kind = 0, type = 0, parts = 0;
  int64_t stride = 1, size = 1;
  /// Elements, or rows; bytes of the text of a failure.
  int64_t count = 0;

  std::string str() const;
  bool operator==(const CollectiveCall &other) const;
};

/// The collectives of an engine.
class Collectives {
public:
  /// Of the messages that arrive: larger tensors go in chunks.
  static constexpr size_t kWorkspace = 1 << 20;

  explicit Collectives(Ranks &engine, size_t workspaceBytes = kWorkspace)
      : engine(engine), workspaceBytes(workspaceBytes) {}
  ~Collectives();
  Collectives(const Collectives &) = delete;

  /// This rank's coordinate. Fails if the grid is not one of these ranks.
  int64_t getCoordinate(Axis axis) const;

  /// `into` = the parts of all ranks of the group, `count` elements each, put
  /// together in the order (coordinate, number of the part) as `reduceParts`
  /// does. `into` may be the memory of the first part.
  void allReduce(ReductionKind kind, ScalarKind type, Axis axis,
                 const std::vector<const char *> &parts, char *into,
                 int64_t count);
  /// Each row of `into` = that row of all ranks of the group, of `bytes` each,
  /// in the order of their coordinates.
  void allGather(Axis axis, int64_t rows, size_t bytes, const char *from,
                 char *into);
  /// Copies the memory of the first rank to all others.
  void broadcast(char *data, size_t bytes);
  /// Returns when all ranks have called it.
  void barrier();
  /// The texts of all ranks, by rank: what they can compare before a run.
  std::vector<std::string> gatherTexts(const std::string &text);

  /// A host program goes on after a step that fails: its ranks compare what
  /// they are at before they send anything else, so that one that has failed
  /// can say so in its place, and nothing is left on its way.
  void setHosted() { isHosted = true; }
  void beginStep(bool comparesFirst);
  /// Fails if another rank did.
  void finishStep();
  /// Leaves the step that all ranks are in, or are about to begin: they fail
  /// with `message`, unless they know already. Returns false if that cannot be
  /// said to all of them, since some wait for others.
  bool reportFailure(const std::string &message);
  bool doOthersKnow() const { return othersKnow; }

private:
  struct Group;
  Group getGroup(Axis axis) const;
  char *getWorkspace();
  void exchange(const CollectiveCall &call, const Group &group,
                std::vector<Outgoing> out, std::vector<Incoming> in,
                bool isFirst);
  void compareFirst(const CollectiveCall &call, const Group &group);
  void reduceSmall(const CollectiveCall &call, const Group &group,
                   const std::vector<const char *> &parts, char *into);
  void reduceInPieces(const CollectiveCall &call, const Group &group,
                      const std::vector<const char *> &parts, char *into);
  void gatherPacked(const CollectiveCall &call, const Group &group,
                    const char *from, char *into);
  void gatherInPlace(const CollectiveCall &call, const Group &group,
                     const char *from, char *into);

  Ranks &engine;
  size_t workspaceBytes;
  char *workspace = nullptr;
  bool isHosted = false;
  /// True if all ranks that this one may wait for have the same failure.
  bool othersKnow = false;
  /// Why messages may be on their way that no rank waits for; empty if
  /// all were received.
  std::string broken;
};

/// Those of the process.
Collectives &collectives();

} // namespace remat

#endif // REMAT_LIB_RUNTIME_COLLECTIVES_H
