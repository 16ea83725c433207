//===- Concatenation.cpp - Concatenations written as branches -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StableHLO's lowering to linalg writes a concatenation as a kernel that
// selects the source of each element by a branch. The derivative of a
// concatenation is a slice for each part; that of a branch in a kernel would
// not even be one kernel.
//===----------------------------------------------------------------------===//

#include "Concatenation.h"

#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Transforms/Utils/Attributes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::linalg;

static bool isIndex(Value value, unsigned dim) {
  auto index = value.getDefiningOp<IndexOp>();
  return index && index.getDim() == dim;
}

/// Returns true if `value` is the index of `dim` minus `constant`, or that
/// index itself for 0.
static bool isIndexMinus(Value value, unsigned dim, int64_t constant) {
  if (constant == 0)
    return isIndex(value, dim);
  auto difference = value.getDefiningOp<arith::SubIOp>();
  return difference && isIndex(difference.getLhs(), dim) &&
         getConstantIntValue(difference.getRhs()) == constant;
}

/// Returns the tensor whose element at the loops' position, moved down by
/// `start` along `dim`, is `value`.
static Value getPart(Value value, unsigned dim, int64_t start,
                     RankedTensorType result) {
  auto extract = value.getDefiningOp<tensor::ExtractOp>();
  if (!extract)
    return {};
  RankedTensorType type = extract.getTensor().getType();
  if (type.getRank() != result.getRank() || type.isDynamicDim(dim))
    return {};
  for (auto [at, index] : llvm::enumerate(extract.getIndices())) {
    if (at != dim && type.getDimSize(at) != result.getDimSize(at))
      return {};
    if (!isIndexMinus(index, at, at == dim ? start : 0))
      return {};
  }
  return extract.getTensor();
}

bool remat::raiseConcatenation(RewriterBase &rewriter, GenericOp op) {
  if (op.getNumDpsInputs() != 0 || op.getNumResults() != 1 ||
      !op.hasPureTensorSemantics() || !isMemoryEffectFree(op) ||
      !isParallel(op) || !op.getIndexingMapsArray().front().isIdentity())
    return false;
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  Value element = op.getBlock()->getTerminator()->getOperand(0);
  std::optional<unsigned> dim;
  SmallVector<Value> parts;
  int64_t end = 0;
  while (auto branch = element.getDefiningOp<scf::IfOp>()) {
    auto isBefore = branch.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!isBefore || isBefore.getPredicate() != arith::CmpIPredicate::ult)
      return false;
    auto index = isBefore.getLhs().getDefiningOp<IndexOp>();
    if (!index || (dim && *dim != index.getDim()))
      return false;
    dim = index.getDim();
    unsigned number = cast<OpResult>(element).getResultNumber();
    Value part =
        getPart(branch.thenYield().getOperand(number), *dim, end, type);
    if (!part)
      return false;
    end += cast<RankedTensorType>(part.getType()).getDimSize(*dim);
    if (getConstantIntValue(isBefore.getRhs()) != end)
      return false;
    parts.push_back(part);
    element = branch.elseYield().getOperand(number);
  }
  Value last = dim ? getPart(element, *dim, end, type) : Value();
  if (!last)
    return false;
  end += cast<RankedTensorType>(last.getType()).getDimSize(*dim);
  if (end != type.getDimSize(*dim))
    return false;
  parts.push_back(last);
  auto concat =
      tensor::ConcatOp::create(rewriter, op.getLoc(), type, *dim, parts);
  remat::copyAttributes(op, concat);
  rewriter.replaceOp(op, concat);
  return true;
}
