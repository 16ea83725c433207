//===- MergeLaunches.cpp - One kernel for operations side by side ---------===//
//
// A launch costs microseconds, and what two operations both read is read twice.
// The sums over one gradient (of a bias, of gains, of a normalization), updates
// of small parameters, and copies to tapes come in groups that iterate alike.
//
// This is done on memory, after it was packed: no buffer lives longer by it.
//
//===----------------------------------------------------------------------===//

#include "../LoopNest.h"
#include "../Products.h"
#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

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
/// Operands of a merged operation: registers are limited.
static constexpr unsigned kMaxOperands = 24;
/// Sums of one kernel: each has workgroup memory.
static constexpr unsigned kMaxSums = 6;

//===----------------------------------------------------------------------===//
// Questions: memory
//===----------------------------------------------------------------------===//

namespace {
/// A part of a buffer.
struct Part {
  /// What the function gets or allocates; null if that is not known.
  Value buffer;
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
  /// Whether these numbers say more than that.
  bool isKnown = false;
};

/// What an operation accesses.
struct Accesses {
  SmallVector<Part> reads, writes;
};
} // namespace

/// The part of a dense buffer or view, if it is known.
static void narrow(memref::SubViewOp view, Part &part) {
  MemRefType source = view.getSourceType(), type = view.getType();
  auto [strides, offset] = type.getStridesAndOffset();
  if (!source.getLayout().isIdentity() || !type.hasStaticShape() ||
      ShapedType::isDynamic(offset) ||
      llvm::any_of(strides, ShapedType::isDynamic) || part.isKnown)
    return;
  int64_t span = 1;
  for (auto [size, stride] : llvm::zip_equal(type.getShape(), strides))
    span += (size - 1) * stride;
  int64_t bytes = estimateBytes(type.getElementType());
  part.begin = offset * bytes;
  part.end = (offset + span) * bytes;
  part.isKnown = true;
}

static Part findPart(Value memref) {
  Part part;
  while (Operation *op = memref.getDefiningOp()) {
    if (auto view = dyn_cast<memref::ViewOp>(op)) {
      std::optional<int64_t> begin = getConstantIntValue(view.getByteShift());
      // A view of a view starts anywhere.
      if (!begin || !view.getType().hasStaticShape())
        return Part();
      if (!part.isKnown)
        part.end = estimateBytes(view.getType());
      part.begin += *begin;
      part.end += *begin;
      part.isKnown = true;
      memref = view.getViewSource();
    } else if (auto view = dyn_cast<memref::SubViewOp>(op)) {
      narrow(view, part);
      memref = view.getViewSource();
    } else if (isa<memref::AllocOp, memref::GetGlobalOp>(op)) {
      part.buffer = memref;
      return part;
    } else {
      return Part();
    }
  }
  if (isa<func::FuncOp>(memref.getParentBlock()->getParentOp()))
    part.buffer = memref;
  return part;
}

/// Results may be in the memory of arguments.
static bool isResult(Value buffer) {
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!argument)
    return false;
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return static_cast<bool>(
      function.getArgAttr(argument.getArgNumber(), "remat.result"));
}

static bool mayOverlap(const Part &a, const Part &b) {
  if (!a.buffer || !b.buffer)
    return true;
  if (a.buffer != b.buffer)
    return isResult(a.buffer) || isResult(b.buffer);
  return a.begin < b.end && b.begin < a.end;
}

static bool mayOverlap(ArrayRef<Part> a, ArrayRef<Part> b) {
  return llvm::any_of(a, [&](const Part &part) {
    return llvm::any_of(
        b, [&](const Part &other) { return mayOverlap(part, other); });
  });
}

static bool areIndependent(const Accesses &a, const Accesses &b) {
  return !mayOverlap(a.writes, b.writes) && !mayOverlap(a.writes, b.reads) &&
         !mayOverlap(a.reads, b.writes);
}

/// None for an operation that does more than access its operands.
static std::optional<Accesses> findAccesses(Operation *op) {
  Accesses accesses;
  if (auto linalg = dyn_cast<linalg::LinalgOp>(op)) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<MemRefType>(operand.get().getType()))
        continue;
      Part part = findPart(operand.get());
      bool isOutput = linalg.isDpsInit(&operand);
      if (isOutput)
        accesses.writes.push_back(part);
      if (!isOutput || linalg.payloadUsesValueFromOperand(&operand))
        accesses.reads.push_back(part);
    }
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (inner != op && isa<MemRefType>(operand.getType()))
          accesses.reads.push_back(findPart(operand));
    });
    return accesses;
  }
  if (op->getNumRegions() > 0)
    return std::nullopt;
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType())) {
      accesses.reads.push_back(findPart(operand));
      accesses.writes.push_back(findPart(operand));
    }
  return accesses;
}

//===----------------------------------------------------------------------===//
// Questions: operations
//===----------------------------------------------------------------------===//

