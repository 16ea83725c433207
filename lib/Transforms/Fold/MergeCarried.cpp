//===- MergeCarried.cpp - Equal values that loops and branches carry ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's canonicalization finds them by comparing every two values, which
// takes seconds where a loop writes thousands of tapes.
//===----------------------------------------------------------------------===//

#include "Steps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"

#include <map>

using namespace mlir;
using namespace mlir::remat;

namespace {
/// The operands that a value is forwarded from: their operations and values.
using Sources = SmallVector<std::pair<Operation *, const void *>>;

/// Replaces uses of all of `inputs`, of one block or operation, but the first
/// with each list of sources. Returns true if there were any.
bool mergeEqual(ValueRange inputs,
                const RegionBranchInverseSuccessorMapping &operandsOf) {
  std::map<Sources, Value> firsts;
  bool changed = false;
  for (Value input : inputs) {
    auto it = operandsOf.find(input);
    // The counter of a loop has no sources.
    if (it == operandsOf.end() || input.use_empty())
      continue;
    Sources sources;
    for (OpOperand *operand : it->second)
      sources.emplace_back(operand->getOwner(),
                           operand->get().getAsOpaquePointer());
    llvm::sort(sources);
    auto [first, isNew] = firsts.try_emplace(std::move(sources), input);
    if (isNew || first->second.getType() != input.getType())
      continue;
    input.replaceAllUsesWith(first->second);
    changed = true;
  }
  return changed;
}

bool merge(Operation *root) {
  bool changed = false;
  root->walk([&](RegionBranchOpInterface op) {
    // Values carried by scf.forall are written in place: destinations that
    // start from one value still differ.
    if (!isa<scf::ForOp, scf::WhileOp, scf::IfOp, scf::IndexSwitchOp,
             scf::ExecuteRegionOp>(op))
      return;
    RegionBranchInverseSuccessorMapping operandsOf;
    op.getSuccessorInputOperandMapping(operandsOf);
    for (Region &region : op->getRegions())
      if (!region.empty())
        changed |= mergeEqual(region.getArguments(), operandsOf);
    changed |= mergeEqual(op->getResults(), operandsOf);
  });
  return changed;
}
} // namespace

void mlir::remat::mergeCarried(Operation *root) {
  // Once results of an inner loop are merged, values that an outer one carries
  // may be equal.
  while (merge(root)) {
  }
}
