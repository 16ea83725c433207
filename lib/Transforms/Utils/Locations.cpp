//===- Locations.cpp - Locations as texts ---------------------------------===//

#include "remat/Transforms/Utils/Locations.h"

using namespace mlir;

std::optional<std::string> remat::describeFilePosition(Location loc) {
  auto file = loc->findInstanceOf<FileLineColLoc>();
  if (!file)
    return std::nullopt;
  return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
          Twine(file.getColumn()))
      .str();
}
