//===- CustomVJP.cpp - Derivatives by hand --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an export lost (a straight-through estimator, a reversible layer) comes
// back as a function of the user's; here it meets the operations it is for.
//===----------------------------------------------------------------------===//

#include "CustomVJP.h"

#include "Adjoint.h"
#include "remat/Autodiff/Passes.h"
#include "remat/Transforms/Decompose/Structured.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::remat {
#define GEN_PASS_DEF_BINDCUSTOMVJP
#define GEN_PASS_DEF_INLINECUSTOMVJP
#include "remat/Autodiff/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// The function that `custom` is for; null if it is for a kind of operation.
static func::FuncOp getTarget(CustomVJPOp custom) {
  FlatSymbolRefAttr target = custom.getFunctionTarget();
  return target ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(custom,
                                                                     target)
                : nullptr;
}

/// Returns true if the body of `op` is what the user sees of it: named
/// operations are printed without theirs.
static bool hasHiddenBody(Operation *op) {
  return isa<linalg::LinalgOp>(op) &&
         !isa<linalg::GenericOp, linalg::MapOp, linalg::ReduceOp>(op);
}

/// Operations of the kind `name` in functions that are differentiated perhaps.
static SmallVector<Operation *> findOperations(ModuleOp module,
                                               StringRef name) {
  DenseSet<Operation *> rulesAndTargets;
  for (auto custom : module.getOps<CustomVJPOp>())
    for (func::FuncOp function : {getRule(custom), getTarget(custom)})
      rulesAndTargets.insert(function);
  SmallVector<Operation *> found;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (rulesAndTargets.contains(function))
      continue;
    function.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op->getName().getStringRef() == name) {
        found.push_back(op);
        return WalkResult::skip();
      }
      return hasHiddenBody(op) ? WalkResult::skip() : WalkResult::advance();
    });
  }
  return found;
}

static FunctionType getNeededType(MLIRContext *context, TypeRange operands,
                                  TypeRange results) {
  return CustomVJPOp::getRuleType(context, operands, results);
}

/// The one of `rules` that serves for these operands and results; null if none
/// does.
static CustomVJPOp findFitting(ArrayRef<CustomVJPOp> rules, TypeRange operands,
                               TypeRange results) {
  for (CustomVJPOp custom : rules)
    if (CustomVJPOp::isRuleFor(
            getRule(custom).getFunctionType(),
            getNeededType(custom.getContext(), operands, results)))
      return custom;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// From operations to calls
//===----------------------------------------------------------------------===//

static LogicalResult refuse(Operation *op, ArrayRef<CustomVJPOp> rules) {
  InFlightDiagnostic diagnostic =
      op->emitOpError()
      << "has a remat.custom_vjp, but none for its types; it needs "
      << getNeededType(op->getContext(), op->getOperandTypes(),
                       op->getResultTypes());
  if (OpTrait::hasElementwiseMappableTraits(op))
    diagnostic << " (or the same on scalars)";
  for (CustomVJPOp custom : rules)
    diagnostic.attachNote(getRule(custom).getLoc())
        << custom.getRuleAttr() << " has type "
        << getRule(custom).getFunctionType();
  return diagnostic;
}

namespace {
/// The functions made for operations, by the operation in them. Few, so that a
/// search is cheap.
class Outliner {
public:
  explicit Outliner(ModuleOp module) : module(module), table(module) {}

  void outline(Operation *op, CustomVJPOp custom);

private:
  func::FuncOp getFunctionFor(Operation *op, CustomVJPOp custom);

  ModuleOp module;
  SymbolTable table;
  SmallVector<std::pair<Operation *, func::FuncOp>> made;
};
} // namespace

/// Returns true if `a` and `b` are equal up to their operands.
static bool isSameFunction(Operation *a, Operation *b) {
  DenseMap<Value, Value> inside;
  auto isOutside = [](Operation *op, Value value) {
    return !op->isAncestor(value.getParentBlock()->getParentOp());
  };
  return OperationEquivalence::isEquivalentTo(
      a, b,
      [&](Value x, Value y) {
        if (auto it = inside.find(x); it != inside.end())
          return success(it->second == y);
        return success(isOutside(a, x) && isOutside(b, y) &&
                       x.getType() == y.getType());
      },
      [&](Value x, Value y) { inside[x] = y; },
      OperationEquivalence::IgnoreLocations);
}

func::FuncOp Outliner::getFunctionFor(Operation *op, CustomVJPOp custom) {
  for (auto [inside, function] : made)
    if (isSameFunction(op, inside))
      return function;
  Location loc = op->getLoc();
  std::string name = op->getName().getStringRef().str();
  llvm::replace(name, '.', '_');
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  auto function = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType(op->getOperandTypes(), op->getResultTypes()));
  function.setPrivate();
  table.insert(function);
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  Operation *inside = builder.clone(*op);
  inside->setOperands(body->getArguments());
  func::ReturnOp::create(builder, loc, inside->getResults());
  builder.setInsertionPointAfter(function);
  CustomVJPOp::create(builder, custom.getLoc(), custom.getRuleAttr(),
                      FlatSymbolRefAttr::get(function.getSymNameAttr()));
  made.emplace_back(inside, function);
  return function;
}

