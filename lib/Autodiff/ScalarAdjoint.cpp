//===- ScalarAdjoint.cpp - Reverse mode on scalar bodies ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScalarAdjoint.h"
#include "Adjoint.h"
#include "CustomVJP.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "remat/Analysis/Sources.h"
#include "remat/Autodiff/DifferentiableOpInterface.h"
#include "remat/Autodiff/ScalarDifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace mlir::remat;

ScalarAdjoint::ScalarAdjoint(OpBuilder &builder, Location loc, Block &body,
                             IRMapping primals)
    : builder(builder), loc(loc), body(body), primals(std::move(primals)) {}

void ScalarAdjoint::seed(Value value, Value cotangent) {
  seeds.emplace_back(value, cotangent);
}

LogicalResult ScalarAdjoint::propagate(ArrayRef<Value> sources) {
  active.insert(sources.begin(), sources.end());
  for (Operation &op : body.without_terminator()) {
    auto rule = dyn_cast<ScalarDifferentiableOpInterface>(op);
    if (rule && rule.getDerivativeKind() == DerivativeKind::Zero)
      continue;
    if (llvm::none_of(getInputs(&op),
                      [&](Value v) { return active.contains(v); }))
      continue;
    for (Value result : op.getResults())
      if (isa<FloatType, ComplexType>(getElementTypeOrSelf(result.getType())))
        active.insert(result);
  }
  for (auto [value, cotangent] : seeds)
    add(value, cotangent);
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (llvm::any_of(op.getResults(), [&](Value v) { return cotangent(v); }) &&
        failed(reverse(&op)))
      return failure();
  return success();
}

namespace {
class RuleContext : public ScalarVJPContext {
public:
  RuleContext(ScalarAdjoint &adjoint, Operation *op, bool guardsPoles)
      : ScalarVJPContext(adjoint.builder, op, adjoint.loc), adjoint(adjoint),
        guardsPoles(guardsPoles) {}

  Value cotangent(unsigned index) override {
    return adjoint.cotangent(op->getResult(index));
  }
  Value primal(Value value) override { return adjoint.primal(value); }
  bool isKnown(Value value) override { return adjoint.isKnown(value); }
  std::optional<APFloat> getConstant(Value value) override {
    return adjoint.constantOf(value);
  }
  void accumulate(Value value, Value contribution) override {
    if (!adjoint.isActive(value))
      return;
    if (guardsPoles)
      contribution = isCotangentZero().select(0.0, wrap(contribution));
    adjoint.add(value, contribution);
  }

private:
  Scalar isCotangentZero() {
    if (!isZero)
      for (Value result : op->getResults())
        if (Value ct = adjoint.cotangent(result)) {
          Scalar isThisZero = wrap(ct) == 0.0;
          isZero = isZero ? *isZero & isThisZero : isThisZero;
        }
    return *isZero;
  }

  ScalarAdjoint &adjoint;
  /// True if the contributions to a zero cotangent are zeros: what the loss
  /// does not depend on may be undefined (a row of attention with nothing to
  /// attend to), and zero times that would be NaN.
  bool guardsPoles;
  std::optional<Scalar> isZero;
};
} // namespace

LogicalResult ScalarAdjoint::reverse(Operation *op) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return reverseCall(call);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return reverseIf(branch);
  for (Value result : op->getResults())
    if (Value ct = cotangent(result);
        ct && isa<FloatType>(ct.getType()) && !hasCotangentType(ct.getType()))
      return emitHasNoCotangent(op, ct.getType());
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    activeGathers.push_back({extract, cotangent(extract)});
    return success();
  }
  auto rule = dyn_cast<ScalarDifferentiableOpInterface>(op);
  if (!rule || !llvm::all_of(op->getResultTypes(), llvm::IsaPred<FloatType>))
    return op->emitOpError()
           << "has no derivative rule inside the body of a structured "
              "operation; implement ScalarDifferentiableOpInterface for it "
              "(docs/add-a-rule.md), or compute it outside the body by an "
              "operation that implements DifferentiableOpInterface";
  RuleContext context(*this, op,
                      rule.getDerivativeKind() == DerivativeKind::Any);
  return rule.buildScalarVJP(context);
}

