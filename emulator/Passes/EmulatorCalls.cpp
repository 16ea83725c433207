//===- EmulatorCalls.cpp - What emulated kernels call and read ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EmulatorCalls.h"

#include "remat/Transforms/Utils/Locations.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::remat;

LLVM::CallOp emulator::createCall(OpBuilder &builder, Location loc,
                                  SymbolTable &symbols, StringRef name,
                                  ValueRange operands, Type result) {
  auto type = LLVM::LLVMFunctionType::get(
      result ? result : LLVM::LLVMVoidType::get(builder.getContext()),
      llvm::to_vector(operands.getTypes()));
  Operation *symbol = symbols.lookup(name);
  if (!symbol) {
    OpBuilder::InsertionGuard guard(builder);
    builder.clearInsertionPoint();
    symbol = LLVM::LLVMFuncOp::create(
        builder, UnknownLoc::get(builder.getContext()), name, type);
    symbols.insert(symbol, symbols.getOp()->getRegion(0).front().begin());
  }
  auto function = dyn_cast<LLVM::LLVMFuncOp>(symbol);
  if (!function || function.getFunctionType() != type) {
    emitError(loc) << "an emulated kernel calls '" << name << "' as " << type
                   << ", but the module has another symbol of that name";
    return {};
  }
  return LLVM::CallOp::create(builder, loc, function, operands);
}

LLVM::GlobalOp emulator::createConstant(Location loc, SymbolTable &symbols,
                                        StringRef name, Type type,
                                        Attribute value) {
  OpBuilder builder(loc.getContext());
  auto global = LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/true,
                                       LLVM::Linkage::Internal, name, value);
  symbols.insert(global, symbols.getOp()->getRegion(0).front().begin());
  return global;
}

LLVM::GlobalOp emulator::createText(Location loc, SymbolTable &symbols,
                                    StringRef name, StringRef text) {
  std::string bytes = text.str();
  bytes.push_back('\0');
  MLIRContext *context = loc.getContext();
  return createConstant(
      loc, symbols, name,
      LLVM::LLVMArrayType::get(IntegerType::get(context, 8), bytes.size()),
      StringAttr::get(context, bytes));
}

std::string emulator::describe(Location loc) {
  return describeFilePosition(loc).value_or("unknown location");
}

Value emulator::createSite(OpBuilder &builder, Location loc,
                           SymbolTable &symbols, StringRef what,
                           unsigned number) {
  std::string text =
      llvm::formatv("{0} #{1} at {2}", what, number, describe(loc));
  return LLVM::AddressOfOp::create(
      builder, loc, createText(loc, symbols, "remat_emu_site", text));
}

Value emulator::createInteger(OpBuilder &builder, Location loc, unsigned bits,
                              int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, builder.getIntegerType(bits),
                                  value);
}

Value emulator::createOffset(OpBuilder &builder, Location loc, Value pointer,
                             int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()),
      builder.getI8Type(), pointer,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
}

Value emulator::getThread(Operation *op) {
  return op->getParentOfType<LLVM::LLVMFuncOp>()
      .getBody()
      .getArguments()
      .back();
}
