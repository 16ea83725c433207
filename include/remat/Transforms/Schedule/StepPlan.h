//===- StepPlan.h - Schedules of a block that recompute ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_SCHEDULE_STEPPLAN_H
#define REMAT_TRANSFORMS_SCHEDULE_STEPPLAN_H

#include "remat/Plan/Graph.h"

#include "mlir/IR/Block.h"

#include <vector>

namespace mlir::remat {

/// A block of tensor IR as the planner sees it.
struct StepGraph {
  ::remat::plan::Graph graph;
  /// The operation of each node, without its destinations.
  std::vector<Operation *> ops;
};

/// Returns the graph of `block`, whose nodes are in the order of the block.
/// Sizes are rounded up to `alignment`. Peaks are those of the arena that
/// bufferization and packing will make of the block, as far as all sizes are
/// static. `kept` are values that are computed once.
StepGraph buildStepGraph(Block &block, int64_t alignment,
                         ArrayRef<Value> kept = {});

/// Puts `block`, of which `buildStepGraph` made a graph, in the order of
/// `schedule`. A recomputation is a clone that reads through a `remat.barrier`
/// on the value that was computed before it; later users read its results.
void applySchedule(Block &block, int64_t alignment,
                   const ::remat::plan::Schedule &schedule);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_SCHEDULE_STEPPLAN_H
