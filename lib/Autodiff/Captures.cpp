//===- Captures.cpp - Forward values that the backward reads --------------===//
//
// Saving a constant, a view or a shape would cost memory that a policy cannot
// win back, so those are rebuilt where they are read.
//
//===----------------------------------------------------------------------===//

#include "Captures.h"

#include "Adjoint.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::remat;

CaptureImporter::~CaptureImporter() = default;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// Whether saving the operands of `op` is always at least as good as saving its
/// result.
static bool isSmallerBefore(Operation *op) {
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>() != nullptr;
  return isa<tensor::EmptyOp, tensor::SplatOp, tensor::CastOp,
             tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op) ||
         op->hasTrait<OpTrait::ConstantLike>();
}

/// Whether `op` does so little that doing it again beats a load from memory.
static bool isCheap(Operation *op) {
  if (isSmallerBefore(op) ||
      isa<tensor::ExtractSliceOp, tensor::DimOp, affine::AffineApplyOp,
          affine::AffineMinOp, affine::AffineMaxOp, RngInitOp, RngFoldInOp>(op))
    return true;
  auto isScalar = [](Type type) { return type.isIntOrIndexOrFloat(); };
  return isa<arith::ArithDialect>(op->getDialect()) &&
         llvm::all_of(op->getOperandTypes(), isScalar) &&
         llvm::all_of(op->getResultTypes(), isScalar);
}

bool CaptureImporter::canRebuild(Value value) {
  if (!isForeign(value) || isAvailable(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !isCheap(op))
    return false;
  auto it = rebuildable.find(value);
  if (it != rebuildable.end())
    return it->second;
  bool result = llvm::all_of(
      op->getOperands(), [&](Value operand) { return canRebuild(operand); });
  return rebuildable[value] = result;
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

Value CaptureImporter::import(Value value, OpBuilder &builder) {
  if (!isForeign(value))
    return value;
  if (Value local = imported.lookup(value))
    return local;
  Operation *op = value.getDefiningOp();
  bool available = isAvailable(value);
  bool rebuild = op && !available && (isSmallerBefore(op) || canRebuild(value));
  Value local;
  if (rebuild) {
    IRMapping mapping;
    for (Value operand : op->getOperands()) {
      Value localOperand = import(operand, builder);
      if (!localOperand)
        return nullptr;
      mapping.map(operand, localOperand);
    }
    Operation *clone = builder.clone(*op, mapping);
    markBackward(clone);
    local = clone->getResult(cast<OpResult>(value).getResultNumber());
  } else {
    local = available ? makeAvailable(value, builder) : save(value, builder);
  }
  return imported[value] = local;
}

LogicalResult CaptureImporter::run() {
  hoistDims();
  Captures captures = collect();
  for (unsigned rank : {0, 1, 2}) {
    for (auto &[value, uses] : captures) {
      if (getRank(value) != rank)
        continue;
      // As late as possible: what is rebuilt need not live longer than it must.
      OpBuilder builder(
          backward.front().findAncestorOpInBlock(*uses.front()->getOwner()));
      Value local = import(value, builder);
      if (!local)
        return failure();
      for (OpOperand *use : uses)
        use->set(local);
    }
  }
  return success();
}
