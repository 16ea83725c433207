//===- MinCut.h - Minimum cuts of networks ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_PLAN_MINCUT_H
#define REMAT_LIB_PLAN_MINCUT_H

#include <vector>

namespace remat::plan {

/// A directed network with a source and a sink.
class MinCut {
public:
  /// Arcs of this capacity are never cut.
  static constexpr double kUnbounded = 1e300;

  /// Of `count` vertices beside the source and the sink.
  explicit MinCut(unsigned count) : arcsOf(count + 2) {}

  unsigned getSource() const { return unsigned(arcsOf.size()) - 2; }
  unsigned getSink() const { return unsigned(arcsOf.size()) - 1; }

  /// A capacity of 0 adds nothing.
  void addArc(unsigned from, unsigned to, double capacity);

  /// Returns which vertices are on the source's side of the minimum cut that is
  /// closest to the sink. There is a cut without unbounded arcs. Push and
  /// relabel (Goldberg and Tarjan 1988), highest vertices first, up to the
  /// preflow, which is enough for a cut; with gaps and heights that are exact
  /// again from time to time (Cherkassky and Goldberg 1997).
  std::vector<bool> solve();

private:
  struct Arc {
    unsigned to;
    double capacity;
  };

  void computeHeights();
  void activate(unsigned vertex);
  void send(unsigned from, unsigned arc, double flow);
  void discharge(unsigned vertex);
  void closeGap(unsigned height);

  /// Each arc stands next to its reverse.
  std::vector<Arc> arcs;
  std::vector<std::vector<unsigned>> arcsOf;

  std::vector<double> excess;
  /// Distances to the sink at most; `arcsOf.size()` where it is out of reach.
  std::vector<unsigned> heights, next;
  /// By height: how many vertices have it, and those that have an excess.
  std::vector<unsigned> counts;
  std::vector<std::vector<unsigned>> active;
  unsigned highest = 0, numRelabels = 0;
  double least = 0;
};

} // namespace remat::plan

#endif // REMAT_LIB_PLAN_MINCUT_H
