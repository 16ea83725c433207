//===- ExportSpec.h - Description of an exported model ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and roles are lost on the way out of a framework; the exporter writes
// them into a JSON file beside the module.
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_IMPORT_EXPORTSPEC_H
#define REMAT_LIB_TRANSFORMS_IMPORT_EXPORTSPEC_H

#include "mlir/IR/Location.h"
#include "mlir/IR/Types.h"

namespace mlir::remat {

/// An argument, constant or result.
struct SpecEntry {
  std::string name, role;
  /// -1 stands for a dynamic dimension.
  std::optional<std::vector<int64_t>> shape;
  std::string dtype;
  /// The `dense_resource` key of a constant.
  std::string resource;
};

struct ExportSpec {
  std::string path;
  std::string function;
  std::vector<SpecEntry> arguments, constants, results;

  /// Quotes an entry of the file, for the report.
  std::string quote(const SpecEntry &entry) const;
  /// Reads and checks a file, or JSON that stands in its place; errors are at a
  /// line of it, or at `loc`.
  static FailureOr<ExportSpec> read(StringRef text, Location loc);

private:
  static FailureOr<ExportSpec> parse(StringRef text, StringRef path,
                                     Location loc);
};

/// Checks that a value of `type` is what the description says; `what` calls it.
LogicalResult checkEntry(const ExportSpec &spec, const SpecEntry &entry,
                         Type type, Location loc, const Twine &what);

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_IMPORT_EXPORTSPEC_H
