//===- GraphFile.h - Graphs and budgets as text -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_PLAN_GRAPHFILE_H
#define REMAT_TOOLS_REMAT_PLAN_GRAPHFILE_H

#include "remat/Plan/Graph.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace remat::plan {

/// Reads `{"nodes": [{"cost": N, "bytes": N}, ...], "edges": [[from, to],
/// ...]}`; other members are ignored. Figures are whole numbers.
llvm::Expected<Graph> readGraph(llvm::StringRef path);

/// Reads a number of bytes ("4096", "500MiB", "1.5 GB"), or a fraction of
/// `peak` ("0.8"), rounded up.
llvm::Expected<int64_t> parseBudget(llvm::StringRef text, int64_t peak);

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_GRAPHFILE_H
