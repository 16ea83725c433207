//===- FuseRows.cpp - One loop over rows for operations of rows -----------===//
//
// A norm or a softmax reads its rows two or three times. Kernel by kernel that
// is the whole array from memory each time; row by row it is the cache.
//
// This is done on memory, after it was packed: no buffer lives longer by it,
// and what depends on what is a question of bytes.
//
//===----------------------------------------------------------------------===//

#include "BufferParts.h"
#include "LoopNest.h"
#include "ReductionLanes.h"
#include "remat/Conversion/Passes.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::remat {
#define GEN_PASS_DEF_FUSEROWS
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Operations that one is moved past.
static constexpr size_t kWindow = 24;
/// Parts that one accesses: more would be too many streams for one loop, and
/// take time that grows with their square.
static constexpr size_t kMaxParts = 24;
/// Bytes of a block of rows: most of the first cache. Operations on it then do
/// not wait but for the first one, and that for little at a time, while lines
/// of the next block are on their way.
static constexpr int64_t kBlockBytes = int64_t(24) << 10;
/// What fits into the cache that a core has for itself needs no loop of its
/// own.
static constexpr int64_t kMinSharedBytes = int64_t(128) << 10;
/// Blocks: enough for an even load on many cores.
static constexpr int64_t kWantedBlocks = 32;

namespace {

/// How an operation that iterates over rows accesses one of its operands.
struct RowAccess {
  BufferPart part;
  bool isWrite = false;
  /// Bytes from row to row, and those of one row; 0 if that is not known or all
  /// rows access the same.
  int64_t stride = 0, width = 0;
};

/// An operation of a block.
struct Entry {
  Operation *op;
  std::optional<Accesses> accesses;
  bool isCandidate;
};

} // namespace

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Operands lie in the order of the loops, so that the rows of one are those of
/// another; products are the library's.
static bool isCandidate(Operation *op) {
  auto linalg = dyn_cast<linalg::LinalgOp>(op);
  return linalg && linalg.hasPureBufferSemantics() && !isProduct(linalg) &&
         !linalg.hasDynamicShape() &&
         llvm::all_of(linalg.getIndexingMapsArray(), keepsOrder) &&
         llvm::all_of(op->getOperands(), isStrided);
}

/// Whether it accesses an array that may be shared.
static bool accessesLargeArray(Operation *op) {
  return llvm::any_of(op->getOperandTypes(), [](Type type) {
    return isa<MemRefType>(type) && estimateBytes(type) >= kMinSharedBytes;
  });
}

/// The iterations of its outermost parallel loop, of the outermost two, ...
static SmallVector<int64_t> countIterations(linalg::LinalgOp op) {
  SmallVector<int64_t> counts;
  for (auto [size, kind] :
       llvm::zip_equal(op.getStaticLoopRanges(), op.getIteratorTypesArray())) {
    if (kind != utils::IteratorType::parallel)
      break;
    counts.push_back(multiplySizes({counts.empty() ? 1 : counts.back(), size}));
  }
  return counts;
}

/// All numbers of rows that `op` could have.
static SmallVector<int64_t> findRowCounts(linalg::LinalgOp op) {
  SmallVector<int64_t> counts = countIterations(op);
  counts.erase(llvm::unique(counts), counts.end());
  llvm::erase_if(counts, [](int64_t count) {
    return count < kWantedBlocks || count >= kSizeLimit;
  });
  return counts;
}

/// How many of its outermost loops are `rows`.
static std::optional<unsigned> countRowLoops(linalg::LinalgOp op,
                                             int64_t rows) {
  SmallVector<int64_t> counts = countIterations(op);
  auto *found = llvm::find(counts, rows);
  if (found == counts.end())
    return std::nullopt;
  return found - counts.begin() + 1;
}

static ReassociationIndices getRowLoops(unsigned count) {
  return llvm::to_vector<2>(llvm::seq<int64_t>(count));
}

