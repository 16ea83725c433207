//===- Opt.h - The opt dialect ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "remat/Dialect/Opt/IR/Hyperparameters.h"
#include "remat/Dialect/Opt/IR/OptDialect.h.inc"

namespace mlir::opt {
/// A state that a rule keeps for a parameter. `initial` is as in `opt.init`.
struct RuleState {
  std::string name;
  RankedTensorType type;
  std::string initial = "zeros";
};
} // namespace mlir::opt

#include "remat/Dialect/Opt/IR/OptAttrInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "remat/Dialect/Opt/IR/OptAttributes.h.inc"

#define GET_OP_CLASSES
#include "remat/Dialect/Opt/IR/OptOps.h.inc"

namespace mlir::opt {
/// Attribute in which `opt-lower-steps` leaves the name of the update rule at
/// its `remat.train_step`, for checkpoints.
inline constexpr llvm::StringLiteral kRuleNameAttrName = "opt.rule_name";

/// The type that a rule computes in and keeps its states in: f64 for f64
/// parameters, else f32. Null if `paramElementType` is no floating-point type.
Type getComputeType(Type paramElementType);

/// States of the shape of `param`, in the type that the rule computes in.
SmallVector<RuleState> getElementwiseStates(RankedTensorType param,
                                            ArrayRef<StringRef> names,
                                            StringRef initial = "zeros");

/// Builds the learning rate (f64) of `step` (i64, from 0) for `lr`, which is a
/// number, a schedule or a symbol of a function from i64 to f32 or f64.
Value emitLearningRate(OpBuilder &builder, Location loc, Attribute lr,
                       Value step);

/// The name in `opt.param`, or `arg<i>`; empty if the argument is no parameter.
std::string getParameterName(FunctionOpInterface function, unsigned argument);

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
