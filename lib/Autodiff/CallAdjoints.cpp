//===- CallAdjoints.cpp - Derivatives of called functions -----------------===//
//
// The callee becomes a pair: a forward that returns residuals too, and a
// backward that takes them. Calls with the same activity share it.
//
//===----------------------------------------------------------------------===//

#include "CallAdjoints.h"

#include "Adjoint.h"
#include "Captures.h"
#include "WhileToFor.h"
#include "remat/Transforms/Normalize/Structured.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Turns what the backward function reads of the forward one into arguments,
/// before those for cotangents.
class CalleeImporter : public CaptureImporter {
public:
  CalleeImporter(CalleeAdjoint &adjoint)
      : CaptureImporter(adjoint.backward.getBody()), adjoint(adjoint) {}

  SmallVector<Value> residuals;

private:
  bool isForeign(Value value) override {
    return adjoint.forward.getBody().isAncestor(value.getParentRegion());
  }
  bool isAvailable(Value value) override { return isa<BlockArgument>(value); }
  Value addArgument(Value value, unsigned read) {
    Block &body = adjoint.backward.getBody().front();
    Value argument = body.insertArgument(adjoint.reads.size(), value.getType(),
                                         value.getLoc());
    adjoint.reads.push_back(read);
    return argument;
  }
  Value makeAvailable(Value value) override {
    return addArgument(value, cast<BlockArgument>(value).getArgNumber());
  }
  Value save(Value value, OpBuilder &builder) override {
    // A result of the callee need not be returned twice.
    OperandRange returned =
        adjoint.forward.getBody().front().getTerminator()->getOperands();
    unsigned index = llvm::find(returned, value) - returned.begin();
    if (index == returned.size()) {
      index += residuals.size();
      residuals.push_back(value);
    }
    return addArgument(value, adjoint.forward.getNumArguments() + index);
  }

  CalleeAdjoint &adjoint;
};
} // namespace

/// Gives `function`, whose body is complete, the type that its body has.
static void updateType(func::FuncOp function) {
  Block &body = function.getBody().front();
  unsigned numResults = function.getNumResults();
  TypeRange results = body.getTerminator()->getOperandTypes();
  if (ArrayAttr attributes = function.getResAttrsAttr()) {
    SmallVector<Attribute> extended(attributes.getValue());
    extended.resize(results.size(), DictionaryAttr::get(function.getContext()));
    assert(results.size() >= numResults && "results are only added");
    function.setResAttrsAttr(ArrayAttr::get(function.getContext(), extended));
  }
  function.setFunctionType(FunctionType::get(function.getContext(),
                                             body.getArgumentTypes(), results));
}

FailureOr<CalleeAdjoint> CallAdjoints::build(func::FuncOp callee,
                                             const BitVector &wanted,
                                             const BitVector &seeded) {
  Location loc = callee.getLoc();
  SymbolTable &table =
      symbols.getSymbolTable(callee->getParentOfType<ModuleOp>());
  std::string suffix;
  for (unsigned number = 1;
       table.lookup((callee.getName() + "_fwd" + suffix).str()) ||
       table.lookup((callee.getName() + "_bwd" + suffix).str());
       ++number)
    suffix = "_" + std::to_string(number);
  CalleeAdjoint adjoint;
  adjoint.forward = callee.clone();
  adjoint.forward.setName((callee.getName() + "_fwd" + suffix).str());
  adjoint.forward.setPrivate();
  table.insert(adjoint.forward, std::next(callee->getIterator()));
  adjoint.backward =
      func::FuncOp::create(loc, (callee.getName() + "_bwd" + suffix).str(),
                           FunctionType::get(callee.getContext(), {}, {}));
  adjoint.backward.setPrivate();
  table.insert(adjoint.backward, std::next(adjoint.forward->getIterator()));
  replaceByStructured(adjoint.forward);

  Block &forward = adjoint.forward.getBody().front();
  auto forwardReturn = cast<func::ReturnOp>(forward.getTerminator());
  SmallVector<Value> inputs;
  for (unsigned index : wanted.set_bits())
    inputs.push_back(forward.getArgument(index));
  FailureOr<Activity> analyzed = analyzeActivity(
      forward, inputs, llvm::to_vector_of<unsigned>(seeded.set_bits()),
      summaries);
  if (failed(analyzed))
    return failure();
  Activity &activity = *analyzed;

  Block *backward = adjoint.backward.addEntryBlock();
  CotangentKeys keys(forward, activity);
  AdjointScope scope(*backward, keys);
  Adjoint reverse(activity, *this);
  for (unsigned index : seeded.set_bits()) {
    Value result = forwardReturn.getOperand(index);
    if (!activity.isActive(result))
      continue;
    adjoint.seeded.push_back(index);
    Value cotangent = backward->addArgument(result.getType(), loc);
    if (failed(reverse.accumulate(scope, loc, result, cotangent)))
      return failure();
  }
  if (failed(reverse.reverseBlock(forward, scope)))
    return failure();
  SmallVector<Value> cotangents;
  for (unsigned index : wanted.set_bits())
    if (Value cotangent = scope.getCotangent(forward.getArgument(index))) {
      adjoint.returned.push_back(index);
      cotangents.push_back(cotangent);
    }
  func::ReturnOp::create(scope.builder, loc, cotangents);
  eraseDead(*backward);

  CalleeImporter importer(adjoint);
  if (failed(importer.run()))
    return failure();
  forwardReturn.getOperandsMutable().append(importer.residuals);
  updateType(adjoint.forward);
  updateType(adjoint.backward);
  for (Operation &op : *backward)
    markBackward(&op);
  OpBuilder builder = OpBuilder::atBlockBegin(backward);
  BeginBackwardOp::create(builder, loc);
  return adjoint;
}

