//===- Locations.cpp - Locations as texts ---------------------------------===//

#include "remat/Transforms/Utils/Locations.h"

#include "llvm/Support/Path.h"

using namespace mlir;

std::optional<std::string> remat::describeFilePosition(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return std::nullopt;
  return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
          Twine(file.getColumn()))
      .str();
}

std::string remat::describeLine(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return "";
  return (llvm::sys::path::filename(file.getFilename().getValue()) + ":" +
          Twine(file.getLine()))
      .str();
}

std::string remat::describeSource(Location loc) {
  std::string line = describeLine(loc);
  auto name = loc->findInstanceOf<NameLoc>();
  return line.empty() && name ? name.getName().str() : line;
}