LogicalResult ScalarAdjoint::reverseIf(scf::IfOp op) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  SmallVector<Value> sources = llvm::filter_to_vector(
      captured, [&](Value value) { return active.contains(value); });
  SmallVector<Value> scalars = llvm::filter_to_vector(
      sources, [](Value value) { return isa<FloatType>(value.getType()); });
  for (Value value : captured)
    primal(value);
  auto backward = scf::IfOp::create(
      builder, loc, TypeRange(ValueRange(scalars)), primal(op.getCondition()),
      /*withElseRegion=*/true);
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), backward->getRegions())) {
    OpBuilder inner = OpBuilder::atBlockBegin(&to.front());
    ScalarAdjoint adjoint(inner, loc, from.front(), primals);
    for (auto [yielded, result] : llvm::zip_equal(
             from.front().getTerminator()->getOperands(), op.getResults()))
      if (Value ct = cotangent(result))
        adjoint.seed(yielded, ct);
    if (failed(adjoint.propagate(sources)))
      return failure();
    for (Gather gather : adjoint.gathers())
      return gather.extract.emitOpError()
             << "reads a tensor that depends on a parameter in a branch inside "
                "the body of a structured operation; read it before the "
                "branch, or choose its index there";
    scf::YieldOp::create(
        inner, loc, llvm::map_to_vector(scalars, [&](Value value) -> Value {
          Value ct = adjoint.cotangent(value);
          return ct ? ct : adjoint.constant(0.0, value.getType());
        }));
  }
  for (auto [value, ct] : llvm::zip_equal(scalars, backward.getResults()))
    add(value, ct);
  return success();
}

LogicalResult ScalarAdjoint::reverseCall(func::CallOp call) {
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

Value ScalarAdjoint::primal(Value root) {
  // Captured values dominate the adjoint too; constants are copied.
  auto isToCopy = [&](Value value) {
    Operation *op = value.getDefiningOp();
    return op && !primals.contains(value) &&
           (op->getBlock() == &body || op->hasTrait<OpTrait::ConstantLike>());
  };
  walkSources(
      root,
      [&](Value value, SmallVectorImpl<Value> &sources) {
        if (isToCopy(value))
          llvm::append_range(sources, getInputs(value.getDefiningOp()));
      },
      [&](Value value) {
        if (!isToCopy(value))
          return;
        Operation *op = value.getDefiningOp();
        builder.clone(*op, primals);
        // Values from the clone of a branch are known inside of it only.
        for (Region &region : op->getRegions())
          region.walk([&](Operation *inner) {
            for (Value result : inner->getResults())
              primals.erase(result);
          });
      });
  return primals.lookupOrDefault(root);
}

void ScalarAdjoint::add(Value value, Value cotangent) {
  if (!active.contains(value))
    return;
  Value &sum = cotangents[value];
  sum = sum ? arith::AddFOp::create(builder, loc, sum, cotangent).getResult()
            : cotangent;
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
Value ScalarAdjoint::guard(Value condition, Value a) {
  return arith::SelectOp::create(builder, loc, condition, a,
                                 constant(0.0, a.getType()));
}

/// Puts `op` in a block of its own, as if it were the body of a structured
/// operation.
LogicalResult mlir::remat::buildScalarVJP(Operation *op, VJPContext &vjp) {
  if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<ShapedType>))
    return op->emitOpError()
           << "on tensors is differentiated as a linalg.generic; run "
              "-convert-elementwise-to-linalg first";
  Location loc = op->getLoc();
  Block body;
  IRMapping toBody, primals;
  for (Value operand : op->getOperands()) {
    if (toBody.contains(operand))
      continue;
    BlockArgument argument = body.addArgument(operand.getType(), loc);
    toBody.map(operand, argument);
    primals.map(argument, operand);
  }
  OpBuilder inner(op->getContext());
  inner.setInsertionPointToEnd(&body);
  Operation *clone = inner.clone(*op, toBody);
  for (auto [copied, original] :
       llvm::zip_equal(clone->getResults(), op->getResults()))
    primals.map(copied, original);
  linalg::YieldOp::create(inner, loc, clone->getResults());

  ScalarAdjoint adjoint(vjp.builder, loc, body, primals);
  for (auto [index, result] : llvm::enumerate(clone->getResults()))
    if (Value cotangent = vjp.cotangent(index))
      adjoint.seed(result, cotangent);
  SmallVector<Value> wanted;
  SmallVector<unsigned> indices;
  for (unsigned index : llvm::seq(op->getNumOperands())) {
    Value argument = toBody.lookup(op->getOperand(index));
    if (!vjp.isWanted(index) || llvm::is_contained(wanted, argument))
      continue;
    wanted.push_back(argument);
    indices.push_back(index);
  }
  if (failed(adjoint.propagate(wanted)))
    return failure();
  for (auto [index, argument] : llvm::zip_equal(indices, wanted))
    if (Value cotangent = adjoint.cotangent(argument))
      vjp.accumulate(index, cotangent);
  return success();
}
