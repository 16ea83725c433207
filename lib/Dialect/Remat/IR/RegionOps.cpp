//===- RegionOps.cpp - remat.region and remat.backward --------------------===//

#include "remat/Dialect/Remat/IR/Policies.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Shared by region and backward
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
  return failure(
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseOne) ||
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
    return op->emitOpError()
           << "has " << op->getNumOperands() << " operands, but its body takes "
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
    SMLoc loc;
    if (parser.parseLParen() || parser.getCurrentLocation(&loc))
      return failure();
    OptionalParseResult parsed = parser.parseOptionalAttribute(policy);
    // Nothing that begins like an attribute: only the other way of asking lets
    // an editor complete it.
    if (!parsed.has_value() && parser.parseAttribute(policy))
      return parser.emitError(loc) << "expects a policy: " << kPolicyChoices;
    if (parsed.has_value() && *parsed)
      return failure();
    if (parser.parseRParen())
      return failure();
    properties.setPolicy(policy);
  }
  SmallVector<OpAsmParser::Argument> args;
  SmallVector<Type> outputs, residuals;
  if (parseInputs(parser, result, args) || parseTypeListOrNone(parser, outputs))
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

LogicalResult RegionOp::verifyRegions() {
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
      if (isa<RegionOp>(user) && user->getParentOp() == (*this)->getParentOp())
        return emitOpError()
               << "residual "
               << residual.getResultNumber() - getOutputs().size()
               << " is read by another region; only a backward may read it";
  return success();
}

void mlir::remat::eraseInputs(Operation *op, const llvm::BitVector &inputs) {
  if (auto region = dyn_cast<RegionOp>(op))
    if (std::optional<ArrayRef<bool>> flags = region.getPreventCse()) {
      SmallVector<bool> kept;
      for (auto [index, flag] : llvm::enumerate(*flags))
        if (!inputs.test(index))
          kept.push_back(flag);
      region.setPreventCse(kept);
    }
  op->eraseOperands(inputs);
  op->getRegion(0).front().eraseArguments(inputs);
}

template <typename OpTy>
static OpTy eraseResultsOf(RewriterBase &rewriter, OpTy op,
                           const llvm::BitVector &results) {
  SmallVector<Value> outputs, residuals, kept;
  for (OpResult result : op->getResults()) {
    unsigned index = result.getResultNumber();
    if (results.test(index))
      continue;
    (index < op.getOutputs().size() ? outputs : residuals)
        .push_back(op.getYield()->getOperand(index));
    kept.push_back(result);
  }
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  OperationState state(op.getLoc(), op->getName());
  state.addOperands(op->getOperands());
  state.addTypes(ValueRange(kept).getTypes());
  state.attributes = op->getDiscardableAttrDictionary();
  auto &properties = state.getOrAddProperties<typename OpTy::Properties>();
  properties = op.getProperties();
  if constexpr (std::is_same_v<OpTy, RegionOp>)
    properties.resultSegmentSizes = {static_cast<int32_t>(outputs.size()),
                                     static_cast<int32_t>(residuals.size())};
  state.addRegion();
  Operation *slim = rewriter.create(state);
  rewriter.inlineRegionBefore(op.getBody(), slim->getRegion(0),
                              slim->getRegion(0).end());
  YieldOp yield = cast<OpTy>(slim).getYield();
  rewriter.setInsertionPoint(yield);
  rewriter.replaceOpWithNewOp<YieldOp>(yield, outputs, residuals);
  for (auto [from, to] : llvm::zip_equal(kept, slim->getResults()))
    rewriter.replaceAllUsesWith(from, to);
  rewriter.eraseOp(op);
  return cast<OpTy>(slim);
}

Operation *mlir::remat::eraseResults(RewriterBase &rewriter, Operation *op,
                                     const llvm::BitVector &results) {
  if (auto region = dyn_cast<RegionOp>(op))
    return eraseResultsOf(rewriter, region, results);
  return eraseResultsOf(rewriter, cast<BackwardOp>(op), results);
}

