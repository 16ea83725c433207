//===- Import.h - What import decides about a model ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_IMPORT_IMPORT_H
#define REMAT_LIB_TRANSFORMS_IMPORT_IMPORT_H

#include "ExportSpec.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::remat {

/// The role of an argument or a constant in training.
enum class Role { parameter, state, data };

/// The decision about one argument, constant or result, and its reason.
struct Decision {
  Role role = Role::data;
  std::string name;
  std::string why;
};

/// A constant tensor, wherever it is used.
struct ModelConstant {
  ElementsAttr value;
  /// The key of its resource; empty where its values stand in the text.
  StringRef resource;
  SmallVector<arith::ConstantOp> uses;
  Decision decision;
};

/// The options of remat-import that decide by name.
struct ImportRules {
  ArrayRef<std::string> params, data, state;
  uint64_t minRank = 1, minElements = 2;
};

/// `ml_program.global` -> arguments and results, in all functions.
LogicalResult threadGlobals(ModuleOp module);

/// The functions that `root` consists of: itself, and what it calls.
SmallVector<func::FuncOp> getReachableFunctions(func::FuncOp root);

/// All constant tensors of the functions that `root` consists of, with
/// decisions. An error where a resource's bytes are missing.
FailureOr<SmallVector<ModelConstant>> decideConstants(func::FuncOp root,
                                                      const ExportSpec *spec,
                                                      const ImportRules &rules);

/// Makes the constants that are no data arguments of `root`, after its own.
void hoistConstants(func::FuncOp root, ArrayRef<ModelConstant> constants);

/// The decisions about the arguments and results of a function.
struct SignatureDecision {
  SmallVector<Decision> arguments;
  unsigned loss = 0;
  /// For each result, the argument or constant (by name) that it is the next
  /// value of, or nothing.
  SmallVector<std::string> updates;
  SmallVector<std::string> resultNames, resultReasons;
};

/// Decides about arguments and results; `constants` are those that become
/// arguments, too.
FailureOr<SignatureDecision>
decideSignature(func::FuncOp function, const ExportSpec *spec,
                const ImportRules &rules,
                MutableArrayRef<ModelConstant> constants);

/// Puts the attributes on the function's own arguments and results.
void applySignature(func::FuncOp function, const SignatureDecision &decision);

/// Puts functions of math where exporters wrote out approximations of them
/// whose derivatives are not the function's.
void raiseExpandedFunctions(func::FuncOp root);

/// Returns true if one of `patterns` (with * and ?) is `name`.
bool matchesAny(ArrayRef<std::string> patterns, StringRef name);

/// Returns true if `params` says so of what is called `name`; a pattern leaves
/// integers out.
bool isChosenParameter(const ImportRules &rules, StringRef name, Type type);

/// The name in `loc`, empty if there is none.
StringRef getNameOf(Location loc);
} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_IMPORT_IMPORT_H
