//===- PackingSearch.cpp - Branch and bound for arena packing -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The search of MiniMalloc (Moffitt, "MiniMalloc: A Lightweight Memory
// Allocator for Hardware-Accelerated Machine Learning", ASPLOS 2023). Buffers
// are placed from the bottom of the arena to its top, each at the lowest
// offset that those below it leave. Only canonical sequences are visited:
// offsets do not descend. A branch ends where some section of time cannot hold
// what is left to place in it, or where a buffer would leave a gap that another
// one fits into. Where the buffers that are left fall apart in time, the parts
// are searched on their own.
//
//===----------------------------------------------------------------------===//

#include "PackingSearch.h"

#include <algorithm>
#include <limits>
#include <tuple>

using namespace remat::plan;

namespace {

constexpr int64_t kNotPlaced = -1;

int64_t alignTo(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// A maximal set of buffers that are alive together. All sections in time order
/// determine which packings are valid.
struct Section {
  std::vector<unsigned> buffers;
  /// No buffer that is still to be placed here can start below.
  int64_t floor = 0;
  /// Bytes that are still to be placed here.
  int64_t remaining = 0;
};

struct Buffer {
  int64_t size = 0, alignment = 1;
  /// Time steps for which it lives.
  int64_t length = 0;
  /// Half-open range of sections.
  unsigned firstSection = 0, endSection = 0;
  std::vector<unsigned> neighbors;
  int64_t offset = kNotPlaced;
  /// The lowest offset above all neighbors that are placed.
  int64_t lowest = 0;
  bool isPlaced() const { return offset != kNotPlaced; }
};

/// How buffers of the same lowest offset are tried.
enum class Preference { area, length, load };

struct Choice {
  int64_t offset;
  /// Position in the preferred order; breaks ties.
  unsigned rank;
};

/// Buffers that are searched together, in the preferred order, and the sections
/// in which they live.
struct Part {
  std::vector<unsigned> buffers;
  unsigned firstSection, endSection;
};

class Search {
public:
  Search(const std::vector<Interval> &intervals, int64_t capacity);

  SearchResult run(Preference preference, int64_t maxNodes);
  const std::vector<int64_t> &getOffsets() const { return offsets; }

private:
  /// The state before a buffer was placed, to be taken back.
  struct Undo {
    std::vector<std::pair<unsigned, int64_t>> lowest, floors;
  };

  SearchResult search(Part part);
  /// `before` are the ranks of buffers that were left one placement earlier.
  SearchResult place(const Part &part, const std::vector<unsigned> &before,
                     Choice after);
  SearchResult goOn(const Part &part, const std::vector<unsigned> &left,
                    Choice placed);
  bool fits(const Part &part, int64_t offset) const;
  void raiseNeighbors(Buffer &buffer, Undo &undo);
  void raiseFloors(Buffer &buffer, Undo &undo);
  void takeBack(Buffer &buffer, const Undo &undo);

  std::vector<Buffer> buffers;
  std::vector<Section> sections;
  /// Number of buffers that are not placed and live in sections i and i + 1.
  std::vector<unsigned> crossings;
  std::vector<int64_t> offsets;
  /// Marks sections while floors are raised.
  std::vector<bool> isAffected;
  int64_t capacity;
  int64_t nodes = 0;
  Preference preference = Preference::area;
};

Search::Search(const std::vector<Interval> &intervals, int64_t capacity)
    : buffers(intervals.size()), offsets(intervals.size(), 0),
      capacity(capacity) {
  struct Event {
    int64_t time;
    bool isStart;
    unsigned buffer;
  };
  std::vector<Event> events;
  for (unsigned i = 0; i < intervals.size(); ++i) {
    const Interval &interval = intervals[i];
    if (interval.size <= 0 || interval.lower >= interval.upper)
      continue;
    buffers[i].size = interval.size;
    buffers[i].alignment = interval.alignment;
    buffers[i].length = interval.upper - interval.lower;
    events.push_back({interval.lower, true, i});
    events.push_back({interval.upper, false, i});
  }
  std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
    return std::tuple(a.time, a.isStart, a.buffer) <
           std::tuple(b.time, b.isStart, b.buffer);
  });
  std::vector<unsigned> alive;
  bool hasStarted = false;
  for (const Event &event : events) {
    if (event.isStart) {
      alive.push_back(event.buffer);
      buffers[event.buffer].firstSection = sections.size();
      hasStarted = true;
      continue;
    }
    if (hasStarted) {
      sections.emplace_back();
      sections.back().buffers = alive;
      hasStarted = false;
    }
    buffers[event.buffer].endSection = sections.size();
    alive.erase(std::find(alive.begin(), alive.end(), event.buffer));
  }
  crossings.assign(sections.size(), 0);
  isAffected.assign(sections.size(), false);
  for (unsigned i = 0; i < buffers.size(); ++i) {
    Buffer &buffer = buffers[i];
    for (unsigned s = buffer.firstSection; s < buffer.endSection; ++s) {
      sections[s].remaining += buffer.size;
      crossings[s] += s + 1 < buffer.endSection;
      for (unsigned other : sections[s].buffers)
        // Each neighbor once: in the first section that both live in.
        if (other != i &&
            s == std::max(buffer.firstSection, buffers[other].firstSection))
          buffer.neighbors.push_back(other);
    }
  }
}

