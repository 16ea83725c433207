//===- Recompute.cpp - Schedules that recompute ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Simulated annealing over whole schedules, order included, one budget after
// the other from the loosest to the tightest. That annealing on sequences with
// repeats does better than integer programs whose stages are fixed was seen in
// "FastSA" (Schuler, Kadlec, "XLA-like rematerialization by simulated
// annealing"); moves and evaluation here are our own. Schedules over the
// budget are allowed on the way, at a price, since good ones are far from each
// other.
//===----------------------------------------------------------------------===//

#include "remat/Plan/Recompute.h"

#include "Eviction.h"
#include "Random.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <tuple>

using namespace remat::plan;

namespace {

/// Neighbors of all nodes in one array.
class Adjacency {
public:
  Adjacency(const Graph &graph, bool ofInputs) : start(graph.nodes.size() + 1) {
    auto from = [&](auto edge) { return ofInputs ? edge.second : edge.first; };
    for (auto edge : graph.edges)
      ++start[from(edge) + 1];
    for (size_t i = 1; i < start.size(); ++i)
      start[i] += start[i - 1];
    others.resize(graph.edges.size());
    std::vector<unsigned> next(start.begin(), start.end() - 1);
    std::vector<std::pair<unsigned, unsigned>> edges = graph.edges;
    std::sort(edges.begin(), edges.end());
    for (auto edge : edges)
      others[next[from(edge)]++] = ofInputs ? edge.first : edge.second;
  }
  struct Range {
    const unsigned *first, *last;
    const unsigned *begin() const { return first; }
    const unsigned *end() const { return last; }
    bool empty() const { return first == last; }
  };
  Range of(unsigned node) const {
    return {others.data() + start[node], others.data() + start[node + 1]};
  }

private:
  std::vector<unsigned> start, others;
};

/// A set of nodes that is emptied in no time.
class Marks {
public:
  explicit Marks(size_t size) : marks(size, 0) {}
  void set(Adjacency::Range nodes) {
    ++current;
    for (unsigned node : nodes)
      marks[node] = current;
  }
  void clear() { ++current; }
  void insert(unsigned node) { marks[node] = current; }
  bool contains(unsigned node) const { return marks[node] == current; }

private:
  std::vector<uint64_t> marks;
  uint64_t current = 0;
};

constexpr unsigned kNone = ~0u;

/// A schedule with what moves ask for at each step.
struct State {
  Schedule schedule;
  /// The last step that reads the copy that a step makes.
  std::vector<unsigned> end;
  /// Bytes alive while a step runs.
  std::vector<int64_t> live;
  ScheduleFigures figures;
  /// Sum of the bytes over the budget of all steps.
  double over = 0;
  double energy = 0;
};

/// How far up the annealing goes: relative to the cost of the given order.
struct Temperatures {
  double first, last;
};

class Annealing {
public:
  Annealing(const Graph &graph, int64_t basePeak, int64_t baseCost,
            uint64_t seed)
      : graph(graph), inputs(graph, /*ofInputs=*/true),
        outputs(graph, /*ofInputs=*/false), basePeak(double(basePeak)),
        baseCost(double(std::max<int64_t>(baseCost, 1))), random(seed),
        latest(graph.nodes.size()), counts(graph.nodes.size()),
        marks(graph.nodes.size()), inChain(graph.nodes.size()) {}

  /// Searches from `start` within so many visits of nodes and edges. Appends
  /// what fits into `budget` and is cheaper than all before it to `found`.
  void run(const Schedule &start, int64_t budget, int64_t maxVisits,
           Temperatures temperatures, std::vector<Plan> &found);

private:
  bool evaluate(State &state);
  bool propose(State &state);
  bool drop(State &state);
  bool erase(State &state);
  bool shift(State &state);
  bool repeat(State &state);
  bool removeUnread(State &state);
  void addChain(unsigned node, unsigned at, unsigned from);

