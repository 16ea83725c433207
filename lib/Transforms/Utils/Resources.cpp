//===- Resources.cpp - Weights that stand beside the IR -------------------===//
//
// Whoever reads the elements of a resource that is not there ends the program.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Utils/Resources.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/MathExtras.h"

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
  unsigned bits = type.getElementTypeBitWidth();
  int64_t expected = type.getNumElements() * llvm::divideCeil(bits, 8u);
  if (bits != 1 && static_cast<int64_t>(blob->getData().size()) != expected)
    return op->emitError() << "dense_resource<" << key << "> has "
                           << blob->getData().size() << " bytes, but " << type
                           << " needs " << expected;
  return success();
}
