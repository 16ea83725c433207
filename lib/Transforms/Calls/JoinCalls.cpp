//===- JoinCalls.cpp - Join the forward and backward of a layer -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Residuals of a function are chosen where its forward and its backward are
// both visible. A forward that only returns residuals, and a backward that only
// takes them, show neither.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/BackwardBorder.h"
#include "remat/Autodiff/CallPairs.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Calls/Passes.h"
#include "remat/Transforms/Utils/Callees.h"

#include "mlir/IR/IRMapping.h"

namespace mlir::remat {
#define GEN_PASS_DEF_JOINCALLS
#include "remat/Transforms/Calls/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// The calls of each function that has no other uses.
using Calls = DenseMap<func::FuncOp, SmallVector<func::CallOp>>;

/// A backward function and the forward one whose results it reads.
struct Pair {
  func::FuncOp forward, backward;
  /// The forward call for each call of the backward.
  SmallVector<func::CallOp> forwardCalls;
  /// The source of each operand of the backward in all calls: an operand of the
  /// forward's call, or a result, counted from the number of operands.
  SmallVector<std::optional<unsigned>> sources;

  /// Returns the arguments of the forward that the backward reads.
  SmallVector<int64_t> getReads() const {
    SmallVector<int64_t> reads;
    for (std::optional<unsigned> source : sources)
      if (source && !isResult(source))
        reads.push_back(*source);
    return reads;
  }
  /// Returns the operands that the backward's half takes: these arguments, then
  /// the operands that do not come from the forward's call.
  SmallVector<unsigned> getPassed() const {
    SmallVector<unsigned> passed, others;
    for (auto [index, source] : llvm::enumerate(sources))
      if (!source)
        others.push_back(index);
      else if (!isResult(source))
        passed.push_back(index);
    llvm::append_range(passed, others);
    return passed;
  }
  bool isResult(std::optional<unsigned> source) const {
    return source && *source >= func::FuncOp(forward).getNumArguments();
  }
};
} // namespace

static bool hasBorder(func::FuncOp function) {
  return !function.front().getOps<BeginBackwardOp>().empty();
}

static Calls collectCalls(ModuleOp module) {
  Calls calls;
  for (CalledFunction &called : collectCalledFunctions(module))
    if (called.isOnlyCalled)
      calls[called.function] = std::move(called.calls);
  return calls;
}

/// Returns the indices of operands and results of `call` that are `value`.
static SmallVector<unsigned> findSources(func::CallOp call, Value value) {
  SmallVector<unsigned> sources;
  for (auto [index, operand] : llvm::enumerate(call.getOperands()))
    if (operand == value)
      sources.push_back(index);
  if (value.getDefiningOp() == call)
    sources.push_back(call.getNumOperands() +
                      cast<OpResult>(value).getResultNumber());
  return sources;
}

/// Returns the call that is the source of most operands of `backward`.
static func::CallOp findForwardCall(func::CallOp backward, const Calls &calls,
                                    SymbolTable &symbols) {
  llvm::SmallSetVector<func::CallOp, 4> candidates;
  for (Value operand : backward.getOperands())
    if (auto call = operand.getDefiningOp<func::CallOp>())
      if (calls.contains(symbols.lookup<func::FuncOp>(call.getCallee())))
        candidates.insert(call);
  func::CallOp best;
  int64_t most = 0;
  for (func::CallOp call : candidates) {
    int64_t count = llvm::count_if(backward.getOperands(), [&](Value operand) {
      return !findSources(call, operand).empty();
    });
    if (count > most) {
      most = count;
      best = call;
    }
  }
  return best;
}

static std::optional<Pair> findPair(func::FuncOp backward, const Calls &calls,
                                    SymbolTable &symbols) {
  Pair pair;
  pair.backward = backward;
  SmallVector<SmallVector<unsigned>> sources;
  for (func::CallOp call : calls.find(backward)->second) {
    func::CallOp forwardCall = findForwardCall(call, calls, symbols);
    if (!forwardCall)
      return std::nullopt;
    auto forward = symbols.lookup<func::FuncOp>(forwardCall.getCallee());
    bool isFirst = !pair.forward;
    if (isFirst)
      pair.forward = forward;
    else if (forward != pair.forward)
      return std::nullopt;
    pair.forwardCalls.push_back(forwardCall);
    sources.resize(call.getNumOperands());
    for (auto [possible, operand] :
         llvm::zip_equal(sources, call.getOperands())) {
      SmallVector<unsigned> here = findSources(forwardCall, operand);
      if (isFirst)
        possible = here;
      else
        llvm::erase_if(possible, [&](unsigned source) {
          return !llvm::is_contained(here, source);
        });
    }
  }
  for (ArrayRef<unsigned> possible : sources)
    pair.sources.push_back(possible.empty() ? std::nullopt
                                            : std::optional(possible.front()));
  if (!pair.forward || pair.forward == backward || hasBorder(pair.forward) ||
      llvm::none_of(pair.sources, [&](std::optional<unsigned> source) {
        return pair.isResult(source);
      }))
    return std::nullopt;
  return pair;
}