  const Graph &graph;
  Adjacency inputs, outputs;
  double basePeak, baseCost;
  Random random;
  int64_t budget = 0, visits = 0;
  std::vector<unsigned> latest, counts;
  std::vector<int64_t> freed;
  std::vector<unsigned> candidates;
  Marks marks, inChain;
  Schedule chain;
  double chainDepth = 0;
  const State *chainState = nullptr;
};

} // namespace

/// Returns false if the schedule is not valid.
bool Annealing::evaluate(State &state) {
  const Schedule &schedule = state.schedule;
  size_t length = schedule.size();
  visits += int64_t(length);
  state.end.resize(length);
  state.live.resize(length);
  freed.assign(length + 1, 0);
  std::fill(latest.begin(), latest.end(), kNone);
  state.figures = {};
  state.over = 0;
  for (size_t step = 0; step < length; ++step) {
    unsigned node = schedule[step];
    for (unsigned input : inputs.of(node)) {
      if (latest[input] == kNone)
        return false;
      state.end[latest[input]] = unsigned(step);
      ++visits;
    }
    latest[node] = state.end[step] = unsigned(step);
    state.figures.cost += graph.nodes[node].cost;
  }
  for (size_t node = 0; node < latest.size(); ++node)
    if (latest[node] == kNone && outputs.of(unsigned(node)).empty())
      return false;
  for (size_t step = 0; step < length; ++step)
    freed[state.end[step] + 1] += graph.nodes[schedule[step]].bytes;
  int64_t live = 0;
  for (size_t step = 0; step < length; ++step) {
    live += graph.nodes[schedule[step]].bytes - freed[step];
    state.live[step] = live;
    state.figures.peak = std::max(state.figures.peak, live);
    if (live > budget)
      state.over += double(live - budget);
  }
  double excess = double(std::max<int64_t>(0, state.figures.peak - budget));
  state.energy = (double(state.figures.cost) - baseCost) / baseCost +
                 (excess + state.over / 20) / basePeak;
  return true;
}

/// Adds to `chain` what has to run in front of step `at` so that `node` can:
/// itself, and inputs that are not alive there. An input that lived until
/// step `from` may as well live on.
void Annealing::addChain(unsigned node, unsigned at, unsigned from) {
  // Depth first without recursion: (node, whether its inputs are done).
  std::vector<std::pair<unsigned, bool>> work = {{node, false}};
  while (!work.empty()) {
    auto [next, isDone] = work.back();
    work.pop_back();
    if (isDone) {
      chain.push_back(next);
      continue;
    }
    if (inChain.contains(next))
      continue;
    inChain.insert(next);
    work.push_back({next, true});
    for (unsigned input : inputs.of(next)) {
      unsigned copy = latest[input];
      if (copy == kNone || chainState->end[copy] >= at)
        continue;
      if (chainState->end[copy] >= from && random.fraction() < 0.5)
        continue;
      if (random.fraction() < chainDepth)
        work.push_back({input, false});
    }
  }
}

/// Ends a copy that only waits at some step, over the budget if there is one,
/// and recomputes it right before it is read, or a little earlier.
bool Annealing::drop(State &state) {
  Schedule &schedule = state.schedule;
  unsigned length = unsigned(schedule.size());
  unsigned at = random.below(length);
  if (state.over > 0) {
    candidates.clear();
    for (unsigned step = 0; step < length; ++step)
      if (state.live[step] > budget)
        candidates.push_back(step);
    at = candidates[random.below(candidates.size())];
  }
  marks.set(inputs.of(schedule[at]));
  candidates.clear();
  for (unsigned step = 0; step < at; ++step)
    if (state.end[step] > at && !marks.contains(schedule[step]))
      candidates.push_back(step);
  if (candidates.empty())
    return false;
  unsigned node = schedule[candidates[random.below(candidates.size())]];
  marks.set(outputs.of(node));
  unsigned reader = at + 1;
  while (reader < length && !marks.contains(schedule[reader]))
    ++reader;
  if (reader == length)
    return false;
  if (random.below(4) == 0)
    reader = at + 1 + random.below(reader - at);
  std::fill(latest.begin(), latest.end(), kNone);
  for (unsigned step = 0; step < reader; ++step)
    latest[schedule[step]] = step;
  visits += length;
  chain.clear();
  inChain.clear();
  chainDepth = random.fraction();
  chainState = &state;
  addChain(node, reader, at);
  schedule.insert(schedule.begin() + reader, chain.begin(), chain.end());
  return true;
}

