//===- Graph.cpp - What a step computes, without IR -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definitions that everything in this library is measured by.
//
//===----------------------------------------------------------------------===//

#include "remat/Plan/Graph.h"

#include "Timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

using namespace remat::plan;

unsigned Graph::addValue(unsigned node, int64_t bytes, unsigned inPlaceOf) {
  unsigned value = unsigned(values.size());
  values.push_back({node, bytes, inPlaceOf});
  if (node != kNone)
    nodes[node].outputs.push_back(value);
  return value;
}

std::optional<std::string> remat::plan::findError(const EdgeGraph &graph) {
  // Schedules run nodes several times: these sums must not overflow either.
  constexpr int64_t limit = std::numeric_limits<int64_t>::max() >> 12;
  int64_t cost = 0, bytes = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const EdgeGraph::Node &node = graph.nodes[i];
    if (node.cost < 0 || node.bytes < 0)
      return "node " + std::to_string(i) +
             " has a negative cost or number of bytes";
    if (node.cost > limit - cost || node.bytes > limit - bytes)
      return "the costs or bytes of all nodes add up to more than 2^51";
    cost += node.cost;
    bytes += node.bytes;
  }
  std::set<std::pair<unsigned, unsigned>> seen;
  for (auto edge : graph.edges) {
    std::string name = "the edge from " + std::to_string(edge.first) + " to " +
                       std::to_string(edge.second);
    if (edge.first >= graph.nodes.size() || edge.second >= graph.nodes.size())
      return name + " leaves the " + std::to_string(graph.nodes.size()) +
             " nodes";
    if (edge.first >= edge.second)
      return name + " goes against the order of the nodes: list each node "
                    "after those that it reads; a cycle cannot be computed";
    if (!seen.insert(edge).second)
      return name + " is there twice";
  }
  return std::nullopt;
}

Graph remat::plan::makeGraph(const EdgeGraph &graph) {
  Graph made;
  for (unsigned i = 0; i < graph.nodes.size(); ++i) {
    made.nodes.emplace_back().cost = graph.nodes[i].cost;
    made.addValue(i, graph.nodes[i].bytes);
  }
  for (auto [producer, consumer] : graph.edges)
    made.nodes[consumer].inputs.push_back(producer);
  return made;
}

std::optional<ScheduleFigures> remat::plan::evaluate(const Graph &graph,
                                                     const Schedule &schedule) {
  FlatGraph flat(graph);
  Timeline timeline;
  if (!Clock(flat).run(schedule, timeline))
    return std::nullopt;
  return timeline.figures;
}

Schedule remat::plan::getGivenOrder(const Graph &graph) {
  Schedule schedule(graph.nodes.size());
  std::iota(schedule.begin(), schedule.end(), 0u);
  return schedule;
}

std::vector<int64_t> remat::plan::getMemory(const Graph &graph) {
  // A value comes after the one that it is computed in place of.
  std::vector<int64_t> memory;
  for (const Value &value : graph.values)
    memory.push_back(value.inPlaceOf != kNone ? memory[value.inPlaceOf]
                                              : value.bytes);
  return memory;
}

static int64_t getWorkingSet(const Graph &graph, unsigned index,
                             const std::vector<int64_t> &memory) {
  const Node &node = graph.nodes[index];
  int64_t bytes = node.workspace;
  for (unsigned value : node.inputs)
    bytes += memory[value];
  for (unsigned value : node.outputs)
    bytes += graph.values[value].bytes;
  for (const std::vector<unsigned> &inputs : node.takeOvers) {
    int64_t takenOver = 0;
    for (unsigned value : inputs)
      takenOver = std::max(takenOver, memory[value]);
    bytes -= takenOver;
  }
  return bytes;
}

int64_t remat::plan::getLargestWorkingSet(const Graph &graph, unsigned *node) {
  std::vector<int64_t> memory = getMemory(graph);
  int64_t largest = 0;
  for (unsigned i = 0; i < graph.nodes.size(); ++i)
    if (int64_t bytes = getWorkingSet(graph, i, memory);
        bytes > largest || i == 0) {
      largest = bytes;
      if (node)
        *node = i;
    }
  return largest;
}

namespace {
/// The memory of waiting values, and the least that giving it up costs.
struct Item {
  int64_t cost = 0, bytes = 0;
};
} // namespace

/// Returns the least cost of items that are left out so that the others have at
/// most `room` bytes, where a part of an item may be left out.
static double leaveOut(std::vector<Item> items, int64_t room) {
  int64_t excess = -room;
  for (const Item &item : items)
    excess += item.bytes;
  std::sort(items.begin(), items.end(), [](const Item &a, const Item &b) {
    return double(a.cost) * double(b.bytes) < double(b.cost) * double(a.bytes);
  });
  double cost = 0;
  for (const Item &item : items) {
    if (excess <= 0)
      break;
    if (item.bytes == 0)
      continue;
    cost +=
        double(item.cost) * std::min(1.0, double(excess) / double(item.bytes));
    excess -= item.bytes;
  }
  return cost;
}

std::optional<int64_t> remat::plan::getLowerBoundOfCost(const Graph &graph,
                                                        int64_t budget) {
  if (budget < getLargestWorkingSet(graph))
    return std::nullopt;
  std::vector<int64_t> memory = getMemory(graph);
  std::vector<unsigned> lastReader(graph.values.size(), 0);
  int64_t base = 0;
  for (unsigned node = 0; node < graph.nodes.size(); ++node) {
    base += graph.nodes[node].cost;
    for (unsigned value : graph.nodes[node].inputs)
      lastReader[value] = node;
  }
  double more = 0;
  std::vector<unsigned> waiting;
  for (unsigned index = 0; index < graph.nodes.size(); ++index) {
    const Node &node = graph.nodes[index];
    waiting.erase(std::remove_if(waiting.begin(), waiting.end(),
                                 [&](unsigned value) {
                                   return lastReader[value] <= index;
                                 }),
                  waiting.end());
    int64_t room = budget - getWorkingSet(graph, index, memory);
    // One recomputation gives all values of a node.
    std::vector<Item> items;
    unsigned last = kNone;
    for (unsigned value : waiting) {
      if (std::find(node.inputs.begin(), node.inputs.end(), value) !=
          node.inputs.end())
        continue;
      unsigned producer = graph.values[value].producer;
      if (graph.nodes[producer].runsOnce) {
        room -= memory[value];
        continue;
      }
      if (producer != last)
        items.push_back({graph.nodes[producer].cost, 0});
      items.back().bytes += memory[value];
      last = producer;
    }
    more = std::max(more, leaveOut(std::move(items), room));
    for (unsigned value : node.outputs)
      if (lastReader[value] > index)
        waiting.push_back(value);
  }
  // Costs are whole numbers; errors of rounding must not raise a bound.
  return base + int64_t(std::ceil(more * (1 - 1e-12)));
}
