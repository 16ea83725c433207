//===- GroupUpdates.cpp - Small updates wait for each other ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each parameter is updated where its gradient is known, between the kernels of
// two layers. A bias takes a few KiB and a launch of its own; a few gradients
// of that size may wait until one launch does for all of them.
//
// This is done before memory is packed, which then keeps the gradients.
//===----------------------------------------------------------------------===//

#include "../BufferParts.h"
#include "remat/Analysis/OldValueReads.h"
#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace mlir::remat {
#define GEN_PASS_DEF_GROUPUPDATES
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Bytes that an update may keep alive.
static constexpr int64_t kSmall = int64_t(16) << 10;
/// Updates that wait for each other: their operands fit into one kernel.
static constexpr size_t kMaxGroup = 8;

/// Bytes of what `op` reads and does not update; none if that is not known.
static std::optional<int64_t> countInputBytes(linalg::LinalgOp op) {
  int64_t bytes = 0;
  for (Value input : op.getDpsInputs()) {
    auto type = dyn_cast<MemRefType>(input.getType());
    if (type && !type.hasStaticShape())
      return std::nullopt;
    if (type)
      bytes += type.getNumElements() * estimateBytes(type.getElementType());
  }
  return bytes;
}

/// Returns true if `op` is the one kernel of a small update.
static bool isSmallUpdate(Operation *op) {
  auto update = dyn_cast<linalg::LinalgOp>(op);
  if (!update || !update.hasPureBufferSemantics() ||
      llvm::none_of(update.getDpsInits(), isTrained) || !isParallel(update) ||
      llvm::any_of(update.getStaticLoopRanges(), ShapedType::isDynamic))
    return false;
  std::optional<int64_t> bytes = countInputBytes(update);
  return bytes && *bytes <= kSmall;
}

namespace {
/// Updates of a block that wait, by what they iterate over.
class Grouper {
public:
  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (accessesNothing(&op))
        continue;
      std::optional<Accesses> accesses = findAccesses(&op);
      for (auto &[key, group] : groups)
        if (!accesses || !isIndependent(group, *accesses))
          release(group);
      if (accesses && isSmallUpdate(&op))
        add(cast<linalg::LinalgOp>(op), std::move(*accesses));
    }
    for (auto &[key, group] : groups)
      release(group);
  }

  bool hasMoved = false;

private:
  struct Waiting {
    Operation *op;
    Accesses accesses;
  };
  using Group = SmallVector<Waiting>;

  static bool isIndependent(const Group &group, const Accesses &accesses) {
    return llvm::all_of(group, [&](const Waiting &waiting) {
      return areIndependent(waiting.accesses, accesses);
    });
  }

  void add(linalg::LinalgOp op, Accesses accesses) {
    SmallVector<int64_t> key = op.getStaticLoopRanges();
    key.push_back(op->getNumOperands());
    Group &group = groups[key];
    group.push_back({op, std::move(accesses)});
    if (group.size() == kMaxGroup)
      release(group);
  }

  /// Puts a group where its last member is.
  void release(Group &group) {
    for (const Waiting &waiting : group) {
      hasMoved |= waiting.op != group.back().op;
      if (waiting.op != group.back().op)
        waiting.op->moveBefore(group.back().op);
    }
    group.clear();
  }

  llvm::MapVector<SmallVector<int64_t>, Group,
                  std::map<SmallVector<int64_t>, unsigned>>
      groups;
};

struct GroupUpdates : mlir::remat::impl::GroupUpdatesBase<GroupUpdates> {
  void runOnOperation() override {
    bool hasMoved = false;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Block &block : function.getBody()) {
        Grouper grouper;
        grouper.run(block);
        hasMoved |= grouper.hasMoved;
      }
    if (!hasMoved)
      markAllAnalysesPreserved();
  }
};
} // namespace
