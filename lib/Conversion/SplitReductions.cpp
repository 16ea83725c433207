//===- SplitReductions.cpp - Long sums in chunks --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On a GPU a kernel gives a result at most a block of threads. The sum of all
// elements of a large tensor would run on one of a hundred multiprocessors, and
// so would, nearly, the statistics of a few channels. On a CPU it would run on
// one thread, and a number that is added to a sum of a million others loses its
// last bits.
//
// This is done on tensors: the partial sums are a tensor, which is packed with
// everything else. linalg::splitReduction knows one result, one reduction loop
// that a number divides, and adds the initial value to the first partial sum.
//===----------------------------------------------------------------------===//

#include "MergeGenerics.h"
#include "ReductionLanes.h"

#include "remat/Analysis/BackwardBorder.h"
#include "remat/Conversion/Passes.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static bool isParallel(utils::IteratorType kind) {
  return kind == utils::IteratorType::parallel;
}

/// Returns true if every iteration of the parallel loops has one element of
/// each output, and that one in all iterations of the others.
static bool hasResultOfItsOwn(linalg::LinalgOp op) {
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  return llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (!map.isProjectedPermutation())
      return false;
    for (auto [loop, kind] : llvm::enumerate(kinds))
      if (map.isFunctionOfDim(loop) != isParallel(kind))
        return false;
    return true;
  });
}

namespace {
/// How the loops of an operation are cut, one entry for each; none of the
/// parallel ones is.
using Cuts = SmallVector<LoopChunks>;
} // namespace

/// Empty if `op` stays one kernel. What is asked here must not depend on what
/// was fused with the reduction: the inputs have no say.
static Cuts planCuts(linalg::LinalgOp op, int64_t maxChain) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  if (!op.hasPureTensorSemantics() || isParallel(op) ||
      llvm::any_of(sizes, ShapedType::isDynamic) || isProduct(op) ||
      !hasResultOfItsOwn(op) || findCombiners(op).empty())
    return {};
  SmallVector<int64_t> reduced;
  int64_t results = 1;
  for (auto [size, kind] : llvm::zip_equal(sizes, kinds)) {
    if (isParallel(kind))
      results = multiplySizes({size}, results);
    else
      reduced.push_back(size);
  }
  ReductionOrder order = getReductionOrder(op);
  Cuts ofReductions = maxChain > 0 ? planChains(order, reduced, maxChain)
                                   : planChunks(order, reduced, results);
  if (ofReductions.empty())
    return {};
  Cuts cuts;
  unsigned next = 0;
  for (auto [size, kind] : llvm::zip_equal(sizes, kinds))
    cuts.push_back(isParallel(kind) ? LoopChunks{1, size, 0}
                                    : ofReductions[next++]);
  return cuts;
}

static bool isAvailableAt(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != op->getBlock() ||
         definition->isBeforeInBlock(op);
}

/// Returns true if all that the inputs and the body of `op` read is computed
/// before `place`, an operation of the same block.
static bool isReadyAt(linalg::LinalgOp op, Operation *place) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  return llvm::all_of(op.getDpsInputs(),
                      [&](Value v) { return isAvailableAt(v, place); }) &&
         llvm::all_of(captured,
                      [&](Value v) { return isAvailableAt(v, place); });
}

/// Returns true if both read a tensor that is larger than their results.
static bool shareLargeInput(linalg::LinalgOp a, linalg::LinalgOp b) {
  auto countElements = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type ? multiplySizes(type.getShape()) : 0;
  };
  int64_t results = countElements(a.getDpsInits()[0]);
  return llvm::any_of(a.getDpsInputs(), [&](Value input) {
    return countElements(input) > results &&
           llvm::is_contained(b.getDpsInputs(), input);
  });
}

//===----------------------------------------------------------------------===//
// Verbs: sums over the same tensor
//===----------------------------------------------------------------------===//

