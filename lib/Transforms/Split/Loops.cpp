//===- Loops.cpp - Which loop goes through which dimension ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One description for what splitting needs to know of an operation: which
// dimensions are split alike, what each rank reads, and what is combined.
//===----------------------------------------------------------------------===//

#include "Loops.h"

#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

static int64_t getRank(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getRank() : 0;
}

static LoopOfDim getWhole(Value value) { return LoopOfDim(getRank(value), -1); }

/// Loops `first`, `first` + 1, ...
static LoopOfDim getIdentity(Value value, unsigned first = 0) {
  return llvm::to_vector(
      llvm::map_range(llvm::seq<int64_t>(0, getRank(value)),
                      [&](int64_t dim) { return int(first + dim); }));
}

//===----------------------------------------------------------------------===//
// Combinations
//===----------------------------------------------------------------------===//

static std::optional<CollectiveKind> getKind(Operation *op) {
  return TypeSwitch<Operation *, std::optional<CollectiveKind>>(op)
      .Case<arith::AddFOp, arith::AddIOp>(
          [](auto) { return CollectiveKind::Sum; })
      .Case<arith::MulFOp, arith::MulIOp>(
          [](auto) { return CollectiveKind::Prod; })
      .Case<arith::MaximumFOp>([](auto) { return CollectiveKind::Maximum; })
      .Case<arith::MinimumFOp>([](auto) { return CollectiveKind::Minimum; })
      .Case<arith::MaxNumFOp>([](auto) { return CollectiveKind::MaxNum; })
      .Case<arith::MinNumFOp>([](auto) { return CollectiveKind::MinNum; })
      .Case<arith::MaxSIOp>([](auto) { return CollectiveKind::MaxS; })
      .Case<arith::MinSIOp>([](auto) { return CollectiveKind::MinS; })
      .Case<arith::MaxUIOp>([](auto) { return CollectiveKind::MaxU; })
      .Case<arith::MinUIOp>([](auto) { return CollectiveKind::MinU; })
      .Case<arith::AndIOp>([](auto) { return CollectiveKind::And; })
      .Case<arith::OrIOp>([](auto) { return CollectiveKind::Or; })
      .Case<arith::XOrIOp>([](auto) { return CollectiveKind::Xor; })
      .Default([](auto) { return std::nullopt; });
}

static std::optional<Combination> toCombination(Combiner combiner, Type type) {
  std::optional<CollectiveKind> kind = getKind(combiner.op);
  if (!kind || combiner.op->getResult(0).getType() != type)
    return std::nullopt;
  Operation *op = combiner.op;
  return Combination{*kind, combiner.neutral,
                     [op](OpBuilder &b, Location loc, Value lhs, Value rhs) {
                       IRMapping none;
                       Operation *copy = b.clone(*op, none);
                       copy->setLoc(loc);
                       copy->setOperands({lhs, rhs});
                       return copy->getResult(0);
                     }};
}

static Combination getSum(Type element, bool overwrites) {
  return {CollectiveKind::Sum,
          overwrites ? TypedAttr()
                     : cast<TypedAttr>(
                           Builder(element.getContext()).getZeroAttr(element)),
          [](OpBuilder &b, Location loc, Value lhs, Value rhs) -> Value {
            if (isa<FloatType>(lhs.getType()))
              return arith::AddFOp::create(b, loc, lhs, rhs);
            return arith::AddIOp::create(b, loc, lhs, rhs);
          }};
}

static std::optional<Combination> getCombination(Operation *op,
                                                 unsigned index) {
  Type element = getElementTypeOrSelf(op->getResult(index).getType());
  if (isa<ConvBackwardFilterOp>(op))
    return getSum(element, /*overwrites=*/true);
  if (isa<ScatterAddOp>(op))
    return getSum(element, /*overwrites=*/false);
  auto linalgOp = dyn_cast<LinalgOp>(op);
  if (!linalgOp)
    return std::nullopt;
  SmallVector<unsigned> mapped = findMappedOutputs(linalgOp);
  SmallVector<Combiner> combiners = findCombinersBesideMapped(linalgOp);
  if (combiners.empty() || llvm::is_contained(mapped, index))
    return std::nullopt;
  unsigned before =
      llvm::count_if(mapped, [&](unsigned i) { return i < index; });
  return toCombination(combiners[index - before], element);
}

//===----------------------------------------------------------------------===//
// Structured operations
//===----------------------------------------------------------------------===//

/// Adds what the body of `op` extracts from tensors around it: a dimension
/// whose index is the number of an iteration is read in part.
static void addExtracts(Operation *op, IterationSpace &loops,
                        function_ref<int(Value)> getLoop) {
  op->walk([&](tensor::ExtractOp extract) {
    if (!op->isProperAncestor(extract) ||
        op->isAncestor(extract.getTensor().getParentRegion()->getParentOp()))
      return;
    LoopOfDim dims;
    for (Value index : extract.getIndices()) {
      int loop = getLoop(index);
      dims.push_back(llvm::is_contained(dims, loop) ? -1 : loop);
    }
    loops.operands.push_back({&extract.getTensorMutable(), dims});
  });
}

