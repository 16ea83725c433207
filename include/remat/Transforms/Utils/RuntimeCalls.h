//===- RuntimeCalls.h - Calls of the runtime library ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What compiled programs and the runtime (`remat/Runtime`) agree on: functions
// with a C interface, and texts as bytes without a terminator.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_UTILS_RUNTIMECALLS_H
#define REMAT_TRANSFORMS_UTILS_RUNTIMECALLS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::remat {

/// The function of a program that has no `main` but one step, which a host
/// program calls (`remat-lower-train-step=as-function`).
inline constexpr llvm::StringLiteral kStepEntryName = "remat_step";
/// Likewise, for one batch of the evaluation.
inline constexpr llvm::StringLiteral kEvaluationEntryName = "remat_evaluate";

/// The image of a program's kernels, in the module that the passes make.
inline constexpr llvm::StringLiteral kKernelImageName = "kernels_image";

/// The array of learning rates that a host program sets.
inline constexpr llvm::StringLiteral kLearningRatesName =
    "remat_learning_rates";

/// Calls `name`, and declares it before the first call: by the types of that
/// one, so that all others have to agree. With `hasMemRefs` its implementation
/// takes pointers to descriptors (`_mlir_ciface_<name>`), else what is passed.
func::CallOp createRuntimeCall(OpBuilder &builder, Location loc,
                               SymbolTable &symbols, StringRef name,
                               ValueRange operands, TypeRange results = {},
                               bool hasMemRefs = true);

/// Declares that the callee only reads the memory of this operand of `call`.
void setReadOnly(func::CallOp call, unsigned operand, SymbolTable &symbols);

/// Creates a private constant called `name`, with a number appended if there is
/// such a symbol already.
memref::GlobalOp createConstantGlobal(Location loc, SymbolTable &symbols,
                                      StringRef name, MemRefType type,
                                      ElementsAttr value);

/// The same of the bytes of `text`, which are at least one.
memref::GlobalOp createTextGlobal(Location loc, SymbolTable &symbols,
                                  StringRef name, StringRef text);

/// The bytes of `global` as the runtime takes them: however many there are.
Value createTextOperand(OpBuilder &builder, Location loc,
                        memref::GlobalOp global);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_UTILS_RUNTIMECALLS_H
