//===- InitialValues.cpp - Bytes of values in the IR ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program for mlir-runner has weights as constants; here they go from the IR
// to where they belong, once.
//===----------------------------------------------------------------------===//

#include "InitialValues.h"

#include "mlir/IR/DialectResourceBlobManager.h"

#include <cstring>

using namespace mlir;

static bool copyBytes(ArrayRef<char> bytes, void *into, size_t numBytes) {
  if (bytes.size() != numBytes)
    return false;
  std::memcpy(into, bytes.data(), numBytes);
  return true;
}

bool mlir::remat::copyElements(ElementsAttr value, void *into,
                               size_t numBytes) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob && copyBytes(blob->getData(), into, numBytes);
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (!dense || dense.getNumElements() == 0)
    return dense && numBytes == 0;
  char *bytes = static_cast<char *>(into);
  if (dense.getElementType().isInteger(1)) {
    if (static_cast<size_t>(dense.getNumElements()) != numBytes)
      return false;
    for (bool element : dense.getValues<bool>())
      *bytes++ = element;
    return true;
  }
  if (!dense.isSplat())
    return copyBytes(dense.getRawData(), into, numBytes);
  ArrayRef<char> element = dense.getRawData();
  if (element.size() * dense.getNumElements() != numBytes)
    return false;
  for (int64_t i = 0; i < dense.getNumElements(); ++i)
    bytes = std::copy(element.begin(), element.end(), bytes);
  return true;
}
