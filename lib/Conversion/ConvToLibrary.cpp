//===- ConvToLibrary.cpp - Convolutions to runtime calls ------------------===//
//
// The runtime computes convolutions piece by piece in a workspace. Reserving it
// here, before memory is packed, makes it part of the peak that is reported.
//
//===----------------------------------------------------------------------===//

#include "Products.h"
#include "remat/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Runtime/ConvPlan.h"
#include "remat/Transforms/PackMemory/Workspace.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"
#include <array>

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTCONVTOLIBRARY
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;
namespace runtime = ::remat;

using Planner = runtime::ConvPlan (*)(const runtime::ConvShape &);

/// A convolution on memrefs: which operand is what, and what the runtime calls
/// it.
struct ConvCall {
  Operation *op;
  Value images, filters, results;
  ArrayRef<int64_t> strides, dilations, padding;
  bool channelsFirst;
  StringRef suffix;
  /// For channels last, and first.
  Planner planners[2];

  runtime::ConvPlan plan(const runtime::ConvShape &shape) const {
    return shape.isEmpty() || shape.isDirect() ? runtime::ConvPlan()
                                               : planners[channelsFirst](shape);
  }
  /// What the runtime is told besides the operands.
  std::array<int64_t, 6> window() const {
    return {strides[0],   strides[1], dilations[0],
            dilations[1], padding[0], padding[2]};
  }
  std::string function() const {
    bool isF64 = cast<MemRefType>(images.getType()).getElementType().isF64();
    return ("remat_conv_2d" + Twine(channelsFirst ? "_channels_first" : "") +
            suffix + (isF64 ? "_f64" : "_f32"))
        .str();
  }
};

static std::optional<ConvCall> getConvCall(Operation *op) {
  auto make = [](auto conv, Value images, Value filters, Value results,
                 StringRef suffix, Planner last, Planner first) {
    return ConvCall{conv,
                    images,
                    filters,
                    results,
                    conv.getStrides(),
                    conv.getDilations(),
                    conv.getPadding(),
                    conv.getChannelsFirst(),
                    suffix,
                    {last, first}};
  };
  if (auto conv = dyn_cast<Conv2DOp>(op))
    return make(conv, conv.getLhs(), conv.getRhs(), conv.getInit(), "",
                runtime::planConvForward, runtime::planChannelsFirstForward);
  if (auto conv = dyn_cast<Conv2DBackwardDataOp>(op))
    return make(conv, conv.getInit(), conv.getRhs(), conv.getLhs(),
                "_backward_data", runtime::planConvBackwardData,
                runtime::planChannelsFirstBackwardData);
  if (auto conv = dyn_cast<Conv2DBackwardFilterOp>(op))
    return make(conv, conv.getLhs(), conv.getInit(), conv.getRhs(),
                "_backward_filter", runtime::planConvBackwardFilter,
                runtime::planChannelsFirstBackwardFilter);
  return std::nullopt;
}

/// A convolution may use the workspaces of so many threads where there is room.
static constexpr int64_t kMostThreads = 64;

/// More images than this take no larger workspace.
static constexpr int64_t kManyImages = 1 << 20;

/// The shape, if all of it but the number of images is known. No number of them
/// needs a larger workspace than many.
static std::optional<runtime::ConvShape> getShape(const ConvCall &call) {
  ArrayRef<int64_t> x = cast<MemRefType>(call.images.getType()).getShape(),
                    w = cast<MemRefType>(call.filters.getType()).getShape(),
                    y = cast<MemRefType>(call.results.getType()).getShape();
  if (ShapedType::isDynamicShape(x.drop_front()) ||
      ShapedType::isDynamicShape(w) ||
      ShapedType::isDynamicShape(y.drop_front()))
    return std::nullopt;
  SmallVector<int64_t> images(x);
  if (ShapedType::isDynamic(images[0]))
    images[0] = kManyImages;
  return runtime::getConvShape(images.data(), w.data(), y.data(),
                               call.window().data(), call.channelsFirst);
}

/// The runtime takes contiguous row-major memory; anything else is copied.
static Value makeContiguous(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<MemRefType>(value.getType());
  if (type.getLayout().isIdentity())
    return value;
  Value copy = allocateDense(builder, loc, value);
  memref::CopyOp::create(builder, loc, value, copy);
  return copy;
}

static LogicalResult convert(const ConvCall &call, SymbolTable &symbols,
                             int64_t slots) {
  std::optional<runtime::ConvShape> shape = getShape(call);
  if (!shape)
    return call.op->emitOpError()
           << "has a dynamic size besides the number of images, for which no "
              "workspace can be reserved; make it static, or leave "
              "remat-fuse-padding out";
  OpBuilder builder(call.op);
  Location loc = call.op->getLoc();
  auto type = cast<MemRefType>(call.images.getType());
  runtime::ConvPlan plan = call.plan(*shape);
  auto getBytes = [&](int64_t threads) {
    return plan.workspaceElements(threads) * type.getElementTypeBitWidth() / 8;
  };
  int64_t bytes = getBytes(slots), usefulBytes = getBytes(kMostThreads);
  auto workspace = memref::AllocOp::create(
      builder, loc, MemRefType::get({bytes}, builder.getI8Type()));
  if (usefulBytes > bytes)
    workspace->setAttr(kUsefulBytesAttrName,
                       builder.getI64IntegerAttr(usefulBytes));

  SmallVector<Value> arguments;
  Value destination = call.op->getOperand(2);
  for (Value operand : call.op->getOperands().take_front(2))
    arguments.push_back(makeContiguous(builder, loc, operand));
  auto destinationType = cast<MemRefType>(destination.getType());
  bool isDense = destinationType.getLayout().isIdentity();
  Value result =
      isDense ? destination : allocateDense(builder, loc, destination);
  arguments.push_back(result);
  auto dynamic = MemRefType::get(SmallVector<int64_t>(4, ShapedType::kDynamic),
                                 type.getElementType());
  for (Value &argument : arguments)
    argument = memref::CastOp::create(builder, loc, dynamic, argument);
  arguments.push_back(memref::CastOp::create(
      builder, loc,
      MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()), workspace));
  for (int64_t value : call.window())
    arguments.push_back(arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(value)));

  func::CallOp callOp =
      createRuntimeCall(builder, loc, symbols, call.function(), arguments);
  callOp->setDiscardableAttrs(call.op->getDiscardableAttrDictionary());
  if (!isDense)
    memref::CopyOp::create(builder, loc, result, destination);
  call.op->erase();
  return success();
}

namespace {
struct ConvertConvToLibrary
    : mlir::remat::impl::ConvertConvToLibraryBase<ConvertConvToLibrary> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable symbols(module);
    if (threads < 1) {
      module.emitError("threads must be at least 1, but got ")
          << threads.getValue();
      return signalPassFailure();
    }
    SmallVector<ConvCall> calls;
    module.walk([&](Operation *op) {
      if (std::optional<ConvCall> call = getConvCall(op))
        if (isa<MemRefType>(call->images.getType()))
          calls.push_back(*call);
    });
    for (const ConvCall &call : calls)
      if (failed(convert(call, symbols, threads)))
        return signalPassFailure();
  }
};
} // namespace
