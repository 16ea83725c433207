//===- Train.cpp - From an annotated model to a program -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The one place that knows the order of the passes. Each part is a pipeline of
// its own, so that tests and other front ends can enter and leave in between.
// What depends on the target is asked of it (Target.h).
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/Train.h"

#include "Host.h"

#include "remat/Autodiff/Passes.h"
#include "remat/Conversion/Passes.h"
#include "remat/Pipelines/Passes.h"
#include "remat/Transforms/Annotate/Passes.h"
#include "remat/Transforms/Calls/Passes.h"
#include "remat/Transforms/Checks/Passes.h"
#include "remat/Transforms/Complex/Passes.h"
#include "remat/Transforms/Decompose/Passes.h"
#include "remat/Transforms/Detach/Passes.h"
#include "remat/Transforms/Fold/Passes.h"
#include "remat/Transforms/Fuse/Passes.h"
#include "remat/Transforms/InsertSteps/Passes.h"
#include "remat/Transforms/Materialize/Passes.h"
#include "remat/Transforms/PackMemory/Passes.h"
#include "remat/Transforms/Plan/Passes.h"
#include "remat/Transforms/Raise/Passes.h"
#include "remat/Transforms/Random/Passes.h"
#include "remat/Transforms/Schedule/Passes.h"
#include "remat/Transforms/Split/Passes.h"
#include "remat/Transforms/TrainProgram/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;

namespace mlir::remat {
/// Options of a pass that runs what follows it on copies.
template <typename Options>
static Options getFitOptions(const TensorOptions &options) {
  Options fit;
  fit.planVisits = options.planVisits;
  fit.target = options.target;
  fit.threads = options.threads;
  fit.convWorkspace = options.convWorkspace;
  return fit;
}

/// Up to differentiation.
static void buildForwardPipeline(OpPassManager &pm,
                                 const TensorOptions &options) {
  // Before calls are inlined, the loss and its evaluation are as written.
  if (!options.mesh.empty() || !options.shards.empty())
    pm.addPass(createAnnotateShards({options.mesh, options.shards}));
  pm.addPass(createCheckModelPass());
  // Memory is planned in one function: what it calls becomes part of it, after
  // differentiation if it has a derivative of its own.
  pm.addPass(createBindCustomVJP());
  pm.addPass(createDecomposePass());
  pm.addPass(createInlinerPass());
  pm.addPass(createSymbolDCEPass());
  pm.addPass(createSplitComplexPass());
  // Regions that are to go shape the kernels first: these, and with them the
  // bits of gradients, are the same under every policy.
  OverridePassOptions override;
  override.policy = options.policy;
  override.mode = options.mode;
  override.budget = options.budget;
  override.budgetOf = options.budgetOf;
  override.slowdown = options.slowdown;
  bool withoutRegions = override.policy == "none";
  if (withoutRegions)
    override.policy.clear();
  if (!override.policy.empty() || !override.mode.empty() ||
      !override.budget.empty() || !override.budgetOf.empty() ||
      !override.slowdown.empty())
    pm.addPass(createOverridePass(override));
  pm.addPass(createCheckIndicesPass());
  pm.addPass(createHoistAssertsPass());
  pm.addPass(createThreadRngPass());
  pm.addPass(createLowerRandomPass());
  pm.addPass(createSinkViewsPass());
  pm.addPass(createCanonicalizePass());
  pm.addPass(createFoldPass());
  pm.addPass(createRaiseSoftmaxPass());
  if (llvm::is_contained(options.getTarget().getWholeAggregates(),
                         AttentionOp::getOperationName()))
    pm.addPass(
        createRaiseAttentionPass({options.getTarget().roundsInAttention()}));
  if (options.lossTile != 0) {
    TileLossHeadsPassOptions heads;
    heads.tileBytes = options.lossTile == -1 ? 0 : options.lossTile.getValue();
    heads.rows = options.getTarget().getTileRows();
    pm.addPass(createTileLossHeadsPass(heads));
  }
  pm.addPass(createDetachMaximaPass());
  options.getTarget().addBeforeDetaching(pm);
  pm.addPass(createDetachMeansPass());
  pm.addPass(createFusePaddingPass({options.getTarget().getConvolutionDims()}));
  // Where they are read by now, and where gradients are added up.
  pm.addPass(createSinkViewsPass());
  pm.addPass(createFixOrdersPass());
  FusePassOptions fuseForward;
  fuseForward.keepAdjoints = true;
  pm.addPass(createFusePass(fuseForward));
  // Where kernels side by side become one, more of them are in one function.
  bool isDefault = options.layersOnce == -1;
  OutlineLayersPassOptions outline;
  outline.unlessBudget = isDefault;
  if (!isDefault) {
    outline.minLayers = options.layersOnce;
    outline.minOps = 0;
  }
  if (isDefault ? !options.getTarget().mergesKernels()
                : options.layersOnce != 0)
    pm.addPass(createOutlineLayersPass(outline));
  if (withoutRegions) {
    OverridePassOptions withoutPolicies;
    withoutPolicies.policy = options.policy;
    pm.addPass(createOverridePass(withoutPolicies));
  }
  pm.addPass(createFitLoopsPass(getFitOptions<FitLoopsPassOptions>(options)));
}

/// From a forward that is as it stays to the decisions about what the backward
/// keeps.
static void buildPlanRegionsPipeline(OpPassManager &pm) {
  pm.addPass(createDifferentiate());
  pm.addPass(createInlineCustomVJP());
  // A value that is gathered or reduced is a residual like any other.
  pm.addPass(createSplitPass());
  pm.addPass(createCanonicalizePass());
  pm.addPass(createPlan());
}

/// From the decisions of regions to those about everything else that the
/// backward reads.
static void buildPlanFunctionsPipeline(OpPassManager &pm,
                                       const TensorOptions &options) {
  pm.addPass(createMaterialize());
  pm.addPass(createInlineRegions());
  pm.addPass(createJoinCalls());
  pm.addPass(createDropZerosPass());
  options.getTarget().addBeforeDecomposing(pm);
  DecomposeAggregatesOptions decompose;
  decompose.keep =
      llvm::map_to_vector(options.getTarget().getWholeAggregates(),
                          [](StringRef name) { return name.str(); });
  pm.addPass(createDecomposeAggregates(decompose));
  pm.addPass(createMergeLoops());
  pm.addPass(createMergeTapes());
  pm.addPass(createCanonicalizePass());
  pm.addPass(createHoistReshapes());
  pm.addPass(createSinkIntoLoops());
  pm.addPass(createReuseResultsPass());
  pm.addPass(createPlanFunctions());
}
} // namespace mlir::remat

