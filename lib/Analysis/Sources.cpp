//===- Sources.cpp - The values that values are computed from -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Analysis/Sources.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::remat;

SmallVector<Value> mlir::remat::getInputs(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  if (op->getNumRegions() == 0 || op->hasTrait<OpTrait::IsIsolatedFromAbove>())
    return inputs;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  inputs.append(captured.begin(), captured.end());
  return inputs;
}

void mlir::remat::walkSources(Value root, AppendSources appendSources,
                              function_ref<void(Value)> visit) {
  DenseSet<Value> seen;
  SmallVector<Value> sources;
  // Values, and whether their sources were visited.
  SmallVector<std::pair<Value, bool>> stack{{root, false}};
  while (!stack.empty()) {
    auto [value, isReady] = stack.pop_back_val();
    if (isReady) {
      visit(value);
      continue;
    }
    if (!seen.insert(value).second)
      continue;
    stack.emplace_back(value, true);
    sources.clear();
    appendSources(value, sources);
    // The first source is visited first.
    for (Value source : llvm::reverse(sources))
      stack.emplace_back(source, false);
  }
}
