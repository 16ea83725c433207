//===- CUDA.cpp - NVIDIA's GPUs as a target -------------------------------===//
//
// One place that knows what a GPU needs and the order of its conversions.
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/CUDA.h"

#include "Host.h"

#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Conversion/Passes.h"
#include "remat/Emulator/Passes.h"
#include "remat/Pipelines/Passes.h"
#include "remat/Transforms/Checks/Passes.h"
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

/// From kernels in the gpu dialect to NVVM.
static void addKernelLowering(OpPassManager &module) {
  OpPassManager &pm = module.nest<gpu::GPUModuleOp>();
  pm.addPass(remat::createApproximateMath());
  math::MathExpandOpsPassOptions expandMath;
  expandMath.opMnemonics = {"rsqrt"};
  pm.addPass(math::createMathExpandOpsPass(expandMath));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(memref::createExpandOpsPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertVectorToSCFPass());
  pm.addPass(createSCFToControlFlowPass());
  // As on the CPU, for the same bits.
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  pm.addPass(remat::createConvertKernelsToNVVM());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void remat::buildLowerToCUDAPipeline(OpPassManager &pm,
                                     const TargetOptions &options) {
  pm.addPass(createCheckTypesPass());
  pm.addPass(createConvertLinalgToLibrary({/*mixed=*/true}));
  pm.addPass(createMergeLaunches());
  ConvertLinalgToGPUOptions kernels;
  kernels.blockSize = options.blockSize;
  pm.addPass(createConvertLinalgToGPU(kernels));
  pm.addPass(createConvertDeviceMemory());
  pm.addPass(createConvertAssertToRuntime());
  pm.addPass(createApproximateMath());
  pm.addPass(createConvertLaunchesToRuntime());
  addKernelLowering(pm);
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
struct CUDATarget : remat::Target {
  StringRef getName() const override { return "cuda"; }
  /// Libraries choose algorithms by alignment; this is what the driver gives.
  int64_t getAlignment() const override { return 256; }
  int64_t getDefaultThreads() const override { return 1; }
  void addBeforeScheduling(OpPassManager &pm,
                           const remat::TargetOptions &options) const override {
    pm.addPass(remat::createSplitRoundedProducts({/*keepOne=*/true}));
    pm.addPass(remat::createCarryScalars());
    pm.addPass(remat::createSinkScalars());
    pm.addPass(remat::createSplitReductions());
    pm.addPass(remat::createProductWorkspace());
    pm.addPass(remat::createAnnotateCuDNNWorkspace({options.convWorkspace}));
  }
  void addBeforePacking(OpPassManager &pm,
                        const remat::TargetOptions &options) const override {
    pm.addPass(remat::createConvertConvToCuDNN({options.convWorkspace}));
    pm.addPass(remat::createMergeLaunches({/*neighbours=*/true}));
    pm.addPass(remat::createGroupUpdates());
    pm.addPass(remat::createWidenProducts());
    pm.addPass(remat::createPackProducts({/*mixed=*/true}));
    pm.addPass(remat::createProductWorkspace());
  }
  void addTrainStepLowering(OpPassManager &pm) const override {
    remat::LowerTrainStepOptions options;
    options.onDevice = true;
    pm.addPass(remat::createLowerTrainStep(options));
  }
  void addLowering(OpPassManager &pm,
                   const remat::TargetOptions &options) const override {
    remat::buildLowerToCUDAPipeline(pm, options);
    pm.addPass(remat::createStripAnnotationsPass());
  }
};

struct LowerOptions : PassPipelineOptions<LowerOptions>,
                      remat::TargetOptions {};
} // namespace

void remat::registerCUDAPipelines() {
  registerTarget(std::make_unique<CUDATarget>());
  PassPipelineRegistration<LowerOptions>(
      "remat-lower-to-cuda",
      "Lower bufferized linalg to kernels and a host program for CUDA",
      [](OpPassManager &pm, const LowerOptions &options) {
        buildLowerToCUDAPipeline(pm, options);
      });
}
