//===- Packing.cpp - Offsets for buffers in one arena ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without it every buffer would be an allocation of its own, and the peak
// would be known only to the allocator.
//===----------------------------------------------------------------------===//

#include "remat/Plan/Packing.h"

#include "PackingSearch.h"
#include "Random.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

using namespace remat::plan;

namespace {

bool isEmpty(const Interval &interval) {
  return interval.size <= 0 || interval.lower >= interval.upper;
}

int64_t alignTo(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

enum class Fit { first, best };

bool overlap(const Interval &a, const Interval &b) {
  return a.lower < b.upper && b.lower < a.upper;
}

/// Who is alive together with whom, once for all orders.
class Conflicts {
public:
  explicit Conflicts(const std::vector<Interval> &intervals)
      : intervals(intervals), counts(intervals.size(), 0) {
    std::vector<int64_t> starts, ends;
    for (const Interval &interval : intervals) {
      if (isEmpty(interval))
        continue;
      starts.push_back(interval.lower);
      ends.push_back(interval.upper);
    }
    std::sort(starts.begin(), starts.end());
    std::sort(ends.begin(), ends.end());
    // All but itself, those that begin later and those that end before.
    for (size_t i = 0; i < intervals.size(); ++i) {
      if (isEmpty(intervals[i]))
        continue;
      counts[i] =
          std::lower_bound(starts.begin(), starts.end(), intervals[i].upper) -
          starts.begin() - 1 -
          (std::upper_bound(ends.begin(), ends.end(), intervals[i].lower) -
           ends.begin());
      total += counts[i];
      byStart.push_back(i);
    }
    std::sort(byStart.begin(), byStart.end(), [&](size_t a, size_t b) {
      return std::pair(intervals[a].lower, a) <
             std::pair(intervals[b].lower, b);
    });
    if (!areDense())
      listNeighbors();
  }

  int64_t count(size_t i) const { return counts[i]; }

  /// Returns true if so many buffers conflict that their lists, which take
  /// memory and have to be sorted, cost more than a look at all buffers.
  bool areDense() const {
    constexpr int64_t listCost = 8;
    int64_t n = static_cast<int64_t>(intervals.size());
    return total > n * n / listCost;
  }

  /// Those in conflict with `i` in the order in which they begin, if there are
  /// lists.
  const std::vector<size_t> &of(size_t i) const { return neighbors[i]; }

  /// Number `n` of them.
  size_t neighbor(size_t i, size_t n) const {
    if (!areDense())
      return neighbors[i][n];
    for (size_t j : byStart)
      if (j != i && overlap(intervals[i], intervals[j]) && n-- == 0)
        return j;
    return i;
  }

private:
  void listNeighbors() {
    neighbors.resize(intervals.size());
    std::vector<size_t> active;
    for (size_t i : byStart) {
      active.erase(std::remove_if(active.begin(), active.end(),
                                  [&](size_t j) {
                                    return intervals[j].upper <=
                                           intervals[i].lower;
                                  }),
                   active.end());
      for (size_t j : active) {
        neighbors[i].push_back(j);
        neighbors[j].push_back(i);
      }
      active.push_back(i);
    }
  }

  const std::vector<Interval> &intervals;
  std::vector<int64_t> counts;
  int64_t total = 0;
  std::vector<size_t> byStart;
  std::vector<std::vector<size_t>> neighbors;
};

/// Looks for a gap between occupied ranges that come in the order of their
/// lower ends.
class GapSearch {
public:
  GapSearch(const Interval &interval, Fit fit) : interval(interval), fit(fit) {}

  /// Returns true if the search is over.
  bool visit(int64_t lower, int64_t upper) {
    int64_t start = alignTo(end, interval.alignment);
    if (lower - start >= interval.size && lower - end < bestGap) {
      bestGap = lower - end;
      bestOffset = start;
      if (fit == Fit::first)
        return true;
    }
    end = std::max(end, upper);
    return false;
  }

  int64_t getOffset() const {
    return bestOffset >= 0 ? bestOffset : alignTo(end, interval.alignment);
  }

private:
  const Interval &interval;
  Fit fit;
  int64_t end = 0;
  int64_t bestGap = std::numeric_limits<int64_t>::max(), bestOffset = -1;
};

/// Places buffers one by one, in a given order, into the gaps that the
/// neighbors placed before leave.
class Placer {
public:
  Placer(const std::vector<Interval> &intervals, const Conflicts &conflicts)
      : intervals(intervals), conflicts(conflicts),
        areDense(conflicts.areDense()) {}

  /// Gives up as soon as the height reaches `limit`; the height is then
  /// `limit` or more and the offsets are incomplete.
  Packing place(const std::vector<size_t> &order, Fit fit, int64_t limit) {
    Packing result;
    result.offsets.assign(intervals.size(), 0);
    placed.assign(intervals.size(), false);
    byOffset.clear();
    for (size_t i : order) {
      const Interval &interval = intervals[i];
      int64_t offset = findOffset(i, result.offsets, fit);
      result.offsets[i] = offset;
      if (areDense)
        byOffset.insert(std::upper_bound(byOffset.begin(), byOffset.end(),
                                         offset,
                                         [&](int64_t offset, size_t j) {
                                           return offset < result.offsets[j];
                                         }),
                        i);
      placed[i] = true;
      result.height = std::max(result.height, offset + interval.size);
      if (result.height >= limit)
        break;
    }
    return result;
  }

  int64_t getVisits() const { return visits; }

private:
  int64_t findOffset(size_t i, const std::vector<int64_t> &offsets, Fit fit) {
    const Interval &interval = intervals[i];
    visits += conflicts.count(i);
    GapSearch search(interval, fit);
    if (areDense) {
      for (size_t j : byOffset)
        if (overlap(interval, intervals[j]) &&
            search.visit(offsets[j], offsets[j] + intervals[j].size))
          break;
      return search.getOffset();
    }
    occupied.clear();
    for (size_t j : conflicts.of(i))
      if (placed[j])
        occupied.push_back({offsets[j], offsets[j] + intervals[j].size});
    std::sort(occupied.begin(), occupied.end());
    for (auto [lower, upper] : occupied)
      if (search.visit(lower, upper))
        break;
    return search.getOffset();
  }

  const std::vector<Interval> &intervals;
  const Conflicts &conflicts;
  const bool areDense;
  std::vector<bool> placed;
  /// The buffers placed so far, if conflicts are dense.
  std::vector<size_t> byOffset;
  std::vector<std::pair<int64_t, int64_t>> occupied;
  int64_t visits = 0;
};

/// Live bytes over time as (time, bytes from here to the next entry).
std::vector<std::pair<int64_t, int64_t>>
getLoad(const std::vector<Interval> &intervals) {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (const Interval &interval : intervals) {
    if (isEmpty(interval))
      continue;
    changes.push_back({interval.lower, interval.size});
    changes.push_back({interval.upper, -interval.size});
  }
  std::sort(changes.begin(), changes.end());
  std::vector<std::pair<int64_t, int64_t>> load;
  int64_t live = 0;
  for (auto [time, bytes] : changes) {
    live += bytes;
    if (!load.empty() && load.back().first == time)
      load.back().second = live;
    else
      load.push_back({time, live});
  }
  return load;
}

/// The largest load during each interval.
std::vector<int64_t> getContention(const std::vector<Interval> &intervals) {
  std::vector<std::pair<int64_t, int64_t>> load = getLoad(intervals);
  // Sparse table of range maxima.
  std::vector<std::vector<int64_t>> maxima(1);
  for (auto [time, bytes] : load)
    maxima[0].push_back(bytes);
  for (size_t width = 1; 2 * width <= load.size(); width *= 2) {
    const std::vector<int64_t> &last = maxima.back();
    std::vector<int64_t> next;
    for (size_t i = 0; i + 2 * width <= load.size(); ++i)
      next.push_back(std::max(last[i], last[i + width]));
    maxima.push_back(std::move(next));
  }
  auto indexOf = [&](int64_t time) {
    return std::lower_bound(
               load.begin(), load.end(), time,
               [](auto entry, int64_t time) { return entry.first < time; }) -
           load.begin();
  };
  std::vector<int64_t> contention(intervals.size(), 0);
  for (size_t i = 0; i < intervals.size(); ++i) {
    if (isEmpty(intervals[i]))
      continue;
    size_t from = indexOf(intervals[i].lower), to = indexOf(intervals[i].upper);
    size_t level = 0;
    while ((size_t(2) << level) <= to - from)
      ++level;
    contention[i] =
        std::max(maxima[level][from], maxima[level][to - (size_t(1) << level)]);
  }
  return contention;
}

/// Orders worth a try. Ties are broken by the input order.
std::vector<std::vector<size_t>>
getOrders(const std::vector<Interval> &intervals) {
  std::vector<size_t> all;
  for (size_t i = 0; i < intervals.size(); ++i)
    if (!isEmpty(intervals[i]))
      all.push_back(i);
  std::vector<std::vector<size_t>> orders;
  auto add = [&](auto key) {
    std::vector<size_t> order = all;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::tuple(key(b), a) < std::tuple(key(a), b);
    });
    orders.push_back(std::move(order));
  };
  auto size = [&](size_t i) { return intervals[i].size; };
  auto length = [&](size_t i) {
    return intervals[i].upper - intervals[i].lower;
  };
  auto area = [&](size_t i) {
    return static_cast<double>(size(i)) * static_cast<double>(length(i));
  };
  std::vector<int64_t> contention = getContention(intervals);
  add([&](size_t i) { return std::pair(size(i), length(i)); });
  add(area);
  add([&](size_t i) { return std::pair(length(i), size(i)); });
  add([&](size_t i) { return std::pair(-intervals[i].lower, size(i)); });
  add([&](size_t i) { return std::pair(intervals[i].upper, size(i)); });
  add([&](size_t i) { return std::tuple(contention[i], size(i), length(i)); });
  add([&](size_t i) { return std::tuple(contention[i], area(i)); });
  add([&](size_t i) { return std::tuple(contention[i], length(i), size(i)); });
  return orders;
}

