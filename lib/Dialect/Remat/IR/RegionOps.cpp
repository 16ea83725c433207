//===- RegionOps.cpp - remat.region and remat.backward --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RegionOps.h"

#include "remat/Dialect/Remat/IR/Policies.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Shared by region and backward
//===----------------------------------------------------------------------===//

/// (%a = %x : type, ...). Returns the number of operands.
static FailureOr<int32_t>
parseInputs(OpAsmParser &parser, OperationState &result,
            SmallVectorImpl<OpAsmParser::Argument> &args,
            OpAsmParser::Delimiter delimiter = OpAsmParser::Delimiter::Paren) {
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  auto parseOne = [&]() -> ParseResult {
    OpAsmParser::Argument &arg = args.emplace_back();
    if (parser.parseArgument(arg) || parser.parseEqual() ||
        parser.parseOperand(operands.emplace_back()) ||
        parser.parseColonType(arg.type))
      return failure();
    types.push_back(arg.type);
    return success();
  };
  if (parser.parseCommaSeparatedList(delimiter, parseOne) ||
      parser.resolveOperands(operands, types, loc, result.operands))
    return failure();
  return operands.size();
}

static ParseResult parseTypeListOrNone(OpAsmParser &parser,
                                       SmallVectorImpl<Type> &types) {
  return failure(parser.parseOptionalArrow().succeeded() &&
                 parser.parseTypeList(types));
}

static void printInputs(OpAsmPrinter &printer, ValueRange arguments,
                        ValueRange operands) {
  printer << "(";
  llvm::interleaveComma(
      llvm::zip_equal(arguments, operands), printer, [&](auto pair) {
        auto [argument, operand] = pair;
        printer << argument << " = " << operand << " : " << operand.getType();
      });
  printer << ")";
}

static ParseResult
parseBodyAndAttributes(OpAsmParser &parser, OperationState &result,
                       ArrayRef<OpAsmParser::Argument> args) {
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, args))
    return failure();
  if (body->empty())
    return parser.emitError(parser.getNameLoc(), "expects a body");
  return success();
}

static void printBody(OpAsmPrinter &printer, Operation *op,
                      ArrayRef<StringRef> elided) {
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), elided);
  printer << " ";
  printer.printRegion(op->getRegion(0), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/true);
}

/// Both run their body once, on their operands, and return what it yields.
static void getSuccessors(Operation *op, RegionBranchPoint point,
                          SmallVectorImpl<RegionSuccessor> &successors) {
  if (point.isParent())
    successors.emplace_back(&op->getRegion(0), op->getRegion(0).getArguments());
  else
    successors.emplace_back(op, op->getResults());
}

//===----------------------------------------------------------------------===//
// RegionOp
//===----------------------------------------------------------------------===//

void RegionOp::build(OpBuilder &builder, OperationState &state,
                     TypeRange outputs, TypeRange residuals, ValueRange inputs,
                     Attribute policy) {
  state.addOperands(inputs);
  state.addTypes(outputs);
  state.addTypes(residuals);
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.resultSegmentSizes = {static_cast<int32_t>(outputs.size()),
                                   static_cast<int32_t>(residuals.size())};
  if (policy)
    properties.setPolicy(policy);
  Region *body = state.addRegion();
  Block *block = new Block();
  body->push_back(block);
  for (Value input : inputs)
    block->addArgument(input.getType(), input.getLoc());
}

PolicyAttrInterface RegionOp::getPolicyOrDefault() {
  if (std::optional<Attribute> policy = getPolicy())
    return cast<PolicyAttrInterface>(*policy);
  return NothingSaveableAttr::get(getContext());
}

bool RegionOp::preventsCSE(unsigned index) {
  std::optional<ArrayRef<bool>> flags = getPreventCse();
  return !flags || (*flags)[index];
}

YieldOp RegionOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

