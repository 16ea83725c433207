//===- States.cpp - Which tensors hold the states of a rule ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Opt/IR/Opt.h"

using namespace mlir;
using namespace mlir::opt;

/// Elements of a parameter whose states are quantized. In smaller ones (norms,
/// biases) errors weigh more, and there is nothing to win.
static constexpr int64_t kMinQuantized = 4096;
/// Elements of a block, as in bitsandbytes and torchao.
static constexpr int64_t kBlock8 = 256, kBlock4 = 128;

Rounding mlir::opt::getRounding(DictionaryAttr hyperparameters) {
  auto word = hyperparameters.getAs<StringAttr>(kRounding.name);
  if (!word || word == "nearest")
    return Rounding::Nearest;
  return word == "kahan" ? Rounding::Kahan : Rounding::Stochastic;
}

//===----------------------------------------------------------------------===//
// BlockwiseType
//===----------------------------------------------------------------------===//

Type BlockwiseType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  StringRef kind;
  int64_t block;
  if (parser.parseLess() || parser.parseKeyword(&kind) || parser.parseComma() ||
      parser.parseInteger(block))
    return {};
  if (kind != "int8" && kind != "int4") {
    parser.emitError(loc) << "codes are int8 or int4, but got '" << kind << "'";
    return {};
  }
  bool isUnsigned = succeeded(parser.parseOptionalComma());
  if ((isUnsigned && parser.parseKeyword("unsigned")) || parser.parseGreater())
    return {};
  unsigned bits = kind == "int8" ? 8 : 4;
  return parser.getChecked<BlockwiseType>(loc, parser.getContext(), bits, block,
                                          !isUnsigned);
}

void BlockwiseType::print(AsmPrinter &printer) const {
  printer << "<int" << getBits() << ", " << getBlock()
          << (getIsSigned() ? ">" : ", unsigned>");
}

LogicalResult
BlockwiseType::verify(function_ref<InFlightDiagnostic()> emitError,
                      unsigned bits, int64_t block, bool) {
  if (bits != 8 && bits != 4)
    return emitError() << "codes have 8 or 4 bits, but got " << bits;
  if (block < 1 || (block * bits) % 8 != 0)
    return emitError() << "the elements of a block must be positive, and their "
                          "codes whole bytes, but got "
                       << block;
  return success();
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

SmallVector<RuleState>
mlir::opt::getElementwiseStates(RankedTensorType param,
                                ArrayRef<StringRef> names, StringRef initial) {
  RankedTensorType type = param.clone(getComputeType(param.getElementType()));
  return llvm::map_to_vector(names, [&](StringRef name) {
    return RuleState{name.str(), type, initial.str()};
  });
}

SmallVector<RuleState> mlir::opt::getMoments(RankedTensorType param,
                                             ArrayRef<Moment> moments,
                                             StringRef kind) {
  MLIRContext *context = param.getContext();
  bool isLarge =
      param.hasStaticShape() && param.getNumElements() >= kMinQuantized;
  return llvm::map_to_vector(moments, [&](const Moment &moment) {
    Type element = getComputeType(param.getElementType());
    if (kind == "bf16")
      element = BFloat16Type::get(context);
    else if (kind == "int8" && isLarge)
      element = BlockwiseType::get(context, 8, kBlock8, moment.isSigned);
    else if (kind == "int4" && isLarge)
      element = BlockwiseType::get(context, 4, kBlock4, moment.isSigned);
    return RuleState{moment.name.str(), param.clone(element)};
  });
}

SmallVector<RuleState> mlir::opt::getStorage(const RuleState &state) {
  auto blocks = dyn_cast<BlockwiseType>(state.type.getElementType());
  if (!blocks)
    return {state};
  Builder builder(state.type.getContext());
  int64_t count =
      llvm::divideCeil(state.type.getNumElements(), blocks.getBlock());
  RuleState codes{state.name,
                  RankedTensorType::get({count, blocks.getBytesPerBlock()},
                                        builder.getI8Type())};
  codes.stored = blocks;
  return {codes,
          {state.name + ".scale",
           RankedTensorType::get({count}, builder.getF32Type())}};
}

Rounding mlir::opt::getRoundingOf(UpdateRuleAttrInterface rule,
                                  RankedTensorType param) {
  return param.getElementType().isBF16() || param.getElementType().isF16()
             ? rule.getRounding()
             : Rounding::Nearest;
}

bool mlir::opt::needsKey(UpdateRuleAttrInterface rule, RankedTensorType param) {
  return getRoundingOf(rule, param) == Rounding::Stochastic ||
         rule.drawsNumbers(param);
}

SmallVector<RuleState> mlir::opt::getStoredStates(UpdateRuleAttrInterface rule,
                                                  RankedTensorType param,
                                                  Operation *user) {
  SmallVector<RuleState> stored;
  for (const RuleState &state : rule.getStates(param, user))
    llvm::append_range(stored, getStorage(state));
  if (getRoundingOf(rule, param) == Rounding::Kahan)
    stored.push_back({"compensation", param});
  return stored;
}

LogicalResult
mlir::opt::verifyRuleFor(UpdateRuleAttrInterface rule,
                         function_ref<InFlightDiagnostic()> emitError,
                         RankedTensorType param, Operation *user) {
  if (failed(rule.verifyParameter(emitError, param, user)))
    return failure();
  if (getRoundingOf(rule, param) == Rounding::Stochastic &&
      !param.getElementType().isBF16())
    return emitError() << "stochastic rounding is for parameters of bf16, but "
                          "got "
                       << param
                       << "; give it a group with 'rounding = nearest' or "
                          "'rounding = kahan'";
  int64_t block = 0;
  for (const RuleState &state : rule.getStates(param, user)) {
    auto blocks = dyn_cast<BlockwiseType>(state.type.getElementType());
    if (!blocks)
      continue;
    if (!state.type.hasStaticShape() ||
        state.type.getShape() != param.getShape())
      return emitError() << "a quantized state has the shape of its parameter, "
                            "whose sizes are known, but '"
                         << state.name << "' of type " << state.type
                         << " is for a parameter of type " << param;
    if (state.initial != "zeros")
      return emitError() << "a quantized state starts from zeros, but '"
                         << state.name << "' starts from " << state.initial;
    if (block != 0 && block != blocks.getBlock())
      return emitError() << "quantized states of one rule have blocks of one "
                            "size, but got "
                         << block << " and " << blocks.getBlock();
    block = blocks.getBlock();
  }
  return success();
}
