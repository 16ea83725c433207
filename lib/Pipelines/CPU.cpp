//===- CPU.cpp - The CPU as a target --------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One place that knows what the CPU needs and the order of its conversions, so
// that the training pipeline, tests and users lower in the same way.
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/CPU.h"

#include "Host.h"

#include "remat/Conversion/CPU/Passes.h"
#include "remat/Conversion/Passes.h"
#include "remat/Pipelines/Passes.h"
#include "remat/Pipelines/Target.h"
#include "remat/Transforms/Checks/Passes.h"
#include "remat/Transforms/Schedule/Passes.h"
#include "remat/Transforms/TrainProgram/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

void remat::buildLowerToCPUPipeline(OpPassManager &pm) {
  pm.addPass(createConvertAssertToRuntime());
  pm.addPass(createConvertLinalgToLibrary());
  pm.addPass(createConvertScatterAddToLoops());
  pm.addPass(createFuseRows());
  pm.addPass(createConvertLinalgToKernels());
  pm.addPass(createConvertCollectivesToRuntime());
  pm.addPass(createConvertPhiloxToArith());
  pm.addPass(createApproximateMath());
  pm.addPass(createConvertParallelToRuntime());
  addHostLowering(pm);
}

namespace {
struct CPUTarget : remat::Target {
  unsigned getConvolutionDims() const override { return 3; }
  StringRef getName() const override { return "cpu"; }
  /// A cache line, and the widest vector.
  int64_t getAlignment() const override { return 64; }
  int64_t getDefaultThreads() const override { return 2; }
  ArrayRef<StringRef> getWholeAggregates() const override {
    static constexpr StringRef kNames[] = {"remat.attention",
                                           "remat.attention_backward"};
    return kNames;
  }
  void addBeforeScheduling(OpPassManager &pm,
                           const remat::TargetOptions &) const override {
    pm.addPass(remat::createTileUpdates());
    pm.addPass(remat::createSplitRoundedProducts());
    // So many squares are off by up to 3e-6 in f32, a million by 5e-4.
    pm.addPass(remat::createSplitReductions({/*maxChain=*/4096}));
  }
  void addBeforePacking(OpPassManager &pm,
                        const remat::TargetOptions &options) const override {
    pm.addPass(remat::createConvertConvToLibrary());
    pm.addPass(remat::createPackProducts());
    remat::ConvertAttentionToLoopsOptions attention;
    attention.threads = options.getThreads();
    pm.addPass(remat::createConvertAttentionToLoops(attention));
  }
  void addTrainStepLowering(OpPassManager &pm, bool asFunction) const override {
    remat::LowerTrainStepOptions options;
    options.asFunction = asFunction;
    pm.addPass(remat::createLowerTrainStep(options));
  }
  void addLowering(OpPassManager &pm,
                   const remat::TargetOptions &) const override {
    remat::buildLowerToCPUPipeline(pm);
    pm.addPass(remat::createStripAnnotationsPass());
  }
};
} // namespace

void remat::registerCPUPipelines() {
  registerTarget(std::make_unique<CPUTarget>());
  PassPipelineRegistration<>("remat-lower-to-cpu",
                             "Lower bufferized linalg to LLVM for the CPU",
                             [](OpPassManager &pm) {
                               pm.addPass(createCheckTypesPass());
                               buildLowerToCPUPipeline(pm);
                             });
}
