//===- Diagnostics.h - What is wrong, for a host program -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_CAPI_DIAGNOSTICS_H
#define REMAT_LIB_CAPI_DIAGNOSTICS_H

#include "remat-c/Step.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/SourceMgr.h"

namespace mlir::remat {

/// A diagnostic that outlives its call.
struct StoredDiagnostic {
  MlirDiagnosticSeverity severity;
  std::string message, file, text, code;
  int64_t line = 0, column = 0;

  /// Passes it on as if it had just been found.
  void replay(RematDiagnosticCallback callback, void *userData) const;
};

/// Keeps what it passes on.
struct DiagnosticRecorder {
  RematDiagnosticCallback callback;
  void *userData;
  std::vector<StoredDiagnostic> stored;

  /// A `RematDiagnosticCallback` whose user data is a recorder.
  static void record(const RematDiagnostic *diagnostic, void *recorder);
};

/// The string that the handler prints to, constructed before it.
struct PrintedDiagnostic {
  std::string printed;
  llvm::raw_string_ostream printer{printed};
};

/// Passes all diagnostics of a context to a callback while it lives: taken
/// apart, and as tools print them. Passes run on several threads; the context
/// hands diagnostics out one at a time.
class DiagnosticForwarder : private PrintedDiagnostic,
                            public SourceMgrDiagnosticHandler {
public:
  DiagnosticForwarder(llvm::SourceMgr &sources, MLIRContext *context,
                      RematDiagnosticCallback callback, void *userData);

private:
  void forward(Diagnostic &diagnostic);
  void printWithoutPosition(Diagnostic &diagnostic);
  void pass(Diagnostic &diagnostic, StringRef text);

  RematDiagnosticCallback callback;
  void *userData;
};

} // namespace mlir::remat

#endif // REMAT_LIB_CAPI_DIAGNOSTICS_H