/// The loop whose number `value` is in the body of `op`, or -1.
static int getNumberedLoop(LinalgOp op, Value value) {
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index && index->getParentOp() == op.getOperation()
             ? int(index.getDim())
             : -1;
}

/// Returns true for each loop of `op` that cannot be split: it goes through a
/// dimension together with another one, or its results cannot be combined.
static SmallVector<bool> findUnsplit(LinalgOp op) {
  SmallVector<bool> isUnsplit(op.getNumLoops());
  for (AffineMap map : op.getIndexingMapsArray()) {
    SmallVector<bool> isSeen(op.getNumLoops());
    for (AffineExpr expr : map.getResults())
      for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
        if (expr.isFunctionOfDim(loop)) {
          if (!isa<AffineDimExpr>(expr) || isSeen[loop])
            isUnsplit[loop] = true;
          isSeen[loop] = true;
        }
  }
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind != utils::IteratorType::parallel)
      for (unsigned output = 0; output < op->getNumResults(); ++output)
        if (!op.getMatchingIndexingMap(op.getDpsInitOperand(output))
                 .isFunctionOfDim(loop) &&
            !getCombination(op, output))
          isUnsplit[loop] = true;
  return isUnsplit;
}

static IterationSpace getLinalgLoops(LinalgOp op) {
  SmallVector<bool> isUnsplit = findUnsplit(op);
  auto getDims = [&](OpOperand &operand) {
    LoopOfDim dims;
    for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      dims.push_back(
          dim && !isUnsplit[dim.getPosition()] ? int(dim.getPosition()) : -1);
    }
    return dims;
  };
  IterationSpace loops;
  loops.count = op.getNumLoops();
  for (OpOperand &operand : op->getOpOperands())
    loops.operands.push_back({&operand, getDims(operand)});
  for (OpOperand &init : op.getDpsInitsMutable())
    loops.results.push_back(getDims(init));
  for (unsigned loop = 0; loop < loops.count; ++loop)
    if (!isUnsplit[loop] &&
        !llvm::all_of(loops.results, [&](const LoopOfDim &dims) {
          return llvm::is_contained(dims, int(loop));
        }))
      loops.reduced.push_back(loop);
  addExtracts(op, loops, [&](Value value) {
    int loop = getNumberedLoop(op, value);
    return loop >= 0 && !isUnsplit[loop] ? loop : -1;
  });
  return loops;
}

static IterationSpace getSoftmaxLoops(linalg::SoftmaxOp op) {
  IterationSpace loops;
  LoopOfDim dims = getIdentity(op.getInput());
  dims[op.getDimension()] = -1;
  loops.count = dims.size();
  loops.operands = {{&op.getInputMutable(), dims},
                    {&op.getOutputMutable(), dims}};
  loops.results = {dims};
  return loops;
}

/// Images are split by their number: a batch.
static IterationSpace getConvLoops(DestinationStyleOpInterface op) {
  IterationSpace loops;
  loops.count = 1;
  bool reduces = isa<ConvBackwardFilterOp>(op);
  bool isRhsImages = reduces;
  for (OpOperand &operand : op->getOpOperands()) {
    LoopOfDim dims = getWhole(operand.get());
    unsigned number = operand.getOperandNumber();
    if (number == 0 || (number == 1 && isRhsImages) ||
        (number == 2 && !reduces))
      dims[0] = 0;
    loops.operands.push_back({&operand, dims});
  }
  loops.results = {loops.operands.back().dims};
  if (reduces)
    loops.reduced = {0};
  return loops;
}

/// A dimension of the destination whose index is that of the updates is gone
/// through with it; additions along other dimensions of the updates are
/// combined.
static IterationSpace getScatterLoops(ScatterAddOp op) {
  Block &body = op.getBody().front();
  auto getLoop = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    return argument && argument.getOwner() == &body
               ? int(argument.getArgNumber())
               : -1;
  };
  LoopOfDim init;
  auto initType = cast<RankedTensorType>(op.getInit().getType());
  auto updates = cast<RankedTensorType>(op.getUpdates().getType());
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    int loop = getLoop(index);
    bool isAlike = loop >= 0 && !llvm::is_contained(init, loop) &&
                   updates.getDimSize(loop) == initType.getDimSize(dim);
    init.push_back(isAlike ? loop : -1);
  }
  IterationSpace loops;
  loops.count = updates.getRank();
  loops.operands = {{&op.getUpdatesMutable(), getIdentity(op.getUpdates())},
                    {&op.getInitMutable(), init}};
  loops.results = {init};
  for (unsigned loop = 0; loop < loops.count; ++loop)
    if (!llvm::is_contained(init, int(loop)))
      loops.reduced.push_back(loop);
  addExtracts(op, loops, getLoop);
  return loops;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// A slice and the tensor that it is of. `getDropped` are dimensions of size 1
