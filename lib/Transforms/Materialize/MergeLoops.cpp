//===- MergeLoops.cpp - Forward and backward in one loop ------------------===//
//
// A loop over tiles from which nothing is saved computes each tile twice. Where
// the backward could begin before the forward has ended, because the cotangent
// does not depend on its results, once is enough.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Materialize/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::remat {
#define GEN_PASS_DEF_MERGELOOPS
#include "remat/Transforms/Materialize/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// The number of iterations of a loop from 0 by 1.
static std::optional<int64_t> getTripCount(scf::ForOp loop) {
  APInt upper;
  if (!matchPattern(loop.getLowerBound(), m_Zero()) ||
      !matchPattern(loop.getStep(), m_One()) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)))
    return std::nullopt;
  return upper.getSExtValue();
}

/// Whether iteration i writes `size` elements from i * `size` or further apart.
static bool areApart(scf::ForOp loop, OpFoldResult offset, OpFoldResult size) {
  std::optional<int64_t> length = getConstantIntValue(size);
  auto start = dyn_cast<Value>(offset);
  if (!length || !start)
    return false;
  if (start == loop.getInductionVar())
    return *length <= 1;
  auto scale = start.getDefiningOp<arith::MulIOp>();
  APInt step;
  return scale && scale.getLhs() == loop.getInductionVar() &&
         matchPattern(scale.getRhs(), m_ConstantInt(&step)) &&
         step.getSExtValue() >= *length;
}

/// Whether iterations only fill in parts of what they carry, each its own: in
/// any order they give the same.
static bool onlyFillsIn(scf::ForOp loop) {
  for (auto [argument, yielded] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    auto insert = yielded.getDefiningOp<tensor::InsertSliceOp>();
    if (!insert || insert.getDest() != argument || !argument.hasOneUse())
      return false;
    if (llvm::none_of(
            llvm::zip_equal(insert.getMixedOffsets(), insert.getMixedSizes()),
            [&](auto part) {
              return areApart(loop, std::get<0>(part), std::get<1>(part));
            }))
      return false;
  }
  return true;
}

/// The index `count` - 1 - i in the body of a loop that counts it down.
static Value getReversedIndex(scf::ForOp loop, int64_t count) {
  for (Operation *user : loop.getInductionVar().getUsers()) {
    auto subtract = dyn_cast<arith::SubIOp>(user);
    APInt last;
    if (subtract && subtract->getBlock() == loop.getBody() &&
        subtract.getRhs() == loop.getInductionVar() &&
        matchPattern(subtract.getLhs(), m_ConstantInt(&last)) &&
        last.getSExtValue() == count - 1)
      return subtract;
  }
  return {};
}

/// What the factors of a product are parts of, before barriers.
static SmallVector<Value> getSources(linalg::LinalgOp product) {
  return llvm::map_to_vector(product.getDpsInputs(), [](Value value) {
    while (Operation *op = value.getDefiningOp()) {
      if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
        value = slice.getSource();
      else if (auto barrier = dyn_cast<BarrierOp>(op))
        value = barrier.getValues()[cast<OpResult>(value).getResultNumber()];
      else
        break;
    }
    return value;
  });
}

/// Whether the body of `backward` computes a product of `forward` again.
static bool repeats(scf::ForOp backward, scf::ForOp forward) {
  auto getProducts = [](scf::ForOp loop, StringRef phase) {
    return llvm::make_filter_range(
        loop.getBody()->getOps<linalg::LinalgOp>(),
        [phase](linalg::LinalgOp op) {
          return getPhase(op) == phase && linalg::isaContractionOpInterface(op);
        });
  };
  for (linalg::LinalgOp product : getProducts(forward, ""))
    for (linalg::LinalgOp again : getProducts(backward, kRecomputePhase))
      if (getSources(product) == getSources(again) &&
          product->getResultTypes() == again->getResultTypes())
        return true;
  return false;
}

