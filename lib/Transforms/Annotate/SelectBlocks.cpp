//===- SelectBlocks.cpp - Layers and which of them ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Layers.h"

#include "remat/Transforms/Annotate/Annotate.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

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

/// Looks in the blocks of `region` and of the loops and branches in it.
static void selectBelow(Region &region, const Origins &origins,
                        SmallVectorImpl<Selection> &selections) {
  for (Block &block : region) {
    selectIn(block, origins, selections);
    for (Operation &op : block)
      if (!isa<linalg::LinalgOp, RegionOp>(op))
        for (Region &inner : op.getRegions())
          selectBelow(inner, origins, selections);
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
  if (indices.empty())
    return emitError(loc) << "every=" << every << ": there are only "
                          << groups.size() << " blocks";
  llvm::sort(indices);
  indices.erase(llvm::unique(indices), indices.end());
  SmallVector<Selection> chosen;
  for (int64_t index : indices)
    chosen.push_back(std::move(groups[index]));
  return chosen;
}
