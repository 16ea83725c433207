//===- RematDialect.cpp - The remat dialect -------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::remat;

#include "remat/Dialect/Remat/IR/RematDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "remat/Dialect/Remat/IR/RematTypes.cpp.inc"

void RematDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "remat/Dialect/Remat/IR/RematTypes.cpp.inc"
      >();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "remat/Dialect/Remat/IR/RematOps.cpp.inc"
      >();
}