/// What stands between the loops and depends on `forward`, in order; none if
/// `backward` does as well, or if something of it cannot be moved behind that.
static std::optional<SmallVector<Operation *>>
getOpsToMove(scf::ForOp forward, scf::ForOp backward) {
  SmallVector<Operation *> ops;
  DenseSet<Operation *> dependent{forward};
  for (Operation *op = forward->getNextNode();; op = op->getNextNode()) {
    bool depends = false;
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        depends |= dependent.contains(operand.getDefiningOp());
    });
    if (op == backward)
      return depends ? std::nullopt : std::optional(ops);
    if (!depends)
      continue;
    if (!isMemoryEffectFree(op))
      return std::nullopt;
    dependent.insert(op);
    ops.push_back(op);
  }
}

/// What was computed again is computed once: in the backward.
static void dropBarriers(RewriterBase &rewriter, Block *body) {
  for (Operation &op : llvm::make_early_inc_range(*body)) {
    if (!op.hasTrait<OpTrait::IsTerminator>())
      setPhase(&op, kBackwardPhase);
    if (auto barrier = dyn_cast<BarrierOp>(op))
      rewriter.replaceOp(barrier, barrier.getValues());
  }
}

static void merge(RewriterBase &rewriter, scf::ForOp forward,
                  scf::ForOp backward, Value index,
                  ArrayRef<Operation *> behind) {
  Operation *last = backward;
  for (Operation *op : behind) {
    rewriter.moveOpAfter(op, last);
    setPhase(op, kBackwardPhase);
    last = op;
  }
  unsigned numResults = backward.getNumResults();
  rewriter.setInsertionPoint(backward);
  DictionaryAttr attributes = backward->getDiscardableAttrDictionary();
  auto addBody = [&](OpBuilder &builder, Location,
                     ArrayRef<BlockArgument> args) {
    IRMapping mapping;
    mapping.map(forward.getInductionVar(), index);
    mapping.map(forward.getRegionIterArgs(), args);
    for (Operation &op : forward.getBody()->without_terminator())
      builder.clone(op, mapping);
    return llvm::map_to_vector(forward.getYieldedValues(), [&](Value value) {
      return mapping.lookupOrDefault(value);
    });
  };
  FailureOr<LoopLikeOpInterface> merged = backward.replaceWithAdditionalYields(
      rewriter, forward.getInitArgs(), /*replaceInitOperandUsesInLoop=*/false,
      addBody);
  assert(succeeded(merged) && "scf.for takes more yields");
  auto loop = cast<scf::ForOp>(merged->getOperation());
  loop->setDiscardableAttrs(attributes);
  dropBarriers(rewriter, loop.getBody());
  rewriter.replaceOp(forward, loop.getResults().drop_front(numResults));
}

namespace {
struct MergeLoops : mlir::remat::impl::MergeLoopsBase<MergeLoops> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> forwards, backwards;
    getOperation()->walk([&](scf::ForOp loop) {
      StringRef phase = getPhase(loop);
      if (phase.empty())
        forwards.push_back(loop);
      else if (phase == kBackwardPhase)
        backwards.push_back(loop);
    });
    IRRewriter rewriter(&getContext());
    bool changed = false;
    for (scf::ForOp forward : forwards) {
      std::optional<int64_t> count = getTripCount(forward);
      if (!count || !onlyFillsIn(forward))
        continue;
      for (scf::ForOp &backward : backwards) {
        if (!backward || backward->getBlock() != forward->getBlock() ||
            !forward->isBeforeInBlock(backward) ||
            getTripCount(backward) != count || !repeats(backward, forward))
          continue;
        Value index = getReversedIndex(backward, *count);
        auto behind = getOpsToMove(forward, backward);
        if (!index || !behind)
          continue;
        merge(rewriter, forward, backward, index, *behind);
        backward = nullptr;
        changed = true;
        break;
      }
    }
    if (!changed)
      markAllAnalysesPreserved();
  }
};
} // namespace