void remat::buildExplainPipeline(OpPassManager &pm,
                                 const TensorOptions &options,
                                 raw_ostream &os) {
  buildForwardPipeline(pm, options);
  buildPlanRegionsPipeline(pm);
  PrintPlanOptions regions;
  regions.againOnly = true;
  pm.addPass(createPrintPlan(regions, os));
  buildPlanFunctionsPipeline(pm, options);
  pm.addPass(createPrintPlan({}, os));
}

void remat::buildToTensorsPipeline(OpPassManager &pm,
                                   const TensorOptions &options) {
  buildForwardPipeline(pm, options);
  buildFromForwardPipeline(pm, options);
}

void remat::buildFromForwardPipeline(OpPassManager &pm,
                                     const TensorOptions &options) {
  buildPlanRegionsPipeline(pm);
  buildPlanFunctionsPipeline(pm, options);
  pm.addPass(createMaterialize());
  pm.addPass(createFusePass());
  // From here on nothing changes what crosses from forward to backward.
  pm.addPass(createInlineRegions());
  pm.addPass(createSplitCalls());
  pm.addPass(createCheckOrdersPass());
  InsertStepsOptions steps;
  steps.dropLoss = true;
  pm.addPass(createInsertSteps(steps));
  pm.addPass(createSinkSteps());
  pm.addPass(createLowerSteps());
  pm.addPass(createSymbolDCEPass());
  pm.addPass(createCanonicalizePass());
  // Tapes are slices of one tensor from here on, which the schedule may know.
  pm.addPass(createLowerTapes());
  options.getTarget().addBeforeScheduling(pm, options);
  pm.addPass(createSplitDestinationsPass());
  SchedulePassOptions schedule;
  schedule.alignment = options.getTarget().getAlignment();
  pm.addPass(createSchedulePass(schedule));
  pm.addPass(createRepeatAtPeakPass({schedule.alignment}));
  pm.addPass(createFitBudgetPass(getFitOptions<FitBudgetPassOptions>(options)));
  if (options.getTarget().mergesKernels())
    pm.addPass(createImproveLocalityPass({schedule.alignment}));
}