/// Returns the results of the forward that have uses other than the backward.
static BitVector findOutputs(const Pair &pair, const Calls &calls) {
  DenseSet<OpOperand *> residuals;
  for (func::CallOp call : calls.find(pair.backward)->second)
    for (OpOperand &operand : call->getOpOperands())
      if (pair.isResult(pair.sources[operand.getOperandNumber()]))
        residuals.insert(&operand);
  BitVector outputs(func::FuncOp(pair.forward).getNumResults());
  for (func::CallOp call : calls.find(pair.forward)->second)
    for (OpResult result : call.getResults())
      if (llvm::any_of(result.getUses(), [&](OpOperand &use) {
            return !residuals.contains(&use);
          }))
        outputs.set(result.getResultNumber());
  return outputs;
}

/// Concatenates the bodies of both.
static func::FuncOp createJoint(const Pair &pair, const BitVector &outputs,
                                SymbolTable &symbols) {
  func::FuncOp forward = pair.forward, backward = pair.backward;
  StringRef name = forward.getName();
  name.consume_back("_fwd");
  auto joint = cast<func::FuncOp>(forward->cloneWithoutRegions());
  joint.setName((name + "_joint").str());
  symbols.insert(joint, forward->getIterator());
  Block *body = joint.addEntryBlock();
  OpBuilder builder = OpBuilder::atBlockBegin(body);
  IRMapping mapping;
  mapping.map(forward.getArguments(), body->getArguments());
  for (Operation &op : forward.front().without_terminator())
    builder.clone(op, mapping);
  auto getReturned = [&](func::FuncOp function) {
    return llvm::map_to_vector(
        function.front().getTerminator()->getOperands(),
        [&](Value value) { return mapping.lookup(value); });
  };
  SmallVector<Value> forwardResults = getReturned(forward), results;
  for (unsigned index : outputs.set_bits())
    results.push_back(forwardResults[index]);
  for (auto [argument, source] :
       llvm::zip_equal(backward.getArguments(), pair.sources)) {
    Value value;
    if (!source)
      value = body->addArgument(argument.getType(), argument.getLoc());
    else if (pair.isResult(source))
      value = forwardResults[*source - forward.getNumArguments()];
    else
      value = body->getArgument(*source);
    mapping.map(argument, value);
  }
  for (Operation &op : backward.front().without_terminator())
    builder.clone(op, mapping);
  llvm::append_range(results, getReturned(backward));
  func::ReturnOp::create(builder, joint.getLoc(), results);
  joint.setType(builder.getFunctionType(body->getArgumentTypes(),
                                        llvm::to_vector(TypeRange(results))));
  joint.removeArgAttrsAttr();
  joint.removeResAttrsAttr();
  return joint;
}

/// Turns `function` into a declaration of `type` that stands for a half of
/// `joint`.
static void makeHalf(func::FuncOp function, FunctionType type,
                     func::FuncOp joint) {
  function.getBody().front().dropAllDefinedValueUses();
  function.getBody().front().erase();
  function.removeArgAttrsAttr();
  function.removeResAttrsAttr();
  function.setType(type);
  function->setAttr(kJointAttrName, FlatSymbolRefAttr::get(joint));
}

