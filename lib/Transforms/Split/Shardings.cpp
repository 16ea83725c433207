//===- Shardings.cpp - Which dimensions are split -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dimensions that some operation goes through by one loop form a class, and a
// class is split along the axis that an argument of the function names for a
// dimension of it. There is no cost model and no order in which this spreads:
// what a user writes for one argument holds wherever that dimension is.
//===----------------------------------------------------------------------===//

#include "Shardings.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include "llvm/ADT/IntEqClasses.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
class Classes {
public:
  explicit Classes(FunctionOpInterface function) : function(function) {}

  void add(Operation *op);
  /// Gives each class that an argument's sharding names its axis.
  LogicalResult seed(const Mesh &mesh);

  std::optional<IterationSpace> &getLoops(Operation *op) { return loops[op]; }
  int getAxisOfDim(Value value, unsigned dim) {
    return getAxis(getNode(value, dim));
  }
  int getAxisOfLoop(Operation *op, unsigned loop) {
    return getAxis(loopNodes.lookup(op) + loop);
  }

private:
  unsigned addNodes(unsigned count) {
    unsigned first = numNodes;
    numNodes += count;
    classes.grow(numNodes);
    return first;
  }
  unsigned getNode(Value value, unsigned dim) {
    auto [entry, isNew] = valueNodes.try_emplace(value);
    if (isNew)
      entry->second =
          addNodes(cast<RankedTensorType>(value.getType()).getRank());
    return entry->second + dim;
  }
  int getAxis(unsigned node) {
    auto found = seeds.find(classes.findLeader(node));
    return found == seeds.end() ? -1 : found->second.first;
  }
  void join(Value value, const LoopOfDim &dims, unsigned firstLoop) {
    for (auto [dim, loop] : llvm::enumerate(dims))
      if (loop >= 0)
        classes.join(getNode(value, dim), firstLoop + loop);
  }
  void join(Value from, Value to) {
    auto type = dyn_cast<RankedTensorType>(from.getType());
    for (int64_t dim = 0, e = type ? type.getRank() : 0; dim < e; ++dim)
      classes.join(getNode(from, dim), getNode(to, dim));
  }

  FunctionOpInterface function;
  llvm::IntEqClasses classes;
  unsigned numNodes = 0;
  DenseMap<Value, unsigned> valueNodes;
  DenseMap<Operation *, unsigned> loopNodes;
  DenseMap<Operation *, std::optional<IterationSpace>> loops;
  /// Axis of a class, and the argument that says so.
  DenseMap<unsigned, std::pair<int, unsigned>> seeds;
};
} // namespace

void Classes::add(Operation *op) {
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
    RegionBranchSuccessorMapping mapping;
    branch.getSuccessorOperandInputMapping(mapping);
    for (auto &[operand, inputs] : mapping)
      for (Value input : inputs)
        join(operand->get(), input);
    return;
  }
  std::optional<IterationSpace> &found = loops[op];
  found = remat::getLoops(op);
  if (!found)
    return;
  unsigned first = loopNodes[op] = addNodes(found->count);
  for (const IterationSpace::Operand &operand : found->operands)
    join(operand.use->get(), operand.dims, first);
  for (auto [result, dims] : llvm::zip_equal(op->getResults(), found->results))
    join(result, dims, first);
}

LogicalResult Classes::seed(const Mesh &mesh) {
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    FailureOr<Sharding> sharding = getSharding(function, number, mesh);
    if (failed(sharding))
      return failure();
    for (auto [dim, axis] : llvm::enumerate(*sharding)) {
      if (axis < 0)
        continue;
      unsigned leader = classes.findLeader(getNode(argument, dim));
      auto [entry, isNew] = seeds.try_emplace(leader, std::pair(axis, number));
      if (isNew || entry->second.first == axis)
        continue;
      InFlightDiagnostic diagnostic =
          emitError(argument.getLoc())
          << "'remat.shard' of argument " << number << " splits dimension "
          << dim << " along axis '" << mesh.axes[axis].name
          << "', but operations go through it together with a dimension of "
             "argument "
          << entry->second.second << ", which is split along axis '"
          << mesh.axes[entry->second.first].name << "'";
      diagnostic.attachNote(function.getArgument(entry->second.second).getLoc())
          << "the other argument";
      return diagnostic;
    }
  }
  return success();
}

static bool areDivided(Value value, const LoopOfDim &dims, unsigned loop,
                       int64_t parts) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  for (auto [dim, other] : llvm::enumerate(dims))
    if (other == int(loop) &&
        (type.isDynamicDim(dim) || type.getDimSize(dim) % parts != 0))
      return false;
  return true;
}

/// Returns true if `parts` divide every dimension that the loop goes through.
static bool isDivided(Operation *op, const IterationSpace &loops, unsigned loop,
                      int64_t parts) {
  return llvm::all_of(loops.operands,
                      [&](const IterationSpace::Operand &operand) {
                        return areDivided(operand.use->get(), operand.dims,
                                          loop, parts);
                      }) &&
         llvm::all_of(llvm::enumerate(loops.results), [&](auto result) {
           return areDivided(op->getResult(result.index()), result.value(),
                             loop, parts);
         });
}

FailureOr<Shardings> Shardings::compute(FunctionOpInterface function,
                                        const Mesh &mesh) {
  Classes classes(function);
  function->walk([&](Operation *op) {
    if (op != function)
      classes.add(op);
  });
  if (failed(classes.seed(mesh)))
    return failure();
  Shardings result;
  auto addValue = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return;
    Sharding sharding(type.getRank(), -1);
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      int axis = classes.getAxisOfDim(value, dim);
      if (axis >= 0 && !llvm::is_contained(sharding, axis) &&
          !type.isDynamicDim(dim) &&
          type.getDimSize(dim) % mesh.axes[axis].parts == 0)
        sharding[dim] = axis;
    }
    if (llvm::any_of(sharding, [](int axis) { return axis >= 0; }))
      result.values[value] = std::move(sharding);
  };
  function->walk([&](Operation *op) {
    for (Value value : op->getResults())
      addValue(value);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value value : block.getArguments())
          addValue(value);
    std::optional<IterationSpace> &loops = classes.getLoops(op);
    if (!loops)
      return;
    Split split{std::move(*loops), {}};
    for (unsigned loop = 0; loop < split.loops.count; ++loop) {
      int axis = classes.getAxisOfLoop(op, loop);
      // A barrier has loops of its own for each value.
      bool isUsed = !isa<BarrierOp>(op) && llvm::is_contained(split.axes, axis);
      split.axes.push_back(
          axis >= 0 && !isUsed &&
                  isDivided(op, split.loops, loop, mesh.axes[axis].parts)
              ? axis
              : -1);
    }
    result.splits.try_emplace(op, std::move(split));
  });
  return result;
}

Sharding Shardings::get(Value value) const {
  auto found = values.find(value);
  if (found != values.end())
    return found->second;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return Sharding(type ? type.getRank() : 0, -1);
}

const Shardings::Split *Shardings::get(Operation *op) const {
  auto found = splits.find(op);
  return found == splits.end() ? nullptr : &found->second;
}
