//===- GenericAdjoint.cpp - Cotangents of a structured op's operands ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the scalar cotangents in an adjoint kernel to tensors: one generic for
// all operands that the iteration space maps to one to one, and one with
// reductions for those that were broadcast alike, or that were contracted over
// or read through a window.
//===----------------------------------------------------------------------===//

#include "AdjointKernel.h"

#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/RoundedProduct.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Utils/ConvertElements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::remat;

bool mlir::remat::isAccumulated(linalg::LinalgOp op, unsigned index) {
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(index));
  llvm::SmallBitVector seen(op.getNumLoops());
  for (AffineExpr result : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(result))
      seen.set(dim.getPosition());
  return !seen.all();
}

/// The wanted values that the body of `op` captures.
static SmallVector<Value> capturedSources(linalg::LinalgOp op,
                                          VJPContext &vjp) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegion(0), captured);
  return llvm::filter_to_vector(
      captured, [&](Value value) { return vjp.isCapturedValueWanted(value); });
}

SmallVector<Value> mlir::remat::wantedSources(linalg::LinalgOp op,
                                              VJPContext &vjp,
                                              ArrayRef<unsigned> skip) {
  SmallVector<Value> sources;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (vjp.isWanted(index) && !llvm::is_contained(skip, index))
      sources.push_back(op.getMatchingBlockArgument(&operand));
  }
  llvm::append_range(sources, capturedSources(op, vjp));
  return sources;
}

Value mlir::remat::widen(AdjointKernel &kernel, Value value, Type type) {
  if (value.getType() == type)
    return value;
  OpBuilder &b = kernel.builder;
  Location loc = kernel.op.getLoc();
  if (auto narrowed = value.getDefiningOp<arith::TruncFOp>();
      narrowed && narrowed.getIn().getType() == type)
    return narrowed.getIn();
  auto extend = [&](Value v) -> Value {
    return arith::ExtFOp::create(b, loc, type, v);
  };
  if (auto product = value.getDefiningOp<arith::MulFOp>())
    return arith::MulFOp::create(b, loc, extend(product.getLhs()),
                                 extend(product.getRhs()));
  return extend(value);
}

/// Puts the dimensions back that the operand's map holds constant.
static Value restoreConstantDims(AdjointKernel &kernel, OpBuilder &b,
                                 unsigned index, Value value,
                                 ArrayRef<unsigned> dropped) {
  if (dropped.empty())
    return value;
  Location loc = kernel.op.getLoc();
  auto type = cast<RankedTensorType>(kernel.op->getOperand(index).getType());
  AffineMap map =
      kernel.op.getMatchingIndexingMap(&kernel.op->getOpOperand(index));
  bool allUnit = llvm::all_of(
      dropped, [&](unsigned dim) { return type.getDimSize(dim) == 1; });
  if (allUnit) {
    // A loop may know a size that the operand's type does not.
    SmallVector<int64_t> keptShape;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (!llvm::is_contained(dropped, dim))
        keptShape.push_back(type.getDimSize(dim));
    auto keptType =
        RankedTensorType::get(keptShape, getElementTypeOrSelf(value.getType()));
    if (value.getType() != keptType)
      value = tensor::CastOp::create(b, loc, keptType, value);
    SmallVector<ReassociationIndices> groups;
    ReassociationIndices leading;
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      bool kept = !llvm::is_contained(dropped, dim);
      if (kept) {
        groups.push_back(leading);
        leading.clear();
        groups.back().push_back(dim);
      } else if (groups.empty()) {
        leading.push_back(dim);
      } else {
        groups.back().push_back(dim);
      }
    }
    SmallVector<OpFoldResult> sizes,
        kept = tensor::getMixedSizes(b, loc, value);
    for (int64_t dim = 0, next = 0; dim < type.getRank(); ++dim)
      sizes.push_back(llvm::is_contained(dropped, dim)
                          ? OpFoldResult(b.getIndexAttr(1))
                          : kept[next++]);
    return tensor::ExpandShapeOp::create(b, loc, type, value, groups, sizes);
  }
  Value zeros =
      fillZeros(b, loc, kernel.emptyLike(b, index, type.getElementType()));
  SmallVector<OpFoldResult> offsets, sizes,
      strides(type.getRank(), b.getIndexAttr(1)),
      kept = tensor::getMixedSizes(b, loc, value);
  for (int64_t dim = 0, next = 0; dim < type.getRank(); ++dim) {
    auto constant = dyn_cast<AffineConstantExpr>(map.getResult(dim));
    offsets.push_back(b.getIndexAttr(constant ? constant.getValue() : 0));
    sizes.push_back(constant ? OpFoldResult(b.getIndexAttr(1)) : kept[next++]);
  }
  return tensor::InsertSliceOp::create(b, loc, value, zeros, offsets, sizes,
                                       strides);
}

