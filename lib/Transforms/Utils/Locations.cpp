//===- Locations.cpp - Locations as texts ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Utils/Locations.h"

#include "llvm/Support/Path.h"

using namespace mlir;

std::optional<std::string> remat::describeFilePosition(Location loc) {
  auto file = loc->findInstanceOf<FileLineColRange>();
  if (!file)
    return std::nullopt;
  return (file.getFilename().getValue() + ":" + Twine(file.getStartLine()) +
          ":" + Twine(file.getStartColumn()))
      .str();
}

std::string remat::describeLine(Location loc) {
  auto file = loc->findInstanceOf<FileLineColRange>();
  if (!file)
    return "";
  return (llvm::sys::path::filename(file.getFilename().getValue()) + ":" +
          Twine(file.getStartLine()))
      .str();
}

std::string remat::describeSource(Location loc) {
  // Of a fused location, name and line of the same part.
  auto name = loc->findInstanceOf<NameLoc>();
  std::string line = name ? describeLine(name) : "";
  if (line.empty())
    line = describeLine(loc);
  if (line.empty() || !name)
    return name ? name.getName().str() : line;
  return line + " (" + name.getName().str() + ")";
}
