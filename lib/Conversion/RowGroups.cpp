//===- RowGroups.cpp - Operations that go through the same rows -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations go together if rows of one are rows of the other, and none of them
// touches, in a row of its own, what another one writes in another row.
//===----------------------------------------------------------------------===//

#include "RowGroups.h"

#include "LoopNest.h"
#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::remat;

/// Operations that one is moved past.
static constexpr size_t kWindow = 24;
/// Parts that one accesses: more would be too many streams for one loop, and
/// take time that grows with their square.
static constexpr size_t kMaxParts = 24;

namespace {

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

/// Returns true if it accesses an array that may be shared.
static bool accessesLargeArray(Operation *op, int64_t minBytes) {
  return llvm::any_of(op->getOperandTypes(), [&](Type type) {
    return isa<MemRefType>(type) && estimateBytes(type) >= minBytes;
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
static SmallVector<int64_t> findRowCounts(linalg::LinalgOp op,
                                          int64_t minRows) {
  SmallVector<int64_t> counts = countIterations(op);
  counts.erase(llvm::unique(counts), counts.end());
  llvm::erase_if(counts, [&](int64_t count) {
    return count < minRows || count >= kSizeLimit;
  });
  return counts;
}

std::optional<unsigned> remat::countRowLoops(linalg::LinalgOp op,
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

/// Returns true if the row loops of `op` can be one loop.
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

/// Returns the accesses of `op` in its rows, nullopt if it cannot have as many.
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
  // Loads of the body may be from any row.
  op->walk([&](memref::LoadOp load) {
    accesses.push_back({findPart(load.getMemRef())});
  });
  return accesses;
}

/// Returns true if different rows never meet, where one of the two writes.
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

/// Returns true if both begin where the other does.
static bool areOneArray(const RowAccess &a, const RowAccess &b) {
  return a.part.buffer == b.part.buffer && a.part.begin == b.part.begin;
}

/// Returns true if both access, row by row, an array of at least `minBytes`.
static bool shareRows(ArrayRef<RowAccess> a, ArrayRef<RowAccess> b,
                      int64_t rows, int64_t minBytes) {
  return llvm::any_of(a, [&](const RowAccess &access) {
    return access.stride != 0 &&
           multiplySizes({access.width, rows}) >= minBytes &&
           llvm::any_of(b, [&](const RowAccess &other) {
             return other.stride == access.stride && areOneArray(other, access);
           });
  });
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

RowGroup::RowGroup(linalg::LinalgOp first, const RowGroupOptions &options)
    : members({first}) {
  for (int64_t rows : findRowCounts(first, options.minRows))
    if (Choice choice{rows, 0, {}};
        addTo(choice, first.getOperation(), options))
      choices.push_back(std::move(choice));
}

bool RowGroup::add(ArrayRef<Operation *> ops, const RowGroupOptions &options) {
  SmallVector<Choice> next;
  for (Choice choice : choices)
    if (addTo(choice, ops, options))
      next.push_back(std::move(choice));
  if (next.empty())
    return false;
  choices = std::move(next);
  members.append(ops.begin(), ops.end());
  return true;
}

bool RowGroup::addTo(Choice &choice, ArrayRef<Operation *> ops,
                     const RowGroupOptions &options) {
  for (Operation *op : ops) {
    auto linalg = cast<linalg::LinalgOp>(op);
    auto accesses = findRowAccesses(linalg, choice.rows);
    if (!accesses || !areInTheirRows(*accesses, *accesses))
      return false;
    bool isShared = choice.accesses.empty();
    size_t count = accesses->size();
    for (const SmallVector<RowAccess> &member : choice.accesses) {
      count += member.size();
      if (count > options.maxAccesses || !areInTheirRows(member, *accesses))
        return false;
      isShared |=
          shareRows(member, *accesses, choice.rows, options.minSharedBytes);
    }
    if (op == ops.back() && !isShared)
      return false;
    std::optional<int64_t> threads =
        options.countThreads(linalg, *countRowLoops(linalg, choice.rows));
    if (!threads ||
        (*threads != 0 && choice.threads != 0 && *threads != choice.threads))
      return false;
    choice.threads = std::max(choice.threads, *threads);
    choice.accesses.push_back(std::move(*accesses));
  }
  return true;
}

int64_t RowGroup::getBytesPerRow() const {
  int64_t bytes = 0;
  SmallVector<const RowAccess *> counted;
  for (const SmallVector<RowAccess> &accesses : choices.back().accesses)
    for (const RowAccess &access : accesses) {
      if (access.stride == 0 ||
          llvm::any_of(counted, [&](const RowAccess *other) {
            return areOneArray(*other, access);
          }))
        continue;
      counted.push_back(&access);
      bytes += access.width;
    }
  return bytes;
}

/// The operations that can be one loop where the first of `entries` is.
static RowGroup findGroup(ArrayRef<const Entry *> entries,
                          const RowGroupOptions &options) {
  RowGroup group(cast<linalg::LinalgOp>(entries.front()->op), options);
  /// The operations that stay after the loop.
  SmallVector<const Entry *> left;
  for (const Entry *entry : entries.drop_front()) {
    if (left.size() == kWindow)
      break;
    if (!entry->isCandidate ||
        !accessesLargeArray(entry->op, options.minSharedBytes)) {
      left.push_back(entry);
      continue;
    }
    // Those of them that it needs have to be in the loop as well.
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
    if (areCandidates && group.add(ops, options))
      left.assign(others.rbegin(), others.rend());
    else
      left.push_back(entry);
  }
  return group;
}

static void findRowGroups(Block &block, const RowGroupOptions &options,
                          function_ref<bool(const RowGroup &)> visit) {
  // Finding all accesses takes long, for nothing where none is shared.
  if (llvm::none_of(block, [&](Operation &op) {
        return isCandidate(&op) &&
               accessesLargeArray(&op, options.minSharedBytes);
      }))
    return;
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
    RowGroup group = findGroup(open, options);
    if (group.getMembers().size() == 1)
      continue;
    // Members that stay where they are stay between others.
    SmallVector<Operation *> members(group.getMembers());
    if (visit(group))
      fused.insert_range(members);
  }
}

void remat::findRowGroups(Operation *root, const RowGroupOptions &options,
                          function_ref<bool(const RowGroup &)> visit) {
  SmallVector<Block *> blocks;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<scf::ParallelOp, scf::ForallOp, linalg::LinalgOp>(op))
      return WalkResult::skip();
    for (Region &region : op->getRegions())
      llvm::append_range(blocks, llvm::make_pointer_range(region));
    return WalkResult::advance();
  });
  for (Block *block : blocks)
    ::findRowGroups(*block, options, visit);
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// Moves the definitions of the operands of `op` that follow `first` to before
/// `first`; returns false, and moves nothing, if one of them has effects.
/// Unlike upstream's moveValueDefinitions(), looks only at operations between
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
    for (Value value : getInputs(user)) {
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

bool remat::moveTogether(RewriterBase &rewriter, const RowGroup &group) {
  Operation *first = group.getMembers().front();
  for (Operation *op : group.getMembers().drop_front())
    if (!moveDefinitions(rewriter, op, first))
      return false;
  for (auto [before, op] :
       llvm::zip(group.getMembers(), group.getMembers().drop_front()))
    rewriter.moveOpBefore(op, before->getNextNode());
  return true;
}
