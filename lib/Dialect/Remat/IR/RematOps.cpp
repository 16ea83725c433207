//===- RematOps.cpp - Operations of the remat dialect ---------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::remat;

#define GET_OP_CLASSES
#include "remat/Dialect/Remat/IR/RematOps.cpp.inc"

static constexpr StringLiteral kPolicyChoices =
    "nothing_saveable, everything_saveable, dots_saveable, "
    "dots_with_no_batch_dims_saveable, save_only_names<...>, "
    "save_any_names_but<...>, save_anything_except_names<...>, "
    "offload_names<...>, offload_dots, every_k<k>, any_of<...>";

//===----------------------------------------------------------------------===//
// Assembly shared by region and backward
//===----------------------------------------------------------------------===//

/// (%a = %x : type, ...)
static ParseResult parseInputs(OpAsmParser &parser, OperationState &result,
                               SmallVectorImpl<OpAsmParser::Argument> &args) {
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
  return failure(parser.parseCommaSeparatedList(
                     OpAsmParser::Delimiter::Paren, parseOne) ||
                 parser.resolveOperands(operands, types, loc, result.operands));
}

static ParseResult parseTypeListOrNone(OpAsmParser &parser,
                                       SmallVectorImpl<Type> &types) {
  return failure(parser.parseOptionalArrow().succeeded() &&
                 parser.parseTypeList(types));
}

