//===- ScatterRows.cpp - What a scatter adds as a whole -------------------===//
//
// A dimension whose index is an argument of the body, where no other index
// depends on that argument.
//
//===----------------------------------------------------------------------===//

#include "ScatterRows.h"

#include "remat/Analysis/Activity.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::remat;

static ArrayRef<int64_t> getShape(Value value) {
  return cast<ShapedType>(value.getType()).getShape();
}

/// Whether dimension `dim` of the table may have all of dimension `row` of the
/// updates. Where it has not, there are no updates at run time.
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

ScatterRows mlir::remat::findScatterRows(ScatterAddOp op) {
  ScatterRows found;
  found.rowArgument.resize(op.getIndices().size());
  Block &body = op.getBody().front();
  SetVector<Value> rows;
  for (auto [dim, index] : llvm::enumerate(op.getIndices()))
    if (auto argument = dyn_cast<BlockArgument>(index);
        argument && argument.getOwner() == &body &&
        mayHaveRow(op, dim, argument.getArgNumber()) && rows.insert(argument))
      found.rowArgument[dim] = argument.getArgNumber();
  found.varying = findDependents(body, rows.getArrayRef());
  auto isVarying = [&](Value value) {
    return rows.contains(value) || found.varying.contains(value);
  };
  bool dependsOnRows = false;
  for (auto [dim, index] : llvm::enumerate(op.getIndices()))
    dependsOnRows |= !found.rowArgument[dim] && found.varying.contains(index);
  // What is asserted of each element is not known of a row.
  for (Operation &inner : body.without_terminator())
    dependsOnRows |= !isMemoryEffectFree(&inner) &&
                     llvm::any_of(inner.getOperands(), isVarying);
  if (dependsOnRows) {
    found.rowArgument.assign(found.rowArgument.size(), std::nullopt);
    rows.clear();
    found.varying.clear();
  }
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