/// Tells a lowering which convolution this is the adjoint of: the kernel has
/// the forward's iteration space and maps with the operands' roles exchanged.
static void markConvolution(linalg::LinalgOp forward, unsigned index,
                            Value cotangent) {
  Operation *adjoint = cotangent.getDefiningOp();
  if (!isa<linalg::ConvolutionOpInterface>(*forward) || index > 1 ||
      !isa_and_present<linalg::GenericOp>(adjoint) ||
      !forward.payloadUsesValueFromOperand(forward.getDpsInputOperand(1)))
    return;
  Builder b(forward.getContext());
  adjoint->setAttr(
      "remat.conv",
      b.getStringAttr(index == 0 ? "backward_data" : "backward_filter"));
  adjoint->setAttr("remat.conv_of",
                   b.getStringAttr(forward->getName().getStringRef()));
  for (StringRef name : {"strides", "dilations"})
    if (Attribute attribute = forward->getAttr(name))
      adjoint->setAttr(("remat." + name).str(), attribute);
}

/// Returns true if the cotangent of operand `index` of a rounded product is
/// one: that of the other factor and the result's cotangent, by `reduced`.
static bool isRoundedAdjoint(linalg::LinalgOp op, unsigned index,
                             AffineMap reduced) {
  if (!isRoundedProduct(op) || index > 1)
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return isOneProduct({maps[1 - index], maps[2], reduced},
                      op.getStaticLoopRanges());
}

/// Adds up `term` in f32 and rounds the sum once.
static Value emitRounded(AdjointKernel &kernel, OpBuilder &b, unsigned index,
                         AffineMap reduced, Value term) {
  Location loc = kernel.op.getLoc();
  Type type = term.getType(), sumType = accumulationType(type);
  Value zeros = fillZeros(b, loc, kernel.emptyLike(b, index, type));
  BlockArgument sum = kernel.addAccumulator(type);
  Value wide = arith::ExtFOp::create(kernel.builder, loc, sumType, sum);
  Value next = arith::AddFOp::create(kernel.builder, loc, wide,
                                     widen(kernel, term, sumType));
  Value rounded = arith::TruncFOp::create(kernel.builder, loc, type, next);
  Value value = kernel.cut(b, {{zeros, reduced, rounded, sum}})[0];
  fixAsRounded(value.getDefiningOp<linalg::GenericOp>());
  return value;
}

/// The sum of the terms of an operand that several iterations read.
struct OperandSum {
  unsigned index;
  Value term;
  /// The operand's map, less the dimensions that it holds constant.
  AffineMap map;
  SmallVector<unsigned> dropped = {};

  OperandSum(AdjointKernel &kernel, unsigned index, Value term)
      : index(index), term(term) {
    AffineMap all =
        kernel.op.getMatchingIndexingMap(&kernel.op->getOpOperand(index));
    llvm::SmallBitVector constants(all.getNumResults());
    for (auto [position, result] : llvm::enumerate(all.getResults()))
      if (isa<AffineConstantExpr>(result)) {
        dropped.push_back(position);
        constants.set(position);
      }
    map = all.dropResults(constants);
  }
};

/// Sums that one operation makes: more results than this would not stay in a
/// processor's registers.
static constexpr size_t kMaxSumsTogether = 12;
/// Bytes that may well exist at once.
static constexpr int64_t kFewBytes = int64_t(1) << 16;

/// Returns true if `sum` may become another result of the operation that makes
/// `sums`, which computes the terms of all of them in one pass. They are then
/// alive at once, and so may be no more than what one pass goes over.
static bool canJoin(AdjointKernel &kernel, ArrayRef<OperandSum> sums,
                    const OperandSum &sum) {
  linalg::LinalgOp op = kernel.op;
  if (sums.size() >= kMaxSumsTogether || sums.front().map != sum.map)
    return false;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (llvm::any_of(llvm::enumerate(sizes), [&](auto loop) {
        return ShapedType::isDynamic(loop.value()) &&
               !sum.map.isFunctionOfDim(loop.index());
      }))
    return true;
  int64_t bytes = 0;
  for (const OperandSum &other : sums)
    bytes += estimateBytes(op->getOperand(other.index).getType());
  bytes += estimateBytes(op->getOperand(sum.index).getType());
  Type type = getElementTypeOrSelf(op->getOperand(sum.index).getType());
  return bytes <=
         std::max(kFewBytes, estimateBytes(RankedTensorType::get(sizes, type)));
}

