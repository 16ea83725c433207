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
#define GET_TYPEDEF_CLASSES
#include "remat/Dialect/Opt/IR/OptTypes.h.inc"

namespace mlir::opt {
/// A state that a rule keeps for a parameter. `initial` is as in `opt.init`.
struct RuleState {
  std::string name;
  RankedTensorType type;
  std::string initial = "zeros";
  /// Of codes (`getStorage`): what they stand for.
  BlockwiseType stored = {};
};

/// How a new value is rounded to the type of its parameter.
enum class Rounding { Nearest, Stochastic, Kahan };

/// Returns the hyperparameter `rounding`; nearest if there is none.
Rounding getRounding(DictionaryAttr hyperparameters);
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

/// A state of the parameter's shape that `states` (kStates) is about.
struct Moment {
  StringRef name;
  bool isSigned = true;
};

/// The hyperparameter that says in which type moments are stored, and the one
/// that says how parameters are rounded.
inline constexpr StringRef kStateKinds[] = {"f32", "bf16", "int8", "int4"};
inline constexpr StringRef kFloatStateKinds[] = {"f32", "bf16"};
inline constexpr StringRef kRoundings[] = {"nearest", "stochastic", "kahan"};
inline constexpr Hyperparameter kStates = {
    "states", Hyperparameter::Kind::Choice, 0, 0, 0, kStateKinds};
/// For rules whose kernels read what is smaller than their states.
inline constexpr Hyperparameter kFloatStates = {
    "states", Hyperparameter::Kind::Choice, 0, 0, 0, kFloatStateKinds};
inline constexpr Hyperparameter kRounding = {
    "rounding", Hyperparameter::Kind::Choice, 0, 0, 0, kRoundings};

/// States of the shape of `param` that are stored as `kind`, one of
/// kStateKinds, says: `f32` is the type that the rule computes in. Small ones,
/// and those of sizes that are not known, are never quantized.
SmallVector<RuleState> getMoments(RankedTensorType param,
                                  ArrayRef<Moment> moments, StringRef kind);

/// The tensors that hold the state: itself, or codes and scales.
SmallVector<RuleState> getStorage(const RuleState &state);

/// The tensors that hold the states of `rule` for a parameter of type `param`,
/// and what rounding takes from that.
SmallVector<RuleState> getStoredStates(UpdateRuleAttrInterface rule,
                                       RankedTensorType param, Operation *user);

/// How `rule` rounds a parameter of type `param`.
Rounding getRoundingOf(UpdateRuleAttrInterface rule, RankedTensorType param);

/// Returns true if steps of `rule` on a parameter of type `param` need a key:
/// they draw random numbers, or round by them.
bool needsKey(UpdateRuleAttrInterface rule, RankedTensorType param);

/// Fails with a diagnostic where the rule cannot update a parameter of type
/// `param`, or store its states.
LogicalResult verifyRuleFor(UpdateRuleAttrInterface rule,
                            function_ref<InFlightDiagnostic()> emitError,
                            RankedTensorType param, Operation *user);

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
