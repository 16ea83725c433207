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
#include "Timeline.h"

#include <algorithm>
#include <limits>

using namespace remat::plan;

namespace {

class Eviction {
public:
  Eviction(const Graph &graph, int64_t budget, uint64_t seed);
  std::optional<Schedule> run();

private:
  struct State {
    /// How many of the nodes that read it have run for the first time.
    size_t next = 0;
    /// Of a value that is not alive: about what recomputing it costs.
    int64_t rebuildCost = 0;
    /// Position in `alive`; -1: it is not alive.
    int64_t position = -1;
    /// How many runs that have begun need it.
    unsigned pins = 0;
    /// The first node, in the given order, after which it cannot be recomputed:
    /// something that it is made of is gone for good.
    unsigned expiry = kNone;
  };

  bool compute(unsigned node);
  bool makeRoom(unsigned node);
  void insert(unsigned value);
  void remove(unsigned value);
  void removeIfUnread(unsigned value);
  void findExpiries();
  bool mayGo(unsigned value) const;
  double getScore(unsigned value) const;
  bool isAlive(unsigned value) const { return states[value].position >= 0; }

  const Graph &graph;
  FlatGraph flat;
  int64_t budget, live = 0;
  Random random;
  std::vector<State> states;
  std::vector<unsigned> alive;
  Schedule schedule;
  /// The node whose first run is next.
  unsigned now = 0;
};

} // namespace

Eviction::Eviction(const Graph &graph, int64_t budget, uint64_t seed)
    : graph(graph), flat(graph), budget(budget), random(seed),
      states(graph.values.size()) {
  findExpiries();
  for (unsigned value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].producer == kNone)
      insert(value);
}

void Eviction::findExpiries() {
  for (unsigned node = 0; node < graph.nodes.size(); ++node)
    for (unsigned value : graph.nodes[node].outputs) {
      unsigned source = graph.values[value].inPlaceOf;
      if (source != kNone && graph.values[source].producer == kNone)
        states[source].expiry = node;
    }
  for (unsigned index = 0; index < graph.nodes.size(); ++index) {
    const Node &node = graph.nodes[index];
    for (unsigned value : node.outputs) {
      unsigned &expiry = states[value].expiry;
      if (node.runsOnce) {
        Lists::Range readers = flat.readers.of(value);
        expiry = readers.empty() ? index : readers[readers.size() - 1];
        continue;
      }
      for (unsigned input : node.inputs)
        expiry = std::min(expiry, states[input].expiry);
    }
  }
}

void Eviction::insert(unsigned value) {
  states[value].position = int64_t(alive.size());
  alive.push_back(value);
}

void Eviction::remove(unsigned value) {
  State &state = states[value];
  unsigned producer = graph.values[value].producer;
  if (producer != kNone) {
    state.rebuildCost = graph.nodes[producer].cost;
    for (unsigned input : flat.inputs.of(producer))
      if (!isAlive(input))
        state.rebuildCost = std::min(
            state.rebuildCost + states[input].rebuildCost, int64_t(1) << 52);
  }
  states[alive.back()].position = state.position;
  std::swap(alive[state.position], alive.back());
  alive.pop_back();
  state.position = -1;
  live -= flat.memory[value];
}

void Eviction::removeIfUnread(unsigned value) {
  const State &state = states[value];
  if (isAlive(value) && state.pins == 0 && !flat.isElsewhere[value] &&
      state.next == flat.readers.of(value).size())
    remove(value);
}

bool Eviction::mayGo(unsigned value) const {
  const State &state = states[value];
  unsigned producer = graph.values[value].producer;
  if (state.pins != 0 || flat.memory[value] == 0 || producer == kNone ||
      graph.nodes[producer].runsOnce)
    return false;
  Lists::Range readers = flat.readers.of(value);
  return state.next == readers.size() || readers[state.next] < state.expiry;
}

/// Returns a number that is the lower, the better it is to recompute `value`.
double Eviction::getScore(unsigned value) const {
  const State &state = states[value];
  Lists::Range readers = flat.readers.of(value);
  if (state.next == readers.size())
    return 0;
  unsigned producer = graph.values[value].producer;
  double cost = double(graph.nodes[producer].cost) + 1e-3;
  for (unsigned input : flat.inputs.of(producer))
    if (!isAlive(input))
      cost += double(states[input].rebuildCost);
  double distance = double(readers[state.next] - now) + 1;
  return cost / ((double(flat.memory[value]) + 1e-3) * distance);
}

/// Evicts values until `node` can run.
bool Eviction::makeRoom(unsigned node) {
  constexpr unsigned samples = 48;
  int64_t bytes = graph.nodes[node].workspace, takenOver = 0;
  for (unsigned value : flat.outputs.of(node))
    bytes += graph.values[value].bytes;
  std::vector<unsigned> taken;
  for (const std::vector<unsigned> &inputs : graph.nodes[node].takeOvers)
    for (unsigned value : inputs) {
      const State &state = states[value];
      Lists::Range readers = flat.readers.of(value);
      bool ends =
          state.pins == 1 &&
          (state.next == readers.size() ||
           (state.next + 1 == readers.size() && readers[state.next] == node));
      if (!ends || std::find(taken.begin(), taken.end(), value) != taken.end())
        continue;
      taken.push_back(value);
      takenOver += flat.memory[value];
      break;
    }
  while (live + bytes - takenOver > budget) {
    unsigned best = 0;
    double lowest = -1;
    auto consider = [&](unsigned value) {
      if (!mayGo(value))
        return;
      double score = getScore(value);
      if (lowest >= 0 && score >= lowest)
        return;
      lowest = score;
      best = value;
    };
    if (alive.size() > samples)
      for (unsigned i = 0; i < samples; ++i)
        consider(alive[random.below(alive.size())]);
    if (lowest < 0)
      for (unsigned value : alive)
        consider(value);
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
    Lists::Range inputs = flat.inputs.of(current);
    if (current != node && graph.nodes[current].runsOnce)
      return false;
    if (numReady < inputs.size()) {
      unsigned input = inputs[numReady];
      if (!isAlive(input)) {
        unsigned producer = graph.values[input].producer;
        if (producer == kNone || work.size() > graph.nodes.size())
          return false;
        work.push_back({producer, 0});
        continue;
      }
      ++states[input].pins;
      ++numReady;
      continue;
    }
    if (!makeRoom(current) || schedule.size() >= 8 * graph.nodes.size())
      return false;
    for (unsigned value : flat.outputs.of(current)) {
      unsigned source = graph.values[value].inPlaceOf;
      if (source != kNone)
        remove(source);
      if (!isAlive(value)) {
        insert(value);
        live += flat.memory[value];
      }
    }
    schedule.push_back(current);
    for (unsigned input : inputs)
      --states[input].pins;
    if (current == node)
      for (unsigned input : inputs)
        ++states[input].next;
    for (unsigned input : inputs)
      removeIfUnread(input);
    work.pop_back();
  }
  for (unsigned output : flat.outputs.of(node))
    removeIfUnread(output);
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
  std::optional<Schedule> schedule = Eviction(graph, budget, seed).run();
  if (!schedule)
    return std::nullopt;
  std::optional<ScheduleFigures> figures = evaluate(graph, *schedule);
  return figures && figures->peak <= budget ? schedule : std::nullopt;
}
