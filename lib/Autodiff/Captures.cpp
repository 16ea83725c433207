//===- Captures.cpp - Forward values that the backward reads --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Saving a constant, a view or a shape would cost memory that a policy cannot
// win back, so those are recomputed where they are read.
//===----------------------------------------------------------------------===//

#include "Captures.h"

#include "Adjoint.h"

#include "remat/Analysis/Cost.h"
#include "remat/Analysis/EqualValues.h"
#include "remat/Analysis/Sources.h"
#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

CaptureImporter::~CaptureImporter() = default;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

bool mlir::remat::isSmallerBefore(Operation *op) {
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>() != nullptr;
  return isa<tensor::EmptyOp, tensor::SplatOp, tensor::CastOp,
             tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) ||
         op->hasTrait<OpTrait::ConstantLike>();
}

/// Returns true if a slice needs no copy beside the tensor that it is cut from:
/// a function's argument is there anyway, and all slices that would be saved
/// may have as many elements as any other tensor that the backward can read.
/// The offsets are a few numbers, which may have to be saved.
bool CaptureImporter::isSmallerUncut(tensor::ExtractSliceOp slice) {
  if (!canRebuild(slice.getSource()))
    return false;
  Value source = lookThroughBorders(slice.getSource());
  while (isa_and_nonnull<tensor::CastOp, tensor::ExpandShapeOp,
                         tensor::CollapseShapeOp>(source.getDefiningOp()))
    source = lookThroughBorders(source.getDefiningOp()->getOperand(0));
  auto argument = dyn_cast<BlockArgument>(source);
  if (argument && isa<FunctionOpInterface>(argument.getOwner()->getParentOp()))
    return true;
  RankedTensorType cut = slice.getType(), whole = slice.getSourceType();
  std::optional<int64_t> count = countSaves();
  return count && cut.hasStaticShape() && whole.hasStaticShape() &&
         multiplySizes(cut.getShape(), *count) >= whole.getNumElements();
}

bool CaptureImporter::isHere(Value value) {
  return !isForeign(value) || isAvailable(value);
}

bool CaptureImporter::canRebuild(Value value) {
  auto isFreeResult = [](Value value) {
    Operation *op = value.getDefiningOp();
    return op && isFree(op);
  };
  return evaluateOnce<bool>(
      value, rebuildable,
      [&](Value value, SmallVectorImpl<Value> &sources) {
        if (!isHere(value) && isFreeResult(value))
          llvm::append_range(sources, value.getDefiningOp()->getOperands());
      },
      [&](Value value) {
        return isHere(value) ||
               (isFreeResult(value) &&
                llvm::all_of(
                    value.getDefiningOp()->getOperands(),
                    [&](Value operand) { return rebuildable.at(operand); }));
      });
}

/// Returns true if `value` is recomputed in the backward rather than saved.
bool CaptureImporter::isRebuilt(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isHere(value) || imported.contains(value))
    return false;
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  return isSmallerBefore(op) || canRebuild(value) ||
         (slice && isSmallerUncut(slice));
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// The dimension of a foreign tensor is read in the forward, so that its eight
/// bytes are saved rather than the tensor.
void CaptureImporter::hoistDims() {
  backward.walk([&](tensor::DimOp dim) {
    Value source = dim.getSource();
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!index || !isForeign(source) || isAvailable(source))
      return;
    OpBuilder builder(dim.getContext());
    builder.setInsertionPointAfterValue(source);
    Value early =
        builder.createOrFold<tensor::DimOp>(source.getLoc(), source, *index);
    dim.replaceAllUsesWith(early);
    dim.erase();
  });
}

Captures CaptureImporter::collect() {
  Captures captures;
  backward.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (isForeign(operand.get()))
        captures[operand.get()].push_back(&operand);
    return op->hasTrait<OpTrait::IsIsolatedFromAbove>() ? WalkResult::skip()
                                                        : WalkResult::advance();
  });
  return captures;
}

/// Clones `op`, which reads what can be imported, where `builder` stands.
Value CaptureImporter::rebuild(Operation *op, Value value, OpBuilder &builder) {
  IRMapping mapping;
  for (Value input : getInputs(op)) {
    Value local = import(input, builder);
    if (!local)
      return nullptr;
    mapping.map(input, local);
  }
  Operation *clone = builder.clone(*op, mapping);
  markBackward(clone);
  for (auto [result, local] :
       llvm::zip_equal(op->getResults(), clone->getResults()))
    imported.try_emplace(result, local);
  return imported[value];
}

/// A tape of an inner loop whose trip count changes has no size that is known
/// before the outer loop, so that the inner loop is recomputed; likewise for
/// other values.
Value CaptureImporter::recompute(Value value, OpBuilder &builder) {
  Operation *op = value.getDefiningOp(), *culprit = nullptr;
  if (!op || !effects.isReplayable(op, culprit)) {
    explain(value);
    return nullptr;
  }
  Value local = rebuild(op, value, builder);
  if (local)
    effects.eraseEffects(local.getDefiningOp());
  return local;
}

/// Imports `value`, after the values that it is recomputed from.
Value CaptureImporter::importOne(Value value, OpBuilder &builder) {
  if (!isForeign(value))
    return value;
  if (Value local = imported.lookup(value))
    return local;
  if (isRebuilt(value))
    return rebuild(value.getDefiningOp(), value, builder);
  Value local =
      isAvailable(value) ? makeAvailable(value) : save(value, builder);
  if (!local)
    return recompute(value, builder);
  return imported[value] = local;
}

Value CaptureImporter::import(Value root, OpBuilder &builder) {
  Value local;
  bool failed = false;
  walkSources(
      root,
      [&](Value value, SmallVectorImpl<Value> &sources) {
        if (isRebuilt(value))
          llvm::append_range(sources, getInputs(value.getDefiningOp()));
      },
      [&](Value value) {
        local = failed ? Value() : importOne(value, builder);
        failed |= !local;
      });
  return local;
}

LogicalResult CaptureImporter::run() {
  hoistDims();
  Captures captures = collect();
  for (auto &[value, uses] : captures) {
    // As late as possible: live ranges of recomputed values stay short.
    OpBuilder builder(
        backward.front().findAncestorOpInBlock(*uses.front()->getOwner()));
    Value local = import(value, builder);
    if (!local)
      return failure();
    for (OpOperand *use : uses)
      use->set(local);
  }
  return success();
}
