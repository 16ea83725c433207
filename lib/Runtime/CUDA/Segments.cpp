//===- Segments.cpp - Replay what comes again -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Segments.h"

#include <cstdlib>
#include <cstring>

using namespace remat;
using namespace remat::cuda;

/// A graph of one command costs more than the command.
static constexpr size_t kMinCommands = 2;

SegmentOptions SegmentOptions::fromEnvironment() {
  auto is = [](const char *name, const char *wanted) {
    const char *value = std::getenv(name);
    return value && std::strcmp(value, wanted) == 0;
  };
  SegmentOptions options;
  options.waitsForEach = is("REMAT_CUDA_SYNC", "1");
  options.capturesGraphs =
      !is("REMAT_CUDA_GRAPHS", "0") && !options.waitsForEach;
  return options;
}

Segments::~Segments() {
  abandonCapture();
  for (std::vector<Segment> &phase : segments)
    for (Segment &segment : phase)
      for (Variant &variant : segment)
        if (variant.graph)
          driver.cuGraphExecDestroy(variant.graph);
}

void Segments::begin(Phase next) {
  phase = next;
  position = 0;
  counts.steps += phase == Phase::step;
}

Segments::Variant *Segments::find(Segment &segment, const CommandList &list) {
  for (Variant &variant : segment)
    if (variant.list == list)
      return &variant;
  return nullptr;
}

void Segments::capture(Variant &variant) {
  driver.check(driver.cuStreamBeginCapture_v2(
                   stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
               "cuStreamBeginCapture");
  isCapturing = true;
  variant.list.issue(driver, stream);
  CUgraph graph = nullptr;
  driver.check(driver.cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  driver.check(driver.cuGraphInstantiateWithFlags(&variant.graph, graph, 0),
               "cuGraphInstantiateWithFlags");
  driver.check(driver.cuGraphDestroy(graph), "cuGraphDestroy");
  ++counts.captures;
}

void Segments::abandonCapture() {
  if (!isCapturing)
    return;
  isCapturing = false;
  CUgraph graph = nullptr;
  if (driver.cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS)
    driver.cuGraphDestroy(graph);
}

void Segments::launch(Variant &variant) {
  driver.check(driver.cuGraphLaunch(variant.graph, stream), "cuGraphLaunch");
}

void Segments::run(CommandList &list) {
  if (list.empty())
    return;
  if (phase == Phase::step) {
    counts.launches += list.numLaunches();
    counts.libraryCalls += list.numLibraryCalls();
  }
  bool isRemembered = phase != Phase::none && options.capturesGraphs &&
                      list.size() >= kMinCommands;
  if (!isRemembered) {
    list.issue(driver, stream, options.waitsForEach);
    ++position;
    return list.clear();
  }
  std::vector<Segment> &all = segments[static_cast<size_t>(phase)];
  if (all.size() <= position)
    all.resize(position + 1);
  Segment &segment = all[position++];
  if (Variant *variant = find(segment, list)) {
    if (variant->graph)
      ++counts.replays;
    else
      capture(*variant);
    launch(*variant);
  } else {
    list.issue(driver, stream);
    if (segment.size() < kMaxVariants)
      segment.push_back({list, nullptr});
  }
  list.clear();
}
