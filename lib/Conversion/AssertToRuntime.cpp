//===- AssertToRuntime.cpp - Assertions end programs in good order --------===//
//
// An abort looks like a crash of the tool that runs the program, and hides the
// message behind a stack trace.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat {
#define GEN_PASS_DEF_CONVERTASSERTTORUNTIME
#include "remat/Conversion/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;

static constexpr StringLiteral kFail = "remat_rt_fail";

static MemRefType getTextType(MLIRContext *context, int64_t length) {
  return MemRefType::get(length, IntegerType::get(context, 8));
}

static void declareFail(ModuleOp module) {
  if (module.lookupSymbol(kFail))
    return;
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  Type text = getTextType(module.getContext(), ShapedType::kDynamic);
  auto fail = func::FuncOp::create(builder, module.getLoc(), kFail,
                                   builder.getFunctionType(text, {}));
  fail.setPrivate();
  fail->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                builder.getUnitAttr());
}

/// The global that holds `text`.
static memref::GlobalOp createText(SymbolTable &symbols, Location loc,
                                   StringRef text) {
  auto module = cast<ModuleOp>(symbols.getOp());
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  auto type = getTextType(module.getContext(), text.size());
  auto bytes = DenseElementsAttr::getFromRawBuffer(
      RankedTensorType::get(type.getShape(), type.getElementType()),
      ArrayRef(text.data(), text.size()));
  auto global = memref::GlobalOp::create(
      builder, loc, "__remat_assertion", builder.getStringAttr("private"), type,
      bytes, /*constant=*/true, /*alignment=*/IntegerAttr());
  symbols.insert(global);
  return global;
}

namespace {
struct ConvertAssertToRuntime
    : remat::impl::ConvertAssertToRuntimeBase<ConvertAssertToRuntime> {
  void runOnOperation() override {
    SmallVector<cf::AssertOp> assertions;
    getOperation().walk(
        [&](cf::AssertOp assertion) { assertions.push_back(assertion); });
    if (assertions.empty())
      return;
    declareFail(getOperation());
    SymbolTable symbols(getOperation());
    llvm::StringMap<memref::GlobalOp> texts;
    for (cf::AssertOp assertion : assertions) {
      Location loc = assertion.getLoc();
      // No array has no bytes.
      StringRef message =
          assertion.getMsg().empty() ? "assertion failed" : assertion.getMsg();
      memref::GlobalOp &text = texts[message];
      if (!text)
        text = createText(symbols, loc, message);
      OpBuilder builder(assertion);
      Value yes =
          arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
      Value failed =
          arith::XOrIOp::create(builder, loc, assertion.getArg(), yes);
      scf::IfOp::create(
          builder, loc, failed, [&](OpBuilder &inside, Location loc) {
            Value bytes = memref::GetGlobalOp::create(
                inside, loc, text.getType(), text.getSymName());
            Value any = memref::CastOp::create(
                inside, loc, getTextType(&getContext(), ShapedType::kDynamic),
                bytes);
            func::CallOp::create(inside, loc, kFail, TypeRange(), any);
            scf::YieldOp::create(inside, loc);
          });
      assertion.erase();
    }
  }
};
} // namespace
