//===- ThreadStates.cpp - Global states to values -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Transforms/Utils/ThreadStates.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
/// States by their position; sets of them are bit vectors.
using StateSet = llvm::SmallBitVector;

/// The current value of each state; null for those that are not in use.
using Values = SmallVector<Value>;

class Threading {
public:
  Threading(ModuleOp module, const ThreadedStates &states)
      : module(module), symbols(module), info(states),
        count(states.states.size()) {}

  LogicalResult run();

private:
  StateSet getDirectUses(Operation *op);
  StateSet getUses(Operation *op);
  void findUsesOfFunctions();
  LogicalResult check();
  LogicalResult checkUsers(func::FuncOp function);
  LogicalResult checkContext(Operation *op);

  bool setsFirst(func::FuncOp function, unsigned index);
  void threadFunction(func::FuncOp function);
  void threadBlock(Block &block, Values &values);
  void threadCall(func::CallOp call, Values &values);
  void threadRegions(Operation *op, Values &values);
  Values select(const Values &values, const StateSet &uses);
  void assign(Values &values, const StateSet &uses, ValueRange next);
  SmallVector<Type> getTypes(const StateSet &uses);

  ModuleOp module;
  SymbolTable symbols;
  const ThreadedStates &info;
  unsigned count;
  llvm::MapVector<func::FuncOp, StateSet> functions;
};
} // namespace

//===----------------------------------------------------------------------===//
// Who uses what
//===----------------------------------------------------------------------===//

/// Returns the states that `op` reads, sets, or passes to a function it calls.
StateSet Threading::getDirectUses(Operation *op) {
  StateSet uses(count);
  if (std::optional<unsigned> state = info.getRead(op))
    uses.set(*state);
  else if (std::optional<unsigned> state = info.getWritten(op))
    uses.set(*state);
  else if (auto call = dyn_cast<func::CallOp>(op))
    if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
      if (auto found = functions.find(callee); found != functions.end())
        uses |= found->second;
  return uses;
}

StateSet Threading::getUses(Operation *op) {
  StateSet uses(count);
  op->walk([&](Operation *inner) { uses |= getDirectUses(inner); });
  return uses;
}

/// Through calls, recursive ones too: until nothing is added.
void Threading::findUsesOfFunctions() {
  for (auto function : module.getOps<func::FuncOp>())
    functions[function] = StateSet(count);
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto &[function, uses] : functions) {
      StateSet now = getUses(function);
      changed |= now != uses;
      uses = now;
    }
  }
}

//===----------------------------------------------------------------------===//
// What cannot be threaded
//===----------------------------------------------------------------------===//

static bool canCarryState(Operation *op) {
  return isa<scf::ForOp, scf::WhileOp, scf::IfOp, scf::IndexSwitchOp,
             scf::ExecuteRegionOp, RegionOp>(op);
}

/// Checks everything between an access and its function.
LogicalResult Threading::checkContext(Operation *op) {
  for (Operation *parent = op; !isa<ModuleOp>(parent);
       parent = parent->getParentOp()) {
    if (parent != op && !isa<func::FuncOp>(parent) && !canCarryState(parent)) {
      InFlightDiagnostic diag = op->emitOpError()
                                << "uses " << info.noun << " inside '"
                                << parent->getName()
                                << "', which cannot pass its state on; ";
      return diag << (isa<scf::ParallelOp, scf::ForallOp>(parent)
                          ? info.parallelHint
                          : info.otherHint);
    }
    auto region = dyn_cast<RegionOp>(parent);
    if (parent != op && region && !region.getResiduals().empty())
      return op->emitOpError()
             << "uses " << info.noun
             << " in a differentiated region; run this pass before "
                "remat-differentiate";
    if (parent != op && !isa<func::FuncOp>(parent))
      for (Region &inner : parent->getRegions())
        if (!inner.empty() && !inner.hasOneBlock())
          return op->emitOpError() << "uses " << info.noun
                                   << " in unstructured control flow; convert "
                                      "it to scf";
    if (auto function = dyn_cast<func::FuncOp>(parent)) {
      if (!function.getBody().hasOneBlock())
        return op->emitOpError() << "uses " << info.noun
                                 << " in unstructured control flow; convert "
                                    "it to scf";
      if (!isa<ModuleOp>(function->getParentOp()))
        return op->emitOpError()
               << "uses " << info.noun
               << " in a nested module; move the function to the outer one";
      return success();
    }
  }
  return op->emitOpError() << "uses " << info.noun << " outside of a function";
}

