//===- GraphFile.h - Graphs as text -----------------------------*- C++ -*-===//
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

} // namespace remat::plan

#endif // REMAT_TOOLS_REMAT_PLAN_GRAPHFILE_H