/// Puts `value`, which was added up in another shape and type, into those of
/// operand `sum.index`.
static Value likeOperand(AdjointKernel &kernel, OpBuilder &b,
                         const OperandSum &sum, Value value) {
  Location loc = kernel.op.getLoc();
  Type type = kernel.op->getOperand(sum.index).getType();
  value = convertElements(b, loc, value, getElementTypeOrSelf(type));
  if (!isa<RankedTensorType>(type))
    return tensor::ExtractOp::create(b, loc, value, ValueRange());
  return restoreConstantDims(kernel, b, sum.index, value, sum.dropped);
}

/// The cotangents of operands that several iterations read, by one operation.
static SmallVector<Value> emitSums(AdjointKernel &kernel, OpBuilder &b,
                                   ArrayRef<OperandSum> sums) {
  Location loc = kernel.op.getLoc();
  SmallVector<AdjointKernel::Output> outputs;
  for (const OperandSum &sum : sums) {
    Type elementType =
        getElementTypeOrSelf(kernel.op->getOperand(sum.index).getType());
    if (sum.map.isPermutation()) {
      // Only unit dimensions were held constant: nothing is added up.
      Value empty = kernel.emptyLike(b, sum.index, elementType, sum.dropped);
      outputs.push_back({empty, sum.map, sum.term});
      continue;
    }
    Type sumType = accumulationType(elementType);
    Value zeros =
        fillZeros(b, loc, kernel.emptyLike(b, sum.index, sumType, sum.dropped));
    BlockArgument running = kernel.addAccumulator(sumType);
    Value next = arith::AddFOp::create(kernel.builder, loc, running,
                                       widen(kernel, sum.term, sumType));
    outputs.push_back({zeros, sum.map, next, running});
  }
  SmallVector<Value> values = kernel.cut(b, outputs);
  for (auto [value, sum] : llvm::zip_equal(values, sums)) {
    if (!sum.map.isPermutation())
      markConvolution(kernel.op, sum.index, value);
    value = likeOperand(kernel, b, sum, value);
  }
  return values;
}

/// Adds to `vjp` the cotangents of operands that several iterations read, in
/// their order. `isOnlyRead` tells whether an operand's value is read through
/// one map only: contributions to one sum are added one by one.
static void emitReducing(AdjointKernel &kernel, VJPContext &vjp,
                         ArrayRef<OperandSum> reducing,
                         function_ref<bool(unsigned)> isOnlyRead) {
  OpBuilder &b = vjp.builder;
  // Libraries make one product at a time, whatever its adjoint is beside.
  bool isLibrarys =
      isProduct(kernel.op) || isa<linalg::ConvolutionOpInterface>(*kernel.op);
  auto standsAlone = [&](const OperandSum &sum) {
    return isLibrarys || sum.map.isPermutation() || !isOnlyRead(sum.index);
  };
  SmallVector<SmallVector<OperandSum, 1>> groups;
  for (const OperandSum &sum : reducing) {
    auto *group = standsAlone(sum)
                      ? groups.end()
                      : llvm::find_if(groups, [&](const auto &other) {
                          return !standsAlone(other.front()) &&
                                 canJoin(kernel, other, sum);
                        });
    if (group == groups.end())
      groups.push_back({sum});
    else
      group->push_back(sum);
  }
  for (ArrayRef<OperandSum> group : groups) {
    const OperandSum &first = group.front();
    SmallVector<Value> values;
    if (isRoundedAdjoint(kernel.op, first.index, first.map))
      values.push_back(likeOperand(
          kernel, b, first,
          emitRounded(kernel, b, first.index, first.map, first.term)));
    else
      values = emitSums(kernel, b, group);
    for (auto [sum, value] : llvm::zip_equal(group, values))
      vjp.accumulate(sum.index, value);
  }
}

