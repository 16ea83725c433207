//===- PlanOp.cpp - Decisions about residuals -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::remat;

void PlanOp::build(OpBuilder &builder, OperationState &state,
                   ValueRange residuals, ValueRange from,
                   ArrayRef<Attribute> decisions) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {static_cast<int32_t>(residuals.size()),
                                    static_cast<int32_t>(from.size())};
  properties.decisions = builder.getArrayAttr(decisions);
  state.addOperands(residuals);
  state.addOperands(from);
  state.addTypes(residuals.getTypes());
}

/// %s, %t from %a : f32, f32 from f32 [decisions]
ParseResult PlanOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> residuals, from;
  SmallVector<Type> types, fromTypes;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(residuals))
    return failure();
  bool recomputes = succeeded(parser.parseOptionalKeyword("from"));
  Properties &properties = result.getOrAddProperties<Properties>();
  if ((recomputes && parser.parseOperandList(from)) ||
      parser.parseColonTypeList(types) ||
      (recomputes &&
       (parser.parseKeyword("from") || parser.parseTypeList(fromTypes))) ||
      parser.parseAttribute(properties.decisions) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.resolveOperands(residuals, types, loc, result.operands) ||
      parser.resolveOperands(from, fromTypes, loc, result.operands))
    return failure();
  properties.operandSegmentSizes = {static_cast<int32_t>(residuals.size()),
                                    static_cast<int32_t>(from.size())};
  result.addTypes(types);
  return success();
}

void PlanOp::print(OpAsmPrinter &printer) {
  printer << " " << getResiduals();
  if (!getFrom().empty())
    printer << " from " << getFrom();
  printer << " : " << getResiduals().getTypes();
  if (!getFrom().empty())
    printer << " from " << getFrom().getTypes();
  printer << " " << getDecisions();
  printer.printOptionalAttrDict(
      (*this)->getAttrs(),
      {getOperandSegmentSizesAttrName(), getDecisionsAttrName()});
}

LogicalResult PlanOp::verify() {
  if (!isa<BackwardOp, FunctionOpInterface>((*this)->getParentOp()))
    return emitOpError() << "must stand in a remat.backward, or in the body of "
                            "a function";
  if (getResiduals().getTypes() != getResults().getTypes())
    return emitOpError() << "returns its residuals unchanged, but the types "
                            "differ";
  if (getDecisions().size() != getResiduals().size())
    return emitOpError() << "has " << getDecisions().size() << " decisions for "
                         << getResiduals().size()
                         << " residuals; give one for each residual";
  return success();
}

LogicalResult SavedOp::verify() {
  if (getDecision().runsAgain())
    return emitOpError() << "is about a value that is saved, but its decision "
                            "is to recompute it";
  return success();
}

/// Where nothing else uses the value, there is nothing to save.
LogicalResult SavedOp::canonicalize(SavedOp op, PatternRewriter &rewriter) {
  if (!op.getValue().hasOneUse())
    return failure();
  rewriter.eraseOp(op);
  return success();
}