SearchResult Search::run(Preference preference, int64_t maxNodes) {
  this->preference = preference;
  nodes = maxNodes;
  Part part{{}, 0, unsigned(sections.size())};
  for (unsigned i = 0; i < buffers.size(); ++i)
    if (buffers[i].size != 0)
      part.buffers.push_back(i);
  for (const Section &section : sections)
    if (section.remaining > capacity)
      return SearchResult::impossible;
  return search(std::move(part));
}

/// Brings the buffers into the preferred order.
SearchResult Search::search(Part part) {
  struct Key {
    double first, second;
    int64_t size;
    unsigned buffer;
  };
  std::vector<Key> keys;
  for (unsigned i : part.buffers) {
    const Buffer &buffer = buffers[i];
    int64_t load = 0;
    for (unsigned s = buffer.firstSection; s < buffer.endSection; ++s)
      load = std::max(load, sections[s].remaining);
    double length = double(buffer.length);
    double area = double(buffer.size) * length;
    if (preference == Preference::area)
      keys.push_back({double(load), area, buffer.size, i});
    else if (preference == Preference::length)
      keys.push_back({length, area, buffer.size, i});
    else
      keys.push_back({double(load), length, buffer.size, i});
  }
  std::sort(keys.begin(), keys.end(), [](const Key &a, const Key &b) {
    return std::tuple(-a.first, -a.second, -a.size, a.buffer) <
           std::tuple(-b.first, -b.second, -b.size, b.buffer);
  });
  std::vector<unsigned> ranks;
  for (unsigned rank = 0; rank < keys.size(); ++rank) {
    part.buffers[rank] = keys[rank].buffer;
    ranks.push_back(rank);
  }
  return place(part, ranks, {0, 0});
}

/// Places one of the buffers that are left, not before `after`.
SearchResult Search::place(const Part &part,
                           const std::vector<unsigned> &before, Choice after) {
  if (nodes-- <= 0)
    return SearchResult::gaveUp;
  // A buffer at or above the lowest possible top of another one would leave a
  // gap that the other one fits into.
  std::vector<unsigned> left;
  left.reserve(before.size());
  int64_t lowestTop = std::numeric_limits<int64_t>::max();
  for (unsigned rank : before) {
    const Buffer &buffer = buffers[part.buffers[rank]];
    if (buffer.isPlaced())
      continue;
    left.push_back(rank);
    lowestTop = std::min(lowestTop, buffer.lowest + buffer.size);
  }
  if (left.empty()) {
    for (unsigned i : part.buffers)
      offsets[i] = buffers[i].offset;
    return SearchResult::found;
  }
  auto precedes = [](const Choice &a, const Choice &b) {
    return std::tie(a.offset, a.rank) < std::tie(b.offset, b.rank);
  };
  std::vector<Choice> choices;
  for (unsigned rank : left) {
    Choice choice{buffers[part.buffers[rank]].lowest, rank};
    if (choice.offset < lowestTop && !precedes(choice, after))
      choices.push_back(choice);
  }
  std::sort(choices.begin(), choices.end(), precedes);
  for (Choice choice : choices) {
    Buffer &buffer = buffers[part.buffers[choice.rank]];
    buffer.offset = choice.offset;
    Undo undo;
    raiseNeighbors(buffer, undo);
    bool isTop =
        std::all_of(buffer.neighbors.begin(), buffer.neighbors.end(),
                    [&](unsigned other) { return buffers[other].isPlaced(); });
    raiseFloors(buffer, undo);
    SearchResult result = fits(part, choice.offset) ? goOn(part, left, choice)
                                                    : SearchResult::impossible;
    if (result == SearchResult::found)
      offsets[part.buffers[choice.rank]] = choice.offset;
    takeBack(buffer, undo);
    // Nothing is above it: no other place for it would help.
    if (result != SearchResult::impossible || isTop)
      return result;
  }
  return SearchResult::impossible;
}

