//===- Segments.h - Replay what comes again --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step is one list of commands, or several where the host reads a result in
// between: segments, known by their position in the step. The first time a
// segment runs as it is, the second time it is captured, from then on its graph
// is replayed. A segment remembers a few lists, for steps that alternate; one
// that has more (dynamic shapes) runs the others as they are.
//===----------------------------------------------------------------------===//

#ifndef REMAT_RUNTIME_CUDA_SEGMENTS_H
#define REMAT_RUNTIME_CUDA_SEGMENTS_H

#include "CommandList.h"

#include <array>
#include <memory>

namespace remat::cuda {

/// The phase of the program; only segments of steps recur.
enum class Phase { none, step, evaluation };

struct SegmentOptions {
  bool capturesGraphs = true;
  bool waitsForEach = false;

  /// REMAT_CUDA_GRAPHS=0, and REMAT_CUDA_SYNC=1 to find the kernel that fails.
  static SegmentOptions fromEnvironment();
};

/// Launches and library calls of the steps, without the rest of the program.
struct SegmentCounts {
  int64_t steps = 0, launches = 0, libraryCalls = 0, captures = 0, replays = 0;
};

class Segments {
public:
  static constexpr size_t kMaxVariants = 4;

  Segments(const Driver &driver, CUstream stream, SegmentOptions options)
      : driver(driver), stream(stream), options(options) {}
  ~Segments();
  Segments(const Segments &) = delete;

  /// Starts at the first segment of a phase.
  void begin(Phase next);
  /// Runs the next segment, and clears the list.
  void run(CommandList &list);
  /// Ends a capture in which a call failed.
  void abandonCapture();
  const SegmentCounts &getCounts() const { return counts; }

private:
  struct Variant {
    CommandList list;
    CUgraphExec graph = nullptr;
  };
  using Segment = std::vector<Variant>;

  Variant *find(Segment &segment, const CommandList &list);
  void capture(Variant &variant);
  void launch(Variant &variant);

  const Driver &driver;
  CUstream stream;
  SegmentOptions options;
  SegmentCounts counts;
  Phase phase = Phase::none;
  size_t position = 0;
  bool isCapturing = false;
  std::array<std::vector<Segment>, 3> segments;
};

} // namespace remat::cuda

#endif // REMAT_RUNTIME_CUDA_SEGMENTS_H
