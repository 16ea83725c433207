//===- LossHead.cpp - A product that is read row by row -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LossHead.h"
#include "remat/Transforms/Match/Copies.h"

#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

//===----------------------------------------------------------------------===//
// From the logits on
//===----------------------------------------------------------------------===//

std::optional<RowShape> mlir::remat::findRows(LinalgOp product,
                                              OpOperand *activations) {
  OpOperand *weights =
      product.getDpsInputOperand(1 - activations->getOperandNumber());
  OpOperand *init = product.getDpsInitOperand(0);
  AffineMap result = product.getMatchingIndexingMap(init);
  AffineMap rows = product.getMatchingIndexingMap(activations);
  AffineMap columns = product.getMatchingIndexingMap(weights);
  SmallVector<int64_t> loopSizes = product.getStaticLoopRanges();
  if (!result.isProjectedPermutation(/*allowZeroInResults=*/true) ||
      !rows.isProjectedPermutation(/*allowZeroInResults=*/true))
    return std::nullopt;
  // In the order of the activations, of which a part is to be contiguous.
  SmallVector<unsigned> rowLoops;
  SmallVector<int64_t> sizes;
  for (AffineExpr expr : rows.getResults()) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop || !result.isFunctionOfDim(loop.getPosition()) ||
        loopSizes[loop.getPosition()] == 1)
      continue;
    if (columns.isFunctionOfDim(loop.getPosition()))
      return std::nullopt;
    rowLoops.push_back(loop.getPosition());
    sizes.push_back(loopSizes[loop.getPosition()]);
  }
  if (rowLoops.empty())
    return std::nullopt;
  RowShape rowDims = makeRowDims(sizes);
  RowShape shape;
  for (AffineExpr expr : result.getResults()) {
    auto loop = dyn_cast<AffineDimExpr>(expr);
    auto found =
        loop ? llvm::find(rowLoops, loop.getPosition()) : rowLoops.end();
    shape.push_back(
        found == rowLoops.end() ? RowDim() : rowDims[found - rowLoops.begin()]);
  }
  return shape;
}

/// At most `kSizeLimit`.
static int64_t countElements(Value tensor) {
  return multiplySizes(cast<RankedTensorType>(tensor.getType()).getShape());
}

bool LossHead::setProductShape() {
  std::optional<RowShape> shape = findRows(product, activations);
  if (!shape)
    return false;
  Value logits = product->getResult(0);
  int64_t count = countElements(logits);
  if (count == 0 || count == kSizeLimit)
    return false;
  int64_t numColumns = countColumns(logits, *shape);
  numRows = count / numColumns;
  maxNarrow = numColumns / 16;
  // A number for each row would be as wide as the logits.
  if (maxNarrow == 0)
    return false;
  maxKept =
      std::max(numColumns / 2, countElements(activations->get()) / numRows);
  shapes.set(logits, *shape);
  dependent.insert(product);
  return true;
}

void LossHead::followLogits() {
  DenseSet<Value> values(llvm::from_range, product->getResults());
  for (Operation *op = product->getNextNode(); op; op = op->getNextNode()) {
    if (llvm::none_of(getInputs(op),
                      [&](Value value) { return values.contains(value); }))
      continue;
    dependent.insert(op);
    values.insert_range(op->getResults());
    std::string reason;
    if (succeeded(shapes.inferResults(op, reason))) {
      // A layer of a network, not its end.
      if (!isDot(op) || llvm::none_of(op->getResults(), [&](Value value) {
            return isWide(value);
          }))
        continue;
      for (Value result : op->getResults())
        shapes.erase(result);
      reason = "another product reads them";
    }
    reasons[op] = std::move(reason);
    auto kernel = dyn_cast<linalg::GenericOp>(op);
    FailureOr<RowShape> loops = failure();
    if (kernel && kernel.hasPureTensorSemantics())
      loops = shapes.getLoops(kernel);
    if (succeeded(loops) && isSumOverRows(kernel, *loops))
      sums.push_back(kernel);
  }
}

