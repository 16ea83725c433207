//===- Selection.cpp - Which values a region saves ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With a price for each byte, the best selection is a minimum cut: a value that
// the backward reads is saved or its node is recomputed, and what that node
// reads is read by the backward, too. A budget is one price that is not known,
// and a rest that no price fills.
//
//===----------------------------------------------------------------------===//

#include "remat/Plan/Selection.h"

#include "MinCut.h"

#include <algorithm>
#include <cmath>
#include <tuple>

using namespace remat::plan;

namespace {

class Selector {
public:
  explicit Selector(const SelectionProblem &problem)
      : graph(problem.graph), problem(problem), isSaved(graph.values.size()) {}

  /// Returns the selection of the least cost and price together: each byte that
  /// is saved has a price, and each unit of cost another one.
  Selection cut(double byteWeight, double costWeight,
                const std::vector<bool> *isExpensive);

  /// Returns the selection that saves of `candidates` what is needed.
  Selection evaluate(const std::vector<unsigned> &candidates);

  /// Adds to `selection` what fits, and exchanges values, as long as that gets
  /// cheaper.
  void improve(Selection &selection, const std::vector<unsigned> &candidates,
               int64_t budget);

private:
  const Graph &graph;
  const SelectionProblem &problem;
  std::vector<bool> isSaved;
};

} // namespace

static bool isBetter(const Selection &a, const Selection &b) {
  return std::tie(a.cost, a.bytes) < std::tie(b.cost, b.bytes);
}

Selection Selector::cut(double byteWeight, double costWeight,
                        const std::vector<bool> *isExpensive) {
  // A vertex for each value: whether the backward reads it; after these one
  // for each node: whether it is recomputed.
  auto numValues = unsigned(graph.values.size());
  MinCut network(numValues + unsigned(graph.nodes.size()));
  for (unsigned value : problem.needed)
    network.addArc(network.getSource(), value, MinCut::kUnbounded);
  for (unsigned value = 0; value < numValues; ++value) {
    unsigned producer = graph.values[value].producer;
    if (producer == kNone)
      continue;
    bool mustRun =
        !problem.maySave[value] && !(isExpensive && (*isExpensive)[producer]);
    network.addArc(value, numValues + producer,
                   mustRun ? MinCut::kUnbounded
                           : byteWeight * double(graph.values[value].bytes));
  }
  for (unsigned node = 0; node < graph.nodes.size(); ++node) {
    bool mayRun = !isExpensive || !(*isExpensive)[node];
    network.addArc(numValues + node, network.getSink(),
                   mayRun ? costWeight * double(graph.nodes[node].cost)
                          : MinCut::kUnbounded);
    for (unsigned input : graph.nodes[node].inputs)
      network.addArc(numValues + node, input, MinCut::kUnbounded);
  }
  std::vector<bool> isSource = network.solve();
  std::vector<unsigned> saved;
  for (unsigned value = 0; value < numValues; ++value) {
    unsigned producer = graph.values[value].producer;
    if (producer != kNone && isSource[value] && !isSource[numValues + producer])
      saved.push_back(value);
  }
  return evaluate(saved);
}

Selection Selector::evaluate(const std::vector<unsigned> &candidates) {
  for (unsigned value : candidates)
    isSaved[value] = true;
  Selection selection;
  std::vector<bool> isRead(graph.values.size()), runs(graph.nodes.size());
  std::vector<unsigned> work = problem.needed;
  for (unsigned value : work)
    isRead[value] = true;
  while (!work.empty()) {
    unsigned value = work.back();
    work.pop_back();
    unsigned producer = graph.values[value].producer;
    if (producer == kNone || isSaved[value] || runs[producer])
      continue;
    runs[producer] = true;
    selection.cost += graph.nodes[producer].cost;
    for (unsigned input : graph.nodes[producer].inputs)
      if (!isRead[input]) {
        isRead[input] = true;
        work.push_back(input);
      }
  }
  for (unsigned value : candidates) {
    isSaved[value] = false;
    // A node that is recomputed gives all its values.
    if (!isRead[value] || runs[graph.values[value].producer])
      continue;
    selection.saved.push_back(value);
    selection.bytes += graph.values[value].bytes;
  }
  std::sort(selection.saved.begin(), selection.saved.end());
  return selection;
}

