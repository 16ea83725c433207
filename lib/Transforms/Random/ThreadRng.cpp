//===- ThreadRng.cpp - Generators to states that are passed on ------------===//
//
// A draw from a global stream cannot be replayed in a recompute without
// advancing the stream again; a draw from a value can.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Random/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::remat {
#define GEN_PASS_DEF_THREADRNGPASS
#include "remat/Transforms/Random/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

namespace {
/// Generators by their position in the module; sets of them are bit vectors.
using Generators = llvm::SmallBitVector;

/// The current state of each generator; null for those that are not in use.
using States = SmallVector<Value>;

class Threading {
public:
  Threading(ModuleOp module) : module(module), symbols(module) {
    llvm::append_range(generators, module.getOps<GeneratorOp>());
    for (auto [index, generator] : llvm::enumerate(generators))
      positions[generator.getSymNameAttr()] = index;
  }

  LogicalResult run();

private:
  Generators getDirectUses(Operation *op);
  Generators getUses(Operation *op);
  void findUsesOfFunctions();
  LogicalResult check();
  LogicalResult checkUsers(func::FuncOp function);
  LogicalResult checkContext(Operation *op);

  bool setsFirst(func::FuncOp function, unsigned index);
  void threadFunction(func::FuncOp function);
  void threadBlock(Block &block, States &states);
  void threadCall(func::CallOp call, States &states);
  void threadRegions(Operation *op, States &states);
  SmallVector<Value> select(const States &states, const Generators &uses);
  void assign(States &states, const Generators &uses, ValueRange values);

  ModuleOp module;
  SymbolTable symbols;
  SmallVector<GeneratorOp> generators;
  llvm::DenseMap<StringAttr, unsigned> positions;
  llvm::MapVector<func::FuncOp, Generators> functions;
};
} // namespace

//===----------------------------------------------------------------------===//
// Who draws from what
//===----------------------------------------------------------------------===//

/// What `op` itself reads, sets, or gives to a function that it calls.
Generators Threading::getDirectUses(Operation *op) {
  Generators uses(generators.size());
  if (auto get = dyn_cast<GetRngOp>(op))
    uses.set(positions.lookup(get.getGeneratorAttr().getAttr()));
  else if (auto set = dyn_cast<SetRngOp>(op))
    uses.set(positions.lookup(set.getGeneratorAttr().getAttr()));
  else if (auto call = dyn_cast<func::CallOp>(op))
    if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee()))
      if (auto found = functions.find(callee); found != functions.end())
        uses |= found->second;
  return uses;
}

Generators Threading::getUses(Operation *op) {
  Generators uses(generators.size());
  op->walk([&](Operation *inner) { uses |= getDirectUses(inner); });
  return uses;
}

