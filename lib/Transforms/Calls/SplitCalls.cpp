//===- SplitCalls.cpp - Split the forward and backward of a layer ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The residuals are final: they become results of the forward and arguments of
// the backward.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/BackwardBorder.h"
#include "remat/Autodiff/CallPairs.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Calls/Passes.h"
#include "remat/Transforms/Utils/Callees.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::remat {
#define GEN_PASS_DEF_SPLITCALLS
#include "remat/Transforms/Calls/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// The declarations that stand for the halves of a joint function.
struct Halves {
  func::FuncOp forward, backward;
  SmallVector<func::CallOp> forwardCalls, backwardCalls;
};

/// Maps the names of joint functions to their halves.
using HalvesMap = llvm::MapVector<StringAttr, Halves>;
} // namespace

/// Moves operations that depend on `arguments` after `border`.
static void moveAfter(Operation *border, ValueRange arguments) {
  DenseSet<Value> dependent(arguments.begin(), arguments.end());
  Operation *last = border;
  for (Operation &op : llvm::make_early_inc_range(*border->getBlock())) {
    if (&op == border)
      return;
    WalkResult reads = op.walk([&](Operation *inner) {
      return WalkResult(
          failure(llvm::any_of(inner->getOperands(), [&](Value operand) {
            return dependent.contains(operand);
          })));
    });
    if (!reads.wasInterrupted())
      continue;
    dependent.insert_range(op.getResults());
    op.moveAfter(last);
    last = &op;
  }
}

/// Clones slices after `border` of tensors that are read there completely,
/// slice by slice: a slice is a view in one function, but would be a copy as a
/// residual.
static void sliceAfter(Operation *border) {
  llvm::MapVector<Value, SmallVector<tensor::ExtractSliceOp>> slicesOf;
  for (Operation &op : *border->getBlock()) {
    if (&op == border)
      break;
    auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
    if (slice && slice->getNumOperands() == 1 &&
        llvm::any_of(slice->getUsers(), [&](Operation *user) {
          return border->isBeforeInBlock(
              border->getBlock()->findAncestorOpInBlock(*user));
        }))
      slicesOf[slice.getSource()].push_back(slice);
  }
  OpBuilder builder(border->getContext());
  for (auto &[source, slices] : slicesOf) {
    int64_t bytes = 0;
    for (tensor::ExtractSliceOp slice : slices)
      bytes += estimateBytes(slice.getType());
    if (bytes < estimateBytes(source.getType()))
      continue;
    for (tensor::ExtractSliceOp slice : slices) {
      builder.setInsertionPointAfter(border);
      Operation *behind = builder.clone(*slice);
      setPhase(behind, kBackwardPhase);
      slice.getResult().replaceUsesWithIf(
          behind->getResult(0), [&](OpOperand &use) {
            return border->isBeforeInBlock(
                border->getBlock()->findAncestorOpInBlock(*use.getOwner()));
          });
    }
  }
}

