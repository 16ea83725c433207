//===- ConvToLibrary.cpp - Convolutions to runtime calls ------------------===//
//
// The runtime computes convolutions piece by piece in a workspace. Reserving it
// here, before memory is packed, makes it part of the peak that is reported.
//
//===----------------------------------------------------------------------===//

#include "../Products.h"
#include "ConvCall.h"

#include "remat/Conversion/CPU/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/PackMemory/Workspace.h"
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTCONVTOLIBRARY
#include "remat/Conversion/CPU/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// A convolution may use the workspaces of so many threads where there is room.
static constexpr int64_t kMostThreads = 64;

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
  std::optional<int64_t> bytes = call.getWorkspaceBytes(slots);
  if (!bytes && call.hasKnownSizes())
    return call.op->emitOpError() << "is too large: its operands must have at "
                                     "most 2^48 elements each, "
                                     "and its workspace less than 2^63 bytes";
  if (!bytes)
    return call.op->emitOpError()
           << "has a dynamic size besides the number of images, for which no "
              "workspace can be reserved; make it static, or leave "
              "remat-fuse-padding out";
  OpBuilder builder(call.op);
  Location loc = call.op->getLoc();
  auto type = cast<MemRefType>(call.images.getType());
  auto workspace = memref::AllocOp::create(
      builder, loc, MemRefType::get({*bytes}, builder.getI8Type()));
  workspace->setAttr(kWorkspaceAttrName, builder.getUnitAttr());
  int64_t usefulBytes = call.getWorkspaceBytes(kMostThreads).value_or(*bytes);
  if (usefulBytes > *bytes)
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
  for (int64_t value : call.getWindow())
    arguments.push_back(arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(value)));

  func::CallOp callOp =
      createRuntimeCall(builder, loc, symbols, call.getFunction(), arguments);
  callOp->setDiscardableAttrs(call.op->getDiscardableAttrDictionary());
  callOp->removeDiscardableAttr(RematDialect::getWorkspaceBytesAttrName());
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
    if (failed(checkThreads(module, threads)))
      return signalPassFailure();
    SmallVector<ConvCall> calls;
    module.walk([&](Operation *op) {
      if (std::optional<ConvCall> call = getConvCall(op))
        if (isa<MemRefType>(call->images.getType()))
          calls.push_back(*call);
    });
    if (calls.empty())
      return markAllAnalysesPreserved();
    for (const ConvCall &call : calls)
      if (failed(convert(call, symbols, threads)))
        return signalPassFailure();
  }
};
} // namespace
