//===- RuntimeCalls.cpp - Calls of the runtime library --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

func::CallOp mlir::remat::createRuntimeCall(OpBuilder &builder, Location loc,
                                            SymbolTable &symbols,
                                            StringRef name, ValueRange operands,
                                            TypeRange results,
                                            bool hasMemRefs) {
  if (!symbols.lookup(name)) {
    auto function = func::FuncOp::create(
        symbols.getOp()->getLoc(), name,
        builder.getFunctionType(operands.getTypes(), results));
    function.setPrivate();
    if (hasMemRefs)
      function->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                        builder.getUnitAttr());
    symbols.insert(function, symbols.getOp()->getRegion(0).front().begin());
  }
  return func::CallOp::create(builder, loc, name, results, operands);
}

void mlir::remat::setReadOnly(func::CallOp call, unsigned operand,
                              SymbolTable &symbols) {
  symbols.lookup<func::FuncOp>(call.getCallee())
      .setArgAttr(operand, "remat.access",
                  StringAttr::get(call.getContext(), "read"));
}

memref::GlobalOp mlir::remat::createConstantGlobal(Location loc,
                                                   SymbolTable &symbols,
                                                   StringRef name,
                                                   MemRefType type,
                                                   ElementsAttr value) {
  auto builder =
      OpBuilder::atBlockBegin(&symbols.getOp()->getRegion(0).front());
  auto global = memref::GlobalOp::create(
      builder, loc, name, builder.getStringAttr("private"), type, value,
      /*constant=*/true, /*alignment=*/IntegerAttr());
  symbols.insert(global);
  return global;
}

memref::GlobalOp mlir::remat::createTextGlobal(Location loc,
                                               SymbolTable &symbols,
                                               StringRef name, StringRef text) {
  Type byte = IntegerType::get(loc.getContext(), 8);
  auto type = MemRefType::get(text.size(), byte);
  return createConstantGlobal(loc, symbols, name, type,
                              DenseElementsAttr::getFromRawBuffer(
                                  RankedTensorType::get(type.getShape(), byte),
                                  ArrayRef(text.data(), text.size())));
}

Value mlir::remat::createTextOperand(OpBuilder &builder, Location loc,
                                     memref::GlobalOp global) {
  Value bytes = memref::GetGlobalOp::create(builder, loc, global.getType(),
                                            global.getSymName());
  return memref::CastOp::create(
      builder, loc, MemRefType::get(ShapedType::kDynamic, builder.getI8Type()),
      bytes);
}