llvm::BitVector mlir::remat::getUnusedInputs(Operation *op) {
  Block &body = op->getRegion(0).front();
  llvm::BitVector unused(body.getNumArguments());
  for (BlockArgument argument : body.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  return unused;
}

llvm::BitVector mlir::remat::getUnusedResults(Operation *op) {
  llvm::BitVector unused(op->getNumResults());
  for (OpResult result : op->getResults())
    if (result.use_empty())
      unused.set(result.getResultNumber());
  return unused;
}

namespace {
/// Drops operands whose block argument nobody reads, so that they do not stay
/// alive until the backward.
template <typename OpTy> struct DropUnusedInputs : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    llvm::BitVector unused = getUnusedInputs(op);
    if (unused.none())
      return failure();
    rewriter.modifyOpInPlace(op, [&] { eraseInputs(op, unused); });
    return success();
  }
};

/// Drops outputs and residuals that nobody reads: dead outputs cost nothing.
template <typename OpTy> struct DropDeadResults : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    llvm::BitVector unused = getUnusedResults(op);
    if (unused.none() || unused.all())
      return failure();
    eraseResults(rewriter, op, unused);
    return success();
  }
};

/// Feeds a value that is passed twice through one argument.
template <typename OpTy> struct MergeEqualInputs : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Block *body = op.getBodyBlock();
    DenseMap<std::pair<Value, unsigned>, unsigned> firstIndex;
    bool changed = false;
    for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
      unsigned flag = 1;
      if constexpr (std::is_same_v<OpTy, RegionOp>)
        flag = op.preventsCSE(index);
      auto [it, isFirst] = firstIndex.try_emplace({operand, flag}, index);
      if (isFirst || body->getArgument(index).use_empty())
        continue;
      rewriter.replaceAllUsesWith(body->getArgument(index),
                                  body->getArgument(it->second));
      changed = true;
    }
    return success(changed);
  }
};

/// A result that only passes an operand through is that operand, and one that
/// is yielded twice is the first of the two. An output and a residual stay two:
/// a backward is known by the residuals that it reads.
template <typename OpTy> struct ForwardKnownResults : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    DenseMap<std::pair<Value, unsigned>, OpResult> firstResult;
    bool changed = false;
    for (auto [result, yielded] :
         llvm::zip_equal(op->getResults(), op.getYield()->getOperands())) {
      unsigned isResidual = result.getResultNumber() >= op.getOutputs().size();
      Value known =
          firstResult.try_emplace({yielded, isResidual}, result).first->second;
      if (auto argument = dyn_cast<BlockArgument>(yielded);
          argument && argument.getOwner() == op.getBodyBlock())
        known = op->getOperand(argument.getArgNumber());
      if (known == result || result.use_empty())
        continue;
      rewriter.replaceAllUsesWith(result, known);
      changed = true;
    }
    return success(changed);
  }
};
} // namespace

void RegionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                           MLIRContext *context) {
  patterns.add<DropUnusedInputs<RegionOp>, DropDeadResults<RegionOp>,
               MergeEqualInputs<RegionOp>, ForwardKnownResults<RegionOp>>(
      context);
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
  if (parseInputs(parser, result, args) || parseTypeListOrNone(parser, outputs))
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

LogicalResult BackwardOp::verifyRegions() {
  if (!getYield().getResiduals().empty())
    return emitOpError() << "yields residuals; only a remat.region has them";
  return failure(failed(verifyInputs(*this)) ||
                 failed(verifyYielded(*this, "results", getYield().getOutputs(),
                                      getOutputs())));
}

void BackwardOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<DropUnusedInputs<BackwardOp>, DropDeadResults<BackwardOp>,
               MergeEqualInputs<BackwardOp>, ForwardKnownResults<BackwardOp>>(
      context);
}