/// Through calls, recursive ones too: until nothing is added.
void Threading::findUsesOfFunctions() {
  for (auto function : module.getOps<func::FuncOp>())
    functions[function] = Generators(generators.size());
  bool changed = true;
  while (changed) {
    changed = false;
    for (auto &[function, uses] : functions) {
      Generators now = getUses(function);
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

/// Checks everything between a draw and its function.
LogicalResult Threading::checkContext(Operation *op) {
  for (Operation *parent = op; !isa<ModuleOp>(parent);
       parent = parent->getParentOp()) {
    if (parent != op && !isa<func::FuncOp>(parent) && !canCarryState(parent)) {
      InFlightDiagnostic diag = op->emitOpError()
                                << "uses a random generator inside '"
                                << parent->getName()
                                << "', which cannot pass its state on; ";
      if (isa<scf::ParallelOp, scf::ForallOp>(parent))
        diag << "draw from a remat.rng_fold_in of a state and the index";
      else
        diag << "draw outside of it and pass the state as an operand";
      return diag;
    }
    auto region = dyn_cast<RegionOp>(parent);
    if (parent != op && region && !region.getResiduals().empty())
      return op->emitOpError()
             << "uses a random generator in a differentiated region; run "
                "remat-thread-rng before remat-differentiate";
    if (parent != op && !isa<func::FuncOp>(parent))
      for (Region &inner : parent->getRegions())
        if (!inner.empty() && !inner.hasOneBlock())
          return op->emitOpError() << "uses a random generator in unstructured "
                                      "control flow; convert it to scf";
    if (auto function = dyn_cast<func::FuncOp>(parent)) {
      if (!function.getBody().hasOneBlock())
        return op->emitOpError() << "uses a random generator in unstructured "
                                    "control flow; convert it to scf";
      if (!isa<ModuleOp>(function->getParentOp()))
        return op->emitOpError()
               << "uses a random generator in a nested module; move the "
                  "function to the generator's module";
      return success();
    }
  }
  return op->emitOpError() << "uses a random generator outside of a function";
}

LogicalResult Threading::checkUsers(func::FuncOp function) {
  std::optional<SymbolTable::UseRange> uses =
      SymbolTable::getSymbolUses(function, module);
  if (!uses)
    return success();
  for (SymbolTable::SymbolUse use : *uses)
    if (!isa<func::CallOp, TrainStepOp>(use.getUser())) {
      InFlightDiagnostic diag =
          use.getUser()->emitOpError()
          << "uses @" << function.getSymName()
          << ", which draws from a random generator; only a call can pass the "
             "state, so draw from an argument of type !remat.rng there";
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

  Generators read(generators.size()), written(generators.size());
  module.walk([&](Operation *op) {
    if (isa<GetRngOp>(op))
      read |= getDirectUses(op);
    if (isa<SetRngOp>(op))
      written |= getDirectUses(op);
  });
  for (auto [index, generator] : llvm::enumerate(generators))
    if (read.test(index) && !written.test(index))
      generator.emitWarning() << "is read by remat.get_rng but never advanced "
                                 "by remat.set_rng: every draw from it gives "
                                 "the same numbers";
  return success();
}

//===----------------------------------------------------------------------===//
// Threading
//===----------------------------------------------------------------------===//

SmallVector<Value> Threading::select(const States &states,
                                     const Generators &uses) {
  SmallVector<Value> values;
  for (unsigned index : uses.set_bits())
    values.push_back(states[index]);
  return values;
}

void Threading::assign(States &states, const Generators &uses,
                       ValueRange values) {
  for (auto [index, value] : llvm::zip_equal(uses.set_bits(), values))
    states[index] = value;
}

void Threading::threadCall(func::CallOp call, States &states) {
  Generators uses = getDirectUses(call);
  OpBuilder builder(call);
  SmallVector<Value> operands(call.getOperands());
  llvm::append_range(operands, select(states, uses));
  SmallVector<Type> types(call.getResultTypes());
  types.append(uses.count(), RngType::get(call.getContext()));
  auto threaded = func::CallOp::create(builder, call.getLoc(), types, operands,
                                       call->getAttrs());
  unsigned numResults = call.getNumResults();
  assign(states, uses, threaded.getResults().drop_front(numResults));
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
void Threading::threadRegions(Operation *op, States &states) {
  Generators uses = getUses(op);
  MLIRContext *context = op->getContext();
  Type stateType = RngType::get(context);
  bool takesOperands = isa<scf::ForOp, scf::WhileOp, RegionOp>(op);

  OperationState builderState(op->getLoc(), op->getName());
  builderState.addOperands(op->getOperands());
  if (takesOperands)
    builderState.addOperands(select(states, uses));
  builderState.addTypes(op->getResultTypes());
  builderState.types.append(uses.count(), stateType);
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
    States inner = states;
    if (takesOperands) {
      SmallVector<Value> arguments;
      for (unsigned i = 0; i < uses.count(); ++i)
        arguments.push_back(block.addArgument(stateType, op->getLoc()));
      assign(inner, uses, arguments);
    }
    threadBlock(block, inner);
    appendToTerminator(block, select(inner, uses));
  }
  unsigned numResults = op->getNumResults();
  op->replaceAllUsesWith(threaded->getResults().take_front(numResults));
  assign(states, uses, threaded->getResults().drop_front(numResults));
  op->erase();
}

/// Program order is the order of the draws.
void Threading::threadBlock(Block &block, States &states) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto get = dyn_cast<GetRngOp>(op)) {
      get.replaceAllUsesWith(
          states[positions.lookup(get.getGeneratorAttr().getAttr())]);
      get.erase();
    } else if (auto set = dyn_cast<SetRngOp>(op)) {
      states[positions.lookup(set.getGeneratorAttr().getAttr())] = set.getRng();
      set.erase();
    } else if (auto call = dyn_cast<func::CallOp>(op)) {
      if (getDirectUses(call).any())
        threadCall(call, states);
    } else if (op.getNumRegions() != 0 && getUses(&op).any()) {
      threadRegions(&op, states);
    }
  }
}

/// Whether the first thing that `function` does with a generator is to set it,
/// so that the state before does not matter.
bool Threading::setsFirst(func::FuncOp function, unsigned index) {
  for (Operation &op : function.getBody().front())
    if (getUses(&op).test(index))
      return isa<SetRngOp>(op);
  return false;
}

void Threading::threadFunction(func::FuncOp function) {
  bool isCalled = false;
  if (auto symbolUses = SymbolTable::getSymbolUses(function, module))
    isCalled = llvm::any_of(*symbolUses, [](SymbolTable::SymbolUse use) {
      return isa<func::CallOp>(use.getUser());
    });

  // Arguments and results, but for generators that begin and end here.
  Generators passed = functions[function];
  States states(generators.size());
  Builder builder(function.getContext());
  Type stateType = RngType::get(function.getContext());
  for (unsigned index : functions[function].set_bits()) {
    if (!isCalled && setsFirst(function, index)) {
      passed.reset(index);
      continue;
    }
    DictionaryAttr attributes;
    if (!isCalled || function.isPublic())
      attributes = builder.getDictionaryAttr(builder.getNamedAttr(
          RematDialect::getSeedAttrName(), generators[index].getSeedAttr()));
    unsigned position = function.getNumArguments();
    (void)function.insertArgument(position, stateType, attributes,
                                  function.getLoc());
    (void)function.insertResult(function.getNumResults(), stateType, {});
    states[index] = function.getArgument(position);
  }
  Block &body = function.getBody().front();
  threadBlock(body, states);
  appendToTerminator(body, select(states, passed));
}

LogicalResult Threading::run() {
  if (generators.empty())
    return success();
  findUsesOfFunctions();
  if (failed(check()))
    return failure();
  for (auto &[function, uses] : functions)
    if (uses.any())
      threadFunction(function);
  for (GeneratorOp generator : generators)
    generator.erase();
  return success();
}

namespace {
struct ThreadRngPass : remat::impl::ThreadRngPassBase<ThreadRngPass> {
  using ThreadRngPassBase::ThreadRngPassBase;

  void runOnOperation() override {
    if (failed(Threading(getOperation()).run()))
      signalPassFailure();
  }
};
} // namespace
