//===- Locations.h - Locations as texts -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For messages of programs while they run, which know of no Location, and for
// tables.
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_UTILS_LOCATIONS_H
#define REMAT_TRANSFORMS_UTILS_LOCATIONS_H

#include "mlir/IR/Location.h"

#include <optional>
#include <string>

namespace mlir::remat {

/// `file.mlir:12:10`; none if the location has no file.
std::optional<std::string> describeFilePosition(Location loc);

/// `file.mlir:12`, without folders; empty if the location has no file.
std::string describeLine(Location loc);

/// The same with the name that an exporter gives the location, a module of
/// PyTorch's or a scope of JAX's: `model.py:12 (layers.0)`. One of them where
/// there is no other; empty if there is neither.
std::string describeSource(Location loc);

} // namespace mlir::remat

#endif // REMAT_TRANSFORMS_UTILS_LOCATIONS_H
