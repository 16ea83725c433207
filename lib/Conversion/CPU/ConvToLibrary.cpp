//===- ConvToLibrary.cpp - Convolutions to runtime calls ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of operands that the runtime cannot read are made here, before memory
// is packed, so that they are part of the peak that is reported.
//===----------------------------------------------------------------------===//

#include "../Convolution.h"
#include "../Products.h"

#include "remat/Conversion/CPU/Passes.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTCONVTOLIBRARY
#include "remat/Conversion/CPU/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// The runtime takes contiguous row-major memory; anything else is copied.
static Value makeContiguous(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<MemRefType>(value.getType());
  if (type.getLayout().isIdentity())
    return value;
  Value copy = allocateDense(builder, loc, value);
  memref::CopyOp::create(builder, loc, value, copy);
  return copy;
}

static std::string getFunctionName(const Convolution &conv) {
  bool isF64 = getElementTypeOrSelf(conv.images).isF64();
  return ("remat_conv_" + Twine(conv.getRank()) + "d" +
          (conv.channelsFirst ? "_channels_first" : "") + conv.getSuffix() +
          (isF64 ? "_f64" : "_f32"))
      .str();
}

static void convert(const Convolution &conv, SymbolTable &symbols) {
  OpBuilder builder(conv.op);
  Location loc = conv.op->getLoc();
  auto type = cast<MemRefType>(conv.images.getType());
  SmallVector<Value> arguments;
  Value destination = conv.op->getOperand(2);
  for (Value operand : conv.op->getOperands().take_front(2))
    arguments.push_back(makeContiguous(builder, loc, operand));
  auto destinationType = cast<MemRefType>(destination.getType());
  bool isDense = destinationType.getLayout().isIdentity();
  Value result =
      isDense ? destination : allocateDense(builder, loc, destination);
  arguments.push_back(result);
  auto dynamic = MemRefType::get(
      SmallVector<int64_t>(type.getRank(), ShapedType::kDynamic),
      type.getElementType());
  for (Value &argument : arguments)
    argument = memref::CastOp::create(builder, loc, dynamic, argument);
  SmallVector<int64_t> window(conv.strides);
  llvm::append_range(window, conv.dilations);
  for (unsigned axis = 0; axis < conv.getRank(); ++axis)
    window.push_back(conv.padding[2 * axis]);
  for (int64_t value : window)
    arguments.push_back(arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(value)));

  func::CallOp callOp = createRuntimeCall(builder, loc, symbols,
                                          getFunctionName(conv), arguments);
  callOp->setDiscardableAttrs(conv.op->getDiscardableAttrDictionary());
  for (unsigned operand : {0, 1})
    setReadOnly(callOp, operand, symbols);
  if (!isDense)
    memref::CopyOp::create(builder, loc, result, destination);
  conv.op->erase();
}

namespace {
struct ConvertConvToLibrary
    : mlir::remat::impl::ConvertConvToLibraryBase<ConvertConvToLibrary> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    SmallVector<Convolution> convolutions;
    module.walk([&](Operation *op) {
      if (std::optional<Convolution> conv = getConvolution(op))
        if (isa<MemRefType>(conv->images.getType()))
          convolutions.push_back(*conv);
    });
    if (convolutions.empty())
      return markAllAnalysesPreserved();
    for (const Convolution &conv : convolutions)
      convert(conv, symbols);
  }
};
} // namespace
