//===- Select.cpp - Values chosen together --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Select.h"

#include "KeptOutputs.h"
#include "Slice.h"
#include "remat/Analysis/Cost.h"
#include "remat/Analysis/Sources.h"
#include "remat/Plan/Selection.h"

using namespace mlir;
using namespace mlir::remat;
namespace plan = ::remat::plan;

namespace {
/// The body of a region as the planner sees it.
struct Body {
  plan::SelectionProblem problem;
  /// Of each value of the graph.
  SmallVector<Value> values;
  /// Of each node, whether `#remat.min_cut` never recomputes it.
  std::vector<bool> isExpensive;
};
} // namespace

static Body buildBody(RegionOp region, ArrayRef<Value> needed,
                      const SetVector<Value> &kept, Effects &effects) {
  Body body;
  plan::Graph &graph = body.problem.graph;
  DenseMap<Value, unsigned> numbers;
  auto number = [&](Value value, unsigned producer) {
    auto [it, isNew] = numbers.try_emplace(value, graph.values.size());
    if (!isNew)
      return it->second;
    bool isFree = producer == plan::kNone || kept.contains(value);
    int64_t bytes = isFree ? 0 : getNumBytes(value.getType());
    graph.addValue(producer, bytes);
    body.values.push_back(value);
    body.problem.maySave.push_back(
        producer != plan::kNone &&
        (kept.contains(value) ||
         (bytes != 0 && !isGenerator(value.getDefiningOp()))));
    return it->second;
  };
  for (Operation &op : *region.getBodyBlock()) {
    if (isa<NameOp>(op) || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    unsigned node = graph.nodes.size();
    graph.nodes.emplace_back();
    SetVector<unsigned> inputs;
    for (Value read : getInputs(&op))
      inputs.insert(number(lookThroughNames(read), plan::kNone));
    graph.nodes[node].inputs.assign(inputs.begin(), inputs.end());
    graph.nodes[node].cost = estimateTime(&op);
    Operation *culprit = nullptr;
    body.isExpensive.push_back(isExpensive(&op) ||
                               !effects.isReplayable(&op, culprit));
    for (Value result : op.getResults())
      number(result, node);
  }
  SetVector<unsigned> read;
  for (Value value : needed)
    read.insert(number(lookThroughNames(value), plan::kNone));
  body.problem.needed.assign(read.begin(), read.end());
  return body;
}

SetVector<Value> mlir::remat::selectValues(RegionOp region,
                                           ArrayRef<Value> needed,
                                           const SetVector<Value> &kept,
                                           Effects &effects) {
  Body body = buildBody(region, needed, kept, effects);
  auto budget = dyn_cast<BudgetAttr>(region.getPolicyOrDefault());
  plan::Selection selection =
      budget ? plan::selectWithin(body.problem, budget.getBytes())
             : plan::selectFewestBytes(body.problem, body.isExpensive);
  SetVector<Value> saved;
  for (unsigned value : selection.saved)
    saved.insert(body.values[value]);
  return saved;
}
