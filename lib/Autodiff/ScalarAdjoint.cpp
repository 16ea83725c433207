//===- ScalarAdjoint.cpp - Reverse mode on scalar bodies ------------------===//

#include "ScalarAdjoint.h"
#include "Adjoint.h"
#include "CustomVJP.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::remat;

ScalarAdjoint::ScalarAdjoint(OpBuilder &builder, Location loc, Block &body,
                             IRMapping primals)
    : builder(builder), loc(loc), body(body), primals(std::move(primals)) {}

void ScalarAdjoint::seed(Value value, Value cotangent) {
  seeds.emplace_back(value, cotangent);
}

/// Operations that no derivative passes through although their results are
/// floating-point numbers: they are piecewise constant.
static bool isPiecewiseConstant(Operation *op) {
  return isa<math::FloorOp, math::CeilOp, math::RoundOp, math::RoundEvenOp,
             math::TruncOp>(op);
}

LogicalResult ScalarAdjoint::propagate(ArrayRef<Value> sources) {
  active.insert(sources.begin(), sources.end());
  for (Operation &op : body.without_terminator()) {
    if (isPiecewiseConstant(&op))
      continue;
    bool reads = false;
    op.walk([&](Operation *inner) {
      reads |= llvm::any_of(inner->getOperands(),
                            [&](Value v) { return active.contains(v); });
    });
    if (!reads)
      continue;
    for (Value result : op.getResults())
      if (isa<FloatType, ComplexType>(getElementTypeOrSelf(result.getType())))
        active.insert(result);
  }
  for (auto [value, cotangent] : seeds)
    add(value, cotangent);
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (auto call = dyn_cast<func::CallOp>(op)) {
      if (failed(propagateCall(call)))
        return failure();
      continue;
    }
    for (OpResult result : op.getResults()) {
      Value ct = cotangent(result);
      if (!ct)
        continue;
      if (isa<FloatType>(ct.getType()) && !hasCotangentType(ct.getType()))
        return emitHasNoCotangent(&op, ct.getType());
      if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
        activeGathers.push_back({extract, ct});
        continue;
      }
      if (failed(applyScalarRule(&op, result.getResultNumber(), ct, *this)))
        return op.emitOpError()
               << "has no derivative rule inside the body of a structured "
                  "operation; add one to applyScalarRule, or compute it "
                  "outside "
                  "the body by an operation that implements "
                  "DifferentiableOpInterface";
    }
  }
  return success();
}

LogicalResult ScalarAdjoint::propagateCall(func::CallOp call) {
  if (llvm::none_of(call.getResults(), [&](Value v) { return cotangent(v); }))
    return success();
  func::FuncOp rule = findCustomRule(call);
  if (!rule)
    return call.emitOpError()
           << "is differentiated inside the body of a structured operation; "
              "inline @"
           << call.getCallee()
           << ", or give it a derivative with remat.custom_vjp";
  SmallVector<Value> given;
  for (Value result : call.getResults())
    if (hasCotangentType(result.getType())) {
      Value ct = cotangent(result);
      given.push_back(ct ? ct : constant(0.0, result.getType()));
    }
  SmallVector<Value> contributions = buildCustomRule(
      builder, rule, call, [&](Value value) { return primal(value); }, given);
  for (auto [operand, contribution] :
       llvm::zip_equal(call.getOperands(), contributions))
    if (contribution)
      add(operand, contribution);
  return success();
}

Value ScalarAdjoint::primal(Value value) {
  if (Value known = primals.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  // What the body captures dominates the adjoint too; constants are copied.
  if (!op ||
      (op->getBlock() != &body && !op->hasTrait<OpTrait::ConstantLike>()))
    return value;
  for (Value operand : op->getOperands())
    primal(operand);
  op->walk([&](Operation *inner) {
    if (inner != op)
      for (Value operand : inner->getOperands())
        if (operand.getParentBlock() == &body)
          primal(operand);
  });
  builder.clone(*op, primals);
  return primals.lookup(value);
}

void ScalarAdjoint::add(Value value, Value cotangent) {
  if (!active.contains(value))
    return;
  Value &sum = cotangents[value];
  sum = sum ? plus(sum, cotangent) : cotangent;
}

std::optional<APFloat> ScalarAdjoint::constantOf(Value value) {
  Value known = primals.lookupOrNull(value);
  FloatAttr attribute;
  if (matchPattern(lookThroughBorders(known ? known : value),
                   m_Constant(&attribute)))
    return attribute.getValue();
  return std::nullopt;
}

Value ScalarAdjoint::constant(double value, Type type) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}
Value ScalarAdjoint::mul(Value a, Value b) {
  return arith::MulFOp::create(builder, loc, a, b);
}
Value ScalarAdjoint::div(Value a, Value b) {
  return arith::DivFOp::create(builder, loc, a, b);
}
Value ScalarAdjoint::plus(Value a, Value b) {
  return arith::AddFOp::create(builder, loc, a, b);
}
Value ScalarAdjoint::minus(Value a, Value b) {
  return arith::SubFOp::create(builder, loc, a, b);
}
Value ScalarAdjoint::neg(Value a) {
  return arith::NegFOp::create(builder, loc, a);
}
Value ScalarAdjoint::scale(Value a, double factor) {
  return mul(a, constant(factor, a.getType()));
}
Value ScalarAdjoint::offset(Value a, double summand) {
  return plus(a, constant(summand, a.getType()));
}
Value ScalarAdjoint::compare(arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, predicate, a, b);
}
Value ScalarAdjoint::guard(Value condition, Value a) {
  return arith::SelectOp::create(builder, loc, condition, a,
                                 constant(0.0, a.getType()));
}
Value ScalarAdjoint::guardNot(Value condition, Value a) {
  return arith::SelectOp::create(builder, loc, condition,
                                 constant(0.0, a.getType()), a);
}