void Selector::improve(Selection &selection,
                       const std::vector<unsigned> &candidates,
                       int64_t budget) {
  // So many nodes and values are looked at.
  constexpr size_t maxVisits = 200'000'000;
  size_t visits = 0, size = graph.nodes.size() + graph.values.size();
  auto replace = [&](const std::vector<unsigned> &values) {
    visits += size;
    Selection other = evaluate(values);
    if (other.bytes > budget || !isBetter(other, selection))
      return false;
    selection = std::move(other);
    return true;
  };
  auto isSaved = [&](unsigned value) {
    return std::binary_search(selection.saved.begin(), selection.saved.end(),
                              value);
  };
  for (bool changed = true; changed && visits < maxVisits;) {
    changed = false;
    for (unsigned value : candidates) {
      if (isSaved(value))
        continue;
      std::vector<unsigned> more = selection.saved;
      more.push_back(value);
      changed |= replace(more);
    }
    for (unsigned value : candidates)
      for (unsigned i = 0;
           i < selection.saved.size() && !isSaved(value) && visits < maxVisits;
           ++i) {
        std::vector<unsigned> exchanged = selection.saved;
        exchanged[i] = value;
        changed |= replace(exchanged);
      }
  }
}

Selection remat::plan::selectFewestBytes(const SelectionProblem &problem,
                                         const std::vector<bool> &isExpensive) {
  int64_t cost = 1;
  for (const Node &node : problem.graph.nodes)
    cost += node.cost;
  // All costs together are less than half a byte.
  return Selector(problem).cut(1.0, 0.5 / double(cost), &isExpensive);
}

Selection remat::plan::selectWithin(const SelectionProblem &problem,
                                    int64_t budget) {
  const Graph &graph = problem.graph;
  Selector selector(problem);
  std::vector<unsigned> candidates;
  for (unsigned value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].producer != kNone && problem.maySave[value])
      candidates.push_back(value);
  Selection nothing = selector.evaluate({});
  // Values that alone are too large, or that nothing reads, are not worth it.
  auto isUseless = [&](unsigned value) {
    return graph.values[value].bytes > budget ||
           selector.evaluate({value}).saved.empty();
  };
  candidates.erase(
      std::remove_if(candidates.begin(), candidates.end(), isUseless),
      candidates.end());
  if (candidates.size() <= kMaxExhaustive) {
    Selection best = nothing;
    for (unsigned subset = 1; subset < 1u << candidates.size(); ++subset) {
      std::vector<unsigned> values;
      for (unsigned i = 0; i < candidates.size(); ++i)
        if (subset >> i & 1)
          values.push_back(candidates[i]);
      Selection selection = selector.evaluate(values);
      if (selection.bytes <= budget && isBetter(selection, best))
        best = std::move(selection);
    }
    return best;
  }
  // The price of a byte for which a cut fits, by bisection on a scale of
  // ratios; a higher price saves no more bytes.
  Selection best = nothing;
  double low = 1e-12, high = 1e12;
  for (unsigned i = 0; i < 60 && high / low > 1 + 1e-9; ++i) {
    double price = low * std::sqrt(high / low);
    Selection selection = selector.cut(price, 1.0, nullptr);
    if (selection.bytes > budget) {
      low = price;
      continue;
    }
    high = price;
    if (isBetter(selection, best))
      best = std::move(selection);
  }
  // The largest first: small ones fill the rest.
  std::sort(candidates.begin(), candidates.end(), [&](unsigned a, unsigned b) {
    return std::pair(-graph.values[a].bytes, a) <
           std::pair(-graph.values[b].bytes, b);
  });
  selector.improve(best, candidates, budget);
  return best;
}