static void printInputs(OpAsmPrinter &printer, Operation *op) {
  printer << "(";
  llvm::interleaveComma(
      llvm::zip_equal(op->getRegion(0).getArguments(), op->getOperands()),
      printer, [&](auto pair) {
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

static LogicalResult verifyInputs(Operation *op) {
  Block &body = op->getRegion(0).front();
  if (body.getNumArguments() != op->getNumOperands())
    return op->emitOpError() << "has " << op->getNumOperands()
                             << " operands, but its body takes "
                             << body.getNumArguments() << " arguments";
  for (auto [index, pair] : llvm::enumerate(
           llvm::zip(body.getArgumentTypes(), op->getOperandTypes())))
    if (std::get<0>(pair) != std::get<1>(pair))
      return op->emitOpError()
             << "operand " << index << " has type " << std::get<1>(pair)
             << ", but the body's argument has type " << std::get<0>(pair);
  return success();
}

static LogicalResult verifyYielded(Operation *op, StringRef kind,
                                   OperandRange yielded, ResultRange results) {
  if (yielded.size() != results.size())
    return op->emitOpError() << "has " << results.size() << " " << kind
                             << ", but its body yields " << yielded.size();
  for (auto [index, pair] : llvm::enumerate(llvm::zip(yielded, results)))
    if (std::get<0>(pair).getType() != std::get<1>(pair).getType())
      return op->emitOpError()
             << kind << " " << index << " has type "
             << std::get<1>(pair).getType() << ", but the body yields "
             << std::get<0>(pair).getType();
  return success();
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
    if (parser.parseLParen() || parser.parseAttribute(policy) ||
        parser.parseRParen())
      return failure();
    properties.setPolicy(policy);
  }
  SmallVector<OpAsmParser::Argument> args;
  SmallVector<Type> outputs, residuals;
  if (parseInputs(parser, result, args) ||
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
  printInputs(printer, *this);
  if (!getOutputs().empty())
    printer << " -> " << getOutputs().getTypes();
  if (!getResiduals().empty())
    printer << " residuals(" << getResiduals().getTypes() << ")";
  printBody(printer, *this, {"policy", getResultSegmentSizeAttr()});
}

/// Names that `names` asks for and no `remat.name` below `op` carries.
static LogicalResult verifyNamesExist(RegionOp op,
                                      PolicyAttrInterface policy) {
  SmallVector<StringAttr> names;
  policy.collectNames(names);
  if (names.empty())
    return success();
  SmallVector<NameOp> present;
  bool hasCalls = false;
  op.getBody().walk([&](Operation *inner) {
    if (auto name = dyn_cast<NameOp>(inner))
      present.push_back(name);
    hasCalls |= inner->getName().getStringRef() == "func.call";
  });
  // A called function may carry the name.
  if (hasCalls)
    return success();
  for (StringAttr name : names) {
    if (llvm::any_of(present, [&](NameOp candidate) {
          return candidate.getNameAttr() == name;
        }))
      continue;
    InFlightDiagnostic diagnostic =
        op.emitOpError() << "policy names " << name
                         << ", but no remat.name in this region carries it";
    NameOp nearest;
    unsigned best = ~0u;
    for (NameOp candidate : present) {
      unsigned distance =
          name.getValue().edit_distance(candidate.getName(), true);
      if (distance < best) {
        best = distance;
        nearest = candidate;
      }
    }
    if (nearest)
      diagnostic.attachNote(nearest.getLoc())
          << "the nearest name is " << nearest.getNameAttr();
    return diagnostic;
  }
  return success();
}

LogicalResult RegionOp::verify() {
  if (std::optional<Attribute> policy = getPolicy()) {
    if (!isa<PolicyAttrInterface>(*policy))
      return emitOpError() << "expects a policy, got " << *policy
                           << "; policies are " << kPolicyChoices;
  }
  if (failed(verifyInputs(*this)) ||
      failed(verifyYielded(*this, "outputs", getYield().getOutputs(),
                           getOutputs())) ||
      failed(verifyYielded(*this, "residuals", getYield().getResiduals(),
                           getResiduals())))
    return failure();
  if (std::optional<ArrayRef<bool>> flags = getPreventCse())
    if (flags->size() != getInputs().size())
      return emitOpError() << "prevent_cse has " << flags->size()
                           << " entries for " << getInputs().size()
                           << " operands; give one for each operand";
  for (OpResult residual : getResiduals())
    for (Operation *user : residual.getUsers())
      if (isa<RegionOp>(user) &&
          user->getParentOp() == (*this)->getParentOp())
        return emitOpError()
               << "residual " << residual.getResultNumber() - getOutputs().size()
               << " is read by another region; only a backward may read it";
  return verifyNamesExist(*this, getPolicyOrDefault());
}

namespace {
/// Drops operands whose block argument nobody reads, so that they do not stay
/// alive until the backward.
template <typename OpTy>
struct DropUnusedInputs : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Block *body = op.getBodyBlock();
    llvm::BitVector unused(body->getNumArguments());
    for (BlockArgument argument : body->getArguments())
      if (argument.use_empty())
        unused.set(argument.getArgNumber());
    if (unused.none())
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      if constexpr (std::is_same_v<OpTy, RegionOp>) {
        if (std::optional<ArrayRef<bool>> flags = op.getPreventCse()) {
          SmallVector<bool> kept;
          for (auto [index, flag] : llvm::enumerate(*flags))
            if (!unused.test(index))
              kept.push_back(flag);
          op.setPreventCse(kept);
        }
      }
      op->eraseOperands(unused);
      body->eraseArguments(unused);
    });
    return success();
  }
};

/// Drops outputs and residuals that nobody reads: dead outputs cost nothing.
template <typename OpTy>
struct DropDeadResults : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    if (llvm::none_of(op->getResults(),
                      [](OpResult result) { return result.use_empty(); }) ||
        op->use_empty())
      return failure();
    YieldOp yield = op.getYield();
    SmallVector<Value> outputs, residuals;
    SmallVector<Value> kept;
    int32_t keptOutputs = 0, numOutputs = op.getOutputs().size();
    for (OpResult result : op->getResults()) {
      if (result.use_empty())
        continue;
      bool isOutput = static_cast<int32_t>(result.getResultNumber()) < numOutputs;
      keptOutputs += isOutput;
      (isOutput ? outputs : residuals)
          .push_back(yield->getOperand(result.getResultNumber()));
      kept.push_back(result);
    }
    OperationState state(op.getLoc(), op->getName());
    state.addOperands(op->getOperands());
    state.addTypes(ValueRange(kept).getTypes());
    state.attributes = op->getDiscardableAttrDictionary();
    state.propertiesAttr = Attribute();
    state.getOrAddProperties<typename OpTy::Properties>() = op.getProperties();
    if constexpr (std::is_same_v<OpTy, RegionOp>)
      state.getOrAddProperties<typename OpTy::Properties>().resultSegmentSizes =
          {keptOutputs, static_cast<int32_t>(kept.size()) - keptOutputs};
    state.addRegion();
    Operation *slim = rewriter.create(state);
    rewriter.inlineRegionBefore(op.getBody(), slim->getRegion(0),
                                slim->getRegion(0).end());
    rewriter.setInsertionPoint(yield);
    rewriter.replaceOpWithNewOp<YieldOp>(yield, outputs, residuals);
    for (auto [from, to] : llvm::zip_equal(kept, slim->getResults()))
      rewriter.replaceAllUsesWith(from, to);
    rewriter.eraseOp(op);
    return success();
  }
};