/// Whether the row loops of `op` can be one loop.
static bool canCollapse(linalg::LinalgOp op, unsigned rowLoops) {
  if (rowLoops == 1)
    return true;
  if (!linalg::areDimSequencesPreserved(op.getIndexingMapsArray(),
                                        {getRowLoops(rowLoops)}))
    return false;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (!type || !map.isFunctionOfDim(0))
      return true;
    SmallVector<ReassociationIndices> groups = {getRowLoops(rowLoops)};
    for (int64_t dim = rowLoops; dim < type.getRank(); ++dim)
      groups.push_back({dim});
    return memref::CollapseShapeOp::isGuaranteedCollapsible(type, groups);
  });
}

/// What `op` accesses in its rows, or nothing if it cannot have as many.
static std::optional<SmallVector<RowAccess>>
findRowAccesses(linalg::LinalgOp op, int64_t rows) {
  std::optional<unsigned> loops = countRowLoops(op, rows);
  if (!loops || !canCollapse(op, *loops))
    return std::nullopt;
  SmallVector<RowAccess> accesses;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type)
      continue;
    RowAccess access{findPart(operand.get()), op.isDpsInit(&operand)};
    SmallVector<int64_t> strides;
    int64_t offset;
    // Where its rows begin is only known if its own type says it.
    if (succeeded(type.getStridesAndOffset(strides, offset)) &&
        !ShapedType::isDynamic(offset) && access.part.isKnown) {
      int64_t bytes = estimateBytes(type.getElementType());
      int64_t last = 0;
      AffineMap map = op.getMatchingIndexingMap(&operand);
      for (auto [expr, size, stride] :
           llvm::zip_equal(map.getResults(), type.getShape(), strides)) {
        if (cast<AffineDimExpr>(expr).getPosition() >= *loops)
          last += (size - 1) * stride;
        else if (size > 1 || access.stride == 0)
          access.stride = stride * bytes;
      }
      access.width = (last + 1) * bytes;
    }
    accesses.push_back(access);
  }
  // What the body loads may be in any row.
  op->walk([&](memref::LoadOp load) {
    accesses.push_back({findPart(load.getMemRef())});
  });
  return accesses;
}

/// Whether different rows never meet, where one of the two writes.
static bool areInTheirRows(const RowAccess &a, const RowAccess &b) {
  if ((!a.isWrite && !b.isWrite) || !mayOverlap(a.part, b.part))
    return true;
  // Two buffers may be one, but then they begin together.
  if (!a.part.buffer || !b.part.buffer || a.stride == 0 || a.stride != b.stride)
    return false;
  int64_t begin = std::min(a.part.begin, b.part.begin);
  return a.part.begin - begin + a.width <= a.stride &&
         b.part.begin - begin + b.width <= b.stride;
}

static bool areInTheirRows(ArrayRef<RowAccess> a, ArrayRef<RowAccess> b) {
  return llvm::all_of(a, [&](const RowAccess &access) {
    return llvm::all_of(b, [&](const RowAccess &other) {
      return areInTheirRows(access, other);
    });
  });
}

/// Whether both begin where the other does.
static bool areOneArray(const RowAccess &a, const RowAccess &b) {
  return a.part.buffer == b.part.buffer && a.part.begin == b.part.begin;
}

