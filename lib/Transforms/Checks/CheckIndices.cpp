//===- CheckIndices.cpp - Bounds of indices that come from data -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A token that is not in the vocabulary would read, and in the backward write,
// memory of something else.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Checks/Passes.h"

#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Decompose/Structured.h"
#include "remat/Transforms/Utils/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "llvm/Support/raw_ostream.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CHECKINDICESPASS
#include "remat/Transforms/Checks/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

namespace {
/// An operand that says where in dimension `dim` of `tensor` an operation
/// begins to read or write. It reaches over `extent` elements, of which
/// `before` lie before the first that it reads or writes.
struct Index {
  Operation *op;
  OpOperand *operand;
  Value tensor;
  unsigned dim;
  int64_t extent = 1;
  int64_t before = 0;

  RankedTensorType type() const {
    return cast<RankedTensorType>(tensor.getType());
  }
  /// How many values the operand may have, none if the tensor is too small for
  /// any; dynamic if its size is.
  int64_t count() const {
    int64_t size = type().getDimSize(dim);
    return ShapedType::isDynamic(size)
               ? size
               : std::max<int64_t>(size - extent + 1, 0);
  }
};
} // namespace

/// The numbers from zero to below `size`, if that is known.
static std::optional<ConstantIntRanges> getRangeBelow(int64_t size) {
  if (ShapedType::isDynamic(size))
    return std::nullopt;
  unsigned width = IndexType::kInternalStorageBitWidth;
  return ConstantIntRanges::fromUnsigned(
      APInt(width, 0), APInt(width, std::max<int64_t>(size - 1, 0)));
}

/// The values that `linalg.index` takes, if the loop's length is known.
static std::optional<ConstantIntRanges> getLoopRange(linalg::IndexOp index) {
  auto op = index->getParentOfType<linalg::LinalgOp>();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  return getRangeBelow(sizes[index.getDim()]);
}

/// The scatter that runs through positions in its updates, of which `value` is
/// one.
static remat::ScatterAddOp getScatter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument
             ? dyn_cast<remat::ScatterAddOp>(argument.getOwner()->getParentOp())
             : remat::ScatterAddOp();
}

namespace {
/// The values that integers can have, as far as the operations that they are
/// made of tell; whatever comes from data can be anything.
class IndexRanges {
public:
  ConstantIntRanges get(Value value) {
    return remat::evaluateOnce<ConstantIntRanges>(
        value, known, appendSources, [&](Value value) {
          std::optional<ConstantIntRanges> range = infer(value);
          return range ? *range
                       : ConstantIntRanges::maxRange(
                             ConstantIntRanges::getStorageBitwidth(
                                 value.getType()));
        });
  }

private:
  static InferIntRangeInterface getInferrable(Value value) {
    auto op = value.getDefiningOp<InferIntRangeInterface>();
    bool isOfIntegers =
        op && llvm::all_of(op->getOperandTypes(),
                           [](Type type) { return type.isIntOrIndex(); });
    return isOfIntegers ? op : InferIntRangeInterface();
  }

  static void appendSources(Value value, SmallVectorImpl<Value> &sources) {
    if (InferIntRangeInterface op = getInferrable(value))
      llvm::append_range(sources, op->getOperands());
  }

  std::optional<ConstantIntRanges> infer(Value value) const {
    if (auto index = value.getDefiningOp<linalg::IndexOp>())
      return getLoopRange(index);
    if (remat::ScatterAddOp scatter = getScatter(value)) {
      auto updates = cast<ShapedType>(scatter.getUpdates().getType());
      unsigned dim = cast<BlockArgument>(value).getArgNumber();
      return getRangeBelow(updates.getDimSize(dim));
    }
    InferIntRangeInterface op = getInferrable(value);
    if (!op)
      return std::nullopt;
    SmallVector<ConstantIntRanges> operands;
    for (Value operand : op->getOperands())
      operands.push_back(known.at(operand));
    std::optional<ConstantIntRanges> range;
    op.inferResultRanges(operands,
                         [&](Value result, const ConstantIntRanges &inferred) {
                           if (result == value)
                             range = inferred;
                         });
    return range;
  }

  DenseMap<Value, ConstantIntRanges> known;
};
} // namespace

/// Returns true if a loop over a tensor's dimension runs `index`: no front end
/// does that wrong, and its bounds may be dynamic.
static bool isLoopIndex(Value index) {
  if (index.getDefiningOp<linalg::IndexOp>() || getScatter(index))
    return true;
  auto argument = dyn_cast<BlockArgument>(index);
  auto loop = argument ? dyn_cast_or_null<LoopLikeOpInterface>(
                             argument.getOwner()->getParentOp())
                       : LoopLikeOpInterface();
  std::optional<SmallVector<Value>> variables =
      loop ? loop.getLoopInductionVars() : std::nullopt;
  return variables && llvm::is_contained(*variables, index);
}