LogicalResult Threading::checkUsers(func::FuncOp function) {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(function, module);
  if (!uses)
    return success();
  for (SymbolTable::SymbolUse use : *uses)
    if (!isa<func::CallOp, TrainStepOp>(use.getUser())) {
      InFlightDiagnostic diag = use.getUser()->emitOpError()
                                << "uses @" << function.getSymName()
                                << ", which uses " << info.noun
                                << "; only a call can pass its state on";
      diag.attachNote(function.getLoc()) << "the function";
      return diag;
    }
  return success();
}

LogicalResult Threading::check() {
  WalkResult result = module.walk([&](Operation *op) {
    if (getDirectUses(op).none())
      return WalkResult::advance();
    return WalkResult(checkContext(op));
  });
  if (result.wasInterrupted())
    return failure();
  for (auto &[function, uses] : functions)
    if (uses.any() && failed(checkUsers(function)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Threading
//===----------------------------------------------------------------------===//

Values Threading::select(const Values &values, const StateSet &uses) {
  Values selected;
  for (unsigned index : uses.set_bits())
    selected.push_back(values[index]);
  return selected;
}

void Threading::assign(Values &values, const StateSet &uses, ValueRange next) {
  for (auto [index, value] : llvm::zip_equal(uses.set_bits(), next))
    values[index] = value;
}

SmallVector<Type> Threading::getTypes(const StateSet &uses) {
  SmallVector<Type> types;
  for (unsigned index : uses.set_bits())
    types.push_back(info.states[index].type);
  return types;
}

void Threading::threadCall(func::CallOp call, Values &values) {
  StateSet uses = getDirectUses(call);
  OpBuilder builder(call);
  SmallVector<Value> operands(call.getOperands());
  llvm::append_range(operands, select(values, uses));
  SmallVector<Type> types(call.getResultTypes());
  llvm::append_range(types, getTypes(uses));
  auto threaded = func::CallOp::create(builder, call.getLoc(), types, operands,
                                       call->getAttrs());
  unsigned numResults = call.getNumResults();
  assign(values, uses, threaded.getResults().drop_front(numResults));
  call.replaceAllUsesWith(threaded.getResults().take_front(numResults));
  call.erase();
}

/// Appends the states to what a block hands on.
static void appendToTerminator(Block &block, ValueRange states) {
  Operation *terminator = block.getTerminator();
  if (auto yield = dyn_cast<remat::YieldOp>(terminator))
    yield.getOutputsMutable().append(states);
  else if (auto condition = dyn_cast<scf::ConditionOp>(terminator))
    condition.getArgsMutable().append(states);
  else
    terminator->insertOperands(terminator->getNumOperands(), states);
}

/// An operation with regions gets the states as further operands (where it has
/// a list of values that its body takes) and results.
void Threading::threadRegions(Operation *op, Values &values) {
  StateSet uses = getUses(op);
  SmallVector<Type> stateTypes = getTypes(uses);
  bool takesOperands = isa<scf::ForOp, scf::WhileOp, RegionOp>(op);

  OperationState builderState(op->getLoc(), op->getName());
  builderState.addOperands(op->getOperands());
  if (takesOperands)
    builderState.addOperands(select(values, uses));
  builderState.addTypes(op->getResultTypes());
  builderState.addTypes(stateTypes);
  builderState.addAttributes(op->getDiscardableAttrDictionary().getValue());
  builderState.propertiesAttr = op->getPropertiesAsAttribute();
  for (unsigned i = 0; i < op->getNumRegions(); ++i)
    builderState.addRegion();
  OpBuilder builder(op);
  Operation *threaded = builder.create(builderState);
  if (auto region = dyn_cast<RegionOp>(threaded)) {
    unsigned numOutputs = op->getNumResults() + uses.count();
    region.getProperties().resultSegmentSizes = {static_cast<int>(numOutputs),
                                                 0};
    if (std::optional<ArrayRef<bool>> flags = region.getPreventCse()) {
      SmallVector<bool> extended(*flags);
      extended.append(uses.count(), true);
      region.setPreventCse(extended);
    }
  }

  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), threaded->getRegions())) {
    to.takeBody(from);
    if (to.empty()) {
      // An scf.if without else.
      builder.createBlock(&to);
      scf::YieldOp::create(builder, op->getLoc());
    }
    Block &block = to.front();
    Values inner = values;
    if (takesOperands) {
      SmallVector<Value> arguments;
      for (Type type : stateTypes)
        arguments.push_back(block.addArgument(type, op->getLoc()));
      assign(inner, uses, arguments);
    }
    threadBlock(block, inner);
    appendToTerminator(block, select(inner, uses));
  }
  unsigned numResults = op->getNumResults();
  op->replaceAllUsesWith(threaded->getResults().take_front(numResults));
  assign(values, uses, threaded->getResults().drop_front(numResults));
  op->erase();
}