/// Feeds a value that is passed twice through one argument.
template <typename OpTy>
struct MergeEqualInputs : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Block *body = op.getBodyBlock();
    bool changed = false;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      for (unsigned earlier = 0; earlier < index; ++earlier) {
        if (op->getOperand(earlier) != operand ||
            body->getArgument(index).use_empty())
          continue;
        if constexpr (std::is_same_v<OpTy, RegionOp>)
          if (op.preventsCSE(earlier) != op.preventsCSE(index))
            continue;
        rewriter.replaceAllUsesWith(body->getArgument(index),
                                    body->getArgument(earlier));
        changed = true;
        break;
      }
    }
    return success(changed);
  }
};
} // namespace

void RegionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<DropUnusedInputs<RegionOp>, DropDeadResults<RegionOp>,
               MergeEqualInputs<RegionOp>>(context);
}

//===----------------------------------------------------------------------===//
// BackwardOp
//===----------------------------------------------------------------------===//

YieldOp BackwardOp::getYield() {
  return cast<YieldOp>(getBody().front().getTerminator());
}

ParseResult BackwardOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> args;
  SmallVector<Type> outputs;
  if (parseInputs(parser, result, args) ||
      parseTypeListOrNone(parser, outputs))
    return failure();
  result.addTypes(outputs);
  if (parseBodyAndAttributes(parser, result, args))
    return failure();
  ensureTerminator(*result.regions.front(), parser.getBuilder(),
                   result.location);
  return success();
}

void BackwardOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printInputs(printer, *this);
  if (!getOutputs().empty())
    printer << " -> " << getOutputs().getTypes();
  printBody(printer, *this, {});
}

LogicalResult BackwardOp::verify() {
  if (!getYield().getResiduals().empty())
    return emitOpError() << "yields residuals; only a remat.region has them";
  return failure(failed(verifyInputs(*this)) ||
                 failed(verifyYielded(*this, "results",
                                      getYield().getOutputs(), getOutputs())));
}

void BackwardOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<DropUnusedInputs<BackwardOp>, DropDeadResults<BackwardOp>,
               MergeEqualInputs<BackwardOp>>(context);
}

//===----------------------------------------------------------------------===//
// NameOp, BarrierOp
//===----------------------------------------------------------------------===//

LogicalResult NameOp::verify() {
  if (getName().empty())
    return emitOpError() << "the name is empty";
  return success();
}

void BarrierOp::build(OpBuilder &builder, OperationState &state,
                      ValueRange values, ValueRange after) {
  Properties &properties = state.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {static_cast<int32_t>(values.size()),
                                    static_cast<int32_t>(after.size())};
  state.addOperands(values);
  state.addOperands(after);
  state.addTypes(values.getTypes());
}

