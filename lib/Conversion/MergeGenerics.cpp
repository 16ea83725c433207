//===- MergeGenerics.cpp - Merging operations that iterate alike ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MergeGenerics.h"

#include "remat/Dialect/Remat/IR/Elementwise.h"
#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Transforms/Utils/Attributes.h"

using namespace mlir;
using namespace mlir::remat;

/// Operands of a merged operation: registers are limited.
static constexpr unsigned kMaxOperands = 24;
/// Sums of one kernel: each has workgroup memory.
static constexpr int64_t kMaxSums = 6;

/// The map of what `op` is there for: sums, if it has some.
static AffineMap getOutputMap(linalg::LinalgOp op) {
  SmallVector<unsigned> mapped = findMappedOutputs(op);
  unsigned output = 0;
  while (llvm::is_contained(mapped, output))
    ++output;
  return op.getMatchingIndexingMap(op.getDpsInitOperand(output));
}

unsigned mlir::remat::countOperands(linalg::LinalgOp a, linalg::LinalgOp b) {
  DenseSet<std::pair<Value, AffineMap>> inputs;
  for (linalg::LinalgOp op : {a, b})
    for (OpOperand *input : op.getDpsInputOperands())
      inputs.insert({input->get(), op.getMatchingIndexingMap(input)});
  return inputs.size() + a.getNumDpsInits() + b.getNumDpsInits();
}

bool mlir::remat::fitOneKernel(linalg::LinalgOp a, linalg::LinalgOp b) {
  return a.getStaticLoopRanges() == b.getStaticLoopRanges() &&
         countOperands(a, b) <= kMaxOperands;
}

bool mlir::remat::iterateAlike(linalg::LinalgOp a, linalg::LinalgOp b) {
  if (!fitOneKernel(a, b) ||
      a.getIteratorTypesArray() != b.getIteratorTypesArray() ||
      getOutputMap(a) != getOutputMap(b))
    return false;
  if (isParallel(a))
    return true;
  return getReductionOrder(a) == getReductionOrder(b) &&
         a.getNumDpsInits() + b.getNumDpsInits() <= kMaxSums;
}

std::optional<unsigned> mlir::remat::findForwarded(linalg::LinalgOp first,
                                                   OpOperand &input) {
  auto second = cast<linalg::LinalgOp>(input.getOwner());
  // A tensor still has what it had before.
  if (second.isDpsInit(&input) || !isa<MemRefType>(input.get().getType()))
    return std::nullopt;
  AffineMap map = second.getMatchingIndexingMap(&input);
  SmallVector<unsigned> mapped = findMappedOutputs(first);
  for (OpOperand &init : first.getDpsInitsMutable()) {
    unsigned output = init.getOperandNumber() - first.getNumDpsInputs();
    bool isStoredAlong =
        isParallel(first) || llvm::is_contained(mapped, output);
    if (isStoredAlong && init.get() == input.get() &&
        first.getMatchingIndexingMap(&init) == map)
      return output;
  }
  return std::nullopt;
}

linalg::GenericOp mlir::remat::mergeGenerics(OpBuilder &builder,
                                             linalg::LinalgOp first,
                                             linalg::LinalgOp second) {
  const linalg::LinalgOp both[] = {first, second};
  SmallVector<Value> inputs, outputs;
  SmallVector<AffineMap> inputMaps, outputMaps;
  /// For each operation, where the merged one has its inputs; for the second
  /// also which results of the first they are.
  SmallVector<unsigned> positions[2];
  SmallVector<std::optional<unsigned>> forwarded[2];
  for (auto [i, part] : llvm::enumerate(both)) {
    linalg::LinalgOp op = part;
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      if (op.isDpsInit(&operand)) {
        outputs.push_back(operand.get());
        outputMaps.push_back(map);
        continue;
      }
      std::optional<unsigned> known;
      if (i == 1)
        known = findForwarded(first, operand);
      forwarded[i].push_back(known);
      if (known) {
        positions[i].push_back(0);
        continue;
      }
      unsigned position = 0;
      while (position < inputs.size() &&
             (inputs[position] != operand.get() || inputMaps[position] != map))
        ++position;
      if (position == inputs.size()) {
        inputs.push_back(operand.get());
        inputMaps.push_back(map);
      }
      positions[i].push_back(position);
    }
  }
  SmallVector<AffineMap> maps(inputMaps);
  maps.append(outputMaps);
  SmallVector<Type> types(first->getResultTypes());
  llvm::append_range(types, second->getResultTypes());
  auto merged = linalg::GenericOp::create(
      builder, builder.getFusedLoc({first.getLoc(), second.getLoc()}), types,
      inputs, outputs, maps, second.getIteratorTypesArray(),
      [&](OpBuilder &body, Location loc, ValueRange arguments) {
        IRMapping map;
        SmallVector<Value> results;
        unsigned output = inputs.size();
        for (auto [i, op] : llvm::enumerate(both)) {
          Block *block = linalg::LinalgOp(op).getBlock();
          for (auto [number, argument] :
               llvm::enumerate(block->getArguments())) {
            if (number >= positions[i].size())
              map.map(argument, arguments[output++]);
            else if (forwarded[i][number])
              map.map(argument, results[*forwarded[i][number]]);
            else
              map.map(argument, arguments[positions[i][number]]);
          }
          for (Operation &inner : block->without_terminator())
            body.clone(inner, map);
          for (Value yielded : block->getTerminator()->getOperands())
            results.push_back(map.lookupOrDefault(yielded));
        }
        linalg::YieldOp::create(body, loc, results);
      });
  copyAttributes(second, merged);
  return merged;
}
