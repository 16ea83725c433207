//===- MicroBatches.cpp - Gradient accumulation ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A batch that does not fit is trained in parts, with one sum of every gradient
// live throughout, if updates are deferred.
//===----------------------------------------------------------------------===//

#include "MicroBatches.h"

#include "remat/Dialect/Opt/IR/UpdateKernels.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::remat;

/// The type inside a scalar result (f32 or tensor<f32>); null for others.
static FloatType getScalarType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.getRank() == 0)
    type = tensor.getElementType();
  return dyn_cast<FloatType>(type);
}

/// Returns the argument whose next value is result `index`, if that is a state.
static std::optional<unsigned> getStateOf(const StepFunction &step,
                                          unsigned index) {
  for (auto [result, argument] : step.states)
    if (result == index)
      return argument;
  return std::nullopt;
}

LogicalResult
mlir::remat::growData(StepFunction &step, int64_t count,
                      SmallVectorImpl<RankedTensorType> &microTypes) {
  func::FuncOp function = step.function;
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (!getStateOf(step, index) && !getScalarType(type))
      return function.emitError()
             << "accumulate = " << count << " averages scalar results and "
             << "carries states, but result " << index << " is a " << type;
  SmallVector<Type> types(function.getArgumentTypes());
  for (unsigned index : step.data) {
    auto type = dyn_cast<RankedTensorType>(types[index]);
    if (!type || type.getRank() == 0 || type.isDynamicDim(0))
      return emitError(function.getArgument(index).getLoc())
             << "accumulate = " << count << " cuts argument " << index
             << " into micro-batches, so its first dimension must be a number "
                "of examples, got "
             << types[index];
    SmallVector<int64_t> shape(type.getShape());
    if (llvm::MulOverflow(shape[0], count, shape[0]) ||
        multiplySizes({count}, estimateBytes(type)) == kSizeLimit)
      return emitError(function.getArgument(index).getLoc())
             << "accumulate = " << count << " makes argument " << index
             << " of type " << type << " too large";
    microTypes.push_back(type);
    types[index] = type.clone(shape);
    function.getArgument(index).setType(types[index]);
  }
  function.setFunctionType(FunctionType::get(function.getContext(), types,
                                             function.getResultTypes()));
  return success();
}

Value mlir::remat::extractMicroBatch(OpBuilder &builder, Value argument,
                                     RankedTensorType type, Value index) {
  Location loc = argument.getLoc();
  Value size = arith::ConstantIndexOp::create(builder, loc, type.getDimSize(0));
  Value first = arith::MulIOp::create(builder, loc, index, size);
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0));
  offsets[0] = first;
  SmallVector<OpFoldResult> strides(type.getRank(), builder.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      tensor::getMixedSizes(builder, loc, argument);
  sizes[0] = builder.getIndexAttr(type.getDimSize(0));
  return tensor::ExtractSliceOp::create(builder, loc, type, argument, offsets,
                                        sizes, strides);
}

static Value emitZeros(OpBuilder &builder, Location loc, Value like,
                       Type elementType) {
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(elementType));
  Value empty = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, like), elementType);
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

Value mlir::remat::emitZeroSum(OpBuilder &builder, StepFunction &step,
                               const TrainedParameter &trained) {
  func::FuncOp function = step.function;
  return emitZeros(
      builder, function.getLoc(), function.getArgument(trained.argument),
      opt::getComputeType(
          cast<RankedTensorType>(trained.gradient.getType()).getElementType()));
}

Value mlir::remat::emitAccumulate(OpBuilder &builder, Location loc,
                                  Value gradient, Value sum) {
  auto type = cast<RankedTensorType>(sum.getType());
  SmallVector<AffineMap> maps(2,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto body = [&](OpBuilder &b, Location loc, ValueRange arguments) {
    Value term =
        opt::convertFloat(b, loc, arguments[0], arguments[1].getType());
    Value next = arith::AddFOp::create(b, loc, arguments[1], term);
    linalg::YieldOp::create(b, loc, next);
  };
  auto add = linalg::GenericOp::create(builder, loc, TypeRange{type}, gradient,
                                       sum, maps, iterators, body);
  setPhase(add, kBackwardPhase);
  return add.getResult(0);
}

scf::ForOp mlir::remat::createMicroBatchLoop(OpBuilder &builder, Location loc,
                                             int64_t count, ValueRange inits) {
  Value lower = arith::ConstantIndexOp::create(builder, loc, 0);
  Value upper = arith::ConstantIndexOp::create(builder, loc, count);
  Value stride = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, lower, upper, stride, inits);
  // Without inits it has a terminator already.
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  return loop;
}

