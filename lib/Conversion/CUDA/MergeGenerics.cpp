//===- MergeGenerics.cpp - One operation for two that iterate alike -------===//

#include "MergeGenerics.h"

#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/Attributes.h"

using namespace mlir;
using namespace mlir::remat;

/// Operands of a merged operation: registers are limited.
static constexpr unsigned kMaxOperands = 24;
/// Sums of one kernel: each has workgroup memory.
static constexpr int64_t kMaxSums = 6;

bool mlir::remat::iterateAlike(linalg::LinalgOp a, linalg::LinalgOp b) {
  if (a.getStaticLoopRanges() != b.getStaticLoopRanges() ||
      a.getIteratorTypesArray() != b.getIteratorTypesArray() ||
      getPhase(a) != getPhase(b))
    return false;
  if (a->getNumOperands() + b->getNumOperands() > kMaxOperands)
    return false;
  auto getOutputMap = [](linalg::LinalgOp op) {
    return op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  };
  if (getOutputMap(a) != getOutputMap(b))
    return false;
  if (a.getNumReductionLoops() == 0)
    return true;
  return getReductionOrder(a) == getReductionOrder(b) &&
         a.getNumDpsInits() + b.getNumDpsInits() <= kMaxSums;
}

linalg::GenericOp mlir::remat::mergeGenerics(OpBuilder &builder,
                                             linalg::LinalgOp first,
                                             linalg::LinalgOp second) {
  const linalg::LinalgOp both[] = {first, second};
  SmallVector<Value> inputs, outputs;
  SmallVector<AffineMap> inputMaps, outputMaps;
  /// For each operation, where the merged one has its inputs.
  SmallVector<unsigned> positions[2];
  for (auto [i, part] : llvm::enumerate(both)) {
    linalg::LinalgOp op = part;
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      if (op.isDpsInit(&operand)) {
        outputs.push_back(operand.get());
        outputMaps.push_back(map);
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
  SmallVector<Type> results(first->getResultTypes());
  llvm::append_range(results, second->getResultTypes());
  auto merged = linalg::GenericOp::create(
      builder, builder.getFusedLoc({first.getLoc(), second.getLoc()}), results,
      inputs, outputs, maps, second.getIteratorTypesArray(),
      [&](OpBuilder &body, Location loc, ValueRange arguments) {
        IRMapping map;
        SmallVector<Value> results;
        unsigned output = inputs.size();
        for (auto [i, op] : llvm::enumerate(both)) {
          Block *block = linalg::LinalgOp(op).getBlock();
          for (auto [number, argument] : llvm::enumerate(block->getArguments()))
            map.map(argument, number < positions[i].size()
                                  ? arguments[positions[i][number]]
                                  : arguments[output++]);
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