/// Whether both access, row by row, an array that is not in the cache anyway.
static bool shareRows(ArrayRef<RowAccess> a, ArrayRef<RowAccess> b,
                      int64_t rows) {
  return llvm::any_of(a, [&](const RowAccess &access) {
    return access.stride != 0 &&
           multiplySizes({access.width, rows}) >= kMinSharedBytes &&
           llvm::any_of(b, [&](const RowAccess &other) {
             return other.stride == access.stride && areOneArray(other, access);
           });
  });
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {

/// Operations whose rows one loop can go through.
class RowGroup {
public:
  explicit RowGroup(linalg::LinalgOp first) : members({first}) {
    for (int64_t rows : findRowCounts(first))
      if (auto accesses = findRowAccesses(first, rows);
          accesses && areInTheirRows(*accesses, *accesses))
        choices.push_back({rows, {*accesses}});
  }

  /// Adds `ops`, the last of which has to have rows in common with those
  /// before; false, and nothing is changed, if they cannot be one loop.
  bool add(ArrayRef<Operation *> ops) {
    SmallVector<Choice> next;
    for (Choice choice : choices)
      if (addTo(choice, ops))
        next.push_back(std::move(choice));
    if (next.empty())
      return false;
    choices = std::move(next);
    members.append(ops.begin(), ops.end());
    return true;
  }

  ArrayRef<Operation *> getMembers() const { return members; }
  int64_t getRows() const { return choices.back().rows; }

  /// Rows of a block: what the loop accesses in it stays in the cache.
  int64_t getBlock() const {
    const Choice &choice = choices.back();
    int64_t bytes = 0;
    SmallVector<const RowAccess *> counted;
    for (const SmallVector<RowAccess> &accesses : choice.accesses)
      for (const RowAccess &access : accesses) {
        if (access.stride == 0 ||
            llvm::any_of(counted, [&](const RowAccess *other) {
              return areOneArray(*other, access);
            }))
          continue;
        counted.push_back(&access);
        bytes += access.width;
      }
    int64_t most =
        std::clamp<int64_t>(kBlockBytes / std::max<int64_t>(bytes, 1), 1,
                            choice.rows / kWantedBlocks);
    // Blocks of one size have loops of constant sizes.
    int64_t step = most >= kLanes ? kLanes : 1;
    most -= most % step;
    for (int64_t block = most; 2 * block > most; block -= step)
      if (choice.rows % block == 0)
        return block;
    return most;
  }

private:
  struct Choice {
    int64_t rows;
    SmallVector<SmallVector<RowAccess>> accesses;
  };

  static bool addTo(Choice &choice, ArrayRef<Operation *> ops) {
    for (Operation *op : ops) {
      auto accesses = findRowAccesses(cast<linalg::LinalgOp>(op), choice.rows);
      if (!accesses || !areInTheirRows(*accesses, *accesses))
        return false;
      bool isShared = false;
      for (const SmallVector<RowAccess> &member : choice.accesses) {
        if (!areInTheirRows(member, *accesses))
          return false;
        isShared |= shareRows(member, *accesses, choice.rows);
      }
      if (op == ops.back() && !isShared)
        return false;
      choice.accesses.push_back(std::move(*accesses));
    }
    return true;
  }

  SmallVector<Operation *> members;
  /// From few large rows to many small ones.
  SmallVector<Choice> choices;
};

} // namespace

/// The operations that can be one loop where the first of `entries` is.
static RowGroup findGroup(ArrayRef<const Entry *> entries) {
  RowGroup group(cast<linalg::LinalgOp>(entries.front()->op));
  /// What stays behind the loop.
  SmallVector<const Entry *> left;
  for (const Entry *entry : entries.drop_front()) {
    if (left.size() == kWindow)
      break;
    if (!entry->isCandidate || !accessesLargeArray(entry->op)) {
      left.push_back(entry);
      continue;
    }
    // What it needs of that has to be in the loop as well.
    SmallVector<const Entry *> wanted = {entry}, others;
    for (const Entry *other : llvm::reverse(left)) {
      bool isNeeded = llvm::any_of(wanted, [&](const Entry *later) {
        return !areIndependent(*other->accesses, *later->accesses);
      });
      (isNeeded ? wanted : others).push_back(other);
    }
    SmallVector<Operation *> ops;
    bool areCandidates = true;
    for (const Entry *other : llvm::reverse(wanted)) {
      ops.push_back(other->op);
      areCandidates &= other->isCandidate;
    }
    if (areCandidates && group.add(ops))
      left.assign(others.rbegin(), others.rend());
    else
      left.push_back(entry);
  }
  return group;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

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
  SmallVector<ReassociationIndices> folded = {getRowLoops(loops)};
  FailureOr<linalg::CollapseResult> collapsed =
      linalg::collapseOpIterationDims(op, folded, rewriter);
  if (failed(collapsed))
    return op;
  collapsed->collapsedOp->setDiscardableAttrs(attributes);
  rewriter.eraseOp(op);
  return collapsed->collapsedOp;
}

/// Moves what `op` is computed from, as far as it stands behind `first`, in
/// front of `first`; false, and nothing is moved, if some of it has effects.
/// Unlike upstream's moveValueDefinitions(), looks only at what stands between
/// the two: asking for the order of a block after each move takes as long as
/// the block is.
static bool moveDefinitions(RewriterBase &rewriter, Operation *op,
                            Operation *first) {
  SmallVector<Operation *> between;
  for (Operation *at = first->getNextNode(); at != op; at = at->getNextNode())
    between.push_back(at);
  llvm::SmallPtrSet<Operation *, 32> movable(between.begin(), between.end()),
      needed;
  SmallVector<Operation *> users = {op};
  while (!users.empty()) {
    Operation *user = users.pop_back_val();
    llvm::SetVector<Value> used(user->operand_begin(), user->operand_end());
    getUsedValuesDefinedAbove(user->getRegions(), used);
    for (Value value : used) {
      Operation *definition = value.getDefiningOp();
      if (!definition || !movable.contains(definition) ||
          !needed.insert(definition).second)
        continue;
      if (!isMemoryEffectFree(definition))
        return false;
      users.push_back(definition);
    }
  }
  for (Operation *definition : between)
    if (needed.contains(definition))
      rewriter.moveOpBefore(definition, first);
  return true;
}

/// Replaces the operations of `group` by one loop over blocks of rows, where
/// the first one is.
static void fuse(RewriterBase &rewriter, const RowGroup &group) {
  Operation *first = group.getMembers().front();
  for (Operation *op : group.getMembers().drop_front())
    if (!moveDefinitions(rewriter, op, first))
      return;
  int64_t rows = group.getRows(), block = group.getBlock();
  SmallVector<linalg::LinalgOp> ops;
  SmallVector<Location> locations;
  for (Operation *op : group.getMembers()) {
    if (op != first)
      rewriter.moveOpBefore(op, ops.back()->getNextNode());
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

/// Returns whether something changed.
static bool fuseRows(RewriterBase &rewriter, Block &block) {
  // What each operation accesses is much to find out where nothing is shared.
  if (llvm::none_of(block, [](Operation &op) {
        return isCandidate(&op) && accessesLargeArray(&op);
      }))
    return false;
  SmallVector<Entry> entries;
  for (Operation &op : block) {
    if (accessesNothing(&op))
      continue;
    std::optional<Accesses> accesses = findAccesses(&op);
    if (accesses &&
        accesses->reads.size() + accesses->writes.size() > kMaxParts)
      accesses.reset();
    entries.push_back({&op, std::move(accesses), isCandidate(&op)});
  }
  llvm::SmallPtrSet<Operation *, 16> fused;
  auto isFused = [&](const Entry &entry) { return fused.contains(entry.op); };
  for (auto *first = entries.begin(); first != entries.end(); ++first) {
    if (isFused(*first) || !first->accesses || !first->isCandidate)
      continue;
    SmallVector<const Entry *> open;
    for (const Entry &entry : llvm::make_range(first, entries.end())) {
      if (!entry.accesses || open.size() == 2 * kWindow)
        break;
      if (!isFused(entry))
        open.push_back(&entry);
    }
    RowGroup group = findGroup(open);
    if (group.getMembers().size() == 1)
      continue;
    fused.insert_range(group.getMembers());
    fuse(rewriter, group);
  }
  return !fused.empty();
}

namespace {
struct FuseRows : remat::impl::FuseRowsBase<FuseRows> {
  void runOnOperation() override {
    SmallVector<Block *> blocks;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      // Threads are busy there already.
      if (isa<scf::ParallelOp, scf::ForallOp, linalg::LinalgOp>(op))
        return WalkResult::skip();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          blocks.push_back(&block);
      return WalkResult::advance();
    });
    IRRewriter rewriter(&getContext());
    bool changed = false;
    for (Block *block : blocks)
      changed |= fuseRows(rewriter, *block);
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