/// Moves the computation of `value` in front of `place` if it is a constant, a
/// tensor without contents or one that is filled.
static bool moveDestination(Value value, Operation *place) {
  if (isAvailableAt(value, place))
    return true;
  Operation *op = value.getDefiningOp();
  if (!isEmptyTensor(op) && !isa<linalg::FillOp>(op) &&
      !op->hasTrait<OpTrait::ConstantLike>())
    return false;
  if (!llvm::all_of(op->getOperands(),
                    [&](Value v) { return moveDestination(v, place); }))
    return false;
  op->moveBefore(place);
  return true;
}

/// Both where the first one is; null if they have to stay apart. Buffers do not
/// live longer by it: what the second one reads is there already.
static linalg::LinalgOp mergeAtFirst(linalg::LinalgOp first,
                                     linalg::LinalgOp second) {
  if (!iterateAlike(first, second) || !shareLargeInput(first, second) ||
      !isReadyAt(second, first) ||
      !llvm::all_of(second.getDpsInits(),
                    [&](Value init) { return moveDestination(init, first); }))
    return nullptr;
  OpBuilder builder(first);
  linalg::GenericOp merged = mergeGenerics(builder, first, second);
  unsigned ofFirst = first->getNumResults();
  first->replaceAllUsesWith(merged.getResults().take_front(ofFirst));
  second->replaceAllUsesWith(merged.getResults().drop_front(ofFirst));
  first->erase();
  second->erase();
  return merged;
}

/// The operations of one block, in order. Once split, two sums over one tensor
/// are four operations that nothing keeps side by side. The forward makes
/// nothing for the backward: it would keep what was not decided to be saved.
static SmallVector<linalg::LinalgOp>
mergeAlike(ArrayRef<linalg::LinalgOp> candidates,
           DenseSet<Operation *> &forward) {
  SmallVector<linalg::LinalgOp> merged;
  for (linalg::LinalgOp op : candidates) {
    bool isMerged = false, isForward = forward.contains(op);
    for (linalg::LinalgOp &earlier : merged) {
      if (earlier->getBlock() != op->getBlock() ||
          forward.contains(earlier) != isForward)
        continue;
      Operation *first = earlier;
      if (linalg::LinalgOp both = mergeAtFirst(earlier, op)) {
        forward.erase(first);
        forward.erase(op);
        if (isForward)
          forward.insert(both);
        earlier = both;
        isMerged = true;
        break;
      }
    }
    if (!isMerged)
      merged.push_back(op);
  }
  return merged;
}

//===----------------------------------------------------------------------===//
// Verbs: one sum
//===----------------------------------------------------------------------===//

namespace {

/// Takes one reduction apart. At most one of its loops is split, others are
/// chunks as they are.
class Splitter {
public:
  Splitter(linalg::LinalgOp op, const Cuts &cuts)
      : builder(op), loc(op.getLoc()), op(op), cuts(cuts),
        combiners(findCombiners(op)),
        splitLoop(llvm::find_if(cuts, std::mem_fn(&LoopChunks::isSplit)) -
                  cuts.begin()) {}

  /// Replaces the operation. Returns the one that is left for iterations that
  /// belong to no chunk, or null.
  linalg::LinalgOp split() {
    linalg::GenericOp partials = reduceChunks();
    linalg::GenericOp rest;
    if (splitLoop < cuts.size() && cuts[splitLoop].rest > 0)
      rest = reduceRest();
    linalg::GenericOp combined =
        combine(partials, rest ? ValueRange(rest.getResults())
                               : ValueRange(op.getDpsInits()));
    op->replaceAllUsesWith(combined.getResults());
    op->erase();
    return rest ? cast<linalg::LinalgOp>(*rest) : nullptr;
  }

private:
  /// Iterations of the operation in loops of another operation.
  struct Part {
    SmallVector<utils::IteratorType> kinds;
    SmallVector<int64_t> sizes;
    /// For each loop of the operation, the first one that stands for it, and
    /// which iteration of it this is.
    SmallVector<unsigned> firsts;
    SmallVector<AffineExpr> iterations;
    /// Of the loop that is split, where this part begins.
    int64_t begin = 0;
  };

