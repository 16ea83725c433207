//===- EqualValues.cpp - Computations done twice --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Value numbering in program order. The bodies of regions belong to the block
// around them; those of loops and branches see what was computed before.
//===----------------------------------------------------------------------===//

#include "remat/Analysis/EqualValues.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::remat;

Value mlir::remat::lookThroughBorders(Value value) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto region =
          dyn_cast_or_null<RegionOp>(argument.getOwner()->getParentOp());
      if (!region)
        return value;
      value = region.getInputs()[argument.getArgNumber()];
      continue;
    }
    unsigned index = cast<OpResult>(value).getResultNumber();
    Operation *op = value.getDefiningOp();
    if (auto name = dyn_cast<NameOp>(op))
      value = name.getValue();
    else if (auto barrier = dyn_cast<BarrierOp>(op))
      value = barrier.getValues()[index];
    else if (auto region = dyn_cast<RegionOp>(op))
      value = region.getYield()->getOperand(index);
    else
      return value;
  }
}

static bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->hasTrait<OpTrait::ConstantLike>();
}

size_t mlir::remat::hashReads(Operation *op,
                              function_ref<llvm::hash_code(Value)> hashValue) {
  // A sum, as operands of commutative operations may be in any order.
  size_t sum = 0;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *nested) {
      for (Value operand : nested->getOperands())
        if (!isConstant(operand) &&
            !region.isAncestor(operand.getParentRegion()))
          sum += llvm::hash_combine(hashValue(operand));
    });
  return sum;
}

/// The hash depends on addresses, but decides only what is compared.
class EqualValues::Numbering {
public:
  explicit Numbering(EqualValues &equal) : equal(equal) {}

  void visitBlock(Block &block) {
    for (Operation &op : block)
      visit(&op);
  }

private:
  void visit(Operation *op) {
    if (auto region = dyn_cast<RegionOp>(op))
      return visitBlock(*region.getBodyBlock());
    if (isa<NameOp, BarrierOp>(op))
      return;
    if (op->getNumResults() > 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
        isMemoryEffectFree(op) && number(op))
      return;
    if (isa<linalg::LinalgOp>(op))
      return;
    for (Region &inner : op->getRegions()) {
      if (op->hasTrait<OpTrait::IsIsolatedFromAbove>()) {
        for (Block &block : inner)
          Numbering(equal).visitBlock(block);
        continue;
      }
      size_t known = inserted.size();
      for (Block &block : inner)
        visitBlock(block);
      // Values from inside do not dominate what comes after.
      while (inserted.size() > known)
        table[inserted.pop_back_val()].pop_back();
    }
  }

  /// Numbers `op`; returns true if an equal operation dominates it.
  bool number(Operation *op) {
    auto hashValue = [&](Value value) {
      return hash_value(equal.resolve(value));
    };
    llvm::hash_code hash = llvm::hash_combine(
        OperationEquivalence::computeHash(
            op, hashValue, OperationEquivalence::ignoreHashValue,
            OperationEquivalence::IgnoreLocations),
        hashReads(op, hashValue));
    auto &candidates = table[hash];
    for (Operation *first : candidates)
      if (isEqual(first, op)) {
        merge(first, op);
        return true;
      }
    candidates.push_back(op);
    inserted.push_back(hash);
    return false;
  }

  bool isEqual(Operation *a, Operation *b) {
    DenseMap<Value, Value> inside;
    return OperationEquivalence::isEquivalentTo(
        a, b,
        [&](Value x, Value y) {
          return success(inside.lookup(x) == y ||
                         equal.resolve(x) == equal.resolve(y));
        },
        [&](Value x, Value y) { inside[x] = y; },
        OperationEquivalence::IgnoreLocations);
  }

  void merge(Operation *first, Operation *op) {
    for (auto [value, repetition] :
         llvm::zip_equal(first->getResults(), op->getResults())) {
      auto [it, isNew] = equal.classOf.try_emplace(value, equal.classes.size());
      unsigned number = it->second;
      if (isNew)
        equal.classes.push_back({value});
      equal.classes[number].push_back(repetition);
      equal.classOf[repetition] = number;
    }
    for (Operation *holder = first; holder; holder = holder->getParentOp())
      equal.repeated.insert(holder);
  }

  EqualValues &equal;
  DenseMap<size_t, SmallVector<Operation *, 1>> table;
  SmallVector<size_t> inserted;
};

EqualValues::EqualValues(Block &block) { Numbering(*this).visitBlock(block); }

SmallVector<Value, 2> EqualValues::getEqual(Value value) const {
  value = lookThroughBorders(value);
  auto it = classOf.find(value);
  return it == classOf.end() ? SmallVector<Value, 2>{value}
                             : classes[it->second];
}

Value EqualValues::resolve(Value value) const {
  value = lookThroughBorders(value);
  auto it = classOf.find(value);
  return it == classOf.end() ? value : classes[it->second].front();
}

Operation *EqualValues::getFirst(Operation *op) const {
  if (op->getNumResults() == 0)
    return nullptr;
  auto it = classOf.find(op->getResult(0));
  if (it == classOf.end())
    return nullptr;
  Operation *first = classes[it->second].front().getDefiningOp();
  return first == op ? nullptr : first;
}

void EqualValues::replace(Value old, Value now) {
  auto it = classOf.find(old);
  if (it == classOf.end())
    return;
  unsigned number = it->second;
  classOf.erase(it);
  classOf[now] = number;
  llvm::replace(classes[number], old, now);
}

void EqualValues::erase(Operation *op) {
  for (Value result : op->getResults()) {
    auto it = classOf.find(result);
    if (it == classOf.end())
      continue;
    llvm::erase(classes[it->second], result);
    classOf.erase(it);
  }
}