FailureOr<CalleeAdjoint> CallAdjoints::get(func::CallOp call,
                                           const BitVector &wanted,
                                           const BitVector &seeded) {
  auto callee =
      symbols.lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  if (!callee || callee.isExternal())
    return call.emitOpError()
           << "calls @" << call.getCallee()
           << ", which has no body to differentiate; give it one, or put an "
              "operation that implements DifferentiableOpInterface "
              "(docs/add-a-rule.md) in place of the call";
  if (!llvm::hasSingleElement(callee.getBody()))
    return call.emitOpError()
           << "calls @" << call.getCallee()
           << ", which has several blocks; run -lift-cf-to-scf first";
  if (!isa<func::ReturnOp>(callee.front().getTerminator()))
    return call.emitOpError() << "calls @" << call.getCallee()
                              << ", which does not end in a func.return";
  if (llvm::is_contained(running, callee.getOperation()))
    return call.emitOpError()
           << "is recursive, and recursion is not differentiated; write @"
           << call.getCallee() << " as an scf.for";

  std::vector<bool> activity;
  for (unsigned index : llvm::seq(wanted.size()))
    activity.push_back(wanted[index]);
  for (unsigned index : llvm::seq(seeded.size()))
    activity.push_back(seeded[index]);
  std::pair<Operation *, std::vector<bool>> key(callee, activity);
  if (auto it = known.find(key); it != known.end())
    return it->second;

  running.push_back(callee);
  FailureOr<CalleeAdjoint> adjoint = build(callee, wanted, seeded);
  running.pop_back();
  if (failed(adjoint)) {
    // Not at the operation: it would be printed, and its function is
    // unfinished.
    emitRemark(call.getLoc())
        << "while differentiating the function that is called here";
    return failure();
  }
  known.emplace(key, *adjoint);
  return adjoint;
}

LogicalResult Adjoint::reverseCall(func::CallOp call, AdjointScope &outer) {
  Location loc = call.getLoc();
  BitVector wanted(call.getNumOperands()), seeded(call.getNumResults());
  for (auto [index, operand] : llvm::enumerate(call.getOperands()))
    wanted[index] = activity.isActive(operand);
  for (auto [index, result] : llvm::enumerate(call.getResults()))
    seeded[index] = static_cast<bool>(outer.getCotangent(result));
  FailureOr<CalleeAdjoint> adjoint = calls.get(call, wanted, seeded);
  if (failed(adjoint))
    return failure();

  SmallVector<Value> arguments(call.getOperands());
  SmallVector<Value> cotangents;
  for (unsigned index : adjoint->seeded)
    cotangents.push_back(outer.getCotangent(call.getResult(index)));

  OpBuilder builder(call);
  auto saving = func::CallOp::create(builder, loc, adjoint->forward, arguments);
  saving->setDiscardableAttrs(call->getDiscardableAttrDictionary());
  call->replaceAllUsesWith(
      saving.getResults().take_front(call.getNumResults()));
  call->erase();

  SmallVector<Value> operands;
  for (unsigned read : adjoint->reads)
    operands.push_back(read < arguments.size()
                           ? arguments[read]
                           : saving.getResult(read - arguments.size()));
  operands.append(cotangents);
  if (adjoint->returned.empty())
    return success();
  auto backward =
      func::CallOp::create(outer.builder, loc, adjoint->backward, operands);
  for (auto [index, cotangent] :
       llvm::zip_equal(adjoint->returned, backward.getResults()))
    if (failed(accumulate(outer, loc, arguments[index], cotangent)))
      return failure();
  return success();
}