/// Returns true if `value` has so many elements for each row that it should not
/// exist for all of them.
bool LossHead::isWide(Value value) const {
  const RowShape *shape = shapes.get(value);
  return shape && hasRows(*shape) && countColumns(value, *shape) > maxNarrow;
}

/// Returns true if the body of `sum` computes the terms that it adds.
static bool hasComputedTerm(linalg::GenericOp sum) {
  Operation *add =
      sum.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  return !llvm::all_of(add->getOperands(), llvm::IsaPred<BlockArgument>);
}

/// The operations between the logits and the last one that reads anything
/// wide. False if one of these does not compute by rows.
bool LossHead::chooseMembers(Refusal &refusal) {
  auto isWideValue = [&](Value value) { return isWide(value); };
  bool endsInRows = false;
  Refusal first;
  for (Operation *op : llvm::reverse(dependent)) {
    bool readsWide = llvm::any_of(getInputs(op), isWideValue);
    bool isSum = llvm::is_contained(sums, op);
    bool leadsToWide = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return members.contains(op->getBlock()->findAncestorOpInBlock(*user));
    });
    if (isSum && !readsWide && !hasComputedTerm(cast<linalg::GenericOp>(op)))
      llvm::erase(sums, op);
    if (!readsWide && !leadsToWide && op != product)
      continue;
    endsInRows |= readsWide && llvm::none_of(op->getResults(), isWideValue) &&
                  (isSum || !reasons.contains(op));
    if (isSum && !leadsToWide) {
      members.insert(op);
      continue;
    }
    if (auto found = reasons.find(op); found != reasons.end()) {
      if (!first.op)
        first = {op, readsWide ? found->second
                               : "each row reads what is computed from "
                                 "all of them: " +
                                     found->second};
      // Operations before it may look like a loss all the same.
      continue;
    }
    members.insert(op);
  }
  if (endsInRows && first.op)
    refusal = first;
  if (!endsInRows || first.op)
    return false;
  addLossOfRows();
  return true;
}

/// Adds operations on a few numbers of each row, up to sums over rows: the loss
/// of a row is less to keep, and its cotangent more often a constant.
void LossHead::addLossOfRows() {
  for (Operation *op : dependent) {
    if (members.contains(op))
      continue;
    if (!isMemoryEffectFree(op))
      return;
    if ((!isParallel(op) && !isTensorReshape(op)) || reasons.contains(op) ||
        llvm::any_of(getInputs(op), [&](Value input) {
          Operation *producer = input.getDefiningOp();
          return dependent.contains(producer) && !members.contains(producer);
        }))
      continue;
    members.insert(op);
  }
}

//===----------------------------------------------------------------------===//
// Other operands
//===----------------------------------------------------------------------===//

bool LossHead::usesOnlyMembers(Operation *op) const {
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    return members.contains(op->getBlock()->findAncestorOpInBlock(*user));
  });
}

/// Returns true if `op`, all of whose users among the members read the same
/// rows, is to be computed with them.
bool LossHead::shouldAddProducer(Operation *op) const {
  if (!shapes.canComputeByRows(op))
    return false;
  if (isa<tensor::EmptyOp, linalg::FillOp>(op))
    return true;
  if (!isParallel(op) && !usesOnlyMembers(op))
    return false;
  return isLarge(op->getResult(0)) || readsLarge(op);
}

/// Returns true if `value`, if it has rows, has more elements for each than may
/// exist for all rows.
bool LossHead::isLarge(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() &&
         countElements(value) > multiplySizes({numRows, maxKept});
}

