//===- MergeLaunches.cpp - One kernel for operations side by side ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch costs microseconds, and what two operations both read is read twice.
// The sums over one gradient (of a bias, of gains, of a normalization), updates
// of small parameters, and copies to tapes come in groups that iterate alike.
//
// This is done on memory, after it was packed: no buffer lives longer by it.
//===----------------------------------------------------------------------===//

#include "../BufferParts.h"
#include "../LoopNest.h"
#include "../MergeGenerics.h"
#include "../Products.h"
#include "../ReductionLanes.h"
#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Utils/CutLoops.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::remat {
#define GEN_PASS_DEF_MERGELAUNCHES
#include "remat/Conversion/CUDA/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Operations that one is moved past.
static constexpr int kWindow = 24;

//===----------------------------------------------------------------------===//
// Questions: operations
//===----------------------------------------------------------------------===//

/// Each iteration of the parallel loops has an element of its own in each
/// output, and is alone in writing it: what does not runs in order, without
/// lanes, and so would all that is merged with it. In a mapped output each
/// iteration of all loops has one.
static bool writesApart(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  SmallVector<unsigned> mapped = findMappedOutputs(op);
  return llvm::all_of(llvm::enumerate(op.getDpsInitsMutable()), [&](auto it) {
    AffineMap map = op.getMatchingIndexingMap(&it.value());
    if (llvm::is_contained(mapped, it.index()))
      return true;
    for (auto [loop, size] : llvm::enumerate(sizes)) {
      bool isParallel = kinds[loop] == utils::IteratorType::parallel;
      if (size != 1 && map.isFunctionOfDim(loop) != isParallel)
        return false;
    }
    return true;
  });
}

/// Fills become part of the kernels whose sums they begin.
static bool isCandidate(Operation *op) {
  auto linalg = dyn_cast<linalg::LinalgOp>(op);
  if (!linalg || isa<linalg::FillOp>(op) || !linalg.hasPureBufferSemantics() ||
      llvm::any_of(linalg.getStaticLoopRanges(), ShapedType::isDynamic) ||
      !llvm::all_of(linalg.getIndexingMapsArray(), keepsOrder) ||
      !llvm::all_of(op->getOperands(), isStrided) || !writesApart(linalg))
    return false;
  if (isParallel(linalg))
    return true;
  // Lanes, on both sides of the merge.
  return !isProduct(linalg) && !findCombinersBesideMapped(linalg).empty();
}

/// Operands of sums whose lanes do something else: each of the 1024 threads of
/// a block has 64 registers, two for each operand's address.
static constexpr unsigned kMaxOperandsOfLanes = 22;
/// A quarter of the threads for which a large GPU has room.
static constexpr int64_t kManyThreads = int64_t(1) << 16;

/// Returns true if the lanes of `sum` may do the work of `map` by elements.
static bool canStoreInLanes(linalg::LinalgOp map, linalg::LinalgOp sum) {
  if (!isParallel(map) || isParallel(sum))
    return false;
  int64_t elements = 1, results = 1;
  for (auto [size, kind] : llvm::zip_equal(sum.getStaticLoopRanges(),
                                           sum.getIteratorTypesArray())) {
    int64_t &count =
        kind == utils::IteratorType::reduction ? elements : results;
    count = multiplySizes({size}, count);
  }
  // Alone, it would have a thread for a few elements.
  int64_t lanes = countLanes(getReductionOrder(sum), elements, results);
  return lanes > 1 && multiplySizes({results}, lanes) >= kManyThreads;
}

/// Returns true if one kernel may do both: alike, or the lanes of the second's
/// sums what the first does.
static bool canShareKernel(linalg::LinalgOp a, linalg::LinalgOp b) {
  bool storesInLanes = fitOneKernel(a, b) && canStoreInLanes(a, b);
  if ((storesInLanes || !findMappedOutputs(a).empty()) &&
      countOperands(a, b) > kMaxOperandsOfLanes)
    return false;
  return storesInLanes || iterateAlike(a, b);
}