/// Program order is the order of the accesses.
void Threading::threadBlock(Block &block, Values &values) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (std::optional<unsigned> state = info.getRead(&op)) {
      op.getResult(0).replaceAllUsesWith(values[*state]);
      op.erase();
    } else if (std::optional<unsigned> state = info.getWritten(&op)) {
      values[*state] = op.getOperand(0);
      op.erase();
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      if (getDirectUses(call).any())
        threadCall(call, values);
    } else if (op.getNumRegions() != 0 && getUses(&op).any()) {
      threadRegions(&op, values);
    }
  }
}

/// Returns true if the first thing that `function` does with a state is to set
/// it, so that its value before does not matter.
bool Threading::setsFirst(func::FuncOp function, unsigned index) {
  for (Operation &op : function.getBody().front())
    if (getUses(&op).test(index))
      return info.getWritten(&op).has_value();
  return false;
}

void Threading::threadFunction(func::FuncOp function) {
  bool isCalled = false;
  if (auto symbolUses = SymbolTable::getSymbolUses(function, module))
    isCalled = llvm::any_of(*symbolUses, [](SymbolTable::SymbolUse use) {
      return isa<func::CallOp>(use.getUser());
    });

  // Arguments and results, but for states that begin and end here.
  StateSet passed = functions[function];
  Values values(count);
  bool isEntry = !isCalled || function.isPublic();
  for (unsigned index : functions[function].set_bits()) {
    if (!isCalled && setsFirst(function, index)) {
      passed.reset(index);
      continue;
    }
    const ThreadedState &state = info.states[index];
    unsigned position = function.getNumArguments();
    (void)function.insertArgument(position, state.type,
                                  isEntry ? state.argumentAttributes
                                          : DictionaryAttr(),
                                  function.getLoc());
    (void)function.insertResult(function.getNumResults(), state.type,
                                isEntry ? state.resultAttributes
                                        : DictionaryAttr());
    values[index] = function.getArgument(position);
  }
  Block &body = function.getBody().front();
  threadBlock(body, values);
  appendToTerminator(body, select(values, passed));
}

LogicalResult Threading::run() {
  if (count == 0)
    return success();
  findUsesOfFunctions();
  if (failed(check()))
    return failure();
  for (auto &[function, uses] : functions)
    if (uses.any())
      threadFunction(function);
  return success();
}

LogicalResult remat::threadStates(ModuleOp module,
                                  const ThreadedStates &states) {
  return Threading(module, states).run();
}
