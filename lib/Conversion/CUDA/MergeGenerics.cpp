//===- MergeGenerics.cpp - One operation for two that iterate alike -------===//

#include "MergeGenerics.h"
#include "ReductionLanes.h"

#include "remat/Dialect/Remat/IR/ReductionOrder.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Sizes.h"
#include "remat/Transforms/Utils/Attributes.h"

using namespace mlir;
using namespace mlir::remat;

/// Operands of a merged operation: registers are limited.
static constexpr unsigned kMaxOperands = 24;
/// The same for sums whose lanes do something else: each of the 1024 threads of
/// a block has 64 registers, two for each operand's address.
static constexpr unsigned kMaxOperandsOfLanes = 14;
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

/// A quarter of the threads for which a large GPU has room.
static constexpr int64_t kManyThreads = int64_t(1) << 16;

bool mlir::remat::canStoreInLanes(linalg::LinalgOp map, linalg::LinalgOp sum) {
  if (map.getNumReductionLoops() > 0 || sum.getNumReductionLoops() == 0)
    return false;
  int64_t elements = 1, results = 1;
  for (auto [size, kind] : llvm::zip_equal(sum.getStaticLoopRanges(),
                                           sum.getIteratorTypesArray())) {
    int64_t &count =
        kind == utils::IteratorType::reduction ? elements : results;
    count = multiplySizes({size}, count);
  }
  // Alone, it would have a thread for a few elements.
  int64_t lanes = countLanes(getReductionOrder(sum), elements, results);
  return lanes > 1 && multiplySizes({results}, lanes) >= kManyThreads;
}

std::optional<unsigned> mlir::remat::findForwarded(linalg::LinalgOp first,
                                                   OpOperand &input) {
  auto second = cast<linalg::LinalgOp>(input.getOwner());
  if (second.isDpsInit(&input) || !first.hasPureBufferSemantics())
    return std::nullopt;
  AffineMap map = second.getMatchingIndexingMap(&input);
  SmallVector<unsigned> mapped = findMappedOutputs(first);
  for (OpOperand &init : first.getDpsInitsMutable()) {
    unsigned output = init.getOperandNumber() - first.getNumDpsInputs();
    bool isStoredAlong =
        first.getNumReductionLoops() == 0 || llvm::is_contained(mapped, output);
    if (isStoredAlong && init.get() == input.get() &&
        first.getMatchingIndexingMap(&init) == map)
      return output;
  }
  return std::nullopt;
}

bool mlir::remat::iterateAlike(linalg::LinalgOp a, linalg::LinalgOp b) {
  if (a.getStaticLoopRanges() != b.getStaticLoopRanges() ||
      getPhase(a) != getPhase(b))
    return false;
  if (a->getNumOperands() + b->getNumOperands() > kMaxOperands)
    return false;
  bool storesInLanes = canStoreInLanes(a, b);
  if ((storesInLanes || !findMappedOutputs(a).empty()) &&
      a->getNumOperands() + b->getNumOperands() > kMaxOperandsOfLanes)
    return false;
  if (storesInLanes)
    return true;
  if (a.getIteratorTypesArray() != b.getIteratorTypesArray() ||
      getOutputMap(a) != getOutputMap(b))
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
