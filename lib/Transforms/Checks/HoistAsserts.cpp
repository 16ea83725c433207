//===- HoistAsserts.cpp - Assertions out of kernels -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An effect in a kernel's body would keep it from being fused, vectorized,
// recomputed and differentiated.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Checks/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::remat {
#define GEN_PASS_DEF_HOISTASSERTSPASS
#include "remat/Transforms/Checks/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// The slice of a condition in a kernel's body.
struct Condition {
  SetVector<Operation *> slice;
  /// Operands whose elements it reads, by their numbers.
  SetVector<unsigned> operands;
  /// Dimensions that it asks for with `linalg.index`.
  SetVector<unsigned> indexed;
};
} // namespace

/// Fails if the condition depends on an accumulator.
static FailureOr<Condition> analyze(linalg::GenericOp kernel,
                                    cf::AssertOp assertion) {
  Condition condition;
  Block *body = kernel.getBody();
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) {
    return body->findAncestorOpInBlock(*op);
  };
  if (failed(getBackwardSlice(assertion.getArg(), &condition.slice, options)))
    return failure();
  auto note = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == body)
      condition.operands.insert(argument.getArgNumber());
  };
  note(assertion.getArg());
  for (Operation *op : condition.slice) {
    op->walk([&](Operation *inner) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner))
        condition.indexed.insert(index.getDim());
      llvm::for_each(inner->getOperands(), note);
    });
  }
  for (unsigned operand : condition.operands)
    if (operand >= kernel.getNumDpsInputs())
      return failure();
  return condition;
}

/// Numbers the dimensions that matter anew. All of them, if the operands that
/// are read do not say how long each is.
static SmallVector<unsigned> getDimensions(linalg::GenericOp kernel,
                                           const Condition &condition) {
  SetVector<unsigned> known, needed(condition.indexed);
  for (unsigned operand : condition.operands) {
    AffineMap map = kernel.getIndexingMapsArray()[operand];
    for (AffineExpr result : map.getResults()) {
      if (auto dim = dyn_cast<AffineDimExpr>(result))
        known.insert(dim.getPosition());
      for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
        if (result.isFunctionOfDim(dim))
          needed.insert(dim);
    }
  }
  if (llvm::all_of(needed, [&](unsigned dim) { return known.contains(dim); })) {
    SmallVector<unsigned> dims = needed.takeVector();
    llvm::sort(dims);
    return dims;
  }
  return llvm::to_vector(llvm::seq<unsigned>(0, kernel.getNumLoops()));
}

/// The conjunction of the condition over the kernel's iterations.
static Value createCheck(OpBuilder &builder, linalg::GenericOp kernel,
                         cf::AssertOp assertion, const Condition &condition) {
  Location loc = assertion.getLoc();
  SmallVector<unsigned> dims = getDimensions(kernel, condition);
  bool hasAllDims = dims.size() == kernel.getNumLoops();
  SmallVector<AffineExpr> replacements(kernel.getNumLoops());
  for (auto [i, expr] : llvm::enumerate(replacements))
    expr = builder.getAffineConstantExpr(0);
  for (auto [position, dim] : llvm::enumerate(dims))
    replacements[dim] = builder.getAffineDimExpr(position);

  // With all dimensions, every operand may be what says how long one is.
  SmallVector<unsigned> operands(condition.operands.getArrayRef());
  if (hasAllDims)
    operands =
        llvm::to_vector(llvm::seq<unsigned>(0, kernel->getNumOperands()));
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (unsigned operand : operands) {
    inputs.push_back(kernel->getOperand(operand));
    maps.push_back(kernel.getIndexingMapsArray()[operand].replaceDimsAndSymbols(
        replacements, {}, dims.size(), 0));
  }
  maps.push_back(AffineMap::get(dims.size(), 0, builder.getContext()));
  SmallVector<utils::IteratorType> iterators(dims.size(),
                                             utils::IteratorType::reduction);

  Value yes =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  auto type = RankedTensorType::get({}, builder.getI1Type());
  Value empty = tensor::EmptyOp::create(builder, loc, type, ValueRange());
  Value start = linalg::FillOp::create(builder, loc, yes, empty).getResult(0);
  auto check = linalg::GenericOp::create(
      builder, loc, type, inputs, start, maps, iterators,
      [&](OpBuilder &body, Location loc, ValueRange arguments) {
        IRMapping mapping;
        for (auto [operand, argument] :
             llvm::zip(operands, arguments.drop_back()))
          mapping.map(kernel.getBody()->getArgument(operand), argument);
        for (Operation *op : condition.slice) {
          Operation *clone = body.clone(*op, mapping);
          clone->walk([&](linalg::IndexOp index) {
            index.setDim(llvm::find(dims, index.getDim()) - dims.begin());
          });
        }
        Value all =
            arith::AndIOp::create(body, loc, arguments.back(),
                                  mapping.lookupOrDefault(assertion.getArg()));
        linalg::YieldOp::create(body, loc, all);
      });
  return tensor::ExtractOp::create(builder, loc, check.getResult(0),
                                   ValueRange());
}

