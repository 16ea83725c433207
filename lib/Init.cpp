//===- Init.cpp - Everything the project registers ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "remat/Init.h"

#include "remat/Analysis/RecomputeCostOpInterface.h"
#include "remat/Autodiff/DifferentiableOpInterface.h"
#include "remat/Autodiff/Passes.h"
#include "remat/Conversion/CPU/Passes.h"
#include "remat/Conversion/CUDA/Passes.h"
#include "remat/Conversion/Passes.h"
#include "remat/Dialect/Opt/IR/Opt.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/BufferizableOpInterfaceImpl.h"
#include "remat/Emulator/Passes.h"
#include "remat/Pipelines/CPU.h"
#include "remat/Pipelines/CUDA.h"
#include "remat/Pipelines/Passes.h"
#include "remat/Pipelines/Train.h"
#include "remat/Transforms/Annotate/Passes.h"
#include "remat/Transforms/Annotate/TransformOps.h"
#include "remat/Transforms/Calls/Passes.h"
#include "remat/Transforms/Checks/Passes.h"
#include "remat/Transforms/Complex/Passes.h"
#include "remat/Transforms/Decompose/DecomposableOpInterface.h"
#include "remat/Transforms/Decompose/Passes.h"
#include "remat/Transforms/Detach/Passes.h"
#include "remat/Transforms/Fold/Passes.h"
#include "remat/Transforms/Fuse/Passes.h"
#include "remat/Transforms/Import/Passes.h"
#include "remat/Transforms/InsertSteps/Passes.h"
#include "remat/Transforms/Materialize/Passes.h"
#include "remat/Transforms/PackMemory/Passes.h"
#include "remat/Transforms/Plan/Passes.h"
#include "remat/Transforms/Raise/Passes.h"
#include "remat/Transforms/Random/Passes.h"
#include "remat/Transforms/Schedule/Passes.h"
#include "remat/Transforms/Split/Passes.h"
#include "remat/Transforms/TrainProgram/Passes.h"

#include "llvm/Config/llvm-config.h"

#include <cstdlib>

using namespace mlir;

void mlir::remat::registerAllDialects(DialectRegistry &registry) {
  registry.insert<remat::RematDialect, opt::OptDialect>();
  registerDifferentiableExternalModels(registry);
  registerDecomposableExternalModels(registry);
  registerBufferizableOpInterfaceModels(registry);
  registerAttentionBufferization(registry);
  registerAttentionDecomposition(registry);
  registerConvBufferization(registry);
  registerLoopBufferization(registry);
  registerCollectiveBufferization(registry);
  registerScatterBufferization(registry);
  registerAnnotateTransformOps(registry);
  registerRecomputeCostExternalModels(registry);
}

void mlir::remat::registerAllPasses() {
  registerAnnotatePasses();
  registerAutodiffPasses();
  registerCallsPasses();
  registerChecksPasses();
  registerComplexPasses();
  registerCPUConversionPasses();
  registerCUDAConversionPasses();
  registerConversionPasses();
  registerDecomposePasses();
  registerDetachPasses();
  registerEmulatorPasses();
  registerFoldPasses();
  registerFusePasses();
  registerImportPasses();
  registerInsertStepsPasses();
  registerPlanPasses();
  registerMaterializePasses();
  registerPackMemoryPasses();
  registerPipelinesPasses();
  registerRaisePasses();
  registerRandomPasses();
  registerSchedulePasses();
  registerSplitPasses();
  registerTrainProgramPasses();
  registerCPUPipelines();
  registerCUDAPipelines();
  registerTrainPipelines();
}

bool mlir::remat::verifiesAfterEachPass() {
  const char *value = std::getenv("REMAT_VERIFY_EACH");
  return value && *value && StringRef(value) != "0";
}

StringRef mlir::remat::getVersion() { return REMAT_VERSION; }

void mlir::remat::printVersion(raw_ostream &os) {
  os << "remat " << getVersion() << ", of LLVM " << LLVM_VERSION_STRING << "\n";
}
