//===- CUDA.cpp - NVIDIA's GPUs as a target -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One place that knows what a GPU needs and the order of its conversions.
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/CUDA.h"

#include "Host.h"

#include "remat/CUDA/RuntimeMemory.h"
#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Conversion/Passes.h"
#include "remat/Emulator/Passes.h"
#include "remat/Pipelines/Passes.h"
#include "remat/Transforms/Checks/Passes.h"
#include "remat/Transforms/Fold/Passes.h"
#include "remat/Transforms/TrainProgram/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::remat;

/// From kernels in the gpu dialect to NVVM.
static void addKernelLowering(OpPassManager &module, bool emulate) {
  OpPassManager &pm = module.nest<gpu::GPUModuleOp>();
  pm.addPass(createConvertPhiloxToArith());
  // Of the emulated device, the bits are those of the CPU.
  pm.addPass(createApproximateMath({/*fastPowers=*/!emulate}));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCommonSubexpressionsPass());
  pm.addPass(memref::createExpandOpsPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(createConvertStructuredToBranches());
  if (!emulate)
    pm.addPass(createUseDeviceInstructions());
  // As on the CPU, for the same bits.
  math::MathExpandOpsPassOptions expandMath;
  expandMath.opMnemonics = {"rsqrt"};
  pm.addPass(math::createMathExpandOpsPass(expandMath));
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  pm.addPass(createConvertKernelsToNVVM());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCommonSubexpressionsPass());
}

static void addCollectivesCheck(OpPassManager &pm) {
  ConvertCollectivesToRuntimeOptions options;
  options.refused = "collectives are not lowered for target=cuda";
  pm.addPass(createConvertCollectivesToRuntime(options));
}

void mlir::remat::buildLowerToCUDAPipeline(OpPassManager &pm,
                                           const TargetOptions &options) {
  addCollectivesCheck(pm);
  // Kernels that read the same memory are merged: by one view of it.
  pm.addPass(createCommonSubexpressionsPass());
  pm.addPass(createConvertLinalgToLibrary({/*alike=*/true, options.tf32}));
  pm.addPass(createMergeLaunches());
  ConvertAttentionToGPUOptions attention;
  attention.tf32 = options.tf32;
  pm.addPass(createConvertAttentionToGPU(attention));
  ConvertLinalgToGPUOptions kernels;
  kernels.blockSize = options.blockSize;
  pm.addPass(createConvertLinalgToGPU(kernels));
  pm.addPass(createConvertDeviceMemory());
  pm.addPass(createConvertAssertToRuntime());
  pm.addPass(createConvertPhiloxToArith());
  // For code of the host; kernels have their own, below.
  pm.addNestedPass<func::FuncOp>(createApproximateMath());
  pm.addPass(createConvertLaunchesToRuntime());
  addKernelLowering(pm, options.emulate);
  if (options.emulate) {
    EmulateKernelsOptions emulator;
    emulator.check = options.check;
    pm.addPass(createEmulateKernels(emulator));
  } else {
    SerializeKernelsOptions serialize;
    serialize.chips = llvm::to_vector(options.chips);
    serialize.toolkit = options.toolkit;
    serialize.dump = options.dumpKernels;
    pm.addPass(createSerializeKernels(serialize));
  }
  addHostLowering(pm);
}

namespace {
struct CUDATarget : Target {
  StringRef getName() const override { return "cuda"; }
  /// Libraries choose algorithms by alignment; this is what the driver gives.
  int64_t getAlignment() const override { return 256; }
  int64_t getDataSlots() const override { return ::remat::cuda::kDataSlots; }
  // Its memory is less fast beside its arithmetic.
  int64_t getTileRows() const override { return 2048; }
  int64_t getDefaultThreads() const override { return 1; }
  ArrayRef<StringRef> getWholeAggregates() const override {
    static constexpr StringRef kNames[] = {"remat.attention",
                                           "remat.attention_backward"};
    return kNames;
  }
  bool roundsInAttention() const override { return true; }
  bool mergesKernels() const override { return true; }
  // A pass over memory costs more than another kernel.
  void addBeforeDetaching(OpPassManager &pm) const override {
    pm.addPass(createShiftVariancesPass());
  }
  void addBeforeDecomposing(OpPassManager &pm) const override {
    pm.addPass(createDecomposeAttentionForGPU());
  }
  void addBeforeScheduling(OpPassManager &pm,
                           const TargetOptions &options) const override {
    addCollectivesCheck(pm);
    pm.addPass(createSplitRoundedProducts());
    pm.addPass(createCarryScalars());
    pm.addPass(createSinkScalars());
    pm.addPass(createSplitReductions());
    pm.addPass(createProductWorkspace());
    pm.addPass(createAnnotateCuDNNWorkspace({options.convWorkspace}));
  }
  void addBeforePacking(OpPassManager &pm,
                        const TargetOptions &options) const override {
    pm.addPass(createConvertConvToCuDNN({options.convWorkspace, options.tf32}));
    pm.addPass(createMergeLaunches({/*neighbours=*/true}));
    pm.addPass(createGroupUpdates());
    pm.addPass(createWidenProducts());
    pm.addPass(createPackProducts({/*alike=*/true}));
    pm.addPass(createProductWorkspace());
  }
  void addTrainStepLowering(OpPassManager &pm, bool asFunction) const override {
    LowerTrainStepOptions options;
    options.onDevice = true;
    options.asFunction = asFunction;
    pm.addPass(createLowerTrainStep(options));
  }
  void addLowering(OpPassManager &pm,
                   const TargetOptions &options) const override {
    mlir::remat::buildLowerToCUDAPipeline(pm, options);
    pm.addPass(createStripAnnotationsPass());
  }
};

struct LowerOptions : PassPipelineOptions<LowerOptions>, TargetOptions {};
} // namespace

void mlir::remat::registerCUDAPipelines() {
  registerTarget(std::make_unique<CUDATarget>());
  PassPipelineRegistration<LowerOptions>(
      "remat-lower-to-cuda",
      "Lower bufferized linalg to kernels and a host program for CUDA",
      [](OpPassManager &pm, const LowerOptions &options) {
        pm.addPass(createCheckTypesPass());
        buildLowerToCUDAPipeline(pm, options);
      });
}
