//===- Init.h - Everything the project registers ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_INIT_H
#define REMAT_INIT_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace mlir {
class DialectRegistry;
namespace remat {
/// Registers the project's dialects and the external models that it attaches
/// to upstream ones.
void registerAllDialects(DialectRegistry &registry);
/// Registers the project's passes and pipelines.
void registerAllPasses();
/// Returns true if tools verify after each pass unless told otherwise: only
/// where REMAT_VERIFY_EACH is set, to anything but 0. The tests set it.
bool verifiesAfterEachPass();
/// Returns the version of this project, such as "0.1.0".
llvm::StringRef getVersion();
/// Prints it and MLIR's for `--version`.
void printVersion(llvm::raw_ostream &os);
} // namespace remat
} // namespace mlir

#endif // REMAT_INIT_H