static FailureOr<CallPair> split(func::FuncOp joint, const Halves &halves,
                                 SymbolTable &symbols) {
  CallPair pair;
  func::FuncOp forward = halves.forward, backwardHalf = halves.backward;
  StringAttr forwardName = forward.getSymNameAttr();
  pair.forward = joint;
  pair.backward = cast<func::FuncOp>(backwardHalf->clone());
  pair.backward->removeAttr(kJointAttrName);
  pair.backward->removeAttr(kReadsAttrName);
  unsigned numInputs = forward.getNumArguments(),
           numOutputs = forward.getNumResults() - 1;
  pair.backward.setType(FunctionType::get(joint.getContext(), {}, {}));
  symbols.erase(backwardHalf);
  joint->getParentOfType<ModuleOp>().insert(std::next(joint->getIterator()),
                                            pair.backward);

  Block &body = joint.front();
  Operation *border = *body.getOps<BeginBackwardOp>().begin();
  Block *backward = pair.backward.addEntryBlock();
  auto foreign = body.getArguments().drop_front(numInputs);
  moveAfter(border, ValueRange(foreign));
  sliceAfter(border);
  for (BlockArgument argument : foreign)
    argument.replaceAllUsesWith(
        backward->addArgument(argument.getType(), argument.getLoc()));
  body.eraseArguments(numInputs, body.getNumArguments() - numInputs);

  OperandRange returned = body.getTerminator()->getOperands();
  SmallVector<Value> outputs(returned.take_front(numOutputs)),
      gradients(returned.drop_front(numOutputs));
  Location loc = body.getTerminator()->getLoc();
  body.getTerminator()->erase();
  backward->getOperations().splice(backward->end(), body.getOperations(),
                                   border->getIterator(), body.end());
  OpBuilder builder = OpBuilder::atBlockEnd(&body);
  func::ReturnOp::create(builder, loc, outputs);
  joint.setType(builder.getFunctionType(body.getArgumentTypes(),
                                        llvm::to_vector(TypeRange(outputs))));
  builder.setInsertionPointToEnd(backward);
  func::ReturnOp::create(builder, loc, gradients);
  if (failed(passResiduals(pair)))
    return failure();
  symbols.erase(forward);
  // The joint function has no uses any more that would be renamed, for which
  // the whole module would be searched.
  symbols.remove(joint);
  joint.setSymNameAttr(forwardName);
  symbols.insert(joint);
  return pair;
}

/// Checks that the halves match the function, as those created by
/// remat-join-calls do.
static LogicalResult check(StringAttr name, func::FuncOp joint,
                           Halves &halves) {
  func::FuncOp some = halves.forward ? halves.forward : halves.backward;
  auto fail = [&](const Twine &what) {
    return some.emitError()
           << "stands for a half of @" << name.getValue() << ", but " << what
           << "; leave remat.joint to remat-join-calls";
  };
  if (!halves.forward || !halves.backward)
    return fail("there is no declaration for the other half");
  if (!halves.forward.isExternal() || !halves.backward.isExternal())
    return fail("a half has a body");
  if (!joint || !joint.getBody().hasOneBlock() ||
      joint.front().getOps<BeginBackwardOp>().empty())
    return fail("that is no function of one block with a remat.begin_backward");
  auto reads =
      halves.backward->getAttrOfType<DenseI64ArrayAttr>(kReadsAttrName);
  ArrayRef<Type> operands = halves.backward.getArgumentTypes();
  if (!reads || operands.empty() || !isa<NoneType>(operands.front()) ||
      !isa<NoneType>(halves.forward.getResultTypes().back()) ||
      operands.size() < 1 + static_cast<size_t>(reads.size()) ||
      joint.getNumArguments() != halves.forward.getNumArguments() +
                                     operands.size() - 1 - reads.size() ||
      joint.getNumResults() !=
          halves.forward.getNumResults() - 1 + halves.backward.getNumResults())
    return fail("their types do not fit");
  return success();
}

/// Rewrites the calls of both halves, `forwards` and `backwards`, to calls of
/// the new functions.
static void rewriteCalls(ArrayRef<func::CallOp> forwards,
                         ArrayRef<func::CallOp> backwards, const CallPair &pair,
                         ArrayRef<int64_t> passed) {
  DenseMap<Value, func::CallOp> forwardOf;
  for (func::CallOp call : forwards) {
    func::CallOp whole = createCallLike(call, pair.forward, call.getOperands());
    unsigned numOutputs = call.getNumResults() - 1;
    for (unsigned index = 0; index < numOutputs; ++index)
      call.getResult(index).replaceAllUsesWith(whole.getResult(index));
    forwardOf[call.getResult(numOutputs)] = whole;
  }
  for (func::CallOp call : backwards) {
    func::CallOp forward = forwardOf.lookup(call.getOperand(0));
    SmallVector<Value> operands;
    for (unsigned read : pair.reads) {
      const int64_t *it = llvm::find(passed, int64_t(read));
      if (read >= forward.getNumOperands())
        operands.push_back(forward.getResult(read - forward.getNumOperands()));
      else if (it != passed.end())
        operands.push_back(call.getOperand(1 + (it - passed.begin())));
      else
        operands.push_back(forward.getOperand(read));
    }
    llvm::append_range(operands,
                       call.getOperands().drop_front(1 + passed.size()));
    func::CallOp whole = createCallLike(call, pair.backward, operands);
    call.replaceAllUsesWith(whole);
    call.erase();
  }
  for (func::CallOp call : forwards)
    call.erase();
}

