//===- OptDialect.cpp - The opt dialect -----------------------------------===//

#include "remat/Dialect/Opt/IR/Opt.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::opt;

#include "remat/Dialect/Opt/IR/OptDialect.cpp.inc"

#define GET_OP_CLASSES
#include "remat/Dialect/Opt/IR/OptOps.cpp.inc"

void OptDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "remat/Dialect/Opt/IR/OptOps.cpp.inc"
      >();
}
