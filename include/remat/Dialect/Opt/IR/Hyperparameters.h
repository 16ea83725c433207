//===- Hyperparameters.h - What rules are parameterized by ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every rule and schedule is a table of named numbers: parsing, printing,
// verification and overriding work on the table, so that a rule is its formula.
// Attributes made with `Opt_Rule` or `Opt_Schedule` (OptAttributes.td), in this
// dialect or another one, define a table and nothing else of this.
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_OPT_IR_HYPERPARAMETERS_H
#define REMAT_DIALECT_OPT_IR_HYPERPARAMETERS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectImplementation.h"

#include <limits>

namespace mlir::opt {

struct Hyperparameter {
  enum class Kind { Real, Flag, Count, LearningRate, Choice };

  static constexpr double kRequired = std::numeric_limits<double>::quiet_NaN();
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  StringRef name;
  Kind kind = Kind::Real;
  double defaultValue = kRequired;
  /// Numbers are in [low, high).
  double low = 0, high = kInfinity;
  /// Of a choice, the words; its default is the number of one.
  ArrayRef<StringRef> choices = {};

  bool isRequired() const { return defaultValue != defaultValue; }
  Attribute getDefault(MLIRContext *context) const;
};

using HyperparameterTable = ArrayRef<Hyperparameter>;

/// Parses and prints a hyperparameter's value: an attribute, or a word.
ParseResult parseValue(AsmParser &parser, Attribute &value);
void printValue(AsmPrinter &printer, Attribute value);

/// Parses `name = value, ...` up to and including the closing `>`; `what` names
/// the attribute in messages. The result has an entry for every hyperparameter.
FailureOr<DictionaryAttr> parseHyperparameters(AsmParser &parser,
                                               HyperparameterTable table,
                                               StringRef what);
/// Prints those that differ from their defaults, without the brackets.
void printHyperparameters(AsmPrinter &printer, HyperparameterTable table,
                          DictionaryAttr values, bool isFirst = true);

LogicalResult
verifyHyperparameters(function_ref<InFlightDiagnostic()> emitError,
                      HyperparameterTable table, DictionaryAttr values,
                      StringRef what);

/// `values` with `overrides` in their place; fails if one is not in the table.
FailureOr<DictionaryAttr>
overrideHyperparameters(function_ref<InFlightDiagnostic()> emitError,
                        HyperparameterTable table, DictionaryAttr values,
                        DictionaryAttr overrides, StringRef what);

} // namespace mlir::opt

#endif // REMAT_DIALECT_OPT_IR_HYPERPARAMETERS_H