/// A neighbor of `order`: a buffer on top of the arena, or one that stands
/// below it in time, moves forward.
std::vector<size_t> perturb(const std::vector<size_t> &order,
                            const std::vector<Interval> &intervals,
                            const Conflicts &conflicts, const Packing &packing,
                            Random &random) {
  std::vector<size_t> onTop;
  for (size_t position = 0; position < order.size(); ++position) {
    size_t i = order[position];
    if (packing.offsets[i] + intervals[i].size == packing.height)
      onTop.push_back(position);
  }
  size_t from = onTop[random.below(onTop.size())];
  int64_t count = conflicts.count(order[from]);
  if (count != 0 && random.below(4) == 0) {
    size_t neighbor = conflicts.neighbor(order[from], random.below(count));
    from = std::find(order.begin(), order.end(), neighbor) - order.begin();
  }
  std::vector<size_t> result = order;
  size_t to = from == 0 ? random.below(order.size()) : random.below(from);
  if (random.below(3) == 0)
    std::swap(result[from], result[to]);
  else if (to < from)
    std::rotate(result.begin() + to, result.begin() + from,
                result.begin() + from + 1);
  else
    std::rotate(result.begin() + from, result.begin() + from + 1,
                result.begin() + to + 1);
  return result;
}

} // namespace