  Part getChunks();
  Part getRest();
  linalg::GenericOp reduceChunks();
  linalg::GenericOp reduceRest();
  linalg::GenericOp combine(linalg::GenericOp partials, ValueRange initial);

  linalg::GenericOp clone(const Part &part, ValueRange outputs,
                          ArrayRef<AffineMap> outputMaps);
  void renumberIndices(linalg::GenericOp generic, const Part &part);
  bool isDimensionOf(const OpOperand &input);
  std::pair<Value, AffineMap> view(OpOperand &input, const Part &part);

  AffineMap getMap(ArrayRef<AffineExpr> results, const Part &part) {
    return AffineMap::get(part.kinds.size(), 0, results, builder.getContext());
  }

  OpBuilder builder;
  Location loc;
  linalg::LinalgOp op;
  const Cuts &cuts;
  SmallVector<Combiner> combiners;
  /// The number of loops if none is split.
  unsigned splitLoop;
};

} // namespace

Splitter::Part Splitter::getChunks() {
  Part part;
  for (auto [cut, kind] : llvm::zip_equal(cuts, op.getIteratorTypesArray())) {
    unsigned first = part.kinds.size();
    AffineExpr outer = builder.getAffineDimExpr(first);
    part.firsts.push_back(first);
    if (cut.isSplit()) {
      part.iterations.push_back(outer * cut.size +
                                builder.getAffineDimExpr(first + 1));
      part.kinds.append(
          {utils::IteratorType::parallel, utils::IteratorType::reduction});
      part.sizes.append({cut.chunks, cut.size});
      continue;
    }
    part.iterations.push_back(outer);
    part.kinds.push_back(cut.isWhole() ? utils::IteratorType::parallel : kind);
    part.sizes.push_back(cut.chunks * cut.size);
  }
  return part;
}

Splitter::Part Splitter::getRest() {
  Part part;
  part.kinds = op.getIteratorTypesArray();
  part.sizes = op.getStaticLoopRanges();
  const LoopChunks &cut = cuts[splitLoop];
  part.begin = cut.chunks * cut.size;
  part.sizes[splitLoop] = cut.rest;
  for (unsigned loop = 0; loop < cuts.size(); ++loop) {
    part.firsts.push_back(loop);
    part.iterations.push_back(builder.getAffineDimExpr(loop));
  }
  part.iterations[splitLoop] = part.iterations[splitLoop] + part.begin;
  return part;
}

/// Returns true if the loop that is split runs along dimensions of `input`.
bool Splitter::isDimensionOf(const OpOperand &input) {
  AffineMap map = op.getMatchingIndexingMap(const_cast<OpOperand *>(&input));
  return splitLoop < cuts.size() && map.isFunctionOfDim(splitLoop) &&
         llvm::all_of(
             map.getResults(),
             [&](AffineExpr result) {
               return isa<AffineDimExpr>(result) ||
                      !result.isFunctionOfDim(splitLoop);
             });
}

