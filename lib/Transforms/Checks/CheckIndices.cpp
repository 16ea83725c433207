//===- CheckIndices.cpp - Bounds of indices that come from data -----------===//
//
// A token that is not in the vocabulary would read, and in the backward write,
// memory of something else.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Checks/Passes.h"
#include "remat/Transforms/Fuse/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include "llvm/Support/raw_ostream.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CHECKINDICESPASS
#include "remat/Transforms/Checks/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Chains of index arithmetic are short; longer ones count as unknown.
static constexpr unsigned kMaxDepth = 32;

static ConstantIntRanges getRange(Value value, unsigned depth = 0);

/// The values that `linalg.index` takes, if the loop's length is known.
static std::optional<ConstantIntRanges> getLoopRange(linalg::IndexOp index) {
  auto op = index->getParentOfType<linalg::LinalgOp>();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  int64_t size = sizes[index.getDim()];
  if (ShapedType::isDynamic(size))
    return std::nullopt;
  unsigned width = IndexType::kInternalStorageBitWidth;
  return ConstantIntRanges::fromUnsigned(
      APInt(width, 0), APInt(width, std::max<int64_t>(size - 1, 0)));
}

static std::optional<ConstantIntRanges> inferRange(OpResult result,
                                                   unsigned depth) {
  Operation *op = result.getOwner();
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return getLoopRange(index);
  auto inferrable = dyn_cast<InferIntRangeInterface>(op);
  if (!inferrable || depth == kMaxDepth)
    return std::nullopt;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands()) {
    if (!operand.getType().isIntOrIndex())
      return std::nullopt;
    operands.push_back(getRange(operand, depth + 1));
  }
  std::optional<ConstantIntRanges> range;
  inferrable.inferResultRanges(
      operands, [&](Value value, const ConstantIntRanges &inferred) {
        if (value == result)
          range = inferred;
      });
  return range;
}

/// The values that an integer can have, as far as the operations that it is
/// made of tell; whatever comes from data can be anything.
static ConstantIntRanges getRange(Value value, unsigned depth) {
  if (auto result = dyn_cast<OpResult>(value))
    if (std::optional<ConstantIntRanges> range = inferRange(result, depth))
      return *range;
  return ConstantIntRanges::maxRange(
      ConstantIntRanges::getStorageBitwidth(value.getType()));
}

/// Whether a loop over a tensor's dimension runs `index`: no front end does
/// that wrong, and its bounds may be dynamic.
static bool isLoopIndex(Value index) {
  if (index.getDefiningOp<linalg::IndexOp>())
    return true;
  auto argument = dyn_cast<BlockArgument>(index);
  auto loop = argument ? dyn_cast_or_null<LoopLikeOpInterface>(
                             argument.getOwner()->getParentOp())
                       : LoopLikeOpInterface();
  std::optional<SmallVector<Value>> variables =
      loop ? loop.getLoopInductionVars() : std::nullopt;
  return variables && llvm::is_contained(*variables, index);
}

static bool isInRange(Value index, int64_t size) {
  if (isLoopIndex(index))
    return true;
  // The clamp of an earlier run.
  if (ShapedType::isDynamic(size))
    return index.getDefiningOp<arith::MinUIOp>() != nullptr;
  return getRange(index).umax().ult(size);
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// `file.mlir:12:10`, or what else there is of a location.
static std::string toString(Location loc) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    os << file.getFilename().getValue() << ":" << file.getLine() << ":"
       << file.getColumn();
  else
    os << loc;
  return text;
}

static std::string getMessage(tensor::ExtractOp extract, unsigned dim) {
  std::string text;
  llvm::raw_string_ostream os(text);
  int64_t size = extract.getTensor().getType().getDimSize(dim);
  os << toString(extract.getLoc()) << ": index " << dim << " is not in ";
  if (ShapedType::isDynamic(size))
    os << "the tensor";
  else
    os << "0.." << size - 1;
  return text;
}

/// The size of a dimension where `builder` stands. Inside of a kernel it is
/// taken outside, where the table is a tensor.
static Value getSize(OpBuilder &builder, tensor::ExtractOp extract,
                     unsigned dim) {
  OpBuilder::InsertionGuard guard(builder);
  Value table = extract.getTensor();
  if (auto kernel = extract->getParentOfType<linalg::LinalgOp>();
      kernel && !kernel->isAncestor(table.getParentBlock()->getParentOp()))
    builder.setInsertionPoint(kernel);
  return getValueOrCreateConstantIndexOp(
      builder, extract.getLoc(),
      tensor::getMixedSize(builder, extract.getLoc(), table, dim));
}

static void checkIndex(tensor::ExtractOp extract, unsigned dim) {
  OpBuilder builder(extract);
  Location loc = extract.getLoc();
  Value index = extract.getIndices()[dim];
  Value size = getSize(builder, extract, dim);
  // Unsigned: a negative index is a very large one.
  Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       index, size);
  cf::AssertOp::create(builder, loc, inside, getMessage(extract, dim));
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value last = arith::SubIOp::create(builder, loc, size, one);
  Value safe = arith::MinUIOp::create(builder, loc, index, last);
  extract.getIndicesMutable()[dim].set(safe);
}

namespace {
struct CheckIndicesPass
    : public remat::impl::CheckIndicesPassBase<CheckIndicesPass> {
  void runOnOperation() override {
    // Kernels have a way for assertions, bodies of other operations have none.
    remat::replaceByStructured(getOperation());
    SmallVector<tensor::ExtractOp> extracts;
    getOperation()->walk(
        [&](tensor::ExtractOp extract) { extracts.push_back(extract); });
    for (tensor::ExtractOp extract : extracts) {
      ArrayRef<int64_t> shape = extract.getTensor().getType().getShape();
      for (auto [dim, size] : llvm::enumerate(shape))
        if (!isInRange(extract.getIndices()[dim], size))
          checkIndex(extract, dim);
    }
  }
};
} // namespace
