//===- Train.cpp - From an annotated model to a program -------------------===//
//
// The one place that knows the order of the passes. Each part is a pipeline of
// its own, so that tests and other front ends can enter and leave in between.
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/Train.h"

#include "remat/Conversion/Passes.h"
#include "remat/Transforms/PackMemory/Passes.h"
#include "remat/Transforms/Schedule/Passes.h"

#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void remat::buildBufferizePipeline(OpPassManager &pm,
                                   const BufferizeOptions &options) {
  pm.addPass(createSplitDestinationsPass());
  pm.addPass(createPrepareBufferizationPass());
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  bufferization::OneShotBufferizePassOptions oneShot;
  oneShot.bufferizeFunctionBoundaries = true;
  oneShot.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(oneShot));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createResultsToOutParamsPass());
  pm.addPass(createCanonicalizerPass());
  // Its workspaces are part of what is packed.
  pm.addPass(createConvertConvToLibrary());
  PackMemoryPassOptions pack;
  pack.arena = options.arena;
  pack.reuse = options.reuse;
  pack.report = options.report;
  pm.addPass(createPackMemoryPass(pack));
  pm.addPass(createCSEPass());
}

void remat::registerTrainPipelines() {
  PassPipelineRegistration<BufferizeOptions>(
      "remat-bufferize",
      "Bufferize functions on tensors, in place where they allow it, and pack "
      "their memory",
      buildBufferizePipeline);
}
