//===- FuseRows.cpp - One loop over rows for operations of rows -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of rows, each of which stays in the cache from the first operation to
// the last one.
//===----------------------------------------------------------------------===//

#include "ReductionLanes.h"
#include "RowGroups.h"
#include "remat/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {
#define GEN_PASS_DEF_FUSEROWS
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Bytes of a block of rows: most of the first cache. Operations on it then do
/// not wait but for the first one, and that for little at a time, while lines
/// of the next block are on their way.
static constexpr int64_t kBlockBytes = int64_t(24) << 10;
/// Arrays that fit into the cache of a single core need no loop of their own:
/// it costs more than it saves.
static constexpr int64_t kMinSharedBytes = int64_t(128) << 10;
/// Blocks: enough for an even load on many cores.
static constexpr int64_t kWantedBlocks = 32;

/// Rows of a block: what the loop accesses in it stays in the cache.
static int64_t countRowsOfBlock(const RowGroup &group) {
  int64_t rows = group.getRows();
  int64_t most = std::clamp<int64_t>(
      kBlockBytes / std::max<int64_t>(group.getBytesPerRow(), 1), 1,
      rows / kWantedBlocks);
  // Blocks of one size have loops of constant sizes.
  int64_t step = most >= kLanes ? kLanes : 1;
  most -= most % step;
  for (int64_t block = most; 2 * block > most; block -= step)
    if (rows % block == 0)
      return block;
  return most;
}

/// `op` with one loop for all of its rows.
static linalg::LinalgOp collapseRows(RewriterBase &rewriter,
                                     linalg::LinalgOp op, int64_t rows) {
  unsigned loops = *countRowLoops(op, rows);
  if (loops == 1)
    return op;
  DictionaryAttr attributes = op->getDiscardableAttrDictionary();
  rewriter.setInsertionPoint(op);
  if (!isa<linalg::GenericOp, linalg::CopyOp>(op.getOperation())) {
    FailureOr<linalg::GenericOp> generic =
        linalg::generalizeNamedOp(rewriter, op);
    if (failed(generic))
      return op;
    op = *generic;
  }
  SmallVector<ReassociationIndices> folded = {
      llvm::to_vector<2>(llvm::seq<int64_t>(loops))};
  FailureOr<linalg::CollapseResult> collapsed =
      linalg::collapseOpIterationDims(op, folded, rewriter);
  if (failed(collapsed))
    return op;
  collapsed->collapsedOp->setDiscardableAttrs(attributes);
  rewriter.eraseOp(op);
  return collapsed->collapsedOp;
}

/// Replaces the operations of `group` by one loop over blocks of rows, where
/// the first one is.
static void fuse(RewriterBase &rewriter, const RowGroup &group) {
  if (!moveTogether(rewriter, group))
    return;
  int64_t rows = group.getRows(), block = countRowsOfBlock(group);
  SmallVector<linalg::LinalgOp> ops;
  SmallVector<Location> locations;
  for (Operation *op : group.getMembers()) {
    locations.push_back(op->getLoc());
    ops.push_back(collapseRows(rewriter, cast<linalg::LinalgOp>(op), rows));
  }
  if (llvm::any_of(ops, [&](linalg::LinalgOp op) {
        return op.getStaticLoopRanges().front() != rows;
      }))
    return;
  rewriter.setInsertionPoint(ops.back());
  Location loc = rewriter.getFusedLoc(locations);
  auto index = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(rewriter, loc, number);
  };
  auto loop = scf::ParallelOp::create(rewriter, loc, ValueRange{index(0)},
                                      ValueRange{index(rows)},
                                      ValueRange{index(block)});
  rewriter.setInsertionPointToStart(loop.getBody());
  Value row = loop.getInductionVars()[0];
  for (linalg::LinalgOp op : ops) {
    SmallVector<OpFoldResult> tile(op.getNumLoops(), rewriter.getIndexAttr(0)),
        offsets(tile), sizes;
    tile[0] = rewriter.getIndexAttr(block);
    offsets[0] = row;
    for (int64_t size : op.getStaticLoopRanges())
      sizes.push_back(rewriter.getIndexAttr(size));
    SmallVector<Value> operands = linalg::makeTiledShapes(
        rewriter, op.getLoc(), op, llvm::to_vector(op->getOperands()),
        OpFoldResult(row), tile, sizes,
        /*omitPartialTileCheck=*/rows % block == 0);
    auto tiled =
        cast<linalg::LinalgOp>(clone(rewriter, op, TypeRange(), operands));
    linalg::offsetIndices(rewriter, tiled, offsets);
    rewriter.eraseOp(op);
  }
}

namespace {
struct FuseRows : remat::impl::FuseRowsBase<FuseRows> {
  void runOnOperation() override {
    RowGroupOptions options;
    options.minSharedBytes = kMinSharedBytes;
    options.minRows = kWantedBlocks;
    IRRewriter rewriter(&getContext());
    bool changed = false;
    findRowGroups(getOperation(), options, [&](const RowGroup &group) {
      changed = true;
      fuse(rewriter, group);
      return true;
    });
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
