//===- Opt.h - The opt dialect ----------------------------------*- C++ -*-===//

#ifndef REMAT_DIALECT_OPT_IR_OPT_H
#define REMAT_DIALECT_OPT_IR_OPT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "remat/Dialect/Opt/IR/OptDialect.h.inc"

#include "remat/Dialect/Opt/IR/OptAttrInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "remat/Dialect/Opt/IR/OptAttributes.h.inc"

#define GET_OP_CLASSES
#include "remat/Dialect/Opt/IR/OptOps.h.inc"

namespace mlir::opt {
/// The type that a rule computes in and keeps its states in: f64 for f64
/// parameters, else f32. Null if `paramElementType` is no floating-point type.
Type getComputeType(Type paramElementType);

/// Builds the learning rate (f64) of `step` (i64, from 0) for `lr`, which is a
/// number, a schedule or a symbol of a function from i64 to f32.
Value emitLearningRate(OpBuilder &builder, Location loc, Attribute lr,
                       Value step);

/// How a parameter or a model state starts, as `opt.init` says it.
struct Initializer {
  enum class Kind { Constant, Normal, Uniform };
  Kind kind = Kind::Constant;
  /// The constant; the mean and standard deviation; the bounds.
  double first = 0, second = 0;

  static constexpr StringLiteral kChoices =
      "zeros, ones, constant(c), normal(stddev), uniform(low, high)";
  static FailureOr<Initializer> parse(StringRef text);
};
} // namespace mlir::opt

#endif // REMAT_DIALECT_OPT_IR_OPT_H
