//===- DiagnosticCodes.h - Errors that programs tell apart ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of a message is for people, and changes. A program that calls the
// compiler and goes on after an error decides by a code, which is metadata of
// the diagnostic.
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_DIAGNOSTICCODES_H
#define REMAT_DIALECT_DIAGNOSTICCODES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"

namespace mlir::remat {

/// No plan that was found is within the budget.
inline constexpr llvm::StringLiteral kBudgetMissedCode = "budget-missed";
/// The machine has no memory for what a step needs.
inline constexpr llvm::StringLiteral kOutOfMemoryCode = "out-of-memory";

/// The key of the code, as others may have metadata of their own.
inline constexpr llvm::StringLiteral kCodeKey = "remat.code";

inline void setCode(InFlightDiagnostic &diagnostic, StringRef code) {
  Diagnostic *underlying = diagnostic.getUnderlyingDiagnostic();
  if (!underlying)
    return;
  MLIRContext *context = underlying->getLocation().getContext();
  NamedAttribute entry(StringAttr::get(context, kCodeKey),
                       StringAttr::get(context, code));
  underlying->getMetadata().push_back(
      DiagnosticArgument(DictionaryAttr::get(context, entry)));
}

/// Returns the code of `diagnostic`; empty if it has none.
inline StringRef getCode(Diagnostic &diagnostic) {
  for (const DiagnosticArgument &argument : diagnostic.getMetadata()) {
    if (argument.getKind() !=
        DiagnosticArgument::DiagnosticArgumentKind::Attribute)
      continue;
    if (auto entries = dyn_cast<DictionaryAttr>(argument.getAsAttribute()))
      if (auto code = entries.getAs<StringAttr>(kCodeKey))
        return code.getValue();
  }
  return "";
}

} // namespace mlir::remat

#endif // REMAT_DIALECT_DIAGNOSTICCODES_H