/// Elements that follow each other in the loops follow each other in memory.
static bool keepsOrder(AffineMap map) {
  if (!map.isProjectedPermutation())
    return false;
  auto isAfter = [&](AffineExpr a, AffineExpr b) {
    return cast<AffineDimExpr>(a).getPosition() <
           cast<AffineDimExpr>(b).getPosition();
  };
  return llvm::is_sorted(map.getResults(), isAfter);
}

/// Fills become part of the kernels whose sums they begin.
static bool isCandidate(Operation *op) {
  auto linalg = dyn_cast<linalg::LinalgOp>(op);
  if (!linalg || isa<linalg::FillOp>(op) || !linalg.hasPureBufferSemantics() ||
      llvm::any_of(linalg.getStaticLoopRanges(), ShapedType::isDynamic) ||
      !llvm::all_of(linalg.getIndexingMapsArray(), keepsOrder))
    return false;
  if (linalg.getNumReductionLoops() == 0)
    return true;
  // Lanes, on both sides of the merge.
  return !isProduct(linalg) && !findCombiners(linalg).empty();
}

static bool iterateAlike(linalg::LinalgOp a, linalg::LinalgOp b) {
  if (a.getStaticLoopRanges() != b.getStaticLoopRanges() ||
      a.getIteratorTypesArray() != b.getIteratorTypesArray() ||
      getPhase(a) != getPhase(b))
    return false;
  if (a->getNumOperands() + b->getNumOperands() > kMaxOperands)
    return false;
  auto getOutputMap = [](linalg::LinalgOp op) {
    return op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  };
  if (getOutputMap(a) != getOutputMap(b))
    return false;
  if (a.getNumReductionLoops() == 0)
    return true;
  return getReductionOrder(a) == getReductionOrder(b) &&
         a.getNumDpsInits() + b.getNumDpsInits() <= int64_t(kMaxSums);
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// Both in place of `second`.
static linalg::LinalgOp merge(linalg::LinalgOp first, linalg::LinalgOp second) {
  OpBuilder builder(second);
  const linalg::LinalgOp both[] = {first, second};
  SmallVector<Value> inputs, outputs;
  SmallVector<AffineMap> inputMaps, outputMaps;
  /// For each operation, where the merged one has its inputs.
  SmallVector<unsigned> positions[2];
  for (auto [i, part] : llvm::enumerate(both)) {
    linalg::LinalgOp op = part;
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      if (op.isDpsInit(&operand)) {
        outputs.push_back(operand.get());
        outputMaps.push_back(map);
        continue;
      }
      unsigned position = 0;
      while (position < inputs.size() &&
             (inputs[position] != operand.get() || inputMaps[position] != map))
        ++position;
      if (position == inputs.size()) {
        inputs.push_back(operand.get());
        inputMaps.push_back(map);
      }
      positions[i].push_back(position);
    }
  }
  SmallVector<AffineMap> maps(inputMaps);
  maps.append(outputMaps);
  auto merged = linalg::GenericOp::create(
      builder, builder.getFusedLoc({first.getLoc(), second.getLoc()}),
      TypeRange(), inputs, outputs, maps, second.getIteratorTypesArray(),
      [&](OpBuilder &body, Location loc, ValueRange arguments) {
        IRMapping map;
        SmallVector<Value> results;
        unsigned output = inputs.size();
        for (auto [i, op] : llvm::enumerate(both)) {
          Block *block = linalg::LinalgOp(op).getBlock();
          for (auto [number, argument] : llvm::enumerate(block->getArguments()))
            map.map(argument, number < positions[i].size()
                                  ? arguments[positions[i][number]]
                                  : arguments[output++]);
          for (Operation &inner : block->without_terminator())
            body.clone(inner, map);
          for (Value yielded : block->getTerminator()->getOperands())
            results.push_back(map.lookupOrDefault(yielded));
        }
        linalg::YieldOp::create(body, loc, results);
      });
  merged->setDiscardableAttrs(llvm::to_vector(second->getDiscardableAttrs()));
  return merged;
}

/// Whether `op` writes all of `memref` and reads none of it.
static bool overwrites(linalg::LinalgOp op, Value memref) {
  for (OpOperand &init : op.getDpsInitsMutable())
    if (init.get() == memref && !op.payloadUsesValueFromOperand(&init) &&
        op.getMatchingIndexingMap(&init).isPermutation())
      return true;
  return false;
}

