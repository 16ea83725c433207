//===- Origins.h - What the values of a function are made of ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef REMAT_LIB_TRANSFORMS_ANNOTATE_ORIGINS_H
#define REMAT_LIB_TRANSFORMS_ANNOTATE_ORIGINS_H

#include "remat/Analysis/Sources.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::remat {

/// Returns true if `value` is defined inside of `block`, not around it.
bool isDefinedIn(Value value, Block *block);

/// Returns true if `op` has an effect of its own that may not be repeated and
/// whose order among others counts: reads and writes of globals, assertions.
/// Not assertions in the body of an operation (a recompute leaves them out) nor
/// draws from a generator (their state is threaded through regions).
bool isBoundToItsPlace(Operation *op);

/// The origins of values: parameters (arguments with `opt.param`; if there are
/// none, weights in resources and every floating-point argument), data (other
/// arguments, what is read from globals), inputs (data in floating point). Both
/// parameters and data make an activation. Constants and masks by iota depend
/// on nothing.
class Origins {
public:
  explicit Origins(func::FuncOp function);

  static constexpr unsigned kParameter = 1, kData = 2, kInput = 4;

  unsigned get(Value value) const { return origins.lookup(value); }
  /// Returns the origins of the results of an operation.
  unsigned get(Operation *op) const { return ofOps.lookup(op); }
  bool isActivation(Operation *op) const { return isActivation(get(op)); }
  static bool isActivation(unsigned origin) {
    return (origin & kParameter) && (origin & kData);
  }
  /// Constants, empty tensors, and tensors that hold one number in every place:
  /// cloned wherever they are read.
  bool isMadeAgain(Operation *op) const { return madeAgain.contains(op); }

  /// Returns the source of `value`, a name or a view: products may read it
  /// instead. Arguments that some caller makes of one value are one.
  Value getSource(Value value) const;
  /// Calls `visit` with what uses `source`, or a view of it.
  void forEachUser(Value source, function_ref<void(Operation *)> visit) const;
  /// Returns true if callers pass `source` in more than one argument.
  bool isPassedTwice(Value source) const {
    return llvm::count_if(passedTwice, [&](auto entry) {
             return entry.second == source;
           }) > 1;
  }

private:
  void visit(Block &block);
  bool isUniform(Operation *op) const;

  bool hasParameters = false;
  DenseMap<Value, unsigned> origins;
  DenseMap<Operation *, unsigned> ofOps;
  DenseSet<Operation *> madeAgain, uniform;
  /// Of arguments that are one value in some call, the first one of it.
  llvm::MapVector<Value, Value> passedTwice;
};

} // namespace mlir::remat

#endif // REMAT_LIB_TRANSFORMS_ANNOTATE_ORIGINS_H
