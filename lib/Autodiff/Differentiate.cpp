//===- Differentiate.cpp - Joint functions of losses ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses what to differentiate with respect to what, and gives the result its
// signature. The calculus is in Adjoint.cpp.
//===----------------------------------------------------------------------===//

#include "Adjoint.h"
#include "CallAdjoints.h"
#include "CustomVJP.h"
#include "WhileToFor.h"

#include "remat/Autodiff/Passes.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Transforms/Decompose/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::remat {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "remat/Autodiff/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

static bool isFloatScalar(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getRank() == 0 && isa<FloatType>(tensor.getElementType());
  return isa<FloatType>(type);
}

/// The result that is differentiated: the one with `remat.loss`, else the first
/// floating-point scalar.
static FailureOr<unsigned> findLoss(func::FuncOp function) {
  std::optional<unsigned> loss;
  for (unsigned index : llvm::seq(function.getNumResults())) {
    if (!function.getResultAttr(index, RematDialect::getLossAttrName()))
      continue;
    if (loss)
      return function.emitError() << "has two results with remat.loss, "
                                  << *loss << " and " << index << "; keep one";
    loss = index;
    Type type = function.getResultTypes()[index];
    if (!isFloatScalar(type))
      return function.emitError()
             << "result " << index << " with remat.loss has type " << type
             << "; a loss is a floating-point scalar such as f32 or tensor<f32>"
             << " (reduce it with linalg.reduce)";
  }
  if (loss)
    return *loss;
  for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
    if (isFloatScalar(type))
      return index;
  return function.emitError()
         << "cannot differentiate @" << function.getName()
         << ": no result is a floating-point scalar such as f32 or tensor<f32>";
}

/// Arguments to differentiate with respect to: `wrt`, else those with
/// `opt.param`.
static FailureOr<SmallVector<unsigned>>
findWantedArguments(func::FuncOp function, ArrayRef<int64_t> wrt) {
  SmallVector<unsigned> wanted;
  for (int64_t index : wrt) {
    if (index < 0 || index >= function.getNumArguments())
      return function.emitError()
             << "wrt=" << index << ": @" << function.getName() << " has "
             << function.getNumArguments() << " arguments";
    wanted.push_back(index);
  }
  if (wrt.empty())
    for (unsigned index : llvm::seq(function.getNumArguments()))
      if (function.getArgAttr(index, opt::OptDialect::getParamAttrName()))
        wanted.push_back(index);
  llvm::sort(wanted);
  wanted.erase(llvm::unique(wanted), wanted.end());
  if (wanted.empty())
    return function.emitError()
           << "cannot differentiate @" << function.getName()
           << ": no argument carries opt.param; mark the trainable ones, or "
              "give their indices with wrt=";
  for (unsigned index : wanted)
    if (!hasCotangentType(function.getArgument(index).getType()))
      return emitError(function.getArgument(index).getLoc())
             << "argument " << index << " of @" << function.getName()
             << " has type " << function.getArgument(index).getType()
             << " and cannot be trained; parameters are floating-point scalars "
                "of 16 or more bits or dense ranked tensors of them";
  return wanted;
}

static bool hasParameter(func::FuncOp function) {
  return llvm::any_of(llvm::seq(function.getNumArguments()), [&](unsigned i) {
    return function.getArgAttr(i, opt::OptDialect::getParamAttrName());
  });
}

static bool isJointFunction(func::FuncOp function) {
  return llvm::any_of(llvm::seq(function.getNumResults()), [&](unsigned i) {
    return function.getResultAttr(i, RematDialect::getGradientOfAttrName());
  });
}

/// Functions that a `remat.train_step` trains.
static SetVector<func::FuncOp> findTrainedFunctions(ModuleOp module) {
  SetVector<func::FuncOp> functions;
  for (auto train : module.getOps<TrainStepOp>())
    if (auto function = module.lookupSymbol<func::FuncOp>(train.getLoss()))
      functions.insert(function);
  return functions;
}

//===----------------------------------------------------------------------===//
// Verbs
//===----------------------------------------------------------------------===//

/// 1, of the loss's type.
static Value createSeed(OpBuilder &builder, Location loc, Type type) {
  TypedAttr one = builder.getFloatAttr(getElementTypeOrSelf(type), 1.0);
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    one = DenseElementsAttr::get(tensor, Attribute(one));
  return arith::ConstantOp::create(builder, loc, one);
}

/// Gives `joint` the results `gradients` of the arguments `wanted` after its
/// own.
static void appendGradients(func::FuncOp joint, ValueRange results,
                            ArrayRef<unsigned> wanted, ValueRange gradients,
                            OpBuilder &builder, Location loc) {
  SmallVector<Value> values(results);
  SmallVector<Attribute> attributes;
  for (unsigned index : llvm::seq(joint.getNumResults())) {
    DictionaryAttr dictionary = joint.getResultAttrDict(index);
    attributes.push_back(dictionary ? dictionary
                                    : builder.getDictionaryAttr({}));
  }
  for (auto [index, gradient] : llvm::zip_equal(wanted, gradients)) {
    values.push_back(gradient);
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(RematDialect::getGradientOfAttrName(),
                             builder.getI64IntegerAttr(index))));
  }
  func::ReturnOp::create(builder, loc, values);
  joint.setFunctionType(builder.getFunctionType(joint.getArgumentTypes(),
                                                ValueRange(values).getTypes()));
  joint.setResAttrsAttr(builder.getArrayAttr(attributes));
}

