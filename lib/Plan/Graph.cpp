//===- Graph.cpp - What a step computes, without IR -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definitions that everything in this library is measured by.
//
//===----------------------------------------------------------------------===//

#include "remat/Plan/Graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

using namespace remat::plan;

static std::vector<std::vector<unsigned>> getInputs(const Graph &graph) {
  std::vector<std::vector<unsigned>> inputs(graph.nodes.size());
  for (auto [producer, consumer] : graph.edges)
    inputs[consumer].push_back(producer);
  return inputs;
}

std::optional<std::string> remat::plan::findError(const Graph &graph) {
  // Schedules run nodes several times: these sums must not overflow either.
  constexpr int64_t limit = std::numeric_limits<int64_t>::max() >> 12;
  int64_t cost = 0, bytes = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode &node = graph.nodes[i];
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

std::optional<ScheduleFigures> remat::plan::evaluate(const Graph &graph,
                                                     const Schedule &schedule) {
  constexpr size_t never = std::numeric_limits<size_t>::max();
  std::vector<std::vector<unsigned>> inputs = getInputs(graph);
  std::vector<bool> isRead(graph.nodes.size(), false);
  for (auto [producer, consumer] : graph.edges)
    isRead[producer] = true;
  std::vector<size_t> latest(graph.nodes.size(), never);
  std::vector<size_t> end(schedule.size());
  for (size_t step = 0; step < schedule.size(); ++step) {
    unsigned node = schedule[step];
    if (node >= graph.nodes.size())
      return std::nullopt;
    for (unsigned input : inputs[node]) {
      if (latest[input] == never)
        return std::nullopt;
      end[latest[input]] = step;
    }
    latest[node] = end[step] = step;
  }
  for (size_t node = 0; node < graph.nodes.size(); ++node)
    if (!isRead[node] && latest[node] == never)
      return std::nullopt;
  std::vector<int64_t> freed(schedule.size() + 1, 0);
  for (size_t step = 0; step < schedule.size(); ++step)
    freed[end[step] + 1] += graph.nodes[schedule[step]].bytes;
  ScheduleFigures figures;
  int64_t live = 0;
  for (size_t step = 0; step < schedule.size(); ++step) {
    live += graph.nodes[schedule[step]].bytes - freed[step];
    figures.peak = std::max(figures.peak, live);
    figures.cost += graph.nodes[schedule[step]].cost;
  }
  return figures;
}

Schedule remat::plan::getGivenOrder(const Graph &graph) {
  Schedule schedule(graph.nodes.size());
  std::iota(schedule.begin(), schedule.end(), 0u);
  return schedule;
}

int64_t remat::plan::getLargestWorkingSet(const Graph &graph, unsigned *node) {
  std::vector<int64_t> bytes;
  for (const GraphNode &each : graph.nodes)
    bytes.push_back(each.bytes);
  for (auto [producer, consumer] : graph.edges)
    bytes[consumer] += graph.nodes[producer].bytes;
  auto largest = std::max_element(bytes.begin(), bytes.end());
  if (largest == bytes.end())
    return 0;
  if (node)
    *node = largest - bytes.begin();
  return *largest;
}

/// The least cost of items that are left out so that the others have at most
/// `room` bytes, where a part of an item may be left out.
static double leaveOut(std::vector<GraphNode> items, int64_t room) {
  int64_t excess = -room;
  for (const GraphNode &item : items)
    excess += item.bytes;
  std::sort(items.begin(), items.end(),
            [](const GraphNode &a, const GraphNode &b) {
              return double(a.cost) * double(b.bytes) <
                     double(b.cost) * double(a.bytes);
            });
  double cost = 0;
  for (const GraphNode &item : items) {
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
  std::vector<std::vector<unsigned>> inputs = getInputs(graph);
  std::vector<unsigned> lastConsumer(graph.nodes.size(), 0);
  int64_t base = 0;
  for (auto [producer, consumer] : graph.edges)
    lastConsumer[producer] = std::max(lastConsumer[producer], consumer);
  for (const GraphNode &node : graph.nodes)
    base += node.cost;
  double more = 0;
  std::vector<unsigned> waiting;
  for (unsigned node = 0; node < graph.nodes.size(); ++node) {
    waiting.erase(std::remove_if(waiting.begin(), waiting.end(),
                                 [&](unsigned value) {
                                   return lastConsumer[value] <= node;
                                 }),
                  waiting.end());
    int64_t room = budget - graph.nodes[node].bytes;
    for (unsigned input : inputs[node])
      room -= graph.nodes[input].bytes;
    std::vector<GraphNode> items;
    for (unsigned value : waiting)
      if (std::find(inputs[node].begin(), inputs[node].end(), value) ==
          inputs[node].end())
        items.push_back(graph.nodes[value]);
    more = std::max(more, leaveOut(std::move(items), room));
    if (lastConsumer[node] > node)
      waiting.push_back(node);
  }
  // Costs are whole numbers; errors of rounding must not raise a bound.
  return base + int64_t(std::ceil(more * (1 - 1e-12)));
}
