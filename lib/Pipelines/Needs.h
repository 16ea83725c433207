//===- Needs.h - Bytes that packed functions need ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_PIPELINES_NEEDS_H
#define REMAT_LIB_PIPELINES_NEEDS_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::remat {

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

/// Reads the report of `remat-pack-memory`, in JSON.
Needs readNeeds(StringRef report);

} // namespace mlir::remat

#endif // REMAT_LIB_PIPELINES_NEEDS_H