/// Returns the value that `part` reads in place of `input`, and how. A view
/// with a dimension for each loop, where there can be one: kernels that read
/// along dimensions merge.
std::pair<Value, AffineMap> Splitter::view(OpOperand &input, const Part &part) {
  AffineMap map = op.getMatchingIndexingMap(&input);
  Value value = input.get();
  if (!isDimensionOf(input))
    return {value, map.replaceDimsAndSymbols(part.iterations, {},
                                             part.kinds.size(), 0)};
  auto type = cast<RankedTensorType>(value.getType());
  /// One loop of the operation may be several of the part.
  unsigned first = part.firsts[splitLoop],
           count = part.kinds.size() - cuts.size() + 1;
  SmallVector<int64_t> offsets(type.getRank(), 0), sizes(type.getShape()),
      shape;
  SmallVector<ReassociationIndices> groups;
  SmallVector<AffineExpr> results;
  for (auto [dim, result] : llvm::enumerate(map.getResults())) {
    groups.emplace_back();
    if (!result.isFunctionOfDim(splitLoop)) {
      groups.back().push_back(shape.size());
      shape.push_back(sizes[dim]);
      results.push_back(result.replaceDimsAndSymbols(part.iterations, {}));
      continue;
    }
    offsets[dim] = part.begin;
    sizes[dim] = multiplySizes(ArrayRef(part.sizes).slice(first, count));
    for (unsigned loop = first; loop < first + count; ++loop) {
      groups.back().push_back(shape.size());
      shape.push_back(part.sizes[loop]);
      results.push_back(builder.getAffineDimExpr(loop));
    }
  }
  if (ArrayRef(sizes) != type.getShape())
    value = tensor::ExtractSliceOp::create(
        builder, loc, value,
        getAsIndexOpFoldResult(builder.getContext(), offsets),
        getAsIndexOpFoldResult(builder.getContext(), sizes),
        SmallVector<OpFoldResult>(sizes.size(), builder.getIndexAttr(1)));
  if (count > 1)
    value = tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(shape, type.getElementType()),
        value, groups);
  return {value, getMap(results, part)};
}

void Splitter::renumberIndices(linalg::GenericOp generic, const Part &part) {
  SmallVector<linalg::IndexOp> indices;
  generic->walk([&](linalg::IndexOp index) { indices.push_back(index); });
  for (linalg::IndexOp index : indices) {
    unsigned loop = index.getDim();
    index.setDim(part.firsts[loop]);
    if (loop != splitLoop)
      continue;
    OpBuilder inside(index->getContext());
    inside.setInsertionPointAfter(index);
    SmallPtrSet<Operation *, 3> arithmetic;
    auto constant = [&](int64_t number) {
      return arith::ConstantIndexOp::create(inside, loc, number);
    };
    Value number = index;
    if (part.kinds.size() > cuts.size()) {
      number =
          arith::MulIOp::create(inside, loc, number, constant(cuts[loop].size));
      arithmetic.insert(number.getDefiningOp());
      number = arith::AddIOp::create(
          inside, loc, number,
          linalg::IndexOp::create(inside, loc, part.firsts[loop] + 1));
    } else {
      number = arith::AddIOp::create(inside, loc, number, constant(part.begin));
    }
    arithmetic.insert(number.getDefiningOp());
    index.getResult().replaceAllUsesExcept(number, arithmetic);
  }
}

/// The operation on the loops of `part`.
linalg::GenericOp Splitter::clone(const Part &part, ValueRange outputs,
                                  ArrayRef<AffineMap> outputMaps) {
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto [value, map] = view(*input, part);
    inputs.push_back(value);
    maps.push_back(map);
  }
  // A tensor that nothing reads says how often a loop runs if no other does.
  unsigned numRead = inputs.size();
  for (auto [loop, size] : llvm::enumerate(part.sizes)) {
    AffineExpr iteration = builder.getAffineDimExpr(loop);
    auto isDimension = [&](AffineMap map) {
      return llvm::is_contained(map.getResults(), iteration);
    };
    if (llvm::any_of(maps, isDimension) ||
        llvm::any_of(outputMaps, isDimension))
      continue;
    inputs.push_back(
        tensor::EmptyOp::create(builder, loc, {size}, builder.getI8Type()));
    maps.push_back(getMap(iteration, part));
  }
  llvm::append_range(maps, outputMaps);
  auto generic = linalg::GenericOp::create(
      builder, loc, outputs.getTypes(), inputs, outputs, maps, part.kinds,
      [&](OpBuilder &body, Location, ValueRange arguments) {
        ValueRange before = op.getBlock()->getArguments();
        IRMapping map;
        map.map(before.take_front(numRead), arguments.take_front(numRead));
        map.map(before.drop_front(numRead),
                arguments.take_back(outputs.size()));
        for (Operation &inner : *op.getBlock())
          body.clone(inner, map);
      });
  renumberIndices(generic, part);
  copyAttributes(op, generic);
  return generic;
}