/// that the slice lacks.
static std::pair<LoopOfDim, LoopOfDim>
getSliceDims(OffsetSizeAndStrideOpInterface op, RankedTensorType whole,
             const llvm::SmallBitVector &dropped) {
  LoopOfDim ofSlice, ofWhole;
  for (int64_t dim = 0; dim < whole.getRank(); ++dim) {
    bool isAll =
        !dropped.test(dim) && isZeroInteger(op.getMixedOffsets()[dim]) &&
        isOneInteger(op.getMixedStrides()[dim]) && !whole.isDynamicDim(dim) &&
        getConstantIntValue(op.getMixedSizes()[dim]) == whole.getDimSize(dim);
    ofWhole.push_back(isAll ? int(dim) : -1);
    if (!dropped.test(dim))
      ofSlice.push_back(ofWhole.back());
  }
  return {ofSlice, ofWhole};
}

static IterationSpace getExtractSliceLoops(tensor::ExtractSliceOp op) {
  auto [slice, whole] =
      getSliceDims(op, op.getSourceType(), op.getDroppedDims());
  IterationSpace loops;
  loops.count = whole.size();
  loops.operands = {{&op.getSourceMutable(), whole}};
  loops.results = {slice};
  return loops;
}

static IterationSpace getInsertSliceLoops(tensor::InsertSliceOp op) {
  auto [slice, whole] = getSliceDims(op, op.getDestType(), op.getDroppedDims());
  IterationSpace loops;
  loops.count = whole.size();
  loops.operands = {{&op.getSourceMutable(), slice},
                    {&op.getDestMutable(), whole}};
  loops.results = {whole};
  return loops;
}

/// A dimension is split with the outermost one of those that it stands for.
static IterationSpace getReshapeLoops(OpOperand &source, OpResult result,
                                      ArrayRef<ReassociationIndices> groups,
                                      bool expands) {
  Value expanded = expands ? Value(result) : source.get();
  auto type = cast<RankedTensorType>(expanded.getType());
  LoopOfDim many(type.getRank(), -1);
  LoopOfDim few;
  for (auto [loop, group] : llvm::enumerate(groups)) {
    few.push_back(-1);
    for (int64_t dim : group)
      if (type.getDimSize(dim) != 1) {
        many[dim] = few.back() = loop;
        break;
      }
  }
  IterationSpace loops;
  loops.count = groups.size();
  loops.operands = {{&source, expands ? few : many}};
  loops.results = {expands ? many : few};
  return loops;
}

static std::optional<IterationSpace> getPadLoops(tensor::PadOp op) {
  LoopOfDim dims;
  Block &body = op.getRegion().front();
  for (int64_t dim = 0; dim < op.getSourceType().getRank(); ++dim) {
    bool isAll = isZeroInteger(op.getMixedLowPad()[dim]) &&
                 isZeroInteger(op.getMixedHighPad()[dim]) &&
                 body.getArgument(dim).use_empty();
    dims.push_back(isAll ? int(dim) : -1);
  }
  IterationSpace loops;
  loops.count = dims.size();
  loops.operands = {{&op.getSourceMutable(), dims}};
  loops.results = {dims};
  return loops;
}