/// Returns true if `op` has a large operand, also through operations whose
/// results have no more than a number for each row.
bool LossHead::readsLarge(Operation *op) const {
  llvm::SetVector<Operation *> ops;
  ops.insert(op);
  for (unsigned next = 0; next < ops.size(); ++next)
    for (Value operand : ops[next]->getOperands()) {
      if (isLarge(operand))
        return true;
      Operation *producer = operand.getDefiningOp();
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (producer && producer->getBlock() == op->getBlock() && type &&
          type.hasStaticShape() && countElements(operand) <= numRows &&
          isMemoryEffectFree(producer))
        ops.insert(producer);
    }
  return false;
}

/// Adds the producers of wide operands: one-hot labels, broadcasts, the logits
/// of another model. They are computed twice only where that is cheap.
void LossHead::addProducers() {
  Operation *last = product;
  for (Operation *op : dependent)
    if (members.contains(op))
      last = op;
  // How members read values of other operations; std::nullopt if they do not
  // agree, or if one of them reads all of it.
  DenseMap<Value, std::optional<RowShape>> wanted;
  auto want = [&](Value value, FailureOr<RowShape> read) {
    if (shapes.get(value))
      return;
    std::optional<RowShape> rows;
    if (succeeded(read) && hasRows(*read))
      rows = std::move(*read);
    auto [known, isNew] = wanted.try_emplace(value, rows);
    if (!isNew && known->second != rows)
      known->second.reset();
  };
  for (Operation *op = last; op; op = op->getPrevNode()) {
    if (!members.contains(op)) {
      if (dependent.contains(op) || op->getNumResults() != 1)
        continue;
      Value result = op->getResult(0);
      auto shape = wanted.find(result);
      if (shape == wanted.end() || !shape->second)
        continue;
      shapes.set(result, *shape->second);
      if (!shouldAddProducer(op)) {
        shapes.erase(result);
        continue;
      }
      members.insert(op);
    }
    for (OpOperand &operand : op->getOpOperands())
      want(operand.get(), shapes.getRead(operand));
    op->walk([&](tensor::ExtractOp extract) {
      want(extract.getTensor(), shapes.getPicked(extract));
    });
  }
}

bool LossHead::find(Refusal &refusal) {
  if (!setProductShape())
    return false;
  followLogits();
  if (!chooseMembers(refusal))
    return false;
  if (!sums.empty())
    return true;
  addProducers();
  for (Operation &op : *product->getBlock())
    if (members.contains(&op))
      ops.push_back(&op);
  return true;
}

//===----------------------------------------------------------------------===//
// Its borders
//===----------------------------------------------------------------------===//

SmallVector<OpResult> LossHead::getResults() const {
  SmallVector<OpResult> results;
  for (Operation *op : ops)
    if (dependent.contains(op))
      for (OpResult result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return !members.contains(
                  op->getBlock()->findAncestorOpInBlock(*user));
            }))
          results.push_back(result);
  return results;
}

SmallVector<Operation *> LossHead::getOpsBehind() const {
  return llvm::filter_to_vector(dependent, [&](Operation *op) {
    return !members.contains(op) && op->isBeforeInBlock(ops.back());
  });
}

std::optional<SmallVector<int64_t>> LossHead::getRowSizes() const {
  llvm::SmallSetVector<int64_t, 8> borders;
  borders.insert(1);
  borders.insert(numRows);
  auto add = [&](ArrayRef<RowDim> shape) {
    for (RowDim dim : shape)
      if (dim.isRow()) {
        borders.insert(dim.outer);
        borders.insert(dim.inner);
      }
  };
  for (Operation *op : ops) {
    for (OpOperand &operand : op->getOpOperands())
      if (FailureOr<RowShape> read = shapes.getRead(operand); succeeded(read))
        add(*read);
    for (Value result : op->getResults())
      add(*shapes.get(result));
  }
  SmallVector<int64_t> sorted = borders.takeVector();
  llvm::sort(sorted, std::greater<>());
  SmallVector<int64_t> sizes;
  for (auto [outer, inner] : llvm::zip(sorted, llvm::drop_begin(sorted))) {
    if (outer % inner != 0)
      return std::nullopt;
    sizes.push_back(outer / inner);
  }
  return sizes;
}
