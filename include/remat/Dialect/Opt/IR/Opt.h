//===- Opt.h - The opt dialect ----------------------------------*- C++ -*-===//

#ifndef REMAT_DIALECT_OPT_IR_OPT_H
#define REMAT_DIALECT_OPT_IR_OPT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"

#include "remat/Dialect/Opt/IR/OptDialect.h.inc"

#define GET_OP_CLASSES
#include "remat/Dialect/Opt/IR/OptOps.h.inc"

#endif // REMAT_DIALECT_OPT_IR_OPT_H