static bool isInRange(Value index, int64_t size, IndexRanges &ranges) {
  if (isLoopIndex(index))
    return true;
  // The clamp of an earlier run.
  if (ShapedType::isDynamic(size))
    return index.getDefiningOp<arith::MinUIOp>() != nullptr;
  return ranges.get(index).umax().ult(size);
}

/// Returns true if `value` is an element of a tensor. Offsets of slices are
/// checked if they are: a front end computes all others from loops and sizes,
/// and clamps those of its own operations.
static bool isReadFromTensor(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<arith::IndexCastOp, arith::IndexCastUIOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<tensor::ExtractOp>(op);
}

/// Appends the indices of `op` that may be out of range.
static void collectIndices(Operation *op, IndexRanges &ranges,
                           SmallVectorImpl<Index> &found) {
  auto addAll = [&](Value tensor, MutableOperandRange indices) {
    ArrayRef<int64_t> shape =
        cast<RankedTensorType>(tensor.getType()).getShape();
    for (auto [dim, size] : llvm::enumerate(shape))
      if (!isInRange(indices[dim].get(), size, ranges))
        found.push_back(
            {indices.getOwner(), &indices[dim], tensor, unsigned(dim)});
  };
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return addAll(extract.getTensor(), extract.getIndicesMutable());
  if (auto insert = dyn_cast<tensor::InsertOp>(op))
    return addAll(insert.getDest(), insert.getIndicesMutable());
  if (auto scatter = dyn_cast<remat::ScatterAddOp>(op);
      scatter && scatter.hasPureTensorSemantics())
    return addAll(
        scatter.getInit(),
        cast<remat::YieldOp>(scatter.getBody().front().getTerminator())
            .getOutputsMutable());
  auto slice = dyn_cast<OffsetSizeAndStrideOpInterface>(op);
  if (!slice || !isa<tensor::ExtractSliceOp, tensor::InsertSliceOp>(op))
    return;
  Value tensor = op->getOperand(isa<tensor::InsertSliceOp>(op) ? 1 : 0);
  auto type = cast<RankedTensorType>(tensor.getType());
  for (unsigned dim : llvm::seq<unsigned>(type.getRank())) {
    if (!slice.isDynamicOffset(dim) || slice.isDynamicSize(dim) ||
        slice.isDynamicStride(dim) || slice.getStaticSize(dim) == 0)
      continue;
    int64_t reach = (slice.getStaticSize(dim) - 1) * slice.getStaticStride(dim);
    int64_t extent = 1 + std::abs(reach), before = std::max<int64_t>(-reach, 0);
    OpOperand &offset = op->getOpOperand(slice.getIndexOfDynamicOffset(dim));
    Index index{op, &offset, tensor, dim, extent, before};
    if (isReadFromTensor(offset.get()) &&
        (before != 0 || !isInRange(offset.get(), index.count(), ranges)))
      found.push_back(index);
  }
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// `file.mlir:12:10`, or what else there is of a location.
static std::string toString(Location loc) {
  if (std::optional<std::string> position = remat::describeFilePosition(loc))
    return *position;
  std::string text;
  llvm::raw_string_ostream(text) << loc;
  return text;
}

static std::string getMessage(const Index &index) {
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t size = index.type().getDimSize(index.dim);
  os << toString(index.op->getLoc()) << ": the index of dimension " << index.dim
     << " is not in ";
  if (ShapedType::isDynamic(size))
    os << "the tensor";
  else
    os << index.before << ".." << index.before + size - index.extent;
  return text;
}

/// `index.count()` where `builder` stands. Inside of a kernel the size is taken
/// outside, where the tensor is one.
static Value getCount(OpBuilder &builder, const Index &index) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = index.op->getLoc();
  Value tensor = index.tensor;
  Operation *kernel = index.op->getParentOfType<linalg::LinalgOp>();
  if (!kernel)
    kernel = index.op->getParentOfType<remat::ScatterAddOp>();
  if (kernel && !kernel->isAncestor(tensor.getParentBlock()->getParentOp()))
    builder.setInsertionPoint(kernel);
  int64_t count = index.count();
  if (!ShapedType::isDynamic(count))
    return arith::ConstantIndexOp::create(builder, loc, count);
  Value size = getValueOrCreateConstantIndexOp(
      builder, loc, tensor::getMixedSize(builder, loc, tensor, index.dim));
  if (index.extent == 1)
    return size;
  Value taken = arith::ConstantIndexOp::create(builder, loc, index.extent - 1);
  Value none = arith::ConstantIndexOp::create(builder, loc, 0);
  Value left = arith::SubIOp::create(builder, loc, size, taken);
  return arith::MaxSIOp::create(builder, loc, left, none);
}