static IterationSpace getConcatLoops(tensor::ConcatOp op) {
  LoopOfDim dims = getIdentity(op.getResult());
  dims[op.getDim()] = -1;
  IterationSpace loops;
  loops.count = dims.size();
  for (OpOperand &operand : op->getOpOperands())
    loops.operands.push_back({&operand, dims});
  loops.results = {dims};
  return loops;
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

/// The tape has a leading dimension.
static IterationSpace getTapeLoops(Operation *op, OpOperand &tape,
                                   OpOperand *value) {
  IterationSpace loops;
  loops.count = getRank(tape.get());
  LoopOfDim whole = getIdentity(tape.get());
  whole[0] = -1;
  LoopOfDim part(llvm::drop_begin(whole));
  bool isTensor = isa<RankedTensorType>(value ? value->get().getType()
                                              : op->getResult(0).getType());
  if (value && isTensor)
    loops.operands.push_back({value, part});
  if (!isTensor)
    whole = getWhole(tape.get());
  loops.operands.push_back({&tape, whole});
  loops.results = {value ? whole : isTensor ? part : LoopOfDim()};
  return loops;
}

/// Each value by itself: results are operands as they are.
static IterationSpace getBarrierLoops(BarrierOp op) {
  IterationSpace loops;
  for (OpOperand &operand : op->getOpOperands()) {
    LoopOfDim dims = getIdentity(operand.get(), loops.count);
    loops.count += dims.size();
    loops.operands.push_back({&operand, dims});
    if (loops.results.size() < op->getNumResults())
      loops.results.push_back(dims);
  }
  return loops;
}

static IterationSpace getElementwiseLoops(Operation *op) {
  IterationSpace loops;
  loops.results.assign(op->getNumResults(), getIdentity(op->getResult(0)));
  loops.count = getRank(op->getResult(0));
  for (OpOperand &operand : op->getOpOperands())
    if (isa<RankedTensorType>(operand.get().getType()))
      loops.operands.push_back({&operand, getIdentity(operand.get())});
  return loops;
}

static std::optional<IterationSpace> findLoops(Operation *op) {
  return TypeSwitch<Operation *, std::optional<IterationSpace>>(op)
      .Case([](LinalgOp op) -> std::optional<IterationSpace> {
        if (!op.hasPureTensorSemantics())
          return std::nullopt;
        return getLinalgLoops(op);
      })
      .Case([](linalg::SoftmaxOp op) { return getSoftmaxLoops(op); })
      .Case<ConvOp, ConvBackwardDataOp, ConvBackwardFilterOp>(
          [](auto op) { return getConvLoops(op); })
      .Case([](ScatterAddOp op) { return getScatterLoops(op); })
      .Case([](tensor::ExtractSliceOp op) { return getExtractSliceLoops(op); })
      .Case([](tensor::InsertSliceOp op) { return getInsertSliceLoops(op); })
      .Case([](tensor::ExpandShapeOp op) {
        return getReshapeLoops(op.getSrcMutable(), op->getResult(0),
                               op.getReassociationIndices(), /*expands=*/true);
      })
      .Case([](tensor::CollapseShapeOp op) {
        return getReshapeLoops(op.getSrcMutable(), op->getResult(0),
                               op.getReassociationIndices(), /*expands=*/false);
      })
      .Case([](tensor::PadOp op) { return getPadLoops(op); })
      .Case([](tensor::ConcatOp op) { return getConcatLoops(op); })
      .Case([](TapeWriteOp op) {
        return getTapeLoops(op, op.getTapeMutable(), &op.getValueMutable());
      })
      .Case([](TapeReadOp op) {
        return getTapeLoops(op, op.getTapeMutable(), nullptr);
      })
      .Case([](BarrierOp op) { return getBarrierLoops(op); })
      .Case<NameOp, StopGradientOp, tensor::EmptyOp, tensor::SplatOp>(
          [](auto op) { return getElementwiseLoops(op); })
      .Default([](Operation *op) -> std::optional<IterationSpace> {
        DenseElementsAttr constant;
        if ((matchPattern(op, m_Constant(&constant)) && constant.isSplat()) ||
            isElementwiseOnTensors(op))
          return getElementwiseLoops(op);
        return std::nullopt;
      });
}

std::optional<IterationSpace> remat::getLoops(Operation *op) {
  std::optional<IterationSpace> loops = findLoops(op);
  // While the operation is whole: a loop of one iteration looks like no loop.
  if (loops && !loops->reduced.empty())
    for (unsigned i = 0, e = op->getNumResults(); i < e; ++i)
      loops->combinations.push_back(getCombination(op, i));
  return loops;
}

SmallVector<OpOperand *> remat::findPositions(Operation *op,
                                              const IterationSpace &loops,
                                              unsigned loop) {
  SmallVector<Value> numbers;
  if (auto linalgOp = dyn_cast<LinalgOp>(op)) {
    for (auto index : linalgOp.getBlock()->getOps<linalg::IndexOp>())
      if (index.getDim() == loop)
        numbers.push_back(index);
  } else if (auto scatter = dyn_cast<ScatterAddOp>(op)) {
    numbers.push_back(scatter.getBody().getArgument(loop));
  }
  auto isLocal = [&](OpOperand &use) {
    Operation *owner = use.getOwner();
    if (auto extract = dyn_cast<tensor::ExtractOp>(owner))
      for (const IterationSpace::Operand &operand : loops.operands)
        if (operand.use == &extract.getTensorMutable() &&
            use.getOperandNumber() > 0)
          return operand.dims[use.getOperandNumber() - 1] == int(loop);
    // The index of a destination that is split with the updates.
    return isa<YieldOp>(owner) && isa<ScatterAddOp>(owner->getParentOp()) &&
           loops.results[0][use.getOperandNumber()] == int(loop);
  };
  SmallVector<OpOperand *> positions;
  for (Value number : numbers)
    for (OpOperand &use : number.getUses())
      if (!isLocal(use))
        positions.push_back(&use);
  return positions;
}
