//===- Diagnostics.cpp - What is wrong, for a host program ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Diagnostics.h"

#include "remat/Dialect/DiagnosticCodes.h"

#include "mlir/CAPI/Support.h"
#include "mlir/IR/Location.h"

using namespace mlir;
using namespace mlir::remat;

DiagnosticForwarder::DiagnosticForwarder(llvm::SourceMgr &sources,
                                         MLIRContext *context,
                                         RematDiagnosticCallback callback,
                                         void *userData)
    : SourceMgrDiagnosticHandler(sources, context, printer), callback(callback),
      userData(userData) {
  setHandler([this](Diagnostic &diagnostic) { forward(diagnostic); });
}

void StoredDiagnostic::replay(RematDiagnosticCallback callback,
                              void *userData) const {
  RematDiagnostic diagnostic{
      severity, wrap(StringRef(message)), wrap(StringRef(file)), line,
      column,   wrap(StringRef(text)),    wrap(StringRef(code))};
  if (callback)
    callback(&diagnostic, userData);
}

void DiagnosticRecorder::record(const RematDiagnostic *diagnostic,
                                void *recorder) {
  auto &self = *static_cast<DiagnosticRecorder *>(recorder);
  self.stored.push_back(
      {diagnostic->severity, unwrap(diagnostic->message).str(),
       unwrap(diagnostic->file).str(), unwrap(diagnostic->text).str(),
       unwrap(diagnostic->code).str(), diagnostic->line, diagnostic->column});
  if (self.callback)
    self.callback(diagnostic, self.userData);
}

static MlirDiagnosticSeverity convert(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return MlirDiagnosticError;
  case DiagnosticSeverity::Warning:
    return MlirDiagnosticWarning;
  case DiagnosticSeverity::Note:
    return MlirDiagnosticNote;
  case DiagnosticSeverity::Remark:
    return MlirDiagnosticRemark;
  }
  llvm_unreachable("a severity that is not listed");
}

void DiagnosticForwarder::pass(Diagnostic &diagnostic, StringRef text) {
  std::string message = diagnostic.str();
  RematDiagnostic result{convert(diagnostic.getSeverity()),
                         wrap(StringRef(message)),
                         wrap(StringRef()),
                         0,
                         0,
                         wrap(text),
                         wrap(getCode(diagnostic))};
  Location loc = diagnostic.getLocation();
  if (auto position = loc->findInstanceOf<FileLineColRange>()) {
    result.file = wrap(position.getFilename().getValue());
    result.line = position.getStartLine();
    result.column = position.getStartColumn();
  }
  callback(&result, userData);
}

/// Prints a message whose place is not known, where upstream's handler would
/// print "<unknown>:0" and the location as MLIR writes it.
void DiagnosticForwarder::printWithoutPosition(Diagnostic &diagnostic) {
  static constexpr StringLiteral kinds[] = {"note", "warning", "error",
                                            "remark"};
  printer << kinds[static_cast<unsigned>(diagnostic.getSeverity())] << ": "
          << diagnostic.str() << "\n";
  for (Diagnostic &note : diagnostic.getNotes())
    printer << "note: " << note.str() << "\n";
}

void DiagnosticForwarder::forward(Diagnostic &diagnostic) {
  if (!callback)
    return;
  // Layers that a loop makes have one line: of exports, the name of their
  // module or scope tells them apart.
  auto name = diagnostic.getLocation()->findInstanceOf<NameLoc>();
  if (name && name.findInstanceOf<FileLineColRange>())
    diagnostic.attachNote() << "in " << name.getName().getValue();
  printed.clear();
  if (diagnostic.getLocation()->findInstanceOf<FileLineColRange>())
    emitDiagnostic(diagnostic);
  else
    printWithoutPosition(diagnostic);
  pass(diagnostic, printed);
  for (Diagnostic &note : diagnostic.getNotes())
    pass(note, "");
}
