//===- Cache.h - Compiled steps on disk ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiling takes seconds to minutes, and a script is started many times with
// the same model. A file holds what compiling found out: machine code, the
// description of the arguments, and values that come from the module, not those
// that a seed or the caller gives.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CAPI_CACHE_H
#define REMAT_LIB_CAPI_CACHE_H

#include "Diagnostics.h"
#include "Step.h"

#include "llvm/Support/CachePruning.h"

namespace mlir::remat {

/// The file of one request in a folder that other processes use as well.
class CacheFile {
public:
  /// Named by all that the result depends on: the request, files that its
  /// passes read, this compiler with LLVM, and the processor. An error if that
  /// cannot be known, or if other users may write to the folder.
  static llvm::Expected<CacheFile> find(const RematStepOptions &request);

  /// The step, with its diagnostics, and with the states of `statesOf` if that
  /// is not null; null if there is no such file. An error if there is one that
  /// was damaged, or that other users may write to.
  llvm::Expected<std::unique_ptr<Step>>
  load(Step *statesOf, std::vector<StoredDiagnostic> &diagnostics) const;

  /// Writes the file, which appears complete or not at all, and removes others
  /// that have not been used for long.
  llvm::Error store(const Step &step, llvm::MemoryBufferRef object,
                    ArrayRef<StoredDiagnostic> diagnostics) const;

  StringRef getPath() const { return path; }

private:
  std::string folder, path;
  llvm::CachePruningPolicy policy;
};

} // namespace mlir::remat

#endif // REMAT_LIB_CAPI_CACHE_H
