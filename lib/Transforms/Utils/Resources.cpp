//===- Resources.cpp - Weights that stand beside the IR -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whoever reads the elements of a resource that is not there ends the program.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Utils/Resources.h"

#include "remat/Dialect/Remat/IR/Sizes.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Operation.h"

using namespace mlir;

LogicalResult mlir::remat::checkResource(Operation *op,
                                         DenseResourceElementsAttr value) {
  StringRef key = value.getRawHandle().getKey();
  AsmResourceBlob *blob = value.getRawHandle().getBlob();
  if (!blob)
    return op->emitError() << "dense_resource<" << key
                           << "> has no bytes: the module's dialect_resources "
                              "have no entry of this name; export it with its "
                              "weights (not with elided resources)";
  ShapedType type = value.getShapedType();
  if (!type.hasStaticShape())
    return op->emitError() << "dense_resource<" << key
                           << "> is as large as its bytes say, so its type "
                              "needs a static shape, got "
                           << type;
  int64_t expected = estimateBytes(type);
  if (!type.getElementType().isInteger(1) &&
      static_cast<int64_t>(blob->getData().size()) != expected)
    return op->emitError() << "dense_resource<" << key << "> has "
                           << blob->getData().size() << " bytes, but " << type
                           << " needs " << expected;
  return success();
}
