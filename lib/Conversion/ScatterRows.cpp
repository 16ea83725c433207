//===- ScatterRows.cpp - What a scatter adds as a whole -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dimensions whose index is an argument of the body on which no other index
// depends.
//===----------------------------------------------------------------------===//

#include "ScatterRows.h"

#include "remat/Analysis/Activity.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::remat;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

/// Returns true if dimension `dim` of the table may have all of dimension `row`
/// of the updates. Where it has not, there are no updates at run time.
static bool mayHaveRow(ScatterAddOp op, unsigned dim, unsigned row) {
  int64_t size = getShape(op.getInit())[dim],
          rowSize = getShape(op.getUpdates())[row];
  return ShapedType::isDynamic(size) || ShapedType::isDynamic(rowSize) ||
         rowSize <= size;
}

bool mlir::remat::isEmptyScatter(ScatterAddOp op) {
  return llvm::is_contained(getShape(op.getUpdates()), 0) ||
         llvm::is_contained(getShape(op.getInit()), 0);
}

static SmallVector<std::optional<unsigned>> findOwnArguments(ScatterAddOp op) {
  SmallVector<std::optional<unsigned>> found(op.getIndices().size());
  Block *body = &op.getBody().front();
  DenseSet<Value> arguments;
  for (auto [dim, index] : llvm::enumerate(op.getIndices()))
    if (auto argument = dyn_cast<BlockArgument>(index);
        argument && argument.getOwner() == body &&
        mayHaveRow(op, dim, argument.getArgNumber()) &&
        arguments.insert(argument).second)
      found[dim] = argument.getArgNumber();
  return found;
}

/// Returns true if nothing but the index that `argument` itself is depends on
/// it. An assertion about each element is not known to hold for a row.
static bool isOfRows(ScatterAddOp op, BlockArgument argument) {
  Block &body = op.getBody().front();
  DenseSet<Value> varying = findDependents(body, {argument});
  auto isVarying = [&](Value value) { return varying.contains(value); };
  return llvm::count_if(op.getIndices(), isVarying) == 1 &&
         llvm::none_of(body.without_terminator(), [&](Operation &inner) {
           return !isMemoryEffectFree(&inner) &&
                  llvm::any_of(inner.getOperands(), isVarying);
         });
}

ScatterRows mlir::remat::findScatterRows(ScatterAddOp op) {
  ScatterRows found;
  found.ownArgument = findOwnArguments(op);
  found.rowArgument = found.ownArgument;
  Block &body = op.getBody().front();
  SetVector<Value> rows;
  for (std::optional<unsigned> &argument : found.rowArgument) {
    if (!argument)
      continue;
    if (isOfRows(op, body.getArgument(*argument)))
      rows.insert(body.getArgument(*argument));
    else
      argument = std::nullopt;
  }
  found.varying = findDependents(body, rows.getArrayRef());
  for (BlockArgument argument : body.getArguments())
    if (!rows.contains(argument))
      found.outer.push_back(argument.getArgNumber());
  return found;
}

SmallVector<Value> mlir::remat::computeScatterIndices(OpBuilder &builder,
                                                      ScatterAddOp op,
                                                      const ScatterRows &rows,
                                                      ValueRange position,
                                                      IRMapping mapping) {
  for (Value value : rows.varying)
    mapping.map(value, value);
  return op.computeIndices(builder, position, mapping);
}

Value mlir::remat::widenUpdate(OpBuilder &builder, ScatterAddOp op,
                               Value element) {
  Type type = getElementTypeOrSelf(op.getInit());
  if (element.getType() == type)
    return element;
  return arith::ExtFOp::create(builder, op.getLoc(), type, element);
}
