//===- Eviction.cpp - A first schedule within a budget --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Annealing needs many evaluations of a whole schedule; graphs of a hundred
// thousand nodes leave it few. This runs the given order once, as a cache
// would: where a value does not fit, others go that are cheap to recompute,
// large, and not read for long (the heuristic of Kirisame et al., "Dynamic
// Tensor Rematerialization", ICLR 2021, with the distance to the next reader,
// which is known here, in place of staleness).
//===----------------------------------------------------------------------===//

#include "Eviction.h"

#include "Random.h"

#include <algorithm>

using namespace remat::plan;

namespace {

class Eviction {
public:
  Eviction(const Graph &graph, int64_t budget, uint64_t seed);
  std::optional<Schedule> run();

private:
  struct Value {
    std::vector<unsigned> inputs;
    /// Nodes that read it, in the given order, and the first one of those that
    /// has not run yet.
    std::vector<unsigned> readers;
    size_t next = 0;
    /// Of a value that is not alive: about what recomputing it costs.
    int64_t rebuildCost = 0;
    /// Position in `alive`; -1: it is not alive.
    int64_t position = -1;
    /// How many runs that have begun need it.
    unsigned pins = 0;
  };

  bool compute(unsigned node);
  bool makeRoom(int64_t bytes);
  void insert(unsigned node);
  void remove(unsigned node);
  void removeIfUnread(unsigned node);
  double getScore(unsigned node) const;
  bool isAlive(unsigned node) const { return values[node].position >= 0; }

  const Graph &graph;
  int64_t budget, live = 0;
  Random random;
  std::vector<Value> values;
  std::vector<unsigned> alive;
  Schedule schedule;
  /// The node whose first run is next.
  unsigned now = 0;
};

} // namespace

Eviction::Eviction(const Graph &graph, int64_t budget, uint64_t seed)
    : graph(graph), budget(budget), random(seed), values(graph.nodes.size()) {
  for (auto [producer, consumer] : graph.edges) {
    values[consumer].inputs.push_back(producer);
    values[producer].readers.push_back(consumer);
  }
  for (Value &value : values)
    std::sort(value.readers.begin(), value.readers.end());
}

void Eviction::insert(unsigned node) {
  values[node].position = int64_t(alive.size());
  alive.push_back(node);
  live += graph.nodes[node].bytes;
}

void Eviction::remove(unsigned node) {
  Value &value = values[node];
  value.rebuildCost = graph.nodes[node].cost;
  for (unsigned input : value.inputs)
    if (!isAlive(input))
      value.rebuildCost = std::min(
          value.rebuildCost + values[input].rebuildCost, int64_t(1) << 52);
  values[alive.back()].position = value.position;
  std::swap(alive[value.position], alive.back());
  alive.pop_back();
  value.position = -1;
  live -= graph.nodes[node].bytes;
}

void Eviction::removeIfUnread(unsigned node) {
  const Value &value = values[node];
  if (isAlive(node) && value.pins == 0 && value.next == value.readers.size())
    remove(node);
}

/// The lower, the better it is to recompute `node`.
double Eviction::getScore(unsigned node) const {
  const Value &value = values[node];
  double cost = double(graph.nodes[node].cost) + 1e-3;
  for (unsigned input : value.inputs)
    if (!isAlive(input))
      cost += double(values[input].rebuildCost);
  double distance = double(value.readers[value.next] - now) + 1;
  return cost / ((double(graph.nodes[node].bytes) + 1e-3) * distance);
}

/// Evicts values until so many bytes fit.
bool Eviction::makeRoom(int64_t bytes) {
  constexpr unsigned samples = 48;
  while (live + bytes > budget) {
    unsigned best = 0;
    double lowest = -1;
    auto consider = [&](unsigned node) {
      if (values[node].pins != 0 || graph.nodes[node].bytes == 0)
        return;
      double score = getScore(node);
      if (lowest >= 0 && score >= lowest)
        return;
      lowest = score;
      best = node;
    };
    if (alive.size() > samples)
      for (unsigned i = 0; i < samples; ++i)
        consider(alive[random.below(alive.size())]);
    if (lowest < 0)
      for (unsigned node : alive)
        consider(node);
    if (lowest < 0)
      return false;
    remove(best);
  }
  return true;
}

/// Runs `node`, and first what it needs.
bool Eviction::compute(unsigned node) {
  // (node, how many of its inputs are there for it).
  std::vector<std::pair<unsigned, size_t>> work = {{node, 0}};
  while (!work.empty()) {
    auto &[current, numReady] = work.back();
    const Value &value = values[current];
    if (numReady < value.inputs.size()) {
      unsigned input = value.inputs[numReady];
      if (!isAlive(input)) {
        work.push_back({input, 0});
        continue;
      }
      ++values[input].pins;
      ++numReady;
      continue;
    }
    if (!makeRoom(graph.nodes[current].bytes) ||
        schedule.size() >= 8 * graph.nodes.size())
      return false;
    insert(current);
    schedule.push_back(current);
    for (unsigned input : value.inputs)
      --values[input].pins;
    if (current == node)
      for (unsigned input : value.inputs)
        while (values[input].next < values[input].readers.size() &&
               values[input].readers[values[input].next] <= node)
          ++values[input].next;
    for (unsigned input : value.inputs)
      removeIfUnread(input);
    work.pop_back();
  }
  removeIfUnread(node);
  return true;
}

std::optional<Schedule> Eviction::run() {
  for (; now < graph.nodes.size(); ++now)
    if (!compute(now))
      return std::nullopt;
  return std::move(schedule);
}

std::optional<Schedule> remat::plan::evictAndRecompute(const Graph &graph,
                                                       int64_t budget,
                                                       uint64_t seed) {
  return Eviction(graph, budget, seed).run();
}
