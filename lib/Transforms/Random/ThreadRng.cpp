//===- ThreadRng.cpp - Generators to states that are passed on ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A draw from a global stream cannot be replayed in a recompute without
// advancing the stream again; a draw from a value can.
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Random/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Utils/ThreadStates.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::remat {
#define GEN_PASS_DEF_THREADRNGPASS
#include "remat/Transforms/Random/Passes.h.inc"
} // namespace mlir::remat

using namespace mlir;
using namespace mlir::remat;

/// Generators that draws read and nothing advances: they give the same numbers
/// again and again.
static SmallVector<GeneratorOp> findConstantGenerators(ModuleOp module) {
  llvm::SmallDenseSet<StringAttr> read, written;
  module.walk([&](Operation *op) {
    if (auto get = dyn_cast<GetRngOp>(op))
      read.insert(get.getGeneratorAttr().getAttr());
    if (auto set = dyn_cast<SetRngOp>(op))
      written.insert(set.getGeneratorAttr().getAttr());
  });
  SmallVector<GeneratorOp> found;
  for (auto generator : module.getOps<GeneratorOp>())
    if (read.contains(generator.getSymNameAttr()) &&
        !written.contains(generator.getSymNameAttr()))
      found.push_back(generator);
  return found;
}

static LogicalResult threadGenerators(ModuleOp module) {
  SmallVector<GeneratorOp> generators(module.getOps<GeneratorOp>());
  llvm::DenseMap<StringAttr, unsigned> positions;
  ThreadedStates info;
  Builder builder(module.getContext());
  for (auto [index, generator] : llvm::enumerate(generators)) {
    positions[generator.getSymNameAttr()] = index;
    info.states.push_back(
        {RngType::get(module.getContext()),
         builder.getDictionaryAttr(builder.getNamedAttr(
             RematDialect::getSeedAttrName(), generator.getSeedAttr())),
         {}});
  }
  auto getRead = [&](Operation *op) -> std::optional<unsigned> {
    if (auto get = dyn_cast<GetRngOp>(op))
      return positions.lookup(get.getGeneratorAttr().getAttr());
    return std::nullopt;
  };
  auto getWritten = [&](Operation *op) -> std::optional<unsigned> {
    if (auto set = dyn_cast<SetRngOp>(op))
      return positions.lookup(set.getGeneratorAttr().getAttr());
    return std::nullopt;
  };
  info.getRead = getRead;
  info.getWritten = getWritten;
  info.noun = "a random generator";
  info.parallelHint = "draw from a remat.rng_fold_in of a state and the index";
  info.otherHint =
      "draw outside of it and pass the state as an operand, or, if it is a "
      "loop or a branch, let remat-decompose make one of scf of it";
  SmallVector<GeneratorOp> constant = findConstantGenerators(module);
  if (failed(threadStates(module, info)))
    return failure();
  for (GeneratorOp generator : constant)
    generator.emitWarning() << "is read by remat.get_rng but never advanced "
                               "by remat.set_rng: every draw from it gives "
                               "the same numbers";
  for (GeneratorOp generator : generators)
    generator.erase();
  return success();
}

namespace {
struct ThreadRngPass : remat::impl::ThreadRngPassBase<ThreadRngPass> {
  using ThreadRngPassBase::ThreadRngPassBase;

  void runOnOperation() override {
    WalkResult found = getOperation()->walk(
        [](GeneratorOp) { return WalkResult::interrupt(); });
    if (!found.wasInterrupted())
      return markAllAnalysesPreserved();
    // A nested module has generators of its own.
    WalkResult result = getOperation()->walk(
        [](ModuleOp module) { return WalkResult(threadGenerators(module)); });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
