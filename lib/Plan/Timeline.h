//===- Timeline.h - When the values of a schedule are alive -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What everything in this library is measured by, fast enough for a search
// that asks a million times.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLAN_TIMELINE_H
#define REMAT_LIB_PLAN_TIMELINE_H

#include "remat/Plan/Graph.h"

namespace remat::plan {

/// Lists of numbers, one for each node or value, in one array.
class Lists {
public:
  struct Range {
    const unsigned *first, *last;
    const unsigned *begin() const { return first; }
    const unsigned *end() const { return last; }
    bool empty() const { return first == last; }
    size_t size() const { return size_t(last - first); }
    unsigned operator[](size_t i) const { return first[i]; }
  };

  template <typename GetList>
  Lists(size_t count, GetList getList) : start(1, 0) {
    start.reserve(count + 1);
    for (size_t i = 0; i < count; ++i) {
      const std::vector<unsigned> &list = getList(i);
      numbers.insert(numbers.end(), list.begin(), list.end());
      start.push_back(unsigned(numbers.size()));
    }
  }
  Range of(unsigned index) const {
    return {numbers.data() + start[index], numbers.data() + start[index + 1]};
  }

private:
  std::vector<unsigned> start, numbers;
};

/// The lists of a graph.
struct FlatGraph {
  explicit FlatGraph(const Graph &graph);

  const Graph &graph;
  Lists inputs, outputs, after;
  /// The nodes that read a value.
  Lists readers;
  /// Of each value: the bytes of its memory, and whether what it is computed
  /// in, or it itself, exists before the first node.
  std::vector<int64_t> memory;
  std::vector<bool> isElsewhere;
  /// Nodes that a schedule may not leave out.
  std::vector<bool> isRequired;
};

/// A copy of a value that one run of its producer computes.
struct Copy {
  unsigned value;
  unsigned step;
  /// The last step that reads it; its own if none does.
  unsigned lastRead;
  /// The copy whose memory it has: itself, or what it was computed in place of.
  unsigned root;
  /// Of a root: the last step at which its memory is in use.
  unsigned end;
};

struct Timeline {
  /// In the order of steps. The first copies are those of values that exist
  /// before.
  std::vector<Copy> copies;
  /// The first copy of each step.
  std::vector<unsigned> copiesOf;
  /// The copies of what outputs may take over, step by step, in the order of
  /// `Node::takeOvers`.
  std::vector<unsigned> candidates;
  /// Bytes alive while a step runs.
  std::vector<int64_t> live;
  ScheduleFigures figures;
  /// How many nodes and values were looked at.
  int64_t visits = 0;
};

/// Fills timelines. Has its own memory, which is not allocated again and again.
class Clock {
public:
  explicit Clock(const FlatGraph &graph);

  /// Returns false if `schedule` is not valid; `timeline` is incomplete then.
  bool run(const Schedule &schedule, Timeline &timeline);

  /// Runs the first `length` steps, for `getLatest`.
  bool runPrefix(const Schedule &schedule, size_t length, Timeline &timeline);
  /// Returns the copy of `value` that a next step would read; none if it does
  /// not exist yet or no longer.
  unsigned getLatest(unsigned value) const { return latest[value]; }

private:
  const FlatGraph &flat;
  std::vector<unsigned> latest, numRuns;
  std::vector<int64_t> change;
  std::vector<unsigned> taken;
};

} // namespace remat::plan

#endif // REMAT_LIB_PLAN_TIMELINE_H
