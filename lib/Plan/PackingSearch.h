//===- PackingSearch.h - Branch and bound for arena packing -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heuristics leave holes where many buffers of very different sizes live at
// the same time. This search either finds a packing of a given height, proves
// that there is none, or gives up after a fixed number of nodes.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLAN_PACKINGSEARCH_H
#define REMAT_LIB_PLAN_PACKINGSEARCH_H

#include "remat/Plan/Packing.h"

namespace remat::plan {

enum class SearchResult { found, impossible, gaveUp };

struct BoundedPacking {
  SearchResult result = SearchResult::gaveUp;
  /// Valid if `result` is `found`; its height may be below the capacity.
  Packing packing;
};

/// Looks for a packing into `capacity` bytes, visiting at most `maxNodes` nodes
/// of the search tree.
BoundedPacking packInto(const std::vector<Interval> &intervals,
                        int64_t capacity, int64_t maxNodes);

} // namespace remat::plan

#endif // REMAT_LIB_PLAN_PACKINGSEARCH_H
