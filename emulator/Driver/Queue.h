//===- Queue.h - Work that waits until somebody asks for it -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A device works while the host goes on; a program that forgets to wait passes
// on a driver that does everything at the call. Here nothing happens until the
// program waits, and then in a random order that streams and events allow.
//===----------------------------------------------------------------------===//

#ifndef REMAT_EMULATOR_DRIVER_QUEUE_H
#define REMAT_EMULATOR_DRIVER_QUEUE_H

#include "remat/CUDA/Driver.h"

#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace remat::cuda {

namespace emulator {

using Action = std::function<CUresult()>;

/// The end of one piece of work.
struct Completion {
  CUstream stream = nullptr;
  bool isDone = false;
  /// In seconds; when it was done.
  double time = 0;
};
using CompletionRef = std::shared_ptr<Completion>;

struct Work {
  std::vector<CompletionRef> waits;
  CompletionRef done;
  /// Null if it only waits.
  Action run;
};

struct GraphNode {
  /// Nodes that are run before it, by their index.
  std::vector<size_t> after;
  Action run;
};
using GraphNodes = std::vector<GraphNode>;

/// Work of one or more streams that becomes a graph.
struct Capture {
  CUstream origin;
  CUstreamCaptureMode mode;
  std::thread::id thread;
  GraphNodes nodes;
  bool isInvalid = false;
  bool hasEnded = false;
};
using CaptureRef = std::shared_ptr<Capture>;

} // namespace emulator

struct CUstream_st {
  /// Waits for the default stream, which waits for it.
  bool isBlocking = true;
  std::deque<emulator::Work> queue;
  /// The end of its last work.
  emulator::CompletionRef last;
  /// Null if it does not record. Then `tails` are the nodes that the next one
  /// comes after.
  emulator::CaptureRef capture;
  std::vector<size_t> tails;
};

struct CUevent_st {
  bool hasTime = true;
  /// Of the last recording; null for none.
  emulator::CompletionRef recorded;
  unsigned numQueries = 0;
  /// The same in a capture.
  emulator::CaptureRef capture;
  std::vector<size_t> nodes;
};

struct CUgraph_st {
  std::shared_ptr<const emulator::GraphNodes> nodes;
};

struct CUgraphExec_st {
  std::shared_ptr<const emulator::GraphNodes> nodes;
};

namespace emulator {

/// All streams.
class Queue {
public:
  static Queue &get();

  CUstream create(bool isBlocking);
  /// Its work is still done.
  void destroy(CUstream stream);
  /// The stream, also for the default stream (null); null if there is none.
  CUstream find(CUstream stream);
  void setSeed(uint64_t seed) { random.seed(seed); }

  /// Appends work to `stream`, or to the graph that it records.
  CUresult enqueue(CUstream stream, Action action);
  CUresult record(CUevent event, CUstream stream);
  CUresult wait(CUstream stream, CUevent event);

  /// Runs work until `goal` is done; returns the first error.
  CUresult finish(const CompletionRef &goal);
  CUresult finishAll();
  /// Runs one piece of work that may be run, if there is any.
  CUresult runAny();

  CUresult beginCapture(CUstream stream, CUstreamCaptureMode mode);
  CUresult endCapture(CUstream stream, GraphNodes &nodes);
  /// Returns an error if captures forbid a call that waits, or that affects
  /// other streams, and makes these captures invalid.
  CUresult checkUncaptured(CUstream stream = nullptr);
  /// Runs the nodes of a graph in an order that it allows.
  CUresult runGraph(const GraphNodes &nodes);

private:
  Work &append(CUstream stream, Action action);
  CUresult captureNode(CUstream stream, Action action);
  CUresult advance(CompletionRef goal);
  CUresult runFront(CUstream stream);
  /// After an error nothing that was queued is run.
  void abandon();
  bool isReady(CUstream stream) const;
  std::vector<CaptureRef> getCaptures() const;

  std::vector<std::unique_ptr<CUstream_st>> streams;
  CUstream_st defaultStream;
  std::vector<CUstream> destroyed;
  std::mt19937_64 random;
};

} // namespace emulator
} // namespace remat::cuda

#endif // REMAT_EMULATOR_DRIVER_QUEUE_H