/// Turns both functions of `pair` into halves of a joint one and returns it.
static func::FuncOp join(const Pair &pair, const Calls &calls,
                         SymbolTable &symbols) {
  BitVector outputs = findOutputs(pair, calls);
  func::FuncOp joint = createJoint(pair, outputs, symbols);
  func::FuncOp forward = pair.forward, backward = pair.backward;
  OpBuilder builder(joint.getContext());
  SmallVector<Type> results, operands{builder.getNoneType()};
  for (unsigned index : outputs.set_bits())
    results.push_back(forward.getResultTypes()[index]);
  results.push_back(builder.getNoneType());
  SmallVector<unsigned> passed = pair.getPassed();
  for (unsigned index : passed)
    operands.push_back(backward.getArgumentTypes()[index]);
  makeHalf(forward,
           builder.getFunctionType(forward.getArgumentTypes(), results), joint);
  makeHalf(backward,
           builder.getFunctionType(operands, backward.getResultTypes()), joint);
  backward->setAttr(kReadsAttrName,
                    builder.getDenseI64ArrayAttr(pair.getReads()));

  DenseMap<Operation *, Value> tokens;
  for (func::CallOp call : calls.find(forward)->second) {
    func::CallOp half = createCallLike(call, forward, call.getOperands());
    for (auto [index, result] :
         llvm::zip(outputs.set_bits(), half.getResults()))
      call.getResult(index).replaceAllUsesWith(result);
    tokens[call] = half->getResults().back();
  }
  for (auto [known, forwardCall] :
       llvm::zip_equal(calls.find(backward)->second, pair.forwardCalls)) {
    func::CallOp call = known;
    SmallVector<Value> operands{tokens.lookup(forwardCall)};
    for (unsigned index : passed)
      operands.push_back(call.getOperand(index));
    func::CallOp half = createCallLike(call, backward, operands);
    call.replaceAllUsesWith(half);
    call.erase();
  }
  for (func::CallOp call : calls.find(forward)->second)
    call.erase();
  return joint;
}

namespace {
/// Joins pairs one after the other: calls of one pair may be in functions of
/// another one, whose bodies are cloned.
class PairJoiner {
public:
  explicit PairJoiner(ModuleOp module)
      : module(module), symbols(module), calls(collectCalls(module)) {}

  void run() {
    while (joinAll())
      ;
  }

private:
  /// Tries every function once, and once more after its calls have moved into a
  /// joint function. Returns true if some were joined.
  bool joinAll() {
    bool changed = false;
    SmallVector<func::FuncOp> pending;
    for (auto function : module.getOps<func::FuncOp>())
      if (isBackward(function))
        pending.push_back(function);
    std::reverse(pending.begin(), pending.end());
    while (!pending.empty()) {
      func::FuncOp backward = pending.pop_back_val();
      // It may have been joined since.
      if (!isBackward(backward))
        continue;
      std::optional<Pair> pair = findPair(backward, calls, symbols);
      if (!pair || hasOtherBackward(*pair))
        continue;
      joinPair(*pair, pending);
      changed = true;
    }
    return changed;
  }

  bool isBackward(func::FuncOp function) const {
    return calls.contains(function) && hasBorder(function);
  }

  /// Returns true if the forward of `pair` is that of another function, too.
  bool hasOtherBackward(const Pair &pair) {
    llvm::SmallSetVector<func::FuncOp, 4> others;
    for (func::CallOp call : calls.lookup(pair.forward))
      for (Operation *user : call->getUsers())
        if (auto other = dyn_cast<func::CallOp>(user))
          if (auto callee = symbols.lookup<func::FuncOp>(other.getCallee());
              callee != pair.backward && isBackward(callee))
            others.insert(callee);
    return llvm::any_of(others, [&](func::FuncOp other) {
      std::optional<Pair> found = findPair(other, calls, symbols);
      return found && found->forward == pair.forward;
    });
  }

  /// Adds the functions with a border that the joint function calls to
  /// `pending`.
  void joinPair(const Pair &pair, SmallVectorImpl<func::FuncOp> &pending) {
    // Calls in both bodies are replaced by their clones.
    for (func::FuncOp half : {pair.forward, pair.backward})
      half.walk([&](func::CallOp call) {
        auto known = calls.find(symbols.lookup<func::FuncOp>(call.getCallee()));
        if (known != calls.end())
          llvm::erase(known->second, call);
      });
    func::FuncOp joint = join(pair, calls, symbols);
    calls.erase(pair.forward);
    calls.erase(pair.backward);
    joint.walk([&](func::CallOp call) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      auto known = calls.find(callee);
      if (known == calls.end())
        return;
      known->second.push_back(call);
      if (hasBorder(callee))
        pending.push_back(callee);
    });
  }

  ModuleOp module;
  SymbolTable symbols;
  Calls calls;
};

struct JoinCallsPass : public remat::impl::JoinCallsBase<JoinCallsPass> {
  void runOnOperation() override { PairJoiner(getOperation()).run(); }
};
} // namespace