int64_t remat::plan::getMaxLive(const std::vector<Interval> &intervals,
                                int64_t *when) {
  int64_t most = 0;
  for (auto [time, bytes] : getLoad(intervals)) {
    if (bytes <= most)
      continue;
    most = bytes;
    if (when)
      *when = time;
  }
  return most;
}

/// First fit and best fit in several orders, then local search, until the
/// height is at most `bound`.
static Packing packByHeuristics(const std::vector<Interval> &intervals,
                                int64_t bound, const PackingOptions &options) {
  constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
  Conflicts conflicts(intervals);
  Placer placer(intervals, conflicts);

  struct Candidate {
    std::vector<size_t> order;
    Fit fit;
    Packing packing;
  };
  std::vector<Candidate> candidates;
  for (std::vector<size_t> &order : getOrders(intervals))
    for (Fit fit : {Fit::first, Fit::best}) {
      Packing packing = placer.place(order, fit, unlimited);
      if (packing.height <= bound)
        return packing;
      candidates.push_back({order, fit, std::move(packing)});
    }
  std::vector<size_t> byHeight(candidates.size());
  std::iota(byHeight.begin(), byHeight.end(), size_t(0));
  std::sort(byHeight.begin(), byHeight.end(), [&](size_t a, size_t b) {
    return std::pair(candidates[a].packing.height, a) <
           std::pair(candidates[b].packing.height, b);
  });

  // Local search from the best few, once more for longer, and then on from
  // where the first ones ended. A sideways move is taken, so that plateaus are
  // crossed.
  Packing best = candidates[byHeight.front()].packing;
  Random random(options.seed);
  constexpr size_t starts = 4, longer = 16;
  size_t used = std::min(starts, candidates.size());
  std::vector<Candidate> ends;
  for (size_t start = 0; start < 3 * used; ++start) {
    size_t phase = start / used;
    Candidate current =
        phase < 2 ? candidates[byHeight[start % used]] : ends[start % used];
    int64_t patience = options.patience * (phase == 0 ? 1 : longer);
    int64_t share = phase == 0
                        ? options.maxVisits / static_cast<int64_t>(starts) *
                              static_cast<int64_t>(start + 1)
                        : options.maxVisits * static_cast<int64_t>(phase + 1);
    for (int64_t idle = 0; idle < patience && placer.getVisits() < share;
         ++idle) {
      std::vector<size_t> order =
          perturb(current.order, intervals, conflicts, current.packing, random);
      Packing packing =
          placer.place(order, current.fit, current.packing.height + 1);
      if (packing.height > current.packing.height)
        continue;
      if (packing.height < current.packing.height)
        idle = 0;
      current.order = std::move(order);
      current.packing = std::move(packing);
      if (current.packing.height < best.height)
        best = current.packing;
      if (best.height <= bound)
        return best;
    }
    if (phase == 0)
      ends.push_back(std::move(current));
  }
  return best;
}