/// Turns `joint`, a copy of the loss function, into the joint function.
static LogicalResult differentiate(func::FuncOp source, func::FuncOp joint,
                                   ArrayRef<unsigned> wanted, unsigned loss,
                                   bool isReportedByStep,
                                   CallSummaries &summaries,
                                   CallAdjoints &calls) {
  replaceByStructured(joint);
  Block &body = joint.getBody().front();
  auto returnOp = cast<func::ReturnOp>(body.getTerminator());
  SmallVector<Value> parameters =
      llvm::map_to_vector(wanted, [&](unsigned index) -> Value {
        return joint.getArgument(index);
      });
  FailureOr<Activity> analyzed =
      analyzeActivity(body, parameters, loss, summaries);
  if (failed(analyzed))
    return failure();
  Activity &activity = *analyzed;
  Value lossValue = returnOp.getOperand(loss);
  if (!activity.isVaried(lossValue))
    return returnOp.emitError()
           << "result " << loss << " depends on no parameter, so there is "
           << "nothing to differentiate";

  // The return stays while the backward is built beside: what it returns may be
  // replaced on the way.
  Location loc = returnOp.getLoc();
  OpBuilder builder(returnOp);
  BackwardOp provisional = createProvisionalBackward(builder, loc);
  CotangentKeys keys(body, activity);
  AdjointScope scope(*provisional.getBodyBlock(), keys);
  Value seed = createSeed(scope.builder, loc, lossValue.getType());
  markBackward(seed.getDefiningOp());
  scope.setCotangent(lossValue, seed);
  Adjoint adjoint(activity, calls);
  if (failed(adjoint.reverseBlock(body, scope)))
    return failure();

  SmallVector<unsigned> dependent;
  SmallVector<Value> gradients;
  for (unsigned index : wanted) {
    BlockArgument argument = joint.getArgument(index);
    if (Value gradient = scope.getCotangent(argument)) {
      dependent.push_back(index);
      gradients.push_back(gradient);
    } else if (!isReportedByStep) {
      emitWarning(argument.getLoc())
          << "the loss does not depend on parameter " << index << " of @"
          << source.getName() << "; it is left untouched";
    }
  }
  // Operations of rules without users must not look like work.
  YieldOp::create(scope.builder, loc, gradients);
  eraseDead(*provisional.getBodyBlock());
  provisional.getYield().erase();
  BeginBackwardOp::create(builder, loc);
  body.getOperations().splice(returnOp->getIterator(),
                              provisional.getBodyBlock()->getOperations());
  provisional.erase();
  appendGradients(joint, returnOp.getOperands(), dependent, gradients, builder,
                  loc);
  returnOp.erase();
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct DifferentiatePass
    : public remat::impl::DifferentiateBase<DifferentiatePass> {
  using DifferentiateBase::DifferentiateBase;

  void runOnOperation() override;
  FailureOr<SmallVector<func::FuncOp>> chooseFunctions();
};
} // namespace

FailureOr<SmallVector<func::FuncOp>> DifferentiatePass::chooseFunctions() {
  ModuleOp module = getOperation();
  SmallVector<func::FuncOp> chosen;
  for (const std::string &name : functions) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    if (!function)
      return module.emitError()
             << "function=" << name << ": there is no such function";
    chosen.push_back(function);
  }
  if (!chosen.empty())
    return chosen;
  llvm::append_range(chosen, findTrainedFunctions(module));
  if (!chosen.empty())
    return chosen;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal() &&
        !isJointFunction(function) && hasParameter(function))
      chosen.push_back(function);
  return chosen;
}

void DifferentiatePass::runOnOperation() {
  if (failed(bindCustomVJPs(getOperation())))
    return signalPassFailure();
  FailureOr<SmallVector<func::FuncOp>> chosen = chooseFunctions();
  if (failed(chosen))
    return signalPassFailure();
  SymbolTableCollection symbols;
  CallSummaries summaries(symbols);
  CallAdjoints calls(symbols, summaries);
  // Their parameters without a gradient are reported, by name, where the step
  // is inserted.
  SetVector<func::FuncOp> trained = findTrainedFunctions(getOperation());
  for (func::FuncOp function : *chosen) {
    std::string name = (function.getName() + "_grad").str();
    if (getOperation().lookupSymbol(name))
      continue;
    if (function.isExternal()) {
      function.emitError() << "cannot differentiate @" << function.getName()
                           << ": it has no body";
      return signalPassFailure();
    }
    if (!llvm::hasSingleElement(function.getBody())) {
      function.emitError()
          << "cannot differentiate @" << function.getName()
          << ": it has several blocks; run -lift-cf-to-scf first";
      return signalPassFailure();
    }
    // An operation of an unknown dialect may stand there.
    if (!isa<func::ReturnOp>(function.front().getTerminator())) {
      function.front().getTerminator()->emitError()
          << "cannot differentiate @" << function.getName()
          << ": it does not end in a func.return";
      return signalPassFailure();
    }
    FailureOr<unsigned> loss = findLoss(function);
    if (failed(loss))
      return signalPassFailure();
    FailureOr<SmallVector<unsigned>> wanted =
        findWantedArguments(function, wrt);
    if (failed(wanted))
      return signalPassFailure();

    func::FuncOp joint = function.clone();
    joint.setName(name);
    OpBuilder builder(function->getContext());
    builder.setInsertionPointAfter(function);
    builder.insert(joint);
    if (failed(differentiate(function, joint, *wanted, *loss,
                             trained.contains(function), summaries, calls))) {
      joint.erase();
      return signalPassFailure();
    }
  }
}
