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
#include "Timeline.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <limits>
#include <tuple>

using namespace remat::plan;

namespace {

/// A set of nodes that is emptied in no time.
class Marks {
public:
  explicit Marks(size_t size) : marks(size, 0) {}
  void clear() { ++current; }
  void insert(unsigned node) { marks[node] = current; }
  bool contains(unsigned node) const { return marks[node] == current; }

private:
  std::vector<uint64_t> marks;
  uint64_t current = 0;
};

/// A schedule with what moves ask for at each step.
struct State {
  Schedule schedule;
  Timeline timeline;
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
  Annealing(const FlatGraph &flat, int64_t basePeak, int64_t baseCost,
            uint64_t seed, bool keepsOrder)
      : flat(flat), graph(flat.graph), keepsOrder(keepsOrder),
        basePeak(double(basePeak)),
        baseCost(double(std::max<int64_t>(baseCost, 1))), random(seed),
        clock(flat), counts(graph.nodes.size()), marks(graph.nodes.size()),
        values(graph.values.size()), inChain(graph.nodes.size()) {}

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

  const FlatGraph &flat;
  const Graph &graph;
  bool keepsOrder;
  double basePeak, baseCost;
  Random random;
  int64_t budget = 0, visits = 0;
  Clock clock;
  Timeline prefix;
  std::vector<unsigned> counts, candidates;
  Marks marks, values, inChain;
  Schedule chain;
  double chainDepth = 0;
  const State *chainState = nullptr;
};

} // namespace

/// Returns false if the schedule is not valid.
bool Annealing::evaluate(State &state) {
  state.timeline.visits = 0;
  bool isValid = clock.run(state.schedule, state.timeline);
  visits += state.timeline.visits;
  if (!isValid)
    return false;
  state.over = 0;
  for (int64_t live : state.timeline.live)
    if (live > budget)
      state.over += double(live - budget);
  const ScheduleFigures &figures = state.timeline.figures;
  double excess = double(std::max<int64_t>(0, figures.peak - budget));
  state.energy = (double(figures.cost) - baseCost) / baseCost +
                 (excess + state.over / 20) / basePeak;
  return true;
}

/// Adds to `chain` what has to run in front of step `at` so that `node` can:
/// itself, and what computes inputs that are not alive there. An input that
/// lived until step `from` may as well live on.
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
    for (unsigned input : flat.inputs.of(next)) {
      unsigned producer = graph.values[input].producer;
      if (producer == kNone || graph.nodes[producer].runsOnce)
        continue;
      unsigned copy = clock.getLatest(input);
      if (copy != kNone) {
        const std::vector<Copy> &copies = chainState->timeline.copies;
        unsigned end = copies[copies[copy].root].end;
        if (end >= at || (end >= from && random.fraction() < 0.5))
          continue;
      }
      // A value that another one has replaced is gone in any case.
      if (copy == kNone || random.fraction() < chainDepth)
        work.push_back({producer, false});
    }
  }
}

