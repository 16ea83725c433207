//===- ExpandedFunctions.cpp - Functions that exporters spell out ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JAX's way to linalg writes erfc, which the exact GELU is made of, as three
// approximations and selects between them. Far from where one of them is meant
// it overflows; its value is not selected then, but its derivative times zero
// is NaN. Frameworks differentiate the function.
//===----------------------------------------------------------------------===//

#include "Import.h"

#include "remat/Dialect/Remat/IR/Elementwise.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace mlir::remat;
using linalg::LinalgOp;

/// Expansions have some seventy operations.
static constexpr unsigned kMaxOps = 400;

/// The value that `scalar`, perhaps an element of a kernel's operand, is
/// outside of the kernel that it comes from.
static Value getSource(Value scalar) {
  auto argument = dyn_cast<BlockArgument>(scalar);
  auto op = argument ? dyn_cast<LinalgOp>(argument.getOwner()->getParentOp())
                     : LinalgOp();
  if (!isPointwise(op))
    return scalar;
  OpOperand *operand = op.getMatchingOpOperand(argument);
  return op.isDpsInput(operand) ? operand->get() : scalar;
}

/// Returns the operation that computes elements of `value`, tensor or scalar.
static Operation *getScalarOp(Value value) {
  value = getSource(value);
  auto op = value.getDefiningOp<LinalgOp>();
  if (!op)
    return value.getDefiningOp();
  if (!isPointwise(op))
    return nullptr;
  unsigned number = cast<OpResult>(value).getResultNumber();
  Value yielded = op.getBlock()->getTerminator()->getOperand(number);
  return getSource(yielded) == yielded ? yielded.getDefiningOp()
                                       : getScalarOp(yielded);
}

namespace {
/// Evaluates a chain of elementwise operations at one point, by folding.
class Evaluator {
public:
  Evaluator(Value variable, Attribute point) {
    known.try_emplace(variable, point);
  }

  /// The value of an element; null if it depends on anything but the variable.
  Attribute evaluate(Value value) {
    value = getSource(value);
    if (Attribute found = known.lookup(value))
      return found;
    if (++numOps > kMaxOps)
      return {};
    return known[value] = compute(value);
  }

private:
  Attribute compute(Value value) {
    Attribute constant;
    if (matchPattern(value, m_Constant(&constant))) {
      auto elements = dyn_cast<SplatElementsAttr>(constant);
      return elements ? elements.getSplatValue<Attribute>() : constant;
    }
    Operation *op = value.getDefiningOp();
    if (auto kernel = dyn_cast_if_present<LinalgOp>(op)) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      return isPointwise(kernel)
                 ? evaluate(
                       kernel.getBlock()->getTerminator()->getOperand(number))
                 : Attribute();
    }
    if (!isa_and_present<arith::ArithDialect, math::MathDialect>(
            op ? op->getDialect() : nullptr) ||
        isa<ShapedType>(value.getType()))
      return {};
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands()) {
      operands.push_back(evaluate(operand));
      if (!operands.back())
        return {};
    }
    SmallVector<OpFoldResult> results;
    if (failed(op->fold(operands, results)) || results.empty())
      return {};
    OpFoldResult result = results[cast<OpResult>(value).getResultNumber()];
    if (auto same = dyn_cast<Value>(result))
      return evaluate(same);
    return cast<Attribute>(result);
  }

  llvm::SmallDenseMap<Value, Attribute> known;
  unsigned numOps = 0;
};
} // namespace

/// Returns the variable of a choice between approximations: `x`, if it compares
/// |x| with a constant.
static Value getVariable(arith::SelectOp choice) {
  auto compare =
      dyn_cast_if_present<arith::CmpFOp>(getScalarOp(choice.getCondition()));
  if (!compare)
    return {};
  for (Value side : compare->getOperands())
    if (auto magnitude = dyn_cast_if_present<math::AbsFOp>(getScalarOp(side)))
      return getSource(magnitude.getOperand());
  return {};
}

/// Returns true if `value` is erfc of `variable`, to the precision of its type.
static bool isErfc(Value value, Value variable) {
  Type type = getElementTypeOrSelf(value);
  if (type != getElementTypeOrSelf(variable) || !(type.isF32() || type.isF64()))
    return false;
  double precision = type.isF32() ? 1e-5 : 1e-10;
  // On both sides of where approximations may change, near zero, far away.
  for (double x : {-7.0, -3.1, -2.2, -1.4, -0.9, -0.3, -0.01, 0.02, 0.2, 0.6,
                   0.95, 1.3, 1.9, 2.3, 3.2, 4.5, 9.0}) {
    auto point = FloatAttr::get(type, x);
    auto found = dyn_cast_if_present<FloatAttr>(
        Evaluator(variable, point).evaluate(value));
    double expected = std::erfc(point.getValueAsDouble());
    if (!found || !(std::abs(found.getValueAsDouble() - expected) <=
                    precision * expected + 1e-30))
      return false;
  }
  return true;
}

/// Puts math.erfc where `choice` is, if its kernel sees the variable or does
/// nothing else.
static void replaceByErfc(arith::SelectOp choice, Value variable) {
  OpBuilder builder(choice);
  Location loc = choice.getLoc();
  if (variable.getType() == choice.getType()) {
    choice.replaceAllUsesWith(
        math::ErfcOp::create(builder, loc, variable).getResult());
    return;
  }
  auto kernel = cast<LinalgOp>(choice->getParentOp());
  for (OpOperand *input : kernel.getDpsInputOperands())
    if (input->get() == variable) {
      Value element = kernel.getMatchingBlockArgument(input);
      choice.replaceAllUsesWith(
          math::ErfcOp::create(builder, loc, element).getResult());
      return;
    }
  builder.setInsertionPoint(kernel);
  Value erfc = math::ErfcOp::create(builder, loc, variable);
  kernel->getResult(0).replaceAllUsesWith(erfc);
}

void remat::raiseExpandedFunctions(func::FuncOp root) {
  for (func::FuncOp function : getReachableFunctions(root)) {
    SmallVector<arith::SelectOp> choices;
    function.walk([&](arith::SelectOp choice) {
      if (isa<FloatType>(choice.getType()))
        choices.push_back(choice);
    });
    for (arith::SelectOp choice : choices) {
      Value variable = getVariable(choice);
      if (!variable ||
          !variable.getParentRegion()->isAncestor(choice->getParentRegion()))
        continue;
      auto kernel = dyn_cast<LinalgOp>(choice->getParentOp());
      bool isInKernel =
          variable.getType() == choice.getType() ||
          (kernel && llvm::is_contained(kernel.getDpsInputs(), variable));
      bool isKernel = kernel && isPointwise(kernel) &&
                      kernel->getNumResults() == 1 &&
                      kernel->getResult(0).getType() == variable.getType() &&
                      kernel.getBlock()->getTerminator()->getOperand(0) ==
                          choice.getResult();
      if ((isInKernel || isKernel) && isErfc(choice, variable))
        replaceByErfc(choice, variable);
    }
  }
}
