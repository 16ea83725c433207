//===- Origins.cpp - What the values of a function are made of ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer is what happens to activations. What is made of parameters alone
// (transposed weights) or of data alone (masks, positions, draws) stands where
// the exporter met it first, and must not hide that layers are equal.
//===----------------------------------------------------------------------===//

#include "Origins.h"

#include "remat/Analysis/EqualValues.h"
#include "remat/Analysis/Views.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::remat;

bool mlir::remat::isDefinedIn(Value value, Block *block) {
  return value.getDefiningOp() && value.getParentBlock() == block;
}

/// Returns true if each effect of `op` concerns a random generator.
static bool affectsGeneratorsOnly(Operation *op) {
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return false;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  return llvm::all_of(effects, [](const MemoryEffects::EffectInstance &effect) {
    return isa<GeneratorResource>(effect.getResource());
  });
}

bool mlir::remat::isBoundToItsPlace(Operation *op) {
  return op->getNumRegions() == 0 && !isa<CallOpInterface>(op) &&
         !op->hasTrait<OpTrait::IsTerminator>() && !isMemoryEffectFree(op) &&
         !affectsGeneratorsOnly(op);
}

/// Returns true if all elements of results are one number, or undefined.
bool Origins::isUniform(Operation *op) const {
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant)))
    return !isa<ElementsAttr>(constant) || isa<SplatElementsAttr>(constant);
  if (isa<tensor::EmptyOp>(op))
    return true;
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!isParallel(op) || !structured.hasPureTensorSemantics() ||
      structured.hasIndexSemantics() || !isMemoryEffectFree(op))
    return false;
  bool isOfUniform = true;
  for (Value value : getInputs(op))
    isOfUniform &= uniform.contains(value.getDefiningOp());
  return isOfUniform;
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

static Value lookThroughViews(Value value) {
  while (true) {
    value = lookThroughBorders(value);
    Operation *op = value.getDefiningOp();
    OpOperand *viewed = op ? getViewedOperand(op) : nullptr;
    if (!viewed)
      return value;
    value = viewed->get();
  }
}

/// Returns the value of `use` on the other side of a border, or a view of it.
static Value findViewOf(OpOperand &use) {
  Operation *user = use.getOwner();
  unsigned number = use.getOperandNumber();
  if (isa<NameOp>(user) || getViewedOperand(user) == &use)
    return user->getResult(0);
  if (isa<BarrierOp>(user))
    return user->getResult(number);
  if (auto region = dyn_cast<RegionOp>(user))
    return region.getBody().getArgument(number);
  if (auto region = dyn_cast<RegionOp>(user->getParentOp());
      region && region.getYield() == user)
    return region->getResult(number);
  return {};
}

Value Origins::getSource(Value value) const {
  value = lookThroughViews(value);
  Value first = passedTwice.lookup(value);
  return first ? first : value;
}

void Origins::forEachUser(Value source,
                          function_ref<void(Operation *)> visit) const {
  SmallVector<Value> views;
  for (auto [argument, first] : passedTwice)
    if (first == source)
      views.push_back(argument);
  if (views.empty())
    views.push_back(source);
  while (!views.empty())
    for (OpOperand &use : views.pop_back_val().getUses()) {
      visit(use.getOwner());
      if (Value view = findViewOf(use))
        views.push_back(view);
    }
}

namespace {
/// Finds out which arguments of called functions are one value in some call.
class PassedTwice {
public:
  explicit PassedTwice(ModuleOp module) {
    SymbolTable symbols(module);
    module.walk([&](func::CallOp call) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      if (!callee || callee.isPublic())
        return;
      calls[callee].push_back(call);
      callees[call->getParentOfType<func::FuncOp>()].insert(callee);
    });
    for (auto &[function, itsCalls] : calls)
      pending.insert(function);
    while (!pending.empty()) {
      func::FuncOp function = pending.pop_back_val();
      if (unite(function))
        pending.insert_range(callees.lookup(function));
    }
  }