/// A tensor of partial results for each result, with the chunks as dimensions.
linalg::GenericOp Splitter::reduceChunks() {
  Part part = getChunks();
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> dims;
  for (auto [loop, kind] : llvm::enumerate(part.kinds))
    if (isParallel(kind)) {
      shape.push_back(part.sizes[loop]);
      dims.push_back(builder.getAffineDimExpr(loop));
    }
  SmallVector<Value> outputs;
  for (const Combiner &combiner : combiners) {
    Value neutral = arith::ConstantOp::create(builder, loc, combiner.neutral);
    Value empty =
        tensor::EmptyOp::create(builder, loc, shape, neutral.getType());
    auto fill = linalg::FillOp::create(builder, loc, neutral, empty);
    copyPhase(op, fill);
    outputs.push_back(fill.getResult(0));
  }
  return clone(part, outputs,
               SmallVector<AffineMap>(outputs.size(), getMap(dims, part)));
}

linalg::GenericOp Splitter::reduceRest() {
  return clone(
      getRest(), op.getDpsInits(),
      llvm::map_to_vector(
          llvm::make_pointer_range(op.getDpsInitsMutable()),
          [&](OpOperand *init) { return op.getMatchingIndexingMap(init); }));
}

/// Combines the partial results, and them with `initial`.
linalg::GenericOp Splitter::combine(linalg::GenericOp partials,
                                    ValueRange initial) {
  // The parallel loops of the chunks, of which some are those of the operation.
  SmallVector<utils::IteratorType> kinds;
  SmallVector<AffineExpr> loops;
  for (auto [cut, kind] : llvm::zip_equal(cuts, op.getIteratorTypesArray())) {
    loops.push_back(builder.getAffineDimExpr(kinds.size()));
    if (isParallel(kind) || cut.isSplit() || cut.isWhole())
      kinds.push_back(kind);
  }
  SmallVector<AffineMap> maps(partials.getNumResults(),
                              builder.getMultiDimIdentityMap(kinds.size()));
  for (OpOperand &init : op.getDpsInitsMutable())
    maps.push_back(op.getMatchingIndexingMap(&init).replaceDimsAndSymbols(
        loops, {}, kinds.size(), 0));
  auto generic = linalg::GenericOp::create(
      builder, loc, initial.getTypes(), partials.getResults(), initial, maps,
      kinds, [&](OpBuilder &body, Location loc, ValueRange arguments) {
        SmallVector<Value> results;
        for (auto [i, combiner] : llvm::enumerate(combiners)) {
          IRMapping map;
          for (Value operand : combiner.op->getOperands())
            map.map(operand, operand == op.getRegionOutputArgs()[i]
                                 ? arguments[combiners.size() + i]
                                 : arguments[i]);
          results.push_back(body.clone(*combiner.op, map)->getResult(0));
        }
        linalg::YieldOp::create(body, loc, results);
      });
  copyAttributes(op, generic);
  return generic;
}

namespace {
struct SplitReductions : remat::impl::SplitReductionsBase<SplitReductions> {
  using SplitReductionsBase::SplitReductionsBase;

  void runOnOperation() override {
    if (maxChain < 0) {
      getOperation()->emitError("max-chain must be at least 0, got ")
          << maxChain.getValue();
      return signalPassFailure();
    }
    SmallVector<linalg::LinalgOp> candidates;
    getOperation()->walk([&](linalg::LinalgOp op) {
      if (!planCuts(op, maxChain).empty())
        candidates.push_back(op);
    });
    if (candidates.empty())
      return markAllAnalysesPreserved();
    DenseSet<Operation *> forward;
    getOperation()->walk([&](func::FuncOp function) {
      if (!function.isDeclaration() && function.getBody().hasOneBlock())
        forward.insert_range(findForward(function));
    });
    for (linalg::LinalgOp op : mergeAlike(candidates, forward))
      for (Cuts cuts = planCuts(op, maxChain); op && !cuts.empty();
           cuts = op ? planCuts(op, maxChain) : Cuts())
        op = Splitter(op, cuts).split();
  }
};
} // namespace
