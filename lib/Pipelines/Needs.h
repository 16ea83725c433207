//===- Needs.h - Bytes that packed functions need ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_PIPELINES_NEEDS_H
#define REMAT_LIB_PIPELINES_NEEDS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace mlir {
class OpPassManager;

namespace remat {

/// Bytes that the packed functions of a module need.
struct Needs {
  /// Of each function that has an arena.
  llvm::StringMap<int64_t> arenas;
  /// The largest of these, and what there is beside it: parameters, states,
  /// data and results.
  int64_t arena = 0, others = 0;
  /// A function with buffers that are in no arena; empty if there is none.
  std::string unpacked;
};

/// Appends passes, the last of which pack memory and print a report to the
/// stream, which outlives them.
using PackingBuilder = function_ref<void(OpPassManager &, raw_ostream &)>;

/// Runs the passes of `build` on `module`, a copy, and returns what its
/// functions need.
FailureOr<Needs> pack(OwningOpRef<ModuleOp> module, PackingBuilder build);

/// Adds the dialects on which the passes of `build` depend to `registry`.
void registerPackingDialects(DialectRegistry &registry, PackingBuilder build);

} // namespace remat
} // namespace mlir

#endif // REMAT_LIB_PIPELINES_NEEDS_H