void Outliner::outline(Operation *op, CustomVJPOp custom) {
  func::FuncOp function = getFunctionFor(op, custom);
  OpBuilder builder(op);
  auto call =
      func::CallOp::create(builder, op->getLoc(), function, op->getOperands());
  op->replaceAllUsesWith(call);
  op->erase();
}

LogicalResult mlir::remat::bindCustomVJPs(ModuleOp module) {
  llvm::MapVector<StringRef, SmallVector<CustomVJPOp>> kinds;
  for (auto custom : module.getOps<CustomVJPOp>())
    if (StringRef name = custom.getOperationTarget(); !name.empty())
      kinds[name].push_back(custom);
  Outliner outliner(module);
  for (auto &[name, rules] : kinds) {
    if (!RegisteredOperationName::lookup(name, module.getContext()))
      rules.front().emitWarning()
          << "there is no \"" << name << "\" in this module";
    for (Operation *op : findOperations(module, name)) {
      SetVector<Value> captured;
      getUsedValuesDefinedAbove(op->getRegions(), captured);
      if (!captured.empty() || op->getNumResults() == 0 ||
          op->getNumSuccessors() != 0)
        return op->emitOpError()
               << "cannot take a remat.custom_vjp, since it reads values that "
                  "are not its operands, or has no results; put it into a "
                  "function, and give that the rule";
      CustomVJPOp fitting =
          findFitting(rules, op->getOperandTypes(), op->getResultTypes());
      if (!fitting && OpTrait::hasElementwiseMappableTraits(op)) {
        SmallVector<Type> operands, results;
        for (Type type : op->getOperandTypes())
          operands.push_back(getElementTypeOrSelf(type));
        for (Type type : op->getResultTypes())
          results.push_back(getElementTypeOrSelf(type));
        fitting = findFitting(rules, operands, results);
        Operation *generic = fitting ? replaceElementwiseByLinalg(op) : nullptr;
        if (generic)
          op = &generic->getRegion(0).front().front();
        else
          fitting = nullptr;
      }
      if (!fitting)
        return refuse(op, rules);
      outliner.outline(op, fitting);
    }
  }
  for (auto &[name, rules] : kinds)
    for (CustomVJPOp custom : rules)
      custom.erase();
  for (auto custom : module.getOps<CustomVJPOp>())
    if (func::FuncOp target = getTarget(custom))
      target.setNoInline(true);
  return success();
}

//===----------------------------------------------------------------------===//
// The rule in place of the adjoint
//===----------------------------------------------------------------------===//