static bool isReadInBody(linalg::LinalgOp op, const Part &part) {
  auto result = op->walk([&](Operation *inner) {
    bool isRead =
        inner != op && llvm::any_of(inner->getOperands(), [&](Value v) {
          return isa<MemRefType>(v.getType()) && mayOverlap(findPart(v), part);
        });
    return isRead ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

/// Lets those that read a copy read what was copied, if nobody writes either in
/// between, and the copy is gone afterwards: it is a view of the arena of this
/// block, which is overwritten, or ends with the block. An accumulation that
/// was bufferized out of place copies its sum first.
static bool forwardCopy(linalg::CopyOp copy) {
  Value source = copy.getInputs()[0], target = copy.getOutputs()[0];
  Operation *view = target.getDefiningOp();
  if (!isa_and_nonnull<memref::ViewOp>(view) ||
      view->getBlock() != copy->getBlock() ||
      llvm::any_of(target.getUsers(), llvm::IsaPred<ViewLikeOpInterface>))
    return false;
  Part from = findPart(source), to = findPart(target);
  if (mayOverlap(from, to))
    return false;
  SmallVector<OpOperand *> reads;
  bool isSourceWritten = false;
  for (Operation *op = copy->getNextNode(); op; op = op->getNextNode()) {
    if (op->hasTrait<OpTrait::IsTerminator>()) {
      if (op->getNumOperands() > 0)
        return false;
      break;
    }
    if (isa<ViewLikeOpInterface>(op) || isMemoryEffectFree(op))
      continue;
    std::optional<Accesses> accesses = findAccesses(op);
    if (!accesses)
      return false;
    auto reader = dyn_cast<linalg::LinalgOp>(op);
    bool isRead = mayOverlap(accesses->reads, to);
    if (isRead) {
      if (!reader || isSourceWritten || isReadInBody(reader, to))
        return false;
      bool isElsewhere = true;
      for (OpOperand *input : reader.getDpsInputOperands())
        if (input->get() == target) {
          reads.push_back(input);
          isElsewhere = false;
          // In place, each element must be read where it is written.
          for (OpOperand &init : reader.getDpsInitsMutable())
            if (mayOverlap(findPart(init.get()), from) &&
                (init.get() != source || reader.getNumReductionLoops() > 0 ||
                 reader.getMatchingIndexingMap(&init) !=
                     reader.getMatchingIndexingMap(input)))
              return false;
        }
      for (OpOperand &operand : op->getOpOperands())
        if (operand.get() != target &&
            isa<MemRefType>(operand.get().getType()) &&
            (!reader.isDpsInit(&operand) ||
             reader.payloadUsesValueFromOperand(&operand)) &&
            mayOverlap(findPart(operand.get()), to))
          return false;
      if (isElsewhere)
        return false;
    }
    if (mayOverlap(accesses->writes, to)) {
      // The memory has another use from here on.
      if (!reader || (!isRead && !overwrites(reader, target) &&
                      llvm::is_contained(op->getOperands(), target)))
        return false;
      if (isRead && !overwrites(reader, target))
        return false;
      break;
    }
    isSourceWritten |= mayOverlap(accesses->writes, from);
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
  void run(Block &block) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (op.hasTrait<OpTrait::IsTerminator>() ||
          isa<ViewLikeOpInterface>(op) || isMemoryEffectFree(&op))
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

  /// Whether `earlier[number]` may be done after all that follow it.
  bool canWait(size_t number) const {
    for (size_t next = number + 1; next < earlier.size(); ++next)
      if (!areIndependent(earlier[number].accesses, earlier[next].accesses))
        return false;
    return true;
  }

  void mergeWithEarlier(Entry &entry) {
    for (size_t number = earlier.size(); number-- > 0;) {
      Entry &other = earlier[number];
      if (!other.isCandidate ||
          !iterateAlike(cast<linalg::LinalgOp>(other.op),
                        cast<linalg::LinalgOp>(entry.op)) ||
          !areIndependent(other.accesses, entry.accesses) || !canWait(number))
        continue;
      linalg::LinalgOp merged = merge(cast<linalg::LinalgOp>(other.op),
                                      cast<linalg::LinalgOp>(entry.op));
      if (!isCandidate(merged) ||
          (merged.getNumReductionLoops() > 0 &&
           getReductionOrder(merged) !=
               getReductionOrder(cast<linalg::LinalgOp>(entry.op)))) {
        merged->erase();
        continue;
      }
      other.op->erase();
      entry.op->erase();
      entry.op = merged;
      entry.accesses.reads.append(other.accesses.reads);
      entry.accesses.writes.append(other.accesses.writes);
      earlier.erase(earlier.begin() + number);
    }
  }

  SmallVector<Entry> earlier;
};

struct MergeLaunches : remat::impl::MergeLaunchesBase<MergeLaunches> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      convertCopiesToLinalg(function);
      SmallVector<Block *> blocks;
      function.walk([&](Block *block) {
        if (!isa<linalg::LinalgOp>(block->getParentOp()))
          blocks.push_back(block);
      });
      for (Block *block : blocks) {
        for (auto copy :
             llvm::make_early_inc_range(block->getOps<linalg::CopyOp>()))
          forwardCopy(copy);
        Merger().run(*block);
      }
    }
  }
};
} // namespace
