//===- ForeignDialects.h - Dialects of exporters ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_TRANSFORMS_IMPORT_FOREIGNDIALECTS_H
#define REMAT_TRANSFORMS_IMPORT_FOREIGNDIALECTS_H

#include "mlir/IR/DialectRegistry.h"

namespace mlir {
class Operation;
namespace remat {

/// Returns how to turn operations of an exporter's dialect (`torch`,
/// `stablehlo`, ...) into upstream ones; empty for other dialects.
StringRef getForeignDialectAdvice(StringRef dialect);

/// Lets a tool's parser say so, where it would only say that it does not know
/// the dialect. Not for tools that know the dialects themselves.
void registerForeignDialects(DialectRegistry &registry);

} // namespace remat
} // namespace mlir

#endif // REMAT_TRANSFORMS_IMPORT_FOREIGNDIALECTS_H