ParseResult RegionOp::parse(OpAsmParser &parser, OperationState &result) {
  Properties &properties = result.getOrAddProperties<Properties>();
  if (parser.parseOptionalKeyword("policy").succeeded()) {
    Attribute policy;
    SMLoc loc;
    if (parser.parseLParen() || parser.getCurrentLocation(&loc))
      return failure();
    OptionalParseResult parsed = parser.parseOptionalAttribute(policy);
    // Nothing that begins like an attribute: only the other way of asking lets
    // an editor complete it.
    if (!parsed.has_value() && parser.parseAttribute(policy))
      return parser.emitError(loc) << "expects a policy: " << listPolicies();
    if (parsed.has_value() && *parsed)
      return failure();
    if (parser.parseRParen())
      return failure();
    properties.setPolicy(policy);
  }
  SmallVector<OpAsmParser::Argument> args;
  SmallVector<Type> outputs, residuals;
  if (failed(parseInputs(parser, result, args)) ||
      parseTypeListOrNone(parser, outputs))
    return failure();
  if (parser.parseOptionalKeyword("residuals").succeeded() &&
      (parser.parseLParen() || parser.parseTypeList(residuals) ||
       parser.parseRParen()))
    return failure();
  result.addTypes(outputs);
  result.addTypes(residuals);
  properties.resultSegmentSizes = {static_cast<int32_t>(outputs.size()),
                                   static_cast<int32_t>(residuals.size())};
  if (parseBodyAndAttributes(parser, result, args))
    return failure();
  ensureTerminator(*result.regions.front(), parser.getBuilder(),
                   result.location);
  return success();
}

void RegionOp::print(OpAsmPrinter &printer) {
  if (std::optional<Attribute> policy = getPolicy())
    printer << " policy(" << *policy << ")";
  printer << " ";
  printInputs(printer, getBody().getArguments(), getInputs());
  if (!getOutputs().empty())
    printer << " -> " << getOutputs().getTypes();
  if (!getResiduals().empty())
    printer << " residuals(" << getResiduals().getTypes() << ")";
  printBody(printer, *this, {"policy", getResultSegmentSizeAttr()});
}

LogicalResult RegionOp::verifyRegions() {
  if (std::optional<Attribute> policy = getPolicy()) {
    if (!isa<PolicyAttrInterface>(*policy))
      return emitOpError() << "expects a policy, got " << *policy
                           << "; policies are " << listPolicies();
  }
  if (getYield().getOutputs().size() != getOutputs().size())
    return emitOpError() << "has " << getOutputs().size()
                         << " outputs, but its body yields "
                         << getYield().getOutputs().size();
  if (std::optional<ArrayRef<bool>> flags = getPreventCse())
    if (flags->size() != getInputs().size())
      return emitOpError() << "prevent_cse has " << flags->size()
                           << " entries for " << getInputs().size()
                           << " operands; give one for each operand";
  return success();
}

void RegionOp::getSuccessorRegions(
    RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &successors) {
  getSuccessors(*this, point, successors);
}

OperandRange RegionOp::getEntrySuccessorOperands(RegionSuccessor) {
  return getOperands();
}

void RegionOp::getRegionInvocationBounds(
    ArrayRef<Attribute>, SmallVectorImpl<InvocationBounds> &bounds) {
  bounds.emplace_back(1, 1);
}

//===----------------------------------------------------------------------===//
// BackwardOp
//===----------------------------------------------------------------------===//

YieldOp BackwardOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

Block::BlockArgListType BackwardOp::getInputArguments() {
  auto [first, size] = getODSOperandIndexAndLength(0);
  return getBody().getArguments().slice(first, size);
}
Block::BlockArgListType BackwardOp::getResidualArguments() {
  auto [first, size] = getODSOperandIndexAndLength(1);
  return getBody().getArguments().slice(first, size);
}
Block::BlockArgListType BackwardOp::getCotangentArguments() {
  auto [first, size] = getODSOperandIndexAndLength(2);
  return getBody().getArguments().slice(first, size);
}
Block::BlockArgListType BackwardOp::getSumArguments() {
  auto [first, size] = getODSOperandIndexAndLength(3);
  return getBody().getArguments().slice(first, size);
}

unsigned BackwardOp::getOperandGroup(unsigned index) {
  ArrayRef<int32_t> sizes = getProperties().operandSegmentSizes;
  unsigned group = 0;
  for (unsigned end = sizes[0]; index >= end; end += sizes[++group])
    ;
  return group;
}