void remat::buildPackedPipeline(OpPassManager &pm,
                                const TrainOptions &options) {
  buildToTensorsPipeline(pm, options);
  BufferizeOptions bufferize;
  bufferize.report = options.report;
  bufferize.reportStream = options.reportStream;
  bufferize.target = options.target;
  bufferize.threads = options.threads;
  bufferize.convWorkspace = options.convWorkspace;
  bufferize.tf32 = options.tf32;
  buildBufferizePipeline(pm, bufferize);
  if (options.checkNaNs)
    pm.addPass(createCheckNaNsPass());
}

void remat::buildProgramPipeline(OpPassManager &pm, const TrainOptions &options,
                                 bool asFunction) {
  options.getTarget().addTrainStepLowering(pm, asFunction);
  options.getTarget().addLowering(pm, options);
}

void remat::buildTrainPipeline(OpPassManager &pm, const TrainOptions &options) {
  buildPackedPipeline(pm, options);
  buildProgramPipeline(pm, options);
}

void remat::buildBufferizePipeline(OpPassManager &pm,
                                   const BufferizeOptions &options) {
  pm.addPass(createSplitDestinationsPass());
  pm.addPass(createPrepareBufferizationPass());
  pm.addPass(createEliminateEmptyTensorsPass());
  bufferization::OneShotBufferizePassOptions oneShot;
  oneShot.bufferizeFunctionBoundaries = true;
  oneShot.functionBoundaryTypeConversion =
      bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(oneShot));
  pm.addPass(createRestoreLayoutsPass());
  // Loops that pass buffers on as they are would hide what is in place.
  pm.addPass(createCanonicalizePass());
  pm.addPass(createResultsToOutParamsPass());
  pm.addPass(createCanonicalizePass({/*cse=*/false}));
  options.getTarget().addBeforePacking(pm, options);
  PackMemoryPassOptions pack;
  pack.alignment = options.getTarget().getAlignment();
  pack.arena = options.arena;
  pack.reuse = options.reuse;
  pack.dataSlots = options.getTarget().getDataSlots();
  pack.report = options.report;
  if (options.reportStream)
    pm.addPass(createPackMemoryPass(pack, *options.reportStream));
  else
    pm.addPass(createPackMemoryPass(pack));
}

void remat::registerTrainPipelines() {
  PassPipelineRegistration<ToTensorsOptions>(
      "remat-explain",
      "Print what the backward of a model keeps and computes again, and why",
      [](OpPassManager &pm, const ToTensorsOptions &options) {
        buildExplainPipeline(pm, options, llvm::errs());
      });
  PassPipelineRegistration<ToTensorsOptions>(
      "remat-train-to-tensors",
      "Differentiate, rematerialize, update and schedule, on tensors",
      buildToTensorsPipeline);
  PassPipelineRegistration<TrainOptions>(
      "remat-train",
      "From an annotated model to a program in the LLVM dialect that trains it",
      buildTrainPipeline);
  PassPipelineRegistration<BufferizeOptions>(
      "remat-bufferize",
      "Bufferize functions on tensors, in place where they allow it, and pack "
      "their memory",
      [](OpPassManager &pm, const BufferizeOptions &options) {
        // Programs that were never scheduled have not had these.
        options.getTarget().addBeforeScheduling(pm, options);
        buildBufferizePipeline(pm, options);
      });
}
