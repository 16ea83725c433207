//===- SelectBlocks.cpp - Layers and which of them ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Layers.h"

#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::remat;

static size_t countOps(ArrayRef<SmallVector<Operation *>> layers) {
  size_t count = 0;
  for (const SmallVector<Operation *> &ops : layers)
    count += ops.size();
  return count;
}

/// Appends the layers of one block. An input may be what the first layer works
/// on, or a table that the exporter wrote into the first layer and that all of
/// them read; what makes more layers is right.
static void selectIn(Block &block, const Origins &origins,
                     SmallVectorImpl<Selection> &selections) {
  auto layers = findLayers(block, origins, /*countInputs=*/false);
  auto withInputs = findLayers(block, origins, /*countInputs=*/true);
  if (countOps(withInputs) > countOps(layers))
    layers = std::move(withInputs);
  for (SmallVector<Operation *> &ops : layers)
    selections.push_back({"", std::move(ops)});
}

/// Returns true if an activation of the body of `loop` is computed with a
/// parameter that the iteration chooses: a slice of a stack of weights.
static bool readsParametersOfIteration(scf::ForOp loop,
                                       const Origins &origins) {
  DenseSet<Value> ofIteration = {loop.getInductionVar()};
  for (Operation &op : loop.getBody()->without_terminator()) {
    bool isOfIteration = false;
    for (Value value : getInputs(&op)) {
      isOfIteration |= ofIteration.contains(value);
      if (origins.isActivation(&op) && ofIteration.contains(value) &&
          origins.get(value) == Origins::kParameter)
        return true;
    }
    if (isOfIteration)
      ofIteration.insert_range(op.getResults());
  }
  return false;
}

/// Returns the layer that is the body of `loop`, in each iteration on other
/// parameters and on the result of the one before (`lax.scan` over stacked
/// weights): all that its body does to activations. Empty if it is another
/// loop, such as one over time steps, whose parameters stay.
static SmallVector<Operation *> findLayerOf(scf::ForOp loop,
                                            const Origins &origins) {
  bool carriesActivation = llvm::any_of(
      llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues()),
      [&](auto pair) {
        auto [argument, yielded] = pair;
        return isa<FloatType>(getElementTypeOrSelf(argument.getType())) &&
               Origins::isActivation(origins.get(yielded)) &&
               !argument.use_empty();
      });
  if (!carriesActivation || !readsParametersOfIteration(loop, origins))
    return {};
  SmallVector<Operation *> ops;
  for (Operation &op : loop.getBody()->without_terminator())
    if (origins.isActivation(&op) && !isBoundToItsPlace(&op) &&
        !isa<RegionOp>(op))
      ops.push_back(&op);
  return llvm::any_of(ops, isDot) ? ops : SmallVector<Operation *>();
}

/// Looks in the blocks of `region` and of the loops and branches in it. Layers
/// of a loop count, not those around it: one of its iterations is enough to
/// recompute at a time.
static void selectBelow(Region &region, const Origins &origins,
                        SmallVectorImpl<Selection> &selections) {
  for (Block &block : region) {
    SmallVector<Selection> ofBlock, inside;
    DenseSet<Operation *> loopsOfLayers;
    selectIn(block, origins, ofBlock);
    for (Operation &op : block) {
      if (isa<linalg::LinalgOp, RegionOp>(op))
        continue;
      size_t before = inside.size();
      for (Region &inner : op.getRegions())
        selectBelow(inner, origins, inside);
      auto loop = dyn_cast<scf::ForOp>(op);
      if (!loop || inside.size() != before)
        continue;
      if (auto ops = findLayerOf(loop, origins); !ops.empty()) {
        inside.push_back({"", std::move(ops)});
        loopsOfLayers.insert(loop);
      }
    }
    llvm::erase_if(ofBlock, [&](const Selection &selection) {
      return llvm::any_of(selection.ops, [&](Operation *op) {
        return loopsOfLayers.contains(op);
      });
    });
    llvm::append_range(selections, ofBlock);
    llvm::append_range(selections, inside);
  }
}

SmallVector<Selection> mlir::remat::selectBlocks(func::FuncOp function) {
  Origins origins(function);
  SmallVector<Selection> selections;
  selectBelow(function.getBody(), origins, selections);
  for (auto [index, selection] : llvm::enumerate(selections))
    selection.label = "block " + std::to_string(index);
  return selections;
}

/// Appends the indices of "3", "-1" or "2-5" to `indices`.
static LogicalResult parseIndices(Location loc, StringRef text, int64_t count,
                                  SmallVectorImpl<int64_t> &indices) {
  StringRef first = text, last = text;
  if (size_t dash = text.find('-', 1); dash != StringRef::npos) {
    first = text.take_front(dash);
    last = text.drop_front(dash + 1);
  }
  int64_t begin, end;
  if (first.getAsInteger(10, begin) || last.getAsInteger(10, end))
    return emitError(loc) << "pick=" << text
                          << " is no index such as 0 or -1 and no range such "
                             "as 2-5";
  begin += begin < 0 ? count : 0;
  end += end < 0 ? count : 0;
  if (begin > end)
    return emitError(loc) << "pick=" << text << " is an empty range";
  if (begin < 0 || end >= count)
    return emitError(loc) << "pick=" << text << ": there are " << count
                          << " blocks, 0 to " << count - 1;
  llvm::append_range(indices, llvm::seq(begin, end + 1));
  return success();
}

FailureOr<SmallVector<Selection>>
mlir::remat::chooseBlocks(Location loc, SmallVector<Selection> blocks,
                          ArrayRef<std::string> pick, int64_t every,
                          int64_t group) {
  if (every < 1 || group < 1)
    return emitError(loc) << "every= and group= take a positive number";
  if (!pick.empty() && every != 1)
    return emitError(loc) << "pick= and every= contradict each other; give one";
  SmallVector<Selection> groups;
  for (auto [index, block] : llvm::enumerate(blocks)) {
    bool joins =
        index % group != 0 && !groups.empty() &&
        groups.back().ops.front()->getBlock() == block.ops.front()->getBlock();
    if (!joins) {
      groups.push_back(std::move(block));
      continue;
    }
    StringRef label = groups.back().label;
    groups.back().label = (label.take_front(label.find('-')) + "-" +
                           Twine(static_cast<uint64_t>(index)))
                              .str();
    llvm::append_range(groups.back().ops, block.ops);
  }
  SmallVector<int64_t> indices;
  for (StringRef text : pick)
    if (failed(parseIndices(loc, text, groups.size(), indices)))
      return failure();
  if (pick.empty())
    for (int64_t index = every - 1; index < int64_t(groups.size());
         index += every)
      indices.push_back(index);
  if (indices.empty()) {
    InFlightDiagnostic diagnostic = emitError(loc)
                                    << "every=" << every << ": there are only "
                                    << groups.size() << " blocks";
    for (const Selection &group : groups)
      if (auto loop = group.ops.front()->getParentOfType<scf::ForOp>())
        diagnostic.attachNote(loop.getLoc())
            << "the body of this loop is one block, however often it runs";
    return diagnostic;
  }
  llvm::sort(indices);
  indices.erase(llvm::unique(indices), indices.end());
  SmallVector<Selection> chosen;
  for (int64_t index : indices)
    chosen.push_back(std::move(groups[index]));
  return chosen;
}