/// Collects the declarations that stand for halves.
static HalvesMap collectHalves(ModuleOp module) {
  HalvesMap found;
  for (auto function : module.getOps<func::FuncOp>())
    if (auto joint =
            function->getAttrOfType<FlatSymbolRefAttr>(kJointAttrName)) {
      bool isForward =
          llvm::any_of(function.getResultTypes(), llvm::IsaPred<NoneType>);
      Halves &halves = found[joint.getAttr()];
      (isForward ? halves.forward : halves.backward) = function;
    }
  return found;
}

/// Returns the names in an order in which joint functions come after those
/// whose halves they call, as no token may become a residual; fewer names if
/// they call each other. Collects the calls of all halves.
static SmallVector<StringAttr> orderByCalls(ModuleOp module,
                                            HalvesMap &joints) {
  DenseMap<StringAttr, StringAttr> jointOf;
  for (auto &[name, halves] : joints)
    for (func::FuncOp half : {halves.forward, halves.backward})
      jointOf[half.getSymNameAttr()] = name;
  DenseMap<StringAttr, SmallVector<StringAttr>> callersOf;
  DenseMap<StringAttr, unsigned> numCalls;
  module.walk([&](func::CallOp call) {
    StringAttr name = jointOf.lookup(call.getCalleeAttr().getAttr());
    if (!name)
      return;
    Halves &halves = joints.find(name)->second;
    bool isForward = call.getCallee() == halves.forward.getName();
    (isForward ? halves.forwardCalls : halves.backwardCalls).push_back(call);
    auto caller = call->getParentOfType<func::FuncOp>();
    if (caller && joints.contains(caller.getSymNameAttr())) {
      callersOf[name].push_back(caller.getSymNameAttr());
      ++numCalls[caller.getSymNameAttr()];
    }
  });
  SmallVector<StringAttr> order;
  for (auto &[name, halves] : joints)
    if (numCalls.lookup(name) == 0)
      order.push_back(name);
  for (size_t next = 0; next < order.size(); ++next)
    for (StringAttr caller : callersOf.lookup(order[next]))
      if (--numCalls[caller] == 0)
        order.push_back(caller);
  return order;
}

static LogicalResult splitWithCalls(func::FuncOp joint, const Halves &halves,
                                    SymbolTable &symbols) {
  DenseSet<Value> tokens;
  for (func::CallOp call : halves.forwardCalls)
    tokens.insert(call->getResults().back());
  for (func::CallOp call : halves.backwardCalls)
    if (!tokens.contains(call.getOperand(0)))
      return call.emitError(
          "takes a token that no call of the other half gives");
  func::FuncOp backward = halves.backward;
  SmallVector<int64_t> passed(
      backward->getAttrOfType<DenseI64ArrayAttr>(kReadsAttrName).asArrayRef());
  FailureOr<CallPair> pair = split(joint, halves, symbols);
  if (failed(pair))
    return failure();
  rewriteCalls(halves.forwardCalls, halves.backwardCalls, *pair, passed);
  return success();
}

namespace {
struct SplitCallsPass : public remat::impl::SplitCallsBase<SplitCallsPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    HalvesMap joints = collectHalves(module);
    if (joints.empty())
      return markAllAnalysesPreserved();
    SymbolTable symbols(module);
    for (auto &[name, halves] : joints)
      if (failed(check(name, symbols.lookup<func::FuncOp>(name), halves)))
        return signalPassFailure();
    SmallVector<StringAttr> order = orderByCalls(module, joints);
    if (order.size() < joints.size()) {
      module.emitError("functions that remat-join-calls has joined call each "
                       "other; write recursion as a loop");
      return signalPassFailure();
    }
    for (StringAttr name : order)
      if (failed(splitWithCalls(symbols.lookup<func::FuncOp>(name),
                                joints.find(name)->second, symbols)))
        return signalPassFailure();
  }
};
} // namespace
