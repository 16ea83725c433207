//===- Signature.cpp - What equal operations have in common ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Signature.h"

#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::remat;

namespace {
class SignatureBuilder {
public:
  void add(Operation *op) {
    addPointer(op->getName());
    addPointer(op->getPropertiesAsAttribute());
    if (auto linalg = dyn_cast<linalg::LinalgOp>(op); linalg && !isParallel(op))
      signature.push_back(static_cast<uintptr_t>(getReductionOrder(linalg)));
    signature.push_back(op->getNumOperands());
    for (Value operand : op->getOperands())
      addUse(operand);
    signature.push_back(op->getNumResults());
    for (Value result : op->getResults())
      addDefinition(result);
    for (Block *successor : op->getSuccessors())
      signature.push_back(
          blocks.try_emplace(successor, blocks.size()).first->second);
    signature.push_back(op->getNumRegions());
    for (Region &region : op->getRegions()) {
      signature.push_back(std::distance(region.begin(), region.end()));
      for (Block &block : region) {
        signature.push_back(
            blocks.try_emplace(&block, blocks.size()).first->second);
        signature.push_back(block.getNumArguments());
        for (Value argument : block.getArguments())
          addDefinition(argument);
        for (Operation &inner : block)
          add(&inner);
      }
    }
  }

  Signature take() { return std::move(signature); }

private:
  template <typename T> void addPointer(T uniqued) {
    signature.push_back(
        reinterpret_cast<uintptr_t>(uniqued.getAsOpaquePointer()));
  }

  void addDefinition(Value value) {
    numbers.try_emplace(value, numbers.size());
    addPointer(value.getType());
  }

  void addUse(Value value) {
    auto [number, isNew] = numbers.try_emplace(value, numbers.size());
    signature.push_back(number->second);
    if (!isNew)
      return;
    addPointer(value.getType());
    Attribute constant;
    matchPattern(value, m_Constant(&constant));
    addPointer(constant);
  }

  Signature signature;
  DenseMap<Value, size_t> numbers;
  DenseMap<Block *, size_t> blocks;
};
} // namespace

Signature mlir::remat::getSignature(Operation *op) {
  SignatureBuilder builder;
  builder.add(op);
  return builder.take();
}