/// Takes one run of a node away that runs more than once.
bool Annealing::erase(State &state) {
  Schedule &schedule = state.schedule;
  std::fill(counts.begin(), counts.end(), 0);
  for (unsigned node : schedule)
    ++counts[node];
  candidates.clear();
  for (unsigned step = 0; step < schedule.size(); ++step)
    if (counts[schedule[step]] > 1)
      candidates.push_back(step);
  visits += int64_t(schedule.size());
  if (candidates.empty())
    return false;
  schedule.erase(schedule.begin() +
                 candidates[random.below(candidates.size())]);
  return true;
}

/// Moves a run to an earlier or later step, as far as what it reads and what
/// reads it allow.
bool Annealing::shift(State &state) {
  Schedule &schedule = state.schedule;
  int length = int(schedule.size());
  int from = int(random.below(schedule.size()));
  unsigned node = schedule[from];
  int distance = 1 + int(random.below(random.below(2) ? 4 : length));
  bool isEarlier = random.below(2);
  marks.set(isEarlier ? inputs.of(node) : outputs.of(node));
  marks.insert(node);
  int to = from, step = isEarlier ? -1 : 1;
  while (distance-- > 0 && to + step >= 0 && to + step < length &&
         !marks.contains(schedule[to + step]))
    to += step;
  if (to == from)
    return false;
  auto begin = schedule.begin();
  if (to < from)
    std::rotate(begin + to, begin + from, begin + from + 1);
  else
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  return true;
}

/// Runs an input of a step once more right before it.
bool Annealing::repeat(State &state) {
  Schedule &schedule = state.schedule;
  unsigned at = random.below(schedule.size());
  Adjacency::Range range = inputs.of(schedule[at]);
  if (range.empty())
    return false;
  unsigned input = range.first[random.below(range.last - range.first)];
  schedule.insert(schedule.begin() + at, input);
  return true;
}

/// Takes away runs that nothing reads. Returns whether there were any.
bool Annealing::removeUnread(State &state) {
  Schedule &schedule = state.schedule;
  unsigned kept = 0;
  marks.clear();
  for (unsigned step = 0; step < schedule.size(); ++step) {
    unsigned node = schedule[step];
    // Of a node that nothing reads at all, the first run counts.
    bool isResult = outputs.of(node).empty() && !marks.contains(node);
    marks.insert(node);
    if (state.end[step] != step || isResult)
      schedule[kept++] = node;
  }
  bool hasChanged = kept != schedule.size();
  schedule.resize(kept);
  return hasChanged;
}

bool Annealing::propose(State &state) {
  double kind = random.fraction();
  if (kind < (state.over > 0 ? 0.5 : 0.25))
    return drop(state);
  if (kind < 0.7)
    return erase(state);
  if (kind < 0.97)
    return shift(state);
  return repeat(state);
}

void Annealing::run(const Schedule &start, int64_t limit, int64_t maxVisits,
                    Temperatures temperatures, std::vector<Plan> &found) {
  budget = limit;
  visits = 0;
  State current, next;
  current.schedule = start;
  evaluate(current);
  int64_t best = std::numeric_limits<int64_t>::max();
  auto keep = [&] {
    if (current.over > 0 || current.figures.cost >= best)
      return;
    best = current.figures.cost;
    found.push_back({current.schedule, current.figures});
  };
  keep();
  while (visits < maxVisits) {
    double temperature =
        temperatures.first * std::pow(temperatures.last / temperatures.first,
                                      double(visits) / double(maxVisits));
    next.schedule = current.schedule;
    next.end = current.end;
    next.live = current.live;
    next.over = current.over;
    ++visits;
    if (!propose(next) || !evaluate(next))
      continue;
    if (removeUnread(next) && !evaluate(next))
      continue;
    if (next.energy > current.energy &&
        random.fraction() >=
            std::exp((current.energy - next.energy) / temperature))
      continue;
    std::swap(current, next);
    keep();
  }
}

