//===- EmulatorCalls.h - What emulated kernels call and read ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared by the steps of `remat-emulate-kernels`: declarations of the
// emulator's functions, texts that name operations, fields of the thread's
// record.
//===----------------------------------------------------------------------===//

#ifndef REMAT_EMULATOR_PASSES_EMULATORCALLS_H
#define REMAT_EMULATOR_PASSES_EMULATORCALLS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat::emulator {

/// Calls `name`, an external function of the module of `symbols`, which the
/// first call declares. Null, with an error, if there is another one.
LLVM::CallOp createCall(OpBuilder &builder, Location loc, SymbolTable &symbols,
                        StringRef name, ValueRange operands, Type result = {});

/// An internal constant called `name`, or with a number after it if there is
/// such a symbol already.
LLVM::GlobalOp createConstant(Location loc, SymbolTable &symbols,
                              StringRef name, Type type, Attribute value);

/// The same of `text` and a terminator.
LLVM::GlobalOp createText(Location loc, SymbolTable &symbols, StringRef name,
                          StringRef text);

/// "file:line:column" of `loc`, or "unknown location".
std::string describe(Location loc);

/// The address of a text "`what` #`number` at file:line:column".
Value createSite(OpBuilder &builder, Location loc, SymbolTable &symbols,
                 StringRef what, unsigned number);

Value createInteger(OpBuilder &builder, Location loc, unsigned bits,
                    int64_t value);

/// `pointer` and a number of bytes.
Value createOffset(OpBuilder &builder, Location loc, Value pointer,
                   int64_t bytes);

/// The thread's record in a function that has one as its last argument.
Value getThread(Operation *op);

} // namespace mlir::remat::emulator

#endif // REMAT_EMULATOR_PASSES_EMULATORCALLS_H