/// The loops of `sum` that stand for each loop of `map`, if `sum` reads, in the
/// shape of its own loops, what `map` reads or stores: that of chunks, where
/// `remat-split-reductions` has made some.
static std::optional<SmallVector<ReassociationIndices>>
findCuts(linalg::LinalgOp map, linalg::LinalgOp sum) {
  if (!isParallel(map) || isParallel(sum) ||
      map.getNumLoops() >= sum.getNumLoops() || map.hasIndexSemantics() ||
      !llvm::all_of(map.getIndexingMapsArray(),
                    [](AffineMap m) { return m.isProjectedPermutation(); }))
    return std::nullopt;
  for (OpOperand *input : sum.getDpsInputOperands()) {
    auto expand = input->get().getDefiningOp<memref::ExpandShapeOp>();
    if (!expand || !sum.getMatchingIndexingMap(input).isIdentity())
      continue;
    if (llvm::any_of(map->getOpOperands(), [&](OpOperand &operand) {
          return operand.get() == expand.getSrc() &&
                 map.getMatchingIndexingMap(&operand).isIdentity();
        }))
      return expand.getReassociationIndices();
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// `operand` in the given shape: the view that `sum` reads, if it does.
static Value viewLike(OpBuilder &builder, linalg::LinalgOp sum, Value operand,
                      ArrayRef<int64_t> shape,
                      ArrayRef<ReassociationIndices> groups) {
  for (Value read : sum.getDpsInputs())
    if (auto view = read.getDefiningOp<memref::ExpandShapeOp>();
        view && view.getSrc() == operand &&
        view.getResultType().getShape() == shape)
      return view;
  return memref::ExpandShapeOp::create(builder, sum.getLoc(), shape, operand,
                                       groups);
}

/// A view that nothing uses would still count as a use of its buffer.
static void eraseWithViews(linalg::GenericOp cut) {
  SmallVector<Value> operands = cut->getOperands();
  cut->erase();
  for (Value operand : operands)
    if (auto view = operand.getDefiningOp<memref::ExpandShapeOp>();
        view && view->use_empty())
      view->erase();
}

/// Returns true if `op` writes all of `memref` and reads none of it.
static bool overwrites(linalg::LinalgOp op, Value memref) {
  for (OpOperand &init : op.getDpsInitsMutable())
    if (init.get() == memref && !op.payloadUsesValueFromOperand(&init) &&
        cast<MemRefType>(memref.getType()).getLayout().isIdentity() &&
        op.getMatchingIndexingMap(&init).isPermutation())
      return true;
  return false;
}

static bool isReadInBody(linalg::LinalgOp op, const BufferPart &part) {
  auto result = op->walk([&](Operation *inner) {
    bool isRead =
        inner != op && llvm::any_of(inner->getOperands(), [&](Value v) {
          return isa<MemRefType>(v.getType()) && mayOverlap(findPart(v), part);
        });
    return isRead ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Returns true if `reader`, which writes `from` as well, reads each element of
/// `source` where it is written.
static bool isInPlace(linalg::LinalgOp reader, OpOperand &input, Value source,
                      const BufferPart &from) {
  return llvm::all_of(reader.getDpsInitsMutable(), [&](OpOperand &init) {
    AffineMap map = reader.getMatchingIndexingMap(&init);
    return !mayOverlap(findPart(init.get()), from) ||
           (init.get() == source && map.isPermutation() &&
            cast<MemRefType>(source.getType()).getLayout().isIdentity() &&
            reader.getMatchingIndexingMap(&input) == map);
  });
}

/// Memory of `copy` for which any other of the same elements does.
static bool isPlain(linalg::CopyOp copy) {
  auto source = dyn_cast<MemRefType>(copy.getInputs()[0].getType()),
       target = dyn_cast<MemRefType>(copy.getOutputs()[0].getType());
  return source && target && source.isStrided() &&
         source.getShape() == target.getShape() &&
         source.getElementType() == target.getElementType();
}

static bool isWithin(const BufferPart &part, const BufferPart &other) {
  return part.isKnown && other.isKnown && !other.period &&
         part.buffer == other.buffer && part.begin >= other.begin &&
         part.end <= other.end;
}

static bool isSame(const BufferPart &part, const BufferPart &other) {
  return part.buffer == other.buffer && part.begin == other.begin &&
         part.end == other.end && part.period == other.period;
}

/// Lets readers of a copy read its source, if neither is written in between,
/// and the copy does not outlive the block: it is a view of the arena of this
/// block, which is overwritten, or ends with the block. An accumulation that
/// was bufferized out of place copies its sum first.
static bool forwardCopy(linalg::CopyOp copy) {
  if (!isPlain(copy))
    return false;
  Value source = copy.getInputs()[0], target = copy.getOutputs()[0];
  Operation *view = target.getDefiningOp();
  if (!isa_and_nonnull<memref::ViewOp>(view) ||
      view->getBlock() != copy->getBlock() ||
      llvm::any_of(target.getUsers(), llvm::IsaPred<ViewLikeOpInterface>))
    return false;
  BufferPart from = findPart(source), to = findPart(target);
  // Memory of the caller outlives the block.
  if (mayOverlap(from, to) || !to.buffer.getDefiningOp<memref::AllocOp>())
    return false;
  SmallVector<OpOperand *> reads;
  /// Parts of the copy that have other contents by now.
  SmallVector<BufferPart> gone;
  auto isGone = [&](const BufferPart &part) {
    return !mayOverlap(part, to) ||
           llvm::any_of(gone,
                        [&](const BufferPart &g) { return isWithin(part, g); });
  };
  /// True if source and copy may differ by now.
  bool isOver = false;
  for (Operation *op = copy->getNextNode(); op; op = op->getNextNode()) {
    if (op->hasTrait<OpTrait::IsTerminator>()) {
      if (op->getNumOperands() > 0 || op->getNumSuccessors() > 0)
        return false;
      break;
    }
    if (accessesNothing(op))
      continue;
    if (auto dealloc = dyn_cast<memref::DeallocOp>(op);
        dealloc && dealloc.getMemref() == to.buffer)
      break;
    std::optional<Accesses> accesses = findAccesses(op);
    if (!accesses)
      return false;
    auto reader = dyn_cast<linalg::LinalgOp>(op);
    if (!llvm::all_of(accesses->reads, isGone)) {
      if (!reader || isOver || isReadInBody(reader, to))
        return false;
      for (OpOperand &operand : op->getOpOperands()) {
        if (!isa<MemRefType>(operand.get().getType()) ||
            isGone(findPart(operand.get())))
          continue;
        if (reader.isDpsInit(&operand)) {
          if (reader.payloadUsesValueFromOperand(&operand))
            return false;
          continue;
        }
        if (operand.get() != target ||
            !isInPlace(reader, operand, source, from))
          return false;
        reads.push_back(&operand);
      }
    }
    for (const BufferPart &part : accesses->writes)
      if (mayOverlap(part, to)) {
        auto isWritten = [&](OpOperand &init) {
          return isWithin(part, findPart(init.get())) &&
                 overwrites(reader, init.get());
        };
        if (reader && llvm::any_of(reader.getDpsInitsMutable(), isWritten))
          gone.push_back(part);
        isOver = true;
      }
    if (llvm::any_of(gone,
                     [&](const BufferPart &g) { return isWithin(to, g); }))
      break;
    isOver |= mayOverlap(accesses->writes, from);
  }
  for (OpOperand *read : reads)
    read->set(source);
  copy->erase();
  return true;
}

namespace {

/// The operations of a block.
class Merger {
public:
  explicit Merger(bool neighbours) : neighbours(neighbours) {}

  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (op.hasTrait<OpTrait::IsTerminator>() || accessesNothing(&op))
        continue;
      std::optional<Accesses> accesses = findAccesses(&op);
      if (!accesses) {
        earlier.clear();
        continue;
      }
      Entry entry{&op, std::move(*accesses), isCandidate(&op)};
      if (entry.isCandidate)
        mergeWithEarlier(entry);
      earlier.push_back(std::move(entry));
      if (earlier.size() > kWindow)
        earlier.erase(earlier.begin());
    }
  }

private:
  struct Entry {
    Operation *op;
    Accesses accesses;
    bool isCandidate;
  };

  /// Returns true if `earlier[number]` may be done after all that follow it.
  bool canWait(size_t number) const {
    for (size_t next = number + 1; next < earlier.size(); ++next)
      if (!areIndependent(earlier[number].accesses, earlier[next].accesses))
        return false;
    return true;
  }

  /// Returns true if `entry` adds up what `map`, which is `earlier[number]`,
  /// stores, and there is nothing but fills between the two.
  bool isStoredRightBefore(size_t number, linalg::LinalgOp map,
                           const Entry &entry) const {
    auto sum = cast<linalg::LinalgOp>(entry.op);
    return canStoreInLanes(map, sum) &&
           llvm::all_of(ArrayRef(earlier).drop_front(number + 1),
                        [](const Entry &between) {
                          return isa<linalg::FillOp>(between.op);
                        }) &&
           llvm::any_of(sum->getOpOperands(), [&](OpOperand &operand) {
             return findForwarded(map, operand).has_value();
           });
  }

  /// Returns the accesses of `entry` but for elements that `first` forwards.
  static Accesses withoutForwarded(linalg::LinalgOp first, const Entry &entry) {
    Accesses accesses = entry.accesses;
    for (OpOperand &operand : entry.op->getOpOperands()) {
      if (!findForwarded(first, operand))
        continue;
      BufferPart part = findPart(operand.get());
      auto *read = llvm::find_if(accesses.reads, [&](const BufferPart &other) {
        return isSame(other, part);
      });
      if (read != accesses.reads.end())
        accesses.reads.erase(read);
    }
    return accesses;
  }

  /// Returns true if `first` reads memory in which `init`, of another
  /// operation, has its results, and each element of it in the iteration that
  /// replaces it.
  static bool isReadBeforeWritten(linalg::LinalgOp first, OpOperand &init) {
    BufferPart part = findPart(init.get());
    AffineMap map =
        cast<linalg::LinalgOp>(init.getOwner()).getMatchingIndexingMap(&init);
    return map.isPermutation() && !isReadInBody(first, part) &&
           llvm::all_of(first->getOpOperands(), [&](OpOperand &operand) {
             if (!isa<MemRefType>(operand.get().getType()) ||
                 !mayOverlap(findPart(operand.get()), part))
               return true;
             return first.isDpsInput(&operand) && operand.get() == init.get() &&
                    first.getMatchingIndexingMap(&operand) == map;
           });
  }

  /// `accesses` but for results that are written where `first` reads.
  static void dropWritesBehindReads(linalg::LinalgOp first,
                                    linalg::LinalgOp second,
                                    Accesses &accesses) {
    for (OpOperand &init : second.getDpsInitsMutable())
      if (isReadBeforeWritten(first, init))
        llvm::erase_if(accesses.writes, [&](const BufferPart &part) {
          return isSame(part, findPart(init.get()));
        });
  }

  /// `first`, an earlier operation, and that of `entry` in one; null if they
  /// have to stay apart.
  linalg::LinalgOp merge(size_t number, linalg::LinalgOp first,
                         const Entry &entry) const {
    auto second = cast<linalg::LinalgOp>(entry.op);
    if (!canShareKernel(first, second) ||
        (neighbours && !isStoredRightBefore(number, first, entry)))
      return nullptr;
    Accesses accesses = withoutForwarded(first, entry);
    dropWritesBehindReads(first, second, accesses);
    if (!areIndependent(earlier[number].accesses, accesses) || !canWait(number))
      return nullptr;
    OpBuilder builder(second);
    linalg::LinalgOp merged = mergeGenerics(builder, first, second);
    if (isCandidate(merged) &&
        (isParallel(merged) ||
         getReductionOrder(merged) == getReductionOrder(second)))
      return merged;
    merged->erase();
    return nullptr;
  }

  void mergeWithEarlier(Entry &entry) {
    for (size_t number = earlier.size(); number-- > 0;) {
      Entry &other = earlier[number];
      if (!other.isCandidate)
        continue;
      auto first = cast<linalg::LinalgOp>(other.op),
           second = cast<linalg::LinalgOp>(entry.op);
      linalg::LinalgOp merged;
      if (auto cuts = findCuts(first, second)) {
        OpBuilder builder(second);
        linalg::GenericOp cut = cutLoops(
            builder, first, *cuts, second.getStaticLoopRanges(),
            [&](OpOperand &operand, ArrayRef<int64_t> shape,
                ArrayRef<ReassociationIndices> dims) {
              return viewLike(builder, second, operand.get(), shape, dims);
            });
        merged = merge(number, cut, entry);
        eraseWithViews(cut);
      } else {
        merged = merge(number, first, entry);
      }
      if (!merged)
        continue;
      other.op->erase();
      entry.op->erase();
      entry.op = merged;
      entry.accesses.reads.append(other.accesses.reads);
      entry.accesses.writes.append(other.accesses.writes);
      earlier.erase(earlier.begin() + number);
    }
  }

  bool neighbours;
  SmallVector<Entry> earlier;
};

struct MergeLaunches : remat::impl::MergeLaunchesBase<MergeLaunches> {
  using MergeLaunchesBase::MergeLaunchesBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!neighbours)
        convertCopiesToLinalg(function);
      SmallVector<Block *> blocks;
      function.walk([&](Block *block) {
        if (!isa<linalg::LinalgOp>(block->getParentOp()))
          blocks.push_back(block);
      });
      for (Block *block : blocks) {
        if (!neighbours)
          for (auto copy :
               llvm::make_early_inc_range(block->getOps<linalg::CopyOp>()))
            forwardCopy(copy);
        Merger(neighbours).run(*block);
      }
    }
  }
};
} // namespace
