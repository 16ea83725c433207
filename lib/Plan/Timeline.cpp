//===- Timeline.cpp - When the values of a schedule are alive -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two passes over the schedule: who reads which copy, then sums of bytes.
//===----------------------------------------------------------------------===//

#include "Timeline.h"

#include <algorithm>

using namespace remat::plan;

static std::vector<std::vector<unsigned>> findReaders(const Graph &graph) {
  std::vector<std::vector<unsigned>> readers(graph.values.size());
  for (unsigned node = 0; node < graph.nodes.size(); ++node)
    for (unsigned value : graph.nodes[node].inputs)
      readers[value].push_back(node);
  return readers;
}

FlatGraph::FlatGraph(const Graph &graph)
    : graph(graph),
      inputs(graph.nodes.size(),
             [&](size_t i) -> auto & { return graph.nodes[i].inputs; }),
      outputs(graph.nodes.size(),
              [&](size_t i) -> auto & { return graph.nodes[i].outputs; }),
      after(graph.nodes.size(),
            [&](size_t i) -> auto & { return graph.nodes[i].after; }),
      readers(graph.values.size(),
              [lists = findReaders(graph)](size_t i) -> auto & {
                return lists[i];
              }),
      memory(getMemory(graph)), isElsewhere(graph.values.size()),
      isRequired(graph.nodes.size()) {
  for (unsigned value = 0; value < graph.values.size(); ++value) {
    unsigned source = graph.values[value].inPlaceOf;
    isElsewhere[value] = source != kNone
                             ? bool(isElsewhere[source])
                             : graph.values[value].producer == kNone;
  }
  for (unsigned node = 0; node < graph.nodes.size(); ++node)
    isRequired[node] =
        graph.nodes[node].runsOnce ||
        std::all_of(graph.nodes[node].outputs.begin(),
                    graph.nodes[node].outputs.end(),
                    [&](unsigned value) { return readers.of(value).empty(); });
}

std::vector<unsigned> remat::plan::findAliveAtPeak(const Graph &graph,
                                                   const Schedule &schedule) {
  FlatGraph flat(graph);
  Timeline timeline;
  Clock(flat).run(schedule, timeline);
  auto step =
      unsigned(std::max_element(timeline.live.begin(), timeline.live.end()) -
               timeline.live.begin());
  std::vector<unsigned> alive;
  for (size_t i = timeline.copiesOf.empty() ? 0 : timeline.copiesOf[0];
       i < timeline.copies.size(); ++i) {
    const Copy &copy = timeline.copies[i];
    if (copy.root == i && copy.step <= step && copy.end >= step &&
        graph.values[copy.value].bytes != 0)
      alive.push_back(copy.value);
  }
  return alive;
}

Clock::Clock(const FlatGraph &graph)
    : flat(graph), latest(graph.graph.values.size()),
      numRuns(graph.graph.nodes.size()) {}

bool Clock::runPrefix(const Schedule &schedule, size_t length,
                      Timeline &timeline) {
  const Graph &graph = flat.graph;
  std::vector<Copy> &copies = timeline.copies;
  copies.clear();
  timeline.candidates.clear();
  timeline.copiesOf.resize(length + 1);
  timeline.visits += int64_t(length);
  std::fill(latest.begin(), latest.end(), kNone);
  std::fill(numRuns.begin(), numRuns.end(), 0);
  for (unsigned value = 0; value < graph.values.size(); ++value)
    if (graph.values[value].producer == kNone) {
      latest[value] = unsigned(copies.size());
      copies.push_back({value, 0, 0, latest[value], 0});
    }
  for (unsigned step = 0; step < length; ++step) {
    timeline.copiesOf[step] = unsigned(copies.size());
    unsigned node = schedule[step];
    if (node >= graph.nodes.size() ||
        (numRuns[node]++ != 0 && graph.nodes[node].runsOnce))
      return false;
    for (unsigned value : flat.inputs.of(node)) {
      unsigned copy = latest[value];
      if (copy == kNone)
        return false;
      copies[copy].lastRead = step;
      copies[copies[copy].root].end = step;
      ++timeline.visits;
    }
    for (const std::vector<unsigned> &inputs : graph.nodes[node].takeOvers)
      for (unsigned value : inputs)
        timeline.candidates.push_back(latest[value]);
    for (unsigned before : flat.after.of(node))
      if (numRuns[before] == 0)
        return false;
    for (unsigned value : flat.outputs.of(node)) {
      unsigned copy = unsigned(copies.size()), root = copy;
      if (unsigned source = graph.values[value].inPlaceOf; source != kNone) {
        root = copies[latest[source]].root;
        latest[source] = kNone;
      }
      latest[value] = copy;
      copies.push_back({value, step, step, root, step});
    }
  }
  timeline.copiesOf[length] = unsigned(copies.size());
  return true;
}

bool Clock::run(const Schedule &schedule, Timeline &timeline) {
  const Graph &graph = flat.graph;
  size_t length = schedule.size();
  if (!runPrefix(schedule, length, timeline))
    return false;
  for (size_t node = 0; node < numRuns.size(); ++node)
    if (flat.isRequired[node] && numRuns[node] == 0)
      return false;
  change.assign(length + 1, 0);
  for (unsigned i = timeline.copiesOf.empty() ? 0 : timeline.copiesOf[0];
       i < timeline.copies.size(); ++i) {
    const Copy &copy = timeline.copies[i];
    int64_t bytes = graph.values[copy.value].bytes;
    change[copy.step] += bytes;
    change[copy.end + 1] -= bytes;
  }
  timeline.live.resize(length);
  timeline.figures = {};
  int64_t live = 0;
  auto candidate = timeline.candidates.begin();
  for (unsigned step = 0; step < length; ++step) {
    live += change[step];
    const Node &node = graph.nodes[schedule[step]];
    int64_t takenOver = 0;
    taken.clear();
    for (const std::vector<unsigned> &inputs : node.takeOvers) {
      bool hasOne = false;
      for (size_t i = 0; i < inputs.size(); ++i, ++candidate) {
        unsigned root = timeline.copies[*candidate].root;
        if (hasOne || timeline.copies[root].end != step ||
            std::find(taken.begin(), taken.end(), root) != taken.end())
          continue;
        hasOne = true;
        taken.push_back(root);
        takenOver += flat.memory[timeline.copies[*candidate].value];
      }
    }
    timeline.live[step] = live + node.workspace - takenOver;
    timeline.figures.cost += node.cost;
  }
  for (int64_t bytes : timeline.live)
    timeline.figures.peak = std::max(timeline.figures.peak, bytes);
  return true;
}