ParseResult BarrierOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> values, after;
  SmallVector<Type> valueTypes, afterTypes;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(values) || parser.parseKeyword("after") ||
      parser.parseOperandList(after) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonTypeList(valueTypes) || parser.parseKeyword("after") ||
      parser.parseTypeList(afterTypes) ||
      parser.resolveOperands(values, valueTypes, loc, result.operands) ||
      parser.resolveOperands(after, afterTypes, loc, result.operands))
    return failure();
  Properties &properties = result.getOrAddProperties<Properties>();
  properties.operandSegmentSizes = {static_cast<int32_t>(values.size()),
                                    static_cast<int32_t>(after.size())};
  result.addTypes(valueTypes);
  return success();
}

void BarrierOp::print(OpAsmPrinter &printer) {
  printer << " " << getValues() << " after " << getAfter();
  printer.printOptionalAttrDict((*this)->getAttrs(),
                                {getOperandSegmentSizeAttr()});
  printer << " : " << getValues().getTypes() << " after "
          << getAfter().getTypes();
}

LogicalResult BarrierOp::verify() {
  if (getValues().empty() || getAfter().empty())
    return emitOpError() << "needs at least one value and one value to wait for";
  if (getValues().getTypes() != getResults().getTypes())
    return emitOpError() << "returns its values unchanged, but the types differ";
  return success();
}

//===----------------------------------------------------------------------===//
// Tapes
//===----------------------------------------------------------------------===//

/// A tape of values of type T is a tensor of T, or of T's elements with one
/// more leading dimension where T is a tensor.
static LogicalResult verifyTape(Operation *op, RankedTensorType tape,
                                Type value) {
  if (tape.getRank() >= 1) {
    if (auto tensor = dyn_cast<RankedTensorType>(value)) {
      if (tape.getElementType() == tensor.getElementType() &&
          tape.getShape().drop_front() == tensor.getShape())
        return success();
    } else if (tape.getRank() == 1 && tape.getElementType() == value) {
      return success();
    }
  }
  return op->emitOpError() << "a tape of " << value
                           << " has one more leading dimension, got " << tape;
}

LogicalResult TapeWriteOp::verify() {
  return verifyTape(*this, cast<RankedTensorType>(getTape().getType()),
                    getValue().getType());
}

LogicalResult TapeReadOp::verify() {
  return verifyTape(*this, cast<RankedTensorType>(getTape().getType()),
                    getValue().getType());
}

//===----------------------------------------------------------------------===//
// Randomness
//===----------------------------------------------------------------------===//

static LogicalResult verifyRandom(Operation *op, RankedTensorType type,
                                  ValueRange sizes, bool isElementOk,
                                  StringRef elements) {
  if (!isElementOk)
    return op->emitOpError() << "draws " << elements << ", not "
                             << type.getElementType();
  if (sizes.size() != static_cast<size_t>(type.getNumDynamicDims()))
    return op->emitOpError() << "has " << sizes.size() << " sizes for "
                             << type.getNumDynamicDims()
                             << " dynamic dimensions";
  return success();
}

LogicalResult RandomBitsOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  return verifyRandom(*this, type, getSizes(),
                      type.getElementType().isSignlessInteger(8) ||
                          type.getElementType().isSignlessInteger(16) ||
                          type.getElementType().isSignlessInteger(32) ||
                          type.getElementType().isSignlessInteger(64),
                      "i8, i16, i32 or i64");
}

LogicalResult RandomUniformOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  if (!(getLow().convertToDouble() < getHigh().convertToDouble()))
    return emitOpError() << "needs low < high";
  return verifyRandom(*this, type, getSizes(),
                      isa<FloatType>(type.getElementType()),
                      "floating-point numbers");
}

LogicalResult RandomNormalOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  if (!(getStddev().convertToDouble() >= 0))
    return emitOpError() << "needs a standard deviation of at least 0";
  return verifyRandom(*this, type, getSizes(),
                      isa<FloatType>(type.getElementType()),
                      "floating-point numbers");
}

LogicalResult RandomBernoulliOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  double p = getP().convertToDouble();
  if (!(p >= 0 && p <= 1))
    return emitOpError() << "needs a probability between 0 and 1, got " << p;
  return verifyRandom(*this, type, getSizes(),
                      type.getElementType().isSignlessInteger(1), "i1");
}