Packing remat::plan::pack(const std::vector<Interval> &intervals,
                          const PackingOptions &options) {
  int64_t bound = getMaxLive(intervals);
  int64_t goal = std::max(bound, options.capacity);
  Packing best = packByHeuristics(intervals, goal, options);
  best.lowerBound = bound;
  if (best.height <= goal)
    return best;
  BoundedPacking exact = packInto(intervals, goal, options.maxNodes);
  if (exact.result == SearchResult::found) {
    best = std::move(exact.packing);
    best.lowerBound = bound;
  } else if (exact.result == SearchResult::impossible) {
    best.lowerBound = goal + 1;
  }
  return best;
}

bool remat::plan::isValidPacking(const std::vector<Interval> &intervals,
                                 const Packing &packing) {
  if (packing.offsets.size() != intervals.size())
    return false;
  int64_t height = 0;
  for (size_t i = 0; i < intervals.size(); ++i) {
    if (isEmpty(intervals[i]))
      continue;
    int64_t offset = packing.offsets[i];
    if (offset < 0 || offset % intervals[i].alignment != 0)
      return false;
    height = std::max(height, offset + intervals[i].size);
    for (size_t j = 0; j < i; ++j) {
      if (isEmpty(intervals[j]) || !overlap(intervals[i], intervals[j]))
        continue;
      if (offset < packing.offsets[j] + intervals[j].size &&
          packing.offsets[j] < offset + intervals[i].size)
        return false;
    }
  }
  return height == packing.height;
}
