//===- PackingFile.h - Buffers and offsets as CSV ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_PLAN_PACKINGFILE_H
#define REMAT_TOOLS_REMAT_PLAN_PACKINGFILE_H

#include "remat/Plan/Packing.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace remat::plan {

/// Buffers with their names.
struct PackingFile {
  std::vector<std::string> names;
  std::vector<Interval> intervals;
};

/// Reads lines `id,lower,upper,size` after a line that says so: lifetimes are
/// half-open, sizes in bytes. MiniMalloc's format.
llvm::Expected<PackingFile> readPackingFile(llvm::StringRef path);

/// Prints lines `id,offset`.
void printOffsets(llvm::raw_ostream &os, const PackingFile &file,
                  const Packing &packing);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_PACKINGFILE_H
