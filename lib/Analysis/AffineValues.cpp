//===- AffineValues.cpp - Integers as functions of loop indices -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Analysis/AffineValues.h"

#include "remat/Analysis/Sources.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

using Number = std::optional<int64_t>;
using BinaryFunction = function_ref<Number(int64_t, int64_t)>;

static Number addNumbers(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? Number() : Number(sum);
}

static Number subtractNumbers(int64_t a, int64_t b) {
  int64_t difference;
  return llvm::SubOverflow(a, b, difference) ? Number() : Number(difference);
}

static Number multiplyNumbers(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? Number() : Number(product);
}

/// Combines what the two have in the same places. A constant that is not known
/// makes one that is not known; none if a number is too large.
static std::optional<AffineValue>
combine(const AffineValue &a, const AffineValue &b, BinaryFunction function) {
  AffineValue result;
  for (auto [left, right] : llvm::zip_equal(a.coefficients, b.coefficients)) {
    Number coefficient = function(left, right);
    if (!coefficient)
      return std::nullopt;
    result.coefficients.push_back(*coefficient);
  }
  if (!a.constant || !b.constant)
    return result;
  result.constant = function(*a.constant, *b.constant);
  return result.constant ? std::optional(result) : std::nullopt;
}

Number AffineValue::getNumber() const {
  return llvm::all_of(coefficients, [](int64_t c) { return c == 0; })
             ? constant
             : std::nullopt;
}

bool AffineValue::isNeverNegative() const {
  return constant && *constant >= 0 &&
         llvm::all_of(coefficients, [](int64_t c) { return c >= 0; });
}

std::optional<AffineValue> mlir::remat::subtract(const AffineValue &a,
                                                 const AffineValue &b) {
  return combine(a, b, subtractNumbers);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Returns true if positions do not wrap around in `type`.
static bool holdsPositions(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return isa<IndexType>(type) || (integer && integer.getWidth() >= 32);
}

static bool isZeroExtension(Operation *op) {
  return isa<arith::ExtUIOp, arith::IndexCastUIOp>(op);
}

static bool isCast(Operation *op) {
  return isZeroExtension(op) ||
         isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op);
}

static bool isArithmetic(Operation *op) {
  return isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivUIOp,
             arith::RemUIOp>(op);
}

AffineValues::AffineValues(ArrayRef<Value> variables, Operation *scope)
    : numVariables(variables.size()), scope(scope) {
  for (auto [index, variable] : llvm::enumerate(variables)) {
    AffineValue value = makeNumber(0);
    value.coefficients[index] = 1;
    known[variable] = value;
  }
}

AffineValue AffineValues::makeNumber(Number number) const {
  return {SmallVector<int64_t, 2>(numVariables, 0), number};
}

void AffineValues::set(Value value, int64_t number) {
  known[value] = makeNumber(number);
}

bool AffineValues::isFixed(Value value) const {
  return scope && !scope->isAncestor(value.getParentRegion()->getParentOp());
}

std::optional<AffineValue> AffineValues::get(Value value) {
  auto appendSources = [&](Value value, SmallVectorImpl<Value> &sources) {
    Operation *op = value.getDefiningOp();
    if (op && !isFixed(value) && (isArithmetic(op) || isCast(op)))
      llvm::append_range(sources, op->getOperands());
  };
  return evaluateOnce<std::optional<AffineValue>>(
      value, known, appendSources,
      [&](Value value) { return evaluate(value); });
}

Number AffineValues::getNumber(OpFoldResult value) {
  if (Number constant = getConstantIntValue(value))
    return constant;
  std::optional<AffineValue> affine = get(cast<Value>(value));
  return affine ? affine->getNumber() : std::nullopt;
}

std::optional<AffineValue> AffineValues::evaluate(Value value) {
  if (!holdsPositions(value.getType()))
    return std::nullopt;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    Number number = constant.trySExtValue();
    return number ? std::optional(makeNumber(number)) : std::nullopt;
  }
  if (isFixed(value))
    return makeNumber(std::nullopt);
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (isArithmetic(op))
    return evaluateBinary(op);
  if (!isCast(op))
    return std::nullopt;
  const std::optional<AffineValue> &source = known.at(op->getOperand(0));
  // Without its sign, a negative number is another one in a wider type.
  if (source && isZeroExtension(op) && !source->isNeverNegative())
    return std::nullopt;
  return source;
}

std::optional<AffineValue> AffineValues::evaluateBinary(Operation *op) {
  const std::optional<AffineValue> &lhs = known.at(op->getOperand(0)),
                                   &rhs = known.at(op->getOperand(1));
  if (!lhs || !rhs)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return combine(*lhs, *rhs, addNumbers);
  if (isa<arith::SubIOp>(op))
    return subtract(*lhs, *rhs);
  Number left = lhs->getNumber(), right = rhs->getNumber();
  if (isa<arith::MulIOp>(op)) {
    if (!left && !right)
      return std::nullopt;
    const AffineValue &other = right ? *lhs : *rhs;
    int64_t factor = right ? *right : *left;
    return combine(other, other, [&](int64_t number, int64_t) {
      return multiplyNumbers(number, factor);
    });
  }
  if (!left || !right || *left < 0 || *right <= 0)
    return std::nullopt;
  return makeNumber(isa<arith::DivUIOp>(op) ? *left / *right : *left % *right);
}

//===----------------------------------------------------------------------===//
// Parts of tensors
//===----------------------------------------------------------------------===//

std::optional<TensorPart>
mlir::remat::getInsertedPart(tensor::InsertSliceOp insert) {
  if (!insert.hasUnitStride())
    return std::nullopt;
  return TensorPart{llvm::to_vector(insert.getStaticOffsets()),
                    llvm::to_vector(insert.getStaticSizes())};
}

bool mlir::remat::areDisjoint(const TensorPart &a, const TensorPart &b) {
  for (auto [offsetA, sizeA, offsetB, sizeB] :
       llvm::zip_equal(a.offsets, a.sizes, b.offsets, b.sizes)) {
    if (ShapedType::isDynamic(offsetA) || ShapedType::isDynamic(sizeA) ||
        ShapedType::isDynamic(offsetB) || ShapedType::isDynamic(sizeB))
      continue;
    if (offsetA + sizeA <= offsetB || offsetB + sizeB <= offsetA)
      return true;
  }
  return false;
}