SmallVector<Value> mlir::remat::buildCustomRule(
    OpBuilder &builder, func::FuncOp rule, func::CallOp call,
    function_ref<Value(Value)> primal, ValueRange cotangents) {
  Block &body = rule.getBody().front();
  IRMapping mapping;
  auto bind = [&](BlockArgument argument, Value value) {
    if (value.getType() != argument.getType())
      value = tensor::CastOp::create(builder, call.getLoc(), argument.getType(),
                                     value);
    mapping.map(argument, value);
  };
  SmallVector<Value> primals(call.getOperands());
  llvm::append_range(primals, call.getResults());
  for (auto [argument, value] : llvm::zip(body.getArguments(), primals))
    if (!argument.use_empty())
      bind(argument, primal(value));
  for (auto [argument, value] : llvm::zip_equal(
           body.getArguments().drop_front(primals.size()), cotangents))
    bind(argument, value);

  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> results;
  unsigned next = 0;
  for (Type type : call.getOperandTypes())
    results.push_back(
        hasCotangentType(type)
            ? mapping.lookup(body.getTerminator()->getOperand(next++))
            : Value());
  return results;
}

LogicalResult Adjoint::reverseCustomCall(func::CallOp call, func::FuncOp rule,
                                         AdjointScope &scope) {
  SmallVector<Value> cotangents;
  for (Value result : call.getResults())
    if (hasCotangentType(result.getType())) {
      Value cotangent = scope.getCotangent(result);
      cotangents.push_back(
          cotangent ? cotangent
                    : createZerosLike(scope.builder, call.getLoc(), result));
    }
  SmallVector<Value> contributions = buildCustomRule(
      scope.builder, rule, call, [](Value value) { return value; }, cotangents);
  for (auto [operand, contribution] :
       llvm::zip_equal(call.getOperands(), contributions))
    if (contribution && activity.isActive(operand) &&
        failed(accumulate(scope, call.getLoc(), operand, contribution)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

/// Puts the body of `callee`, which is one block, in place of `call`.
static void inlineCall(func::CallOp call, func::FuncOp callee) {
  OpBuilder builder(call);
  Block &body = callee.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArguments(), call.getOperands());
  for (Operation &op : body.without_terminator()) {
    Operation *clone = builder.clone(op, mapping);
    clone->walk([&](Operation *inner) {
      inner->setLoc(CallSiteLoc::get(inner->getLoc(), call.getLoc()));
    });
    copyPhase(call, clone);
  }
  for (auto [result, value] :
       llvm::zip_equal(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookup(value));
  call.erase();
}

namespace {
struct BindCustomVJPPass
    : public remat::impl::BindCustomVJPBase<BindCustomVJPPass> {
  void runOnOperation() override {
    if (getOperation().getOps<CustomVJPOp>().empty())
      return markAllAnalysesPreserved();
    if (failed(bindCustomVJPs(getOperation())))
      signalPassFailure();
  }
};

struct InlineCustomVJPPass
    : public remat::impl::InlineCustomVJPBase<InlineCustomVJPPass> {
  void runOnOperation() override {
    llvm::MapVector<StringAttr, func::FuncOp> targets;
    SmallVector<CustomVJPOp> rules(getOperation().getOps<CustomVJPOp>());
    for (CustomVJPOp custom : rules) {
      if (func::FuncOp target = getTarget(custom))
        targets[target.getSymNameAttr()] = target;
      custom.erase();
    }
    if (rules.empty())
      return markAllAnalysesPreserved();
    for (auto &[name, target] : targets)
      target.setNoInline(false);
    // A body that was inlined may hold such calls again, as often as there are
    // functions, unless they are recursive.
    for (unsigned round = 0; round <= targets.size(); ++round) {
      SmallVector<func::CallOp> calls;
      getOperation().walk([&](func::CallOp call) {
        func::FuncOp target = targets.lookup(call.getCalleeAttr().getAttr());
        if (target && llvm::hasSingleElement(target.getBody()) &&
            !target->isAncestor(call))
          calls.push_back(call);
      });
      if (calls.empty())
        break;
      for (func::CallOp call : calls)
        inlineCall(call, targets.lookup(call.getCalleeAttr().getAttr()));
    }
  }
};
} // namespace
