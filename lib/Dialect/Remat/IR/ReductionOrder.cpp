//===- ReductionOrder.cpp - In which order a reduction adds up ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One definition for the passes that fix orders, keep them and obey them.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/ReductionOrder.h"

#include "remat/Dialect/Remat/IR/Elementwise.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::remat;

static constexpr StringLiteral kAttrName = "remat.order";

static StringRef toString(ReductionOrder order) {
  switch (order) {
  case ReductionOrder::Product:
    return "product";
  case ReductionOrder::RoundedProduct:
    return "rounded product";
  case ReductionOrder::Along:
    return "along";
  case ReductionOrder::Across:
    return "across";
  }
  llvm_unreachable("unknown order");
}

static std::optional<ReductionOrder> getFixedOrder(Operation *op) {
  auto attribute = op->getAttrOfType<StringAttr>(kAttrName);
  for (ReductionOrder order :
       {ReductionOrder::Product, ReductionOrder::RoundedProduct,
        ReductionOrder::Along, ReductionOrder::Across})
    if (attribute && attribute.getValue() == toString(order))
      return order;
  return std::nullopt;
}

static void setOrder(Operation *op, ReductionOrder order) {
  op->setDiscardableAttr(kAttrName,
                         StringAttr::get(op->getContext(), toString(order)));
}

static bool isWrittenAsProduct(linalg::LinalgOp op) {
  if (!isa<linalg::GenericOp>(op))
    return linalg::isaContractionOpInterface(op) ||
           linalg::isaConvolutionOpInterface(op);
  if (linalg::isaContractionOpInterface(op)) {
    FailureOr<linalg::ContractionDimensions> dims =
        linalg::inferContractionDims(op);
    return succeeded(dims) && !dims->m.empty() && !dims->n.empty();
  }
  if (linalg::isaConvolutionOpInterface(op)) {
    FailureOr<linalg::ConvolutionDimensions> dims =
        linalg::inferConvolutionDims(op);
    return succeeded(dims) && !dims->outputChannel.empty();
  }
  return false;
}

static std::optional<Combiner> findCombiner(linalg::LinalgOp op,
                                            unsigned output) {
  SmallVector<Operation *> ops;
  if (!matchReduction(op.getRegionOutputArgs(), output, ops) ||
      ops.size() != 1 || ops[0]->getNumOperands() != 2)
    return std::nullopt;
  std::optional<TypedAttr> neutral = arith::getNeutralElement(ops[0]);
  if (!neutral)
    return std::nullopt;
  return Combiner{ops[0], *neutral};
}

SmallVector<Combiner> mlir::remat::findCombiners(linalg::LinalgOp op) {
  SmallVector<Combiner> combiners;
  for (unsigned i = 0, e = op.getNumDpsInits(); i < e; ++i) {
    std::optional<Combiner> combiner = findCombiner(op, i);
    if (!combiner)
      return {};
    combiners.push_back(*combiner);
  }
  return combiners;
}

/// Returns true if `value`, of the body of `op`, is computed from the running
/// value of an output for which `isRunning` holds.
static bool dependsOn(linalg::LinalgOp op, Value value,
                      function_ref<bool(unsigned)> isRunning) {
  SetVector<Value> needed;
  needed.insert(value);
  for (unsigned i = 0; i < needed.size(); ++i) {
    if (auto argument = dyn_cast<BlockArgument>(needed[i])) {
      if (argument.getOwner() == op.getBlock() &&
          argument.getArgNumber() >= op.getNumDpsInputs() &&
          isRunning(argument.getArgNumber() - op.getNumDpsInputs()))
        return true;
      continue;
    }
    Operation *producer = needed[i].getDefiningOp();
    if (producer->getBlock() != op.getBlock())
      continue;
    producer->walk(
        [&](Operation *inner) { needed.insert_range(inner->getOperands()); });
  }
  return false;
}

SmallVector<unsigned> mlir::remat::findMappedOutputs(linalg::LinalgOp op) {
  if (isParallel(op))
    return {};
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  auto hasAllLoops = [&](unsigned output) {
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(output));
    if (!map.isProjectedPermutation())
      return false;
    for (auto [loop, size] : llvm::enumerate(sizes))
      if (size != 1 && !map.isFunctionOfDim(loop))
        return false;
    return true;
  };
  SmallVector<unsigned> mapped;
  for (unsigned i = 0, e = op.getNumDpsInits(); i < e; ++i)
    if (hasAllLoops(i) &&
        !dependsOn(op, op.getBlock()->getTerminator()->getOperand(i),
                   [&](unsigned output) { return !hasAllLoops(output); }))
      mapped.push_back(i);
  return mapped;
}

SmallVector<Combiner>
mlir::remat::findCombinersBesideMapped(linalg::LinalgOp op) {
  SmallVector<unsigned> mapped = findMappedOutputs(op);
  SmallVector<Combiner> combiners;
  for (unsigned i = 0, e = op.getNumDpsInits(); i < e; ++i) {
    if (llvm::is_contained(mapped, i))
      continue;
    std::optional<Combiner> combiner = findCombiner(op, i);
    if (!combiner)
      return {};
    combiners.push_back(*combiner);
  }
  return combiners;
}

/// Returns true if the innermost non-unit dimension is a reduction.
static bool reducesInnermost(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  for (unsigned loop = sizes.size(); loop-- > 0;)
    if (sizes[loop] != 1)
      return kinds[loop] == utils::IteratorType::reduction;
  return false;
}

ReductionOrder mlir::remat::computeReductionOrder(linalg::LinalgOp op) {
  if (isWrittenAsProduct(op))
    return ReductionOrder::Product;
  return reducesInnermost(op) && !findCombiners(op).empty()
             ? ReductionOrder::Along
             : ReductionOrder::Across;
}

ReductionOrder mlir::remat::getReductionOrder(linalg::LinalgOp op) {
  std::optional<ReductionOrder> fixed = getFixedOrder(op);
  return fixed ? *fixed : computeReductionOrder(op);
}

bool mlir::remat::hasFixedOrder(Operation *op) {
  return getFixedOrder(op).has_value();
}

void mlir::remat::fixReductionOrder(linalg::LinalgOp op) {
  if (!isParallel(op) && !hasFixedOrder(op))
    setOrder(op, computeReductionOrder(op));
}

void mlir::remat::keepReductionOrder(linalg::LinalgOp op,
                                     linalg::LinalgOp replacement) {
  ReductionOrder order = getReductionOrder(op);
  if (getReductionOrder(replacement) != order)
    setOrder(replacement, order);
}

void mlir::remat::fixAsRounded(linalg::LinalgOp op) {
  setOrder(op, ReductionOrder::RoundedProduct);
}

void mlir::remat::fixAdjointOrder(linalg::LinalgOp op, Operation *forward) {
  auto structured = dyn_cast<linalg::LinalgOp>(forward);
  if (isParallel(op) || hasFixedOrder(op))
    return;
  ReductionOrder order = computeReductionOrder(op);
  if (order == ReductionOrder::Product && structured && !isProduct(structured))
    order =
        reducesInnermost(op) ? ReductionOrder::Along : ReductionOrder::Across;
  setOrder(op, order);
}

bool mlir::remat::isProduct(linalg::LinalgOp op) {
  ReductionOrder order = getReductionOrder(op);
  return order == ReductionOrder::Product ||
         order == ReductionOrder::RoundedProduct;
}
