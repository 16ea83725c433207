//===- GeneratorOps.cpp - Draws without a state argument ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::remat;

static LogicalResult verifyGenerator(Operation *op, FlatSymbolRefAttr name,
                                     SymbolTableCollection &symbols) {
  if (symbols.lookupNearestSymbolFrom<GeneratorOp>(op, name))
    return success();
  return op->emitOpError() << "mentions " << name
                           << ", which is no remat.generator";
}

LogicalResult GetRngOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGenerator(*this, getGeneratorAttr(), symbols);
}

LogicalResult SetRngOp::verifySymbolUses(SymbolTableCollection &symbols) {
  return verifyGenerator(*this, getGeneratorAttr(), symbols);
}