/// Ends a copy that only waits at some step, over the budget if there is one,
/// and recomputes it right before it is read, or a little earlier.
bool Annealing::drop(State &state) {
  Schedule &schedule = state.schedule;
  const Timeline &timeline = state.timeline;
  unsigned length = unsigned(schedule.size());
  unsigned at = random.below(length);
  if (state.over > 0) {
    candidates.clear();
    for (unsigned step = 0; step < length; ++step)
      if (timeline.live[step] > budget)
        candidates.push_back(step);
    at = candidates[random.below(candidates.size())];
  }
  values.clear();
  for (unsigned value : flat.inputs.of(schedule[at]))
    values.insert(value);
  candidates.clear();
  for (unsigned i = timeline.copiesOf[0]; i < timeline.copiesOf[at]; ++i) {
    const Copy &copy = timeline.copies[i];
    if (copy.lastRead > at && flat.memory[copy.value] != 0 &&
        !values.contains(copy.value) &&
        !graph.nodes[graph.values[copy.value].producer].runsOnce)
      candidates.push_back(copy.value);
  }
  visits += timeline.copiesOf[at];
  if (candidates.empty())
    return false;
  unsigned value = candidates[random.below(candidates.size())];
  marks.clear();
  for (unsigned node : flat.readers.of(value))
    marks.insert(node);
  unsigned reader = at + 1;
  while (reader < length && !marks.contains(schedule[reader]))
    ++reader;
  if (reader == length)
    return false;
  if (random.below(4) == 0)
    reader = at + 1 + random.below(reader - at);
  prefix.visits = 0;
  clock.runPrefix(schedule, reader, prefix);
  visits += prefix.visits;
  chain.clear();
  inChain.clear();
  chainDepth = random.fraction();
  chainState = &state;
  addChain(graph.values[value].producer, reader, at);
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
  marks.clear();
  for (unsigned step = 0; step < schedule.size(); ++step) {
    unsigned node = schedule[step];
    if (counts[node] > 1 && !(keepsOrder && !marks.contains(node)))
      candidates.push_back(step);
    marks.insert(node);
  }
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
  if (keepsOrder && std::find(schedule.begin(), schedule.begin() + from,
                              node) == schedule.begin() + from)
    return false;
  int distance = 1 + int(random.below(random.below(2) ? 4 : length));
  bool isEarlier = random.below(2);
  marks.clear();
  marks.insert(node);
  if (isEarlier)
    for (unsigned value : flat.inputs.of(node)) {
      if (unsigned producer = graph.values[value].producer; producer != kNone)
        marks.insert(producer);
    }
  else
    for (unsigned value : flat.outputs.of(node))
      for (unsigned reader : flat.readers.of(value))
        marks.insert(reader);
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
  Lists::Range inputs = flat.inputs.of(schedule[at]);
  if (inputs.empty())
    return false;
  unsigned producer =
      graph.values[inputs[random.below(inputs.size())]].producer;
  if (producer == kNone || graph.nodes[producer].runsOnce)
    return false;
  schedule.insert(schedule.begin() + at, producer);
  return true;
}

/// Takes away runs that nothing reads. Returns true if there were any.
bool Annealing::removeUnread(State &state) {
  Schedule &schedule = state.schedule;
  const Timeline &timeline = state.timeline;
  unsigned kept = 0;
  marks.clear();
  for (unsigned step = 0; step < schedule.size(); ++step) {
    unsigned node = schedule[step];
    // Of what has to run at all, the first run counts.
    bool isNeeded =
        (flat.isRequired[node] || keepsOrder) && !marks.contains(node);
    marks.insert(node);
    for (unsigned i = timeline.copiesOf[step];
         !isNeeded && i < timeline.copiesOf[step + 1]; ++i)
      isNeeded = timeline.copies[i].lastRead != step;
    if (isNeeded)
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
    const ScheduleFigures &figures = current.timeline.figures;
    if (current.over > 0 || figures.cost >= best)
      return;
    best = figures.cost;
    found.push_back({current.schedule, figures});
  };
  keep();
  while (visits < maxVisits) {
    double temperature =
        temperatures.first * std::pow(temperatures.last / temperatures.first,
                                      double(visits) / double(maxVisits));
    next = current;
    visits += int64_t(current.schedule.size());
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
  FlatGraph flat(graph);
  auto search = [&](bool goesOn) {
    std::vector<Plan> found = {{given, base}};
    Annealing annealing(flat, base.peak, base.cost,
                        options.seed * 2 + (goesOn ? 1 : 0),
                        options.keepsOrder);
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
  auto it =
      std::partition_point(plans.begin(), plans.end(), [&](const Plan &plan) {
        return plan.figures.peak > budget;
      });
  return it == plans.end() ? nullptr : &*it;
}

const Plan *PlanArchive::findWithin(int64_t cost) const {
  auto it =
      std::partition_point(plans.begin(), plans.end(), [&](const Plan &plan) {
        return plan.figures.cost <= cost;
      });
  return it == plans.begin() ? nullptr : &*std::prev(it);
}
