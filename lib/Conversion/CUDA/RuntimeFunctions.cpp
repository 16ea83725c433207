//===- RuntimeFunctions.cpp - Calls of the CUDA runtime -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How host code passes what the runtime takes.
//===----------------------------------------------------------------------===//

#include "RuntimeFunctions.h"

#include "remat/Transforms/Utils/RuntimeCalls.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::remat;

func::CallOp mlir::remat::callCUDARuntime(OpBuilder &builder, Location loc,
                                          SymbolTable &symbols, StringRef name,
                                          ValueRange operands,
                                          TypeRange results) {
  return createRuntimeCall(builder, loc, symbols, name, operands, results,
                           /*hasMemRefs=*/false);
}

Value TextTable::get(OpBuilder &builder, Location loc, StringRef text) {
  StringAttr &name = names[text];
  if (!name) {
    std::string bytes = text.str();
    bytes.push_back('\0');
    auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes.size());
    auto module = cast<ModuleOp>(symbols.getOp());
    // Behind the functions: upstream's lowering of a call looks for its callee
    // from the first symbol on.
    auto atEnd = OpBuilder::atBlockEnd(module.getBody());
    auto global = LLVM::GlobalOp::create(
        atEnd, module.getLoc(), type, /*isConstant=*/true,
        LLVM::Linkage::Internal, "text", builder.getStringAttr(bytes));
    name = symbols.insert(global);
  }
  return LLVM::AddressOfOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), name);
}

Value mlir::remat::allocateOnStack(OpBuilder &builder, Location loc,
                                   int64_t count) {
  auto function =
      builder.getInsertionBlock()->getParent()->getParentOfType<func::FuncOp>();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  Type i64 = builder.getI64Type();
  Value size = LLVM::ConstantOp::create(builder, loc, i64,
                                        builder.getI64IntegerAttr(count));
  return LLVM::AllocaOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()), i64, size,
      /*alignment=*/16);
}