static BlockArgument addToGroup(BackwardOp op, MutableOperandRange group,
                                Block::BlockArgListType arguments,
                                Value value) {
  for (auto [operand, argument] :
       llvm::zip_equal(OperandRange(group), arguments))
    if (operand == value)
      return argument;
  // The next group's arguments begin here.
  unsigned end = arguments.end() - op.getBody().args_begin();
  group.append(value);
  return op.getBody().insertArgument(end, value.getType(), value.getLoc());
}

BlockArgument BackwardOp::addInput(Value value) {
  return addToGroup(*this, getInputsMutable(), getInputArguments(), value);
}
BlockArgument BackwardOp::addResidual(Value value) {
  return addToGroup(*this, getResidualsMutable(), getResidualArguments(),
                    value);
}
BlockArgument BackwardOp::addCotangent(Value value) {
  return addToGroup(*this, getCotangentsMutable(), getCotangentArguments(),
                    value);
}

static constexpr StringLiteral kGroups[] = {"residuals", "cotangents", "sums"};

ParseResult BackwardOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> args;
  SmallVector<Type> outputs;
  std::array<int32_t, 4> &sizes =
      result.getOrAddProperties<Properties>().operandSegmentSizes;
  FailureOr<int32_t> size =
      parseInputs(parser, result, args, OpAsmParser::Delimiter::OptionalParen);
  if (failed(size))
    return failure();
  sizes = {*size, 0, 0, 0};
  for (auto [index, keyword] : llvm::enumerate(kGroups)) {
    if (parser.parseOptionalKeyword(keyword))
      continue;
    size = parseInputs(parser, result, args);
    if (failed(size))
      return failure();
    sizes[index + 1] = *size;
  }
  if (parseTypeListOrNone(parser, outputs))
    return failure();
  result.addTypes(outputs);
  if (parseBodyAndAttributes(parser, result, args))
    return failure();
  ensureTerminator(*result.regions.front(), parser.getBuilder(),
                   result.location);
  return success();
}

void BackwardOp::print(OpAsmPrinter &printer) {
  auto printGroup = [&](StringRef keyword, ValueRange arguments,
                        ValueRange operands) {
    if (operands.empty())
      return;
    printer << " " << keyword;
    printInputs(printer, arguments, operands);
  };
  printGroup("", getInputArguments(), getInputs());
  printGroup(kGroups[0], getResidualArguments(), getResiduals());
  printGroup(kGroups[1], getCotangentArguments(), getCotangents());
  printGroup(kGroups[2], getSumArguments(), getSums());
  if (!getOutputs().empty())
    printer << " -> " << getOutputs().getTypes();
  printBody(printer, *this, {getOperandSegmentSizeAttr()});
}

BlockArgument
mlir::remat::findSumWithoutResult(BackwardOp op,
                                  const llvm::BitVector &dropped) {
  llvm::SmallDenseMap<Type, unsigned> returned;
  for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
    if (dropped.empty() || !dropped.test(index))
      ++returned[type];
  for (BlockArgument sum : op.getSumArguments())
    if (returned[sum.getType()]-- == 0)
      return sum;
  return {};
}

LogicalResult BackwardOp::verifyRegions() {
  if (!getYield().getResiduals().empty())
    return emitOpError() << "yields residuals; only a remat.region has them";
  if (getCotangents().empty())
    return emitOpError() << "has no cotangent, for which a recompute would "
                            "wait; pass one of an output of its region, even "
                            "if the body does not read it";
  if (BlockArgument sum = findSumWithoutResult(*this))
    return emitOpError() << "adds to a sum of type " << sum.getType()
                         << ", but has no result of that type to return it; "
                            "pass as 'sums' what comes back as a result only";
  return success();
}

void BackwardOp::getSuccessorRegions(
    RegionBranchPoint point, SmallVectorImpl<RegionSuccessor> &successors) {
  getSuccessors(*this, point, successors);
}

OperandRange BackwardOp::getEntrySuccessorOperands(RegionSuccessor) {
  return getOperands();
}

void BackwardOp::getRegionInvocationBounds(
    ArrayRef<Attribute>, SmallVectorImpl<InvocationBounds> &bounds) {
  bounds.emplace_back(1, 1);
}
