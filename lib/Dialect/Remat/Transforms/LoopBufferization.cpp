//===- LoopBufferization.cpp - Reads of loops inside of each other --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop reads what it carries if its body does. Upstream's model of scf.for
// (LLVM 22) asks `AnalysisState::isValueRead`, which asks the model of a loop
// in that body twice: 2^n questions for n loops inside of each other. The
// answer here is the same, by one walk through all of them.
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/BufferizableOpInterfaceImpl.h"

#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/DialectRegistry.h"

using namespace mlir;
using namespace mlir::bufferization;

static bool mayHaveZeroIterations(scf::ForOp loop) {
  std::optional<int64_t> lower = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> upper = getConstantIntValue(loop.getUpperBound());
  return !lower || !upper || *upper <= *lower;
}

static void appendUses(Value value, SmallVectorImpl<OpOperand *> &uses) {
  for (OpOperand &use : value.getUses())
    uses.push_back(&use);
}

static bool isReadByLoop(const BufferizableOpInterface::Concept *, Operation *,
                         OpOperand &init, const AnalysisState &state) {
  SmallVector<OpOperand *> pending{&init};
  DenseSet<OpOperand *> seen;
  while (!pending.empty()) {
    OpOperand *use = pending.pop_back_val();
    if (!seen.insert(use).second)
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(use->getOwner())) {
      // The results are the operands then.
      if (mayHaveZeroIterations(loop))
        return true;
      appendUses(loop.getTiedLoopRegionIterArg(use), pending);
      continue;
    }
    if (state.bufferizesToAliasOnly(*use))
      for (AliasingValue alias : state.getAliasingValues(*use))
        appendUses(alias.value, pending);
    if (state.bufferizesToMemoryRead(*use))
      return true;
  }
  return false;
}

void remat::registerLoopBufferization(DialectRegistry &registry) {
  // Before the extension below, which changes what this one attaches.
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  registry.addExtension(+[](MLIRContext *context, scf::SCFDialect *) {
    OperationName loop(scf::ForOp::getOperationName(), context);
    loop.getInterface<BufferizableOpInterface>()->bufferizesToMemoryRead =
        isReadByLoop;
  });
}
