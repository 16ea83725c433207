//===- MinCut.cpp - Minimum cuts of networks ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MinCut.h"

#include "remat/Plan/Graph.h"

#include <algorithm>

using namespace remat::plan;

void MinCut::addArc(unsigned from, unsigned to, double capacity) {
  if (capacity == 0)
    return;
  arcsOf[from].push_back(unsigned(arcs.size()));
  arcs.push_back({to, capacity});
  arcsOf[to].push_back(unsigned(arcs.size()));
  arcs.push_back({from, 0});
}

void MinCut::activate(unsigned vertex) {
  if (vertex == getSink() || vertex == getSource() ||
      heights[vertex] >= arcsOf.size())
    return;
  active[heights[vertex]].push_back(vertex);
  highest = std::max(highest, heights[vertex]);
}

/// Sets the heights to the distances from the sink over arcs with capacity
/// left.
void MinCut::computeHeights() {
  auto size = unsigned(arcsOf.size());
  heights.assign(size, size);
  counts.assign(size + 1, 0);
  next.assign(size, 0);
  heights[getSink()] = 0;
  std::vector<unsigned> queue = {getSink()};
  for (unsigned i = 0; i < queue.size(); ++i)
    for (unsigned index : arcsOf[queue[i]]) {
      unsigned from = arcs[index].to;
      if (heights[from] != size || from == getSource() ||
          arcs[index ^ 1].capacity <= least)
        continue;
      heights[from] = heights[queue[i]] + 1;
      queue.push_back(from);
    }
  for (unsigned height : heights)
    ++counts[height];
  active.assign(size, {});
  highest = numRelabels = 0;
  for (unsigned vertex = 0; vertex < size; ++vertex)
    if (excess[vertex] > least)
      activate(vertex);
}

void MinCut::send(unsigned from, unsigned arc, double flow) {
  unsigned to = arcs[arc].to;
  if (arcs[arc].capacity < kUnbounded)
    arcs[arc].capacity -= flow;
  if (arcs[arc ^ 1].capacity < kUnbounded)
    arcs[arc ^ 1].capacity += flow;
  bool wasActive = excess[to] > least;
  excess[from] -= flow;
  excess[to] += flow;
  if (!wasActive && excess[to] > least)
    activate(to);
}

/// No vertex has this height any more, so that the sink is out of reach for
/// those above it.
void MinCut::closeGap(unsigned height) {
  auto size = unsigned(arcsOf.size());
  for (unsigned vertex = 0; vertex < size; ++vertex)
    if (heights[vertex] > height && heights[vertex] < size) {
      --counts[heights[vertex]];
      heights[vertex] = size;
      ++counts[size];
    }
}

void MinCut::discharge(unsigned vertex) {
  auto size = unsigned(arcsOf.size());
  while (excess[vertex] > least && heights[vertex] < size) {
    if (next[vertex] < arcsOf[vertex].size()) {
      unsigned index = arcsOf[vertex][next[vertex]];
      const Arc &arc = arcs[index];
      if (arc.capacity > least && heights[arc.to] + 1 == heights[vertex])
        send(vertex, index, std::min(excess[vertex], arc.capacity));
      else
        ++next[vertex];
      continue;
    }
    unsigned old = heights[vertex], height = size;
    for (unsigned index : arcsOf[vertex])
      if (arcs[index].capacity > least)
        height = std::min(height, heights[arcs[index].to] + 1);
    heights[vertex] = height;
    next[vertex] = 0;
    ++counts[height];
    ++numRelabels;
    if (--counts[old] == 0)
      closeGap(old);
  }
}

std::vector<bool> MinCut::solve() {
  // The rest of an arc after rounding is nothing.
  double largest = 0, sum = 0;
  for (const Arc &arc : arcs)
    if (arc.capacity < kUnbounded) {
      largest = std::max(largest, arc.capacity);
      sum += arc.capacity;
    }
  least = largest * 1e-12;
  excess.assign(arcsOf.size(), 0);
  for (unsigned index : arcsOf[getSource()]) {
    // More than all others together cannot leave.
    excess[arcs[index].to] += std::min(arcs[index].capacity, sum + largest);
    if (arcs[index].capacity < kUnbounded)
      arcs[index].capacity = 0;
  }
  computeHeights();
  while (true) {
    while (highest > 0 && active[highest].empty())
      --highest;
    if (active[highest].empty())
      break;
    unsigned vertex = active[highest].back();
    active[highest].pop_back();
    // It may have risen since.
    if (heights[vertex] != highest || excess[vertex] <= least)
      continue;
    discharge(vertex);
    if (numRelabels > arcsOf.size())
      computeHeights();
  }
  computeHeights();
  std::vector<bool> isSource(arcsOf.size() - 2);
  for (unsigned vertex = 0; vertex < isSource.size(); ++vertex)
    isSource[vertex] = heights[vertex] >= arcsOf.size();
  return isSource;
}