/// Returns true if `extract` reads the element at the position in the updates,
/// or in some of their dimensions, of a tensor that has no others.
static bool readsAtPosition(tensor::ExtractOp extract, ScatterAddOp scatter) {
  auto updates = cast<RankedTensorType>(scatter.getUpdates().getType());
  SmallPtrSet<Value, 4> arguments;
  for (auto [index, size] : llvm::zip_equal(
           extract.getIndices(), extract.getTensor().getType().getShape())) {
    auto argument = dyn_cast<BlockArgument>(index);
    if (!argument || argument.getOwner() != &scatter.getBody().front() ||
        !arguments.insert(index).second || ShapedType::isDynamic(size) ||
        updates.getDimSize(argument.getArgNumber()) != size)
      return false;
  }
  return true;
}

/// A kernel over the positions of a scatter's updates, with its body. What that
/// reads of tensors at these positions are operands, so that they say how many
/// there are.
static linalg::GenericOp createKernelLike(OpBuilder &builder,
                                          ScatterAddOp scatter) {
  Location loc = scatter.getLoc();
  Block &body = scatter.getBody().front();
  unsigned rank = body.getNumArguments();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  SmallVector<tensor::ExtractOp> elements;
  for (auto extract : body.getOps<tensor::ExtractOp>()) {
    if (!readsAtPosition(extract, scatter))
      continue;
    elements.push_back(extract);
    inputs.push_back(extract.getTensor());
    SmallVector<AffineExpr> results;
    for (Value index : extract.getIndices())
      results.push_back(
          builder.getAffineDimExpr(cast<BlockArgument>(index).getArgNumber()));
    maps.push_back(AffineMap::get(rank, 0, results, builder.getContext()));
  }
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  return linalg::GenericOp::create(
      builder, loc, scatter.getUpdates().getType(), inputs,
      scatter.getUpdates(), maps,
      SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location loc, ValueRange arguments) {
        SmallVector<Value> position;
        for (unsigned dim = 0; dim < rank; ++dim)
          position.push_back(linalg::IndexOp::create(inner, loc, dim));
        IRMapping mapping;
        for (auto [extract, element] : llvm::zip(elements, arguments))
          mapping.map(extract.getResult(), element);
        scatter.computeIndices(inner, position, mapping);
        linalg::YieldOp::create(inner, loc, arguments.back());
      });
}

static LogicalResult hoistAssert(cf::AssertOp assertion) {
  auto kernel = dyn_cast<linalg::GenericOp>(assertion->getParentOp());
  FailureOr<Condition> condition =
      kernel ? analyze(kernel, assertion) : FailureOr<Condition>(failure());
  if (failed(condition))
    return assertion.emitError(
        "cannot be checked before its kernel runs: its condition depends on an "
        "accumulator, or it stands in a loop or branch of the kernel; assert "
        "on "
        "the kernel's result instead");
  OpBuilder builder(kernel);
  Value all = createCheck(builder, kernel, assertion, *condition);
  cf::AssertOp::create(builder, assertion.getLoc(), all, assertion.getMsg());
  assertion.erase();
  return success();
}

namespace {
struct HoistAssertsPass
    : public remat::impl::HoistAssertsPassBase<HoistAssertsPass> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> kernelsOfScatters;
    getOperation()->walk([&](ScatterAddOp scatter) {
      SmallVector<cf::AssertOp> own(scatter.getBody().getOps<cf::AssertOp>());
      if (own.empty())
        return;
      OpBuilder builder(scatter);
      kernelsOfScatters.push_back(createKernelLike(builder, scatter));
      for (cf::AssertOp assertion : own)
        assertion.erase();
    });
    SmallVector<cf::AssertOp> assertions;
    getOperation()->walk([&](cf::AssertOp assertion) {
      if (assertion->getParentOfType<linalg::LinalgOp>())
        assertions.push_back(assertion);
    });
    if (assertions.empty())
      return markAllAnalysesPreserved();
    for (cf::AssertOp assertion : assertions)
      if (failed(hoistAssert(assertion)))
        return signalPassFailure();
    for (linalg::GenericOp kernel : kernelsOfScatters)
      kernel.erase();
  }
};
} // namespace
