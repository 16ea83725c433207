//===- Activity.h - Which values carry a derivative -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without it the backward would hold adjoints that have no use: of data, masks
// and statistics, and of results that the loss does not depend on.
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_ACTIVITY_H
#define REMAT_ANALYSIS_ACTIVITY_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

#include <map>

namespace mlir::remat {

/// Returns true if values of this type carry derivatives: everything but
/// integers, indices and random states, as scalar, vector or tensor.
bool carriesDerivative(Type type);
/// Returns `sources` and the values of `body` that are computed from them.
DenseSet<Value> findDependents(Block &body, ArrayRef<Value> sources);

class Activity;

/// Summaries of called functions; each is analyzed once per question.
class CallSummaries {
public:
  explicit CallSummaries(SymbolTableCollection &symbols) : symbols(symbols) {}

  /// Results that depend on the given arguments.
  BitVector getVariedResults(func::CallOp call, const BitVector &arguments);
  /// Arguments on which the given results depend.
  BitVector getUsefulArguments(func::CallOp call, const BitVector &results);

private:
  func::FuncOp resolve(func::CallOp call);

  using Key = std::pair<Operation *, std::vector<bool>>;
  SymbolTableCollection &symbols;
  // Looked up, never iterated.
  std::map<Key, BitVector> varied, useful;
  SmallVector<Operation *> running;
};

/// A value is active if it depends on a wanted value (varied) and the loss
/// depends on it (useful).
class Activity {
public:
  explicit Activity(CallSummaries &calls) : calls(calls) {}

  /// Marks what depends on the values marked so far. Fails, with a diagnostic,
  /// at an operation that may store such a value in memory, where its
  /// derivative would be lost.
  LogicalResult propagateForward(Block &block);
  /// Marks what the values marked useful so far depend on.
  void propagateBackward(Block &block);

  void markVaried(Value value) {
    if (carriesDerivative(value.getType()))
      varied.insert(value);
  }
  void markUseful(Value value) {
    if (carriesDerivative(value.getType()))
      useful.insert(value);
  }
  bool isVaried(Value value) const { return varied.contains(value); }
  bool isUseful(Value value) const { return useful.contains(value); }
  bool isActive(Value value) const {
    return isVaried(value) && isUseful(value);
  }

private:
  LogicalResult visitForward(Operation *op);
  void visitBackward(Operation *op);

  CallSummaries &calls;
  DenseSet<Value> varied, useful;
};

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_ACTIVITY_H