/// Splits what is left where no buffer crosses from a section to the next.
SearchResult Search::goOn(const Part &part, const std::vector<unsigned> &left,
                          Choice placed) {
  const Buffer &buffer = buffers[part.buffers[placed.rank]];
  std::vector<unsigned> borders = {part.firstSection};
  for (unsigned s = buffer.firstSection; s + 1 < buffer.endSection; ++s)
    if (--crossings[s] == 0)
      borders.push_back(s + 1);
  SearchResult result = SearchResult::found;
  if (borders.size() == 1) {
    result = place(part, left, placed);
  } else {
    borders.push_back(part.endSection);
    for (size_t i = 1; i < borders.size() && result == SearchResult::found;
         ++i) {
      Part next{{}, borders[i - 1], borders[i]};
      for (unsigned other : part.buffers)
        if (!buffers[other].isPlaced() &&
            buffers[other].firstSection < next.endSection &&
            buffers[other].endSection > next.firstSection)
          next.buffers.push_back(other);
      if (!next.buffers.empty())
        result = search(std::move(next));
    }
    // Those that were placed before the split.
    if (result == SearchResult::found)
      for (unsigned other : part.buffers)
        if (buffers[other].isPlaced())
          offsets[other] = buffers[other].offset;
  }
  for (unsigned s = buffer.firstSection; s + 1 < buffer.endSection; ++s)
    ++crossings[s];
  return result;
}

/// Returns false if some section cannot hold what is left, no buffer of which
/// may start below `offset`.
bool Search::fits(const Part &part, int64_t offset) const {
  for (unsigned s = part.firstSection; s < part.endSection; ++s) {
    const Section &section = sections[s];
    if (section.remaining != 0 &&
        std::max(offset, section.floor) + section.remaining > capacity)
      return false;
    if (section.floor > capacity)
      return false;
  }
  return true;
}

void Search::raiseNeighbors(Buffer &buffer, Undo &undo) {
  int64_t top = buffer.offset + buffer.size;
  for (unsigned i : buffer.neighbors) {
    Buffer &other = buffers[i];
    if (other.isPlaced() || other.lowest >= top)
      continue;
    undo.lowest.push_back({i, other.lowest});
    other.lowest = alignTo(top, other.alignment);
  }
}

void Search::raiseFloors(Buffer &buffer, Undo &undo) {
  auto raise = [&](unsigned s, int64_t floor) {
    undo.floors.push_back({s, sections[s].floor});
    sections[s].floor = floor;
  };
  for (unsigned s = buffer.firstSection; s < buffer.endSection; ++s) {
    raise(s, buffer.offset + buffer.size);
    sections[s].remaining -= buffer.size;
  }
  std::vector<unsigned> affected;
  for (auto &[i, before] : undo.lowest)
    for (unsigned s = buffers[i].firstSection; s < buffers[i].endSection; ++s)
      if (!isAffected[s]) {
        isAffected[s] = true;
        affected.push_back(s);
      }
  for (unsigned s : affected) {
    isAffected[s] = false;
    int64_t lowest = std::numeric_limits<int64_t>::max();
    for (unsigned i : sections[s].buffers)
      if (!buffers[i].isPlaced())
        lowest = std::min(lowest, buffers[i].lowest);
    if (lowest != std::numeric_limits<int64_t>::max() &&
        sections[s].floor < lowest)
      raise(s, lowest);
  }
}

void Search::takeBack(Buffer &buffer, const Undo &undo) {
  for (auto it = undo.floors.rbegin(); it != undo.floors.rend(); ++it)
    sections[it->first].floor = it->second;
  for (auto [i, lowest] : undo.lowest)
    buffers[i].lowest = lowest;
  for (unsigned s = buffer.firstSection; s < buffer.endSection; ++s)
    sections[s].remaining += buffer.size;
  buffer.offset = kNotPlaced;
}

} // namespace

BoundedPacking remat::plan::packInto(const std::vector<Interval> &intervals,
                                     int64_t capacity, int64_t maxNodes) {
  // Each node looks at all buffers, and the recursion is as deep.
  constexpr size_t maxBuffers = 4096;
  if (intervals.size() > maxBuffers)
    return {};
  Search search(intervals, capacity);
  BoundedPacking bounded;
  // Which order is a good one differs much from one instance to the next: all
  // of them get few nodes first, then more.
  int64_t limit = 2 * int64_t(intervals.size());
  for (int64_t used = 0; used < maxNodes; limit *= 2)
    for (Preference preference :
         {Preference::length, Preference::area, Preference::load}) {
      bounded.result = search.run(preference, limit);
      used += limit;
      if (bounded.result == SearchResult::gaveUp)
        continue;
      if (bounded.result == SearchResult::found) {
        bounded.packing.offsets = search.getOffsets();
        for (size_t i = 0; i < intervals.size(); ++i)
          if (intervals[i].size > 0 && intervals[i].lower < intervals[i].upper)
            bounded.packing.height =
                std::max(bounded.packing.height,
                         bounded.packing.offsets[i] + intervals[i].size);
      }
      return bounded;
    }
  return bounded;
}
