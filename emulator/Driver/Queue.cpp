//===- Queue.cpp - Work that waits until somebody asks for it -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Queue.h"

#include "DeviceMemory.h"

#include <algorithm>
#include <chrono>

using namespace remat::cuda;
using namespace remat::cuda::emulator;

Queue &Queue::get() {
  static auto *queue = new Queue;
  return *queue;
}

CUstream Queue::create(bool isBlocking) {
  streams.push_back(std::make_unique<CUstream_st>());
  streams.back()->isBlocking = isBlocking;
  return streams.back().get();
}

void Queue::destroy(CUstream stream) { destroyed.push_back(stream); }

CUstream Queue::find(CUstream stream) {
  if (!stream)
    return &defaultStream;
  if (std::find(destroyed.begin(), destroyed.end(), stream) != destroyed.end())
    return nullptr;
  for (const std::unique_ptr<CUstream_st> &known : streams)
    if (known.get() == stream)
      return stream;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

static bool isPending(const CompletionRef &completion) {
  return completion && !completion->isDone;
}

Work &Queue::append(CUstream stream, Action action) {
  Work work;
  work.run = std::move(action);
  work.done = std::make_shared<Completion>();
  work.done->stream = stream;
  if (stream == &defaultStream) {
    for (const std::unique_ptr<CUstream_st> &other : streams)
      if (other->isBlocking && isPending(other->last))
        work.waits.push_back(other->last);
  } else if (stream->isBlocking && isPending(defaultStream.last)) {
    work.waits.push_back(defaultStream.last);
  }
  stream->last = work.done;
  stream->queue.push_back(std::move(work));
  return stream->queue.back();
}

CUresult Queue::enqueue(CUstream stream, Action action) {
  if (stream->capture)
    return captureNode(stream, std::move(action));
  if (stream == &defaultStream)
    for (const CaptureRef &capture : getCaptures())
      if (capture->origin->isBlocking) {
        capture->isInvalid = true;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
      }
  append(stream, std::move(action));
  return CUDA_SUCCESS;
}

CUresult Queue::record(CUevent event, CUstream stream) {
  event->numQueries = 0;
  event->capture = stream->capture;
  event->nodes = stream->tails;
  if (stream->capture)
    return stream->capture->isInvalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                                      : CUDA_SUCCESS;
  event->recorded = append(stream, nullptr).done;
  return CUDA_SUCCESS;
}

CUresult Queue::wait(CUstream stream, CUevent event) {
  if (event->capture) {
    if (event->capture->hasEnded)
      return CUDA_ERROR_CAPTURED_EVENT;
    if (!stream->capture) {
      stream->capture = event->capture;
      stream->tails = event->nodes;
      return CUDA_SUCCESS;
    }
    if (stream->capture != event->capture) {
      stream->capture->isInvalid = event->capture->isInvalid = true;
      return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    }
    for (size_t node : event->nodes)
      if (std::find(stream->tails.begin(), stream->tails.end(), node) ==
          stream->tails.end())
        stream->tails.push_back(node);
    return CUDA_SUCCESS;
  }
  if (!event->recorded)
    return CUDA_SUCCESS;
  if (stream->capture) {
    stream->capture->isInvalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  append(stream, nullptr).waits.push_back(event->recorded);
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

bool Queue::isReady(CUstream stream) const {
  return !stream->queue.empty() &&
         std::none_of(stream->queue.front().waits.begin(),
                      stream->queue.front().waits.end(), isPending);
}

CUresult Queue::runFront(CUstream stream) {
  Work work = std::move(stream->queue.front());
  stream->queue.pop_front();
  CUresult result = work.run ? work.run() : CUDA_SUCCESS;
  work.done->isDone = true;
  work.done->time = std::chrono::duration<double>(
                        std::chrono::steady_clock::now().time_since_epoch())
                        .count();
  if (result != CUDA_SUCCESS)
    abandon();
  return result;
}

void Queue::abandon() {
  auto abandonStream = [](CUstream_st &stream) {
    for (Work &work : stream.queue)
      work.done->isDone = true;
    stream.queue.clear();
  };
  abandonStream(defaultStream);
  for (const std::unique_ptr<CUstream_st> &stream : streams)
    abandonStream(*stream);
}

CUresult Queue::runAny() {
  std::vector<CUstream> ready;
  if (isReady(&defaultStream))
    ready.push_back(&defaultStream);
  for (const std::unique_ptr<CUstream_st> &stream : streams)
    if (isReady(stream.get()))
      ready.push_back(stream.get());
  if (ready.empty())
    return CUDA_SUCCESS;
  DeviceAccess access;
  return runFront(ready[random() % ready.size()]);
}

/// Runs one piece of work without which `goal` cannot be done.
CUresult Queue::advance(CompletionRef goal) {
  while (true) {
    Work &front = goal->stream->queue.front();
    auto pending =
        std::find_if(front.waits.begin(), front.waits.end(), isPending);
    if (pending == front.waits.end())
      return runFront(goal->stream);
    goal = *pending;
  }
}

/// Most often only what is needed: whoever forgot to wait for another stream
/// gets memory that it has not written. Sometimes others first: whoever forgot
/// to let them wait loses memory to them.
CUresult Queue::finish(const CompletionRef &goal) {
  if (!isPending(goal))
    return CUDA_SUCCESS;
  DeviceAccess access;
  constexpr unsigned kRounds = 4;
  bool runsOthers = random() % kRounds == 0;
  while (!goal->isDone) {
    CUresult result =
        runsOthers && random() % 2 == 0 ? runAny() : advance(goal);
    if (result != CUDA_SUCCESS)
      return result;
  }
  return CUDA_SUCCESS;
}

CUresult Queue::finishAll() {
  auto isIdle = [&] {
    return defaultStream.queue.empty() &&
           std::all_of(streams.begin(), streams.end(), [](const auto &stream) {
             return stream->queue.empty();
           });
  };
  DeviceAccess access;
  while (!isIdle())
    if (CUresult result = runAny(); result != CUDA_SUCCESS)
      return result;
  for (CUstream stream : destroyed)
    streams.erase(
        std::find_if(streams.begin(), streams.end(),
                     [&](const auto &known) { return known.get() == stream; }));
  destroyed.clear();
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

std::vector<CaptureRef> Queue::getCaptures() const {
  std::vector<CaptureRef> captures;
  for (const std::unique_ptr<CUstream_st> &stream : streams)
    if (stream->capture && stream->capture->origin == stream.get())
      captures.push_back(stream->capture);
  return captures;
}

CUresult Queue::captureNode(CUstream stream, Action action) {
  Capture &capture = *stream->capture;
  if (capture.isInvalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  capture.nodes.push_back({stream->tails, std::move(action)});
  stream->tails = {capture.nodes.size() - 1};
  return CUDA_SUCCESS;
}

CUresult Queue::beginCapture(CUstream stream, CUstreamCaptureMode mode) {
  if (stream == &defaultStream)
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->capture)
    return CUDA_ERROR_INVALID_VALUE;
  stream->capture = std::make_shared<Capture>();
  stream->capture->origin = stream;
  stream->capture->mode = mode;
  stream->capture->thread = std::this_thread::get_id();
  stream->tails.clear();
  return CUDA_SUCCESS;
}

/// Returns true if `node` is one of `ends` or of their predecessors.
static bool isJoined(const GraphNodes &nodes, std::vector<size_t> ends,
                     size_t node) {
  std::vector<bool> isSeen(nodes.size());
  while (!ends.empty()) {
    size_t end = ends.back();
    ends.pop_back();
    if (isSeen[end])
      continue;
    isSeen[end] = true;
    ends.insert(ends.end(), nodes[end].after.begin(), nodes[end].after.end());
  }
  return isSeen[node];
}

CUresult Queue::endCapture(CUstream stream, GraphNodes &nodes) {
  CaptureRef capture = stream->capture;
  if (!capture)
    return CUDA_ERROR_INVALID_VALUE;
  if (capture->origin != stream)
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  CUresult result =
      capture->isInvalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
  capture->hasEnded = true;
  std::vector<size_t> ends = stream->tails;
  for (const std::unique_ptr<CUstream_st> &other : streams) {
    if (other->capture != capture)
      continue;
    for (size_t node : other->tails)
      if (result == CUDA_SUCCESS && !isJoined(capture->nodes, ends, node))
        result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    other->capture = nullptr;
    other->tails.clear();
  }
  nodes = std::move(capture->nodes);
  return result;
}

CUresult Queue::checkUncaptured(CUstream stream) {
  if (stream && stream->capture) {
    stream->capture->isInvalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  CUresult result = CUDA_SUCCESS;
  for (const CaptureRef &capture : getCaptures())
    if (capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
        (capture->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL &&
         capture->thread == std::this_thread::get_id())) {
      capture->isInvalid = true;
      result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  return result;
}

CUresult Queue::runGraph(const GraphNodes &nodes) {
  std::vector<size_t> numBefore(nodes.size());
  std::vector<std::vector<size_t>> next(nodes.size());
  std::vector<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    numBefore[i] = nodes[i].after.size();
    if (numBefore[i] == 0)
      ready.push_back(i);
    for (size_t before : nodes[i].after)
      next[before].push_back(i);
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    size_t node = ready.back();
    ready.pop_back();
    if (CUresult result = nodes[node].run(); result != CUDA_SUCCESS)
      return result;
    for (size_t after : next[node])
      if (--numBefore[after] == 0)
        ready.push_back(after);
  }
  return CUDA_SUCCESS;
}