void mlir::remat::emitOperandCotangents(AdjointKernel &kernel,
                                        const ScalarAdjoint &adjoint,
                                        VJPContext &vjp,
                                        ArrayRef<unsigned> skip) {
  linalg::LinalgOp op = kernel.op;
  OpBuilder &b = vjp.builder;
  // The operands that read a value in the same place (x * x), in their order.
  using Terms = SmallVector<std::pair<unsigned, Value>, 1>;
  llvm::SmallMapVector<std::pair<Value, AffineMap>, Terms, 4> reads;
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned index = operand.getOperandNumber();
    if (!vjp.isWanted(index) || llvm::is_contained(skip, index))
      continue;
    if (Value term = adjoint.cotangent(op.getMatchingBlockArgument(&operand)))
      reads[{vjp.getKey(operand.get()), op.getMatchingIndexingMap(&operand)}]
          .push_back({index, term});
  }
  auto sumUp = [&](Terms &terms) {
    for (auto [index, term] : ArrayRef(terms).drop_front())
      terms.front().second = arith::AddFOp::create(kernel.builder, op.getLoc(),
                                                   terms.front().second, term);
    terms.resize(1);
  };

  SmallVector<AdjointKernel::Output> outputs;
  // Contributions in their order; null for the next result of the kernel.
  SmallVector<std::pair<unsigned, Value>> elementwise, reducing;
  for (auto &[read, terms] : reads) {
    auto [key, map] = read;
    OpOperand &operand = op->getOpOperand(terms.front().first);
    if (!map.isPermutation() ||
        !isa<RankedTensorType>(operand.get().getType())) {
      sumUp(terms);
      reducing.push_back(terms.front());
      continue;
    }
    // To a sum they are added one by one, as if each operand were that of an
    // operation of its own: fusion makes one of several.
    if (!vjp.hasContributions(operand.get()))
      sumUp(terms);
    for (auto [index, term] : terms) {
      // Passed on unchanged: no kernel at all.
      Value tensor = kernel.tensorOf(term);
      bool isPassedOn = tensor && kernel.mapOf(term) == map &&
                        tensor.getType() == operand.get().getType();
      elementwise.push_back({index, isPassedOn ? tensor : Value()});
      if (!isPassedOn)
        outputs.push_back(
            {kernel.emptyLike(b, index, term.getType()), map, term});
    }
  }
  // A reduction of terms that an elementwise kernel has computed (the bias
  // beside the product) reads them instead of recomputing them.
  DenseMap<Value, Value> computed;
  SmallVector<Value> results;
  if (!outputs.empty())
    results = kernel.cut(b, outputs);
  for (auto [output, value] : llvm::zip_equal(outputs, results))
    computed.try_emplace(output.value, kernel.addInput(value, output.map));
  auto *next = results.begin();
  for (auto [index, contribution] : elementwise)
    vjp.accumulate(index, contribution ? contribution : *next++);
  SmallVector<OperandSum> sums;
  for (auto [index, term] : reducing) {
    Value known = computed.lookup(term);
    sums.emplace_back(kernel, index, known ? known : term);
  }
  emitReducing(kernel, vjp, sums, [&](unsigned index) {
    Value key = vjp.getKey(op->getOperand(index));
    return llvm::count_if(
               reads, [&](auto &read) { return read.first.first == key; }) == 1;
  });
}

/// A scalar that the body captures enters every iteration.
static Value emitScalar(AdjointKernel &kernel, OpBuilder &b, Value term) {
  Location loc = kernel.op.getLoc();
  Type type = term.getType(), sumType = accumulationType(type);
  Value zeros = fillZeros(
      b, loc,
      tensor::EmptyOp::create(b, loc, ArrayRef<OpFoldResult>(), sumType));
  BlockArgument sum = kernel.addAccumulator(sumType);
  Value next = arith::AddFOp::create(kernel.builder, loc, sum,
                                     widen(kernel, term, sumType));
  AffineMap scalar = AffineMap::get(kernel.op.getNumLoops(), 0, b.getContext());
  Value total = kernel.cut(b, {{zeros, scalar, next, sum}})[0];
  return tensor::ExtractOp::create(b, loc, convertElements(b, loc, total, type),
                                   ValueRange());
}

LogicalResult mlir::remat::emitCapturedCotangents(AdjointKernel &kernel,
                                                  const ScalarAdjoint &adjoint,
                                                  VJPContext &vjp) {
  for (Value captured : capturedSources(kernel.op, vjp))
    if (Value term = adjoint.cotangent(captured))
      vjp.accumulateCaptured(captured, emitScalar(kernel, vjp.builder, term));
  return emitGatherCotangents(kernel, adjoint, vjp);
}