//===----------------------------------------------------------------------===//
// The archive
//===----------------------------------------------------------------------===//

/// Leaves those that are better than all others in one figure, by falling peak.
static void keepBest(std::vector<Plan> &plans) {
  std::sort(plans.begin(), plans.end(), [](const Plan &a, const Plan &b) {
    return std::tie(a.figures.cost, a.figures.peak, a.schedule) <
           std::tie(b.figures.cost, b.figures.peak, b.schedule);
  });
  std::vector<Plan> best;
  for (Plan &plan : plans)
    if (best.empty() || plan.figures.peak < best.back().figures.peak)
      best.push_back(std::move(plan));
  plans = std::move(best);
}

static const Plan *findIn(const std::vector<Plan> &plans, int64_t budget) {
  const Plan *best = nullptr;
  for (const Plan &plan : plans)
    if (plan.figures.peak <= budget &&
        (!best || std::tie(plan.figures.cost, plan.figures.peak) <
                      std::tie(best->figures.cost, best->figures.peak)))
      best = &plan;
  return best;
}

PlanArchive::PlanArchive(const Graph &graph, const RecomputeOptions &options) {
  Schedule given = getGivenOrder(graph);
  ScheduleFigures base = *evaluate(graph, given);
  plans.push_back({given, base});
  if (graph.nodes.empty())
    return;
  int64_t smallest =
      std::max(getLargestWorkingSet(graph),
               int64_t(options.smallestFraction * double(base.peak)));
  std::vector<int64_t> budgets;
  for (int64_t i = 1;; ++i) {
    double fraction = 1.0 - double(i) * options.resolution;
    int64_t budget = int64_t(std::ceil(fraction * double(base.peak)));
    if (fraction <= 0 || budget <= smallest)
      break;
    if (budget < base.peak && (budgets.empty() || budget < budgets.back()))
      budgets.push_back(budget);
  }
  if (smallest < base.peak)
    budgets.push_back(smallest);
  if (budgets.empty())
    return;

  // Two threads share nothing, so that what they find depends on the input
  // only. One goes on from the leanest schedule so far, the other one starts
  // from the given order. Which temperatures are right depends on how much a
  // budget costs: little in large graphs, up to several times everything in
  // small ones.
  constexpr Temperatures rounds[] = {{3e-3, 2e-5}, {3e-2, 3e-5}, {0.3, 1e-3}};
  int64_t share = options.maxVisits /
                  (2 * int64_t(std::size(rounds)) * int64_t(budgets.size()));
  auto search = [&](bool goesOn) {
    std::vector<Plan> found = {{given, base}};
    Annealing annealing(graph, base.peak, base.cost,
                        options.seed * 2 + (goesOn ? 1 : 0));
    for (int64_t budget : budgets) {
      if (goesOn)
        if (std::optional<Schedule> schedule =
                evictAndRecompute(graph, budget, options.seed)) {
          ScheduleFigures figures = *evaluate(graph, *schedule);
          found.push_back({std::move(*schedule), figures});
          keepBest(found);
        }
      for (Temperatures temperatures : rounds) {
        annealing.run(goesOn ? found.back().schedule : given, budget, share,
                      temperatures, found);
        keepBest(found);
      }
    }
    return found;
  };
  auto other = std::async(std::launch::async, search, false);
  plans = search(true);
  std::vector<Plan> more = other.get();
  std::move(more.begin(), more.end(), std::back_inserter(plans));
  keepBest(plans);
}

const Plan *PlanArchive::find(int64_t budget) const {
  return findIn(plans, budget);
}