static void check(const Index &index) {
  OpBuilder builder(index.op);
  Location loc = index.op->getLoc();
  Value value = index.operand->get();
  Value before;
  if (index.before != 0) {
    before = arith::ConstantIndexOp::create(builder, loc, index.before);
    value = arith::SubIOp::create(builder, loc, value, before);
  }
  Value count = getCount(builder, index);
  // Unsigned: a negative index is a very large one.
  Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       value, count);
  cf::AssertOp::create(builder, loc, inside, getMessage(index));
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value last = arith::SubIOp::create(builder, loc, count, one);
  Value safe = arith::MinUIOp::create(builder, loc, value, last);
  if (before)
    safe = arith::AddIOp::create(builder, loc, safe, before);
  index.operand->set(safe);
}

/// Asserts the sizes that `cast` claims to know.
static void checkSizes(tensor::CastOp cast) {
  auto from = dyn_cast<RankedTensorType>(cast.getSource().getType());
  auto to = dyn_cast<RankedTensorType>(cast.getType());
  if (!from || !to || cast->getParentOfType<linalg::LinalgOp>())
    return;
  OpBuilder builder(cast);
  Location loc = cast.getLoc();
  for (int64_t dim : llvm::seq(from.getRank())) {
    if (!from.isDynamicDim(dim) || to.isDynamicDim(dim))
      continue;
    Value size = tensor::DimOp::create(builder, loc, cast.getSource(), dim);
    Value claimed =
        arith::ConstantIndexOp::create(builder, loc, to.getDimSize(dim));
    Value isRight = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, size, claimed);
    cf::AssertOp::create(builder, loc, isRight,
                         toString(loc) + ": the size of dimension " +
                             std::to_string(dim) + " is not " +
                             std::to_string(to.getDimSize(dim)));
  }
}

/// Returns true if the sizes come from data; a front end computes all others
/// from sizes.
static bool hasSizesFromData(tensor::ReshapeOp reshape) {
  auto sizes = reshape.getShape().getDefiningOp<tensor::FromElementsOp>();
  return !sizes ? !matchPattern(reshape.getShape(), m_Constant())
                : llvm::any_of(sizes.getElements(), isReadFromTensor);
}

/// Asserts that `reshape` has as many elements as what it reads.
static void checkSizes(tensor::ReshapeOp reshape) {
  auto from = dyn_cast<RankedTensorType>(reshape.getSource().getType());
  auto to = dyn_cast<RankedTensorType>(reshape.getType());
  if (!from || !to || reshape->getParentOfType<linalg::LinalgOp>())
    return;
  if (to.hasStaticShape() ? from.hasStaticShape() : !hasSizesFromData(reshape))
    return;
  OpBuilder builder(reshape);
  Location loc = reshape.getLoc();
  auto toValue = [&](OpFoldResult size) {
    return getValueOrCreateConstantIndexOp(builder, loc, size);
  };
  Value zero = toValue(builder.getIndexAttr(0)),
        there = toValue(builder.getIndexAttr(1)), wanted = there;
  SmallVector<Value> conditions;
  for (OpFoldResult size :
       tensor::getMixedSizes(builder, loc, reshape.getSource()))
    there = arith::MulIOp::create(builder, loc, there, toValue(size));
  for (auto [dim, number] : llvm::enumerate(to.getShape())) {
    Value size;
    if (ShapedType::isDynamic(number)) {
      Value place = toValue(builder.getIndexAttr(dim));
      size = getValueOrCreateCastToIndexLike(
          builder, loc, builder.getIndexType(),
          tensor::ExtractOp::create(builder, loc, reshape.getShape(), place));
      conditions.push_back(arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::sge, size, zero));
    } else {
      size = toValue(builder.getIndexAttr(number));
    }
    wanted = arith::MulIOp::create(builder, loc, wanted, size);
  }
  Value fits = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                     wanted, there);
  for (Value condition : conditions)
    fits = arith::AndIOp::create(builder, loc, fits, condition);
  cf::AssertOp::create(builder, loc, fits,
                       toString(loc) + ": the tensor has another number of "
                                       "elements than its new shape");
}

namespace {
struct CheckIndicesPass
    : public remat::impl::CheckIndicesPassBase<CheckIndicesPass> {
  void runOnOperation() override {
    // Kernels have a way for assertions, bodies of other operations have none.
    remat::replaceByStructured(getOperation());
    SmallVector<Index> indices;
    IndexRanges ranges;
    getOperation()->walk(
        [&](Operation *op) { collectIndices(op, ranges, indices); });
    for (const Index &index : indices)
      check(index);
    getOperation()->walk([](tensor::CastOp cast) { checkSizes(cast); });
    getOperation()->walk([](tensor::ReshapeOp op) { checkSizes(op); });
  }
};
} // namespace
