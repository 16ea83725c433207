//===- Descriptions.h - Rules and schedules for front ends ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_DIALECT_OPT_IR_DESCRIPTIONS_H
#define REMAT_DIALECT_OPT_IR_DESCRIPTIONS_H

#include "remat/Dialect/Opt/IR/Hyperparameters.h"

namespace mlir::opt {

/// An update rule or, if not, a schedule that is made with `Opt_Rule` or
/// `Opt_Schedule`.
struct TableDescription {
  /// Without namespaces and `Attr`.
  StringRef className;
  StringRef mnemonic;
  bool isRule;
  HyperparameterTable table;
};

/// Returns those of this dialect.
SmallVector<TableDescription> describeTables();

} // namespace mlir::opt

#endif // REMAT_DIALECT_OPT_IR_DESCRIPTIONS_H
