//===- AffineValues.h - Integers as functions of loop indices ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a slice lies and what a mask hides is said by arithmetic on indices.
// Upstream's ValueBoundsConstraintSet answers such questions, too, by a system
// of constraints that it builds and projects for each of them; here slices of
// thousands of iterations are compared.
//===----------------------------------------------------------------------===//

#ifndef REMAT_ANALYSIS_AFFINEVALUES_H
#define REMAT_ANALYSIS_AFFINEVALUES_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace mlir::remat {

/// The sum of a constant and of each variable times its coefficient.
struct AffineValue {
  SmallVector<int64_t, 2> coefficients;
  /// None for a value that is not known, but fixed.
  std::optional<int64_t> constant;

  /// Returns the value if it is known and depends on no variable.
  std::optional<int64_t> getNumber() const;
  /// Returns true if the value is at least 0 where each variable is.
  bool isNeverNegative() const;
};

/// Returns `a` - `b`; none if a number does not fit.
std::optional<AffineValue> subtract(const AffineValue &a, const AffineValue &b);

/// Finds out how integers depend on some variables: through additions,
/// subtractions and products with numbers, quotients and remainders of numbers,
/// and casts between types of at least 32 bits, in which positions do not wrap
/// around. Answers are kept, so that the program must not change in between.
class AffineValues {
public:
  /// `variables` are indices. Values from outside of `scope`, if there is one,
  /// are fixed.
  explicit AffineValues(ArrayRef<Value> variables, Operation *scope = nullptr);

  /// Takes `value` for `number`.
  void set(Value value, int64_t number);

  /// Returns `value` as a function of the variables; none if it is no such.
  std::optional<AffineValue> get(Value value);
  /// Returns the number that `value` is; none if it depends on a variable, or
  /// on something that is not known.
  std::optional<int64_t> getNumber(OpFoldResult value);

private:
  AffineValue makeNumber(std::optional<int64_t> number) const;
  bool isFixed(Value value) const;
  std::optional<AffineValue> evaluate(Value value);
  std::optional<AffineValue> evaluateBinary(Operation *op);

  unsigned numVariables;
  Operation *scope;
  DenseMap<Value, std::optional<AffineValue>> known;
};

/// A part of a tensor, without strides. Dynamic numbers are not known.
struct TensorPart {
  SmallVector<int64_t> offsets, sizes;
};

/// Returns the part that `insert` writes; none with strides.
std::optional<TensorPart> getInsertedPart(tensor::InsertSliceOp insert);

/// Returns true if the two have no element in common, as far as static numbers
/// tell.
bool areDisjoint(const TensorPart &a, const TensorPart &b);

} // namespace mlir::remat

#endif // REMAT_ANALYSIS_AFFINEVALUES_H