SmallVector<Value> mlir::remat::emitResultInits(OpBuilder &builder,
                                                StepFunction &step) {
  func::FuncOp function = step.function;
  SmallVector<Value> inits;
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    if (std::optional<unsigned> state = getStateOf(step, index))
      inits.push_back(function.getArgument(*state));
    else
      inits.push_back(
          arith::ConstantOp::create(builder, function.getLoc(),
                                    builder.getZeroAttr(getScalarType(type))));
  }
  return inits;
}

Value mlir::remat::emitResultNext(OpBuilder &builder, StepFunction &step,
                                  unsigned index, Value next, Value sum) {
  if (getStateOf(step, index))
    return next;
  Location loc = step.function.getLoc();
  if (isa<TensorType>(next.getType()))
    next = tensor::ExtractOp::create(builder, loc, next, ValueRange{});
  return arith::AddFOp::create(builder, loc, sum, next);
}

void mlir::remat::returnResults(StepFunction &step, ValueRange carried,
                                int64_t count) {
  func::FuncOp function = step.function;
  Location loc = function.getLoc();
  Operation *terminator = function.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    Value result = carried[index];
    if (!getStateOf(step, index)) {
      Value share = arith::ConstantOp::create(
          builder, loc,
          builder.getFloatAttr(getScalarType(type),
                               1.0 / static_cast<double>(count)));
      result = arith::MulFOp::create(builder, loc, result, share);
      if (isa<TensorType>(type))
        result = tensor::FromElementsOp::create(builder, loc, type, result);
    }
    terminator->setOperand(index, result);
  }
}

LogicalResult mlir::remat::accumulateOverMicroBatches(StepFunction &step,
                                                      int64_t count) {
  func::FuncOp function = step.function;
  Block &body = function.getBody().front();
  Operation *terminator = body.getTerminator();
  Location loc = function.getLoc();
  SmallVector<RankedTensorType> microTypes;
  if (failed(growData(step, count, microTypes)))
    return failure();

  // Carried values of the loop: each result (a state, or the sum of a scalar),
  // then the sum of each gradient.
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  SmallVector<Value> inits = emitResultInits(builder, step);
  for (TrainedParameter &trained : step.trained)
    inits.push_back(emitZeroSum(builder, step, trained));
  scf::ForOp loop = createMicroBatchLoop(builder, loc, count, inits);

  // Everything else moves into the loop, on slices and carried states.
  Block *inner = loop.getBody();
  inner->getOperations().splice(inner->end(), body.getOperations(),
                                std::next(loop->getIterator()),
                                terminator->getIterator());
  builder.setInsertionPointToStart(inner);
  auto replaceInside = [&](Value old, Value replacement, Operation *except) {
    old.replaceUsesWithIf(replacement, [&](OpOperand &use) {
      return loop->isProperAncestor(use.getOwner()) && use.getOwner() != except;
    });
  };
  SmallVector<Value> nexts(terminator->getOperands());
  auto replaceNext = [&](Value old, Value replacement) {
    llvm::replace(nexts, old, replacement);
    for (TrainedParameter &trained : step.trained)
      if (trained.gradient == old)
        trained.gradient = replacement;
  };
  for (auto [index, type] : llvm::zip_equal(step.data, microTypes)) {
    Value argument = function.getArgument(index);
    Value slice =
        extractMicroBatch(builder, argument, type, loop.getInductionVar());
    replaceInside(argument, slice, slice.getDefiningOp());
    replaceNext(argument, slice);
  }
  for (auto [result, argument] : step.states) {
    Value old = function.getArgument(argument);
    replaceInside(old, loop.getRegionIterArg(result), nullptr);
    replaceNext(old, loop.getRegionIterArg(result));
  }

  builder.setInsertionPointToEnd(inner);
  for (auto [index, next] : llvm::enumerate(nexts))
    next = emitResultNext(builder, step, index, next,
                          loop.getRegionIterArg(index));
  unsigned numResults = nexts.size();
  for (auto [index, trained] : llvm::enumerate(step.trained)) {
    // Where the gradient is final, it is needed no longer.
    Operation *producer = trained.gradient.getDefiningOp();
    if (producer && producer->getBlock() == inner)
      builder.setInsertionPointAfter(producer);
    else
      builder.setInsertionPointToEnd(inner);
    nexts.push_back(emitAccumulate(builder, loc, trained.gradient,
                                   loop.getRegionIterArg(numResults + index)));
    trained.gradient = loop.getResult(numResults + index);
  }
  builder.setInsertionPointToEnd(inner);
  scf::YieldOp::create(builder, loc, nexts);
  returnResults(step, loop.getResults(), count);
  return success();
}