  /// Returns the first one for each argument of `function` that is one value
  /// with another one.
  llvm::MapVector<Value, Value> get(func::FuncOp function) const {
    llvm::MapVector<Value, Value> firstOnes;
    for (BlockArgument argument : function.getArguments())
      if (Value first = firstOf.lookup(argument))
        firstOnes[argument] = first;
    return firstOnes;
  }

private:
  /// Returns whether more arguments of `function` are one than was known.
  bool unite(func::FuncOp function) {
    llvm::EquivalenceClasses<unsigned> arguments;
    for (func::CallOp call : calls[function]) {
      DenseMap<Value, unsigned> indexOf;
      for (auto [index, operand] : llvm::enumerate(call.getOperands())) {
        Value source = lookThroughViews(operand);
        if (Value first = firstOf.lookup(source))
          source = first;
        auto [it, isNew] = indexOf.try_emplace(source, index);
        if (!isNew)
          arguments.unionSets(it->second, index);
      }
    }
    bool changed = false;
    DenseMap<unsigned, unsigned> firstIn;
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      auto leader = arguments.findLeader(index);
      if (leader == arguments.member_end())
        continue;
      unsigned first = firstIn.try_emplace(*leader, index).first->second;
      Value &known = firstOf[function.getArgument(index)];
      changed |= known != function.getArgument(first);
      known = function.getArgument(first);
    }
    return changed;
  }

  llvm::MapVector<func::FuncOp, SmallVector<func::CallOp>> calls;
  DenseMap<func::FuncOp, llvm::SetVector<func::FuncOp>> callees;
  llvm::SetVector<func::FuncOp> pending;
  DenseMap<Value, Value> firstOf;
};
} // namespace

//===----------------------------------------------------------------------===//
// Origins
//===----------------------------------------------------------------------===//

Origins::Origins(func::FuncOp function) {
  if (auto module = function->getParentOfType<ModuleOp>();
      module && !function.isPublic())
    passedTwice = PassedTwice(module).get(function);
  StringRef name = opt::OptDialect::getParamAttrName();
  unsigned count = function.getNumArguments();
  for (unsigned index = 0; index < count; ++index)
    hasParameters |= static_cast<bool>(function.getArgAttr(index, name));
  for (BlockArgument argument : function.getArguments()) {
    bool isFloat = isa<FloatType>(getElementTypeOrSelf(argument.getType()));
    unsigned origin = kData | (isFloat ? kInput : 0);
    if (function.getArgAttr(argument.getArgNumber(), name))
      origin = kParameter;
    else if (isFloat && !hasParameters)
      origin |= kParameter;
    origins[argument] = origin;
  }
  for (Block &block : function.getBody())
    visit(block);
}

/// Returns true for the induction variable of a loop, of whichever type.
static bool isCounter(BlockArgument argument) {
  auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
  if (!loop)
    return false;
  std::optional<SmallVector<Value>> counters = loop.getLoopInductionVars();
  return counters && llvm::is_contained(*counters, argument);
}

void Origins::visit(Block &block) {
  for (Operation &op : block) {
    unsigned origin = 0;
    for (Value value : getInputs(&op)) {
      origin |= get(value);
    }
    Attribute constant;
    if (!hasParameters && matchPattern(&op, m_Constant(&constant)))
      if (isa<DenseResourceElementsAttr>(constant) &&
          isa<FloatType>(getElementTypeOrSelf(op.getResult(0).getType())))
        origin |= kParameter;
    if (!isMemoryEffectFree(&op) && op.getNumResults() != 0 &&
        op.getNumRegions() == 0)
      origin |= kData;
    ofOps[&op] = origin;
    if (isUniform(&op))
      uniform.insert(&op);
    if (matchPattern(&op, m_Constant()) || uniform.contains(&op))
      madeAgain.insert(&op);
    for (Value result : op.getResults())
      origins[result] = origin;
    if (isa<linalg::LinalgOp>(op))
      continue;
    // A loop carries what it computes.
    for (Region &region : op.getRegions())
      for (Block &inner : region) {
        for (BlockArgument argument : inner.getArguments())
          origins[argument] =
              isa<IndexType>(argument.getType()) || isCounter(argument)
                  ? 0
                  : origin | kData;
        visit(inner);
      }
  }
}
